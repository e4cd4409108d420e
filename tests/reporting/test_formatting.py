"""Numbers are written by the kind of their column."""

from __future__ import annotations

import math
import re

import pytest

from cases import each
from kernelweave.reporting.content import KINDS
from kernelweave.reporting.formatting import clean, one_line, write_cell, write_column
from kernelweave.reporting.svg import Scale
from kernelweave.reporting.words import written


@each(
    "value, kind, text",
    [
        (0.953, "percent", "95.3 %"),
        (1, "percent", "100.0 %"),
        (-0.0123, "percent", "-1.2 %"),
        (0.03, "p-value", "0.03"),
        (0.0042, "p-value", "0.004"),
        (0.00999, "p-value", "0.01"),
        (0.001, "p-value", "0.001"),
        (0.0009, "p-value", "< 0.001"),
        (0.0, "p-value", "< 0.001"),
        (1.0, "p-value", "1.00"),
        (0.0, "seconds", "0 s"),
        (0.0004, "seconds", "< 1 ms"),
        (0.0512, "seconds", "51 ms"),
        (0.123, "seconds", "0.12 s"),
        (9.96, "seconds", "10 s"),
        (59.97, "seconds", "1 min"),
        (125, "seconds", "2 min 5 s"),
        (3599.8, "seconds", "1 h"),
        (4320, "seconds", "1 h 12 min"),
        (12345, "count", "12,345"),
        (12.5, "count", "12.5"),
        (0, "count", "0"),
        (0.5, "number", "0.5"),
        (123.456, "number", "123.5"),
        (123456.7, "number", "123457"),
        (1.5e-7, "number", "1.5 × 10⁻⁷"),
        (-2e300, "number", "-2 × 10³⁰⁰"),
        (0.0, "number", "0"),
        (7, "number", "7"),
        (True, "text", "yes"),
        (0.25, "text", "0.25"),
        ("a", "number", "a"),
    ],
)
def test_a_cell_is_written_by_its_kind(value, kind, text):
    assert write_cell(value, kind) == text


@each("kind", KINDS)
@each("value", [None, math.nan, math.inf, -math.inf, ""])
def test_what_is_missing_is_a_dash(value, kind):
    assert write_cell(value, kind) == "–"


@each("kind", KINDS)
@each("value", [1e308, -1e308, 5e-324, -5e-324, 10**30, -(10**30)])
def test_extreme_numbers_are_written_in_short(value, kind):
    assert 0 < len(write_cell(value, kind)) <= 18


def test_numbers_of_a_column_have_the_same_decimals():
    assert write_column([0.1595, 0.141, -0.5, math.nan], "number") == ["0.1595", "0.1410", "-0.5000", "–"]
    assert write_column([2.4724, 0.35437, -0.06216], "number") == ["2.472", "0.354", "-0.062"]
    assert write_column([12.5, 3.25, 0.0], "number") == ["12.50", "3.25", "0.00"]
    assert write_column([163.5, 1e-9, 3.0], "number") == ["163.5", "1 × 10⁻⁹", "3"]
    assert write_column([163.5, 0.001], "number") == ["163.5", "0.001"]
    assert write_column([3, 0.25], "number") == ["3", "0.25"]
    assert write_column([0.25, 0.5], "percent") == ["25.0 %", "50.0 %"]
    assert write_column([], "number") == []


def test_text_is_made_fit_for_files():
    assert clean("tab\tline\n\x00\x1b\ud800ü") == "tab\tline\n���ü"
    assert one_line(" a \n\n b\t") == "a b"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"


def test_small_numbers_beside_larger_ones_have_their_decimals():
    assert write_column([0.869, 0.00285, 1.166e-4, 0.0], "number") == ["0.8690", "0.0029", "0.0001", "0.0000"]
    assert write_column([0.869, 1.2e-7], "number") == ["0.869", "1.2 × 10⁻⁷"]
    assert write_column([5e5, 0.7], "number") == ["500000", "0.7"]
    assert write_cell(1.0, "seconds") == "1.0 s"


@pytest.mark.parametrize("value", [-0.0, -1e-9, -0.0004, -1e-300])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_no_number_is_minus_zero(value, kind):
    texts = [write_cell(value, kind), written(value, kind), *write_column([value, 0.25], kind)]
    texts += [Scale([-1.0, 1.0], 0.0, 1.0).label(value, 5, kind)]
    for text in texts:
        assert not text.startswith("-") or re.search("[1-9]", text)

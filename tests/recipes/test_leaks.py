"""Columns that equal the target one to one, and those that only look like it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.leaks import copies_of_target, copies_sentence

N = 200
rng = np.random.default_rng(0)
LABELS = rng.choice(["ill", "well", "late"], N)
NUMBERS = 50.0 + 10.0 * rng.normal(size=N)


def found(columns, y=LABELS, task="classification"):
    X = pd.DataFrame({"v__x": rng.normal(size=N), **columns})
    return copies_of_target(X, y, column_kinds(X), task)


def changed(values, count):
    values = np.array(values, dtype=object if np.asarray(values).dtype.kind in "UO" else float)
    values[:count] = values[N - count :][::-1] if values.dtype == object else 1e3 + np.arange(count)
    return values


def test_classes():
    codes = pd.Series(LABELS).map({"ill": 3.0, "well": 1.0, "late": 2.0}).to_numpy()
    columns = {
        "a__same": LABELS,
        "a__code": codes,
        "a__half": np.where(rng.random(N) < 0.5, codes, np.nan),
        "a__two wrong": changed(codes, 2),
        "b__three wrong": changed(codes, 3),
        "b__finer": codes + 0.1 * (np.arange(N) % 2),
        "b__coarser": (codes == 3.0) * 1.0,
        "b__number": np.arange(N),
        "b__id": [f"s{i}" for i in range(N)],
        "b__rare": np.where(np.arange(N) < 4, codes, np.nan),
        "b__strong": codes + 0.01 * rng.normal(size=N),
    }
    assert sorted(found(columns)) == ["a__code", "a__half", "a__same", "a__two wrong"]


def test_numbers():
    wrong = NUMBERS.copy()
    wrong[:2] = 0.0
    columns = {
        "a__same": NUMBERS,
        "a__pounds": 2.2046 * NUMBERS - 3.0,
        "a__falling log": -np.log(NUMBERS),
        "a__two wrong": wrong,
        "a__half": np.where(np.arange(N) % 2, NUMBERS, np.nan),
        "b__noisy": NUMBERS + 0.5 * rng.normal(size=N),
        "b__number": np.arange(N),
        "b__rounded": NUMBERS.round(-1),
    }
    assert sorted(found(columns, NUMBERS, "regression")) == sorted(name for name in columns if name.startswith("a__"))
    grades = rng.integers(1, 6, N)
    words = pd.Series(grades).map(dict(enumerate(["-", "A", "E", "B", "D", "C"])))
    assert found(
        {"a__words": words, "b__other": words.sample(frac=1, random_state=0).to_numpy()}, grades, "regression"
    ) == ["a__words"]


def test_a_rare_class_is_equal_to_some_of_many_columns_by_chance():
    """Two of 20 samples are ill, and 3000 columns have two samples with a mutation."""
    y = np.array(["ill"] * 2 + ["well"] * 18)
    X = np.zeros((20, 3000))
    for column in X.T:
        column[rng.choice(20, 2, replace=False)] = 1.0
    X[:, 0] = y == "ill"
    frame = stack_views({"v": X})
    assert copies_of_target(frame, y, column_kinds(frame), "classification") == []
    alone = stack_views({"v": np.column_stack([X[:, 0], rng.normal(size=20)])})
    assert copies_of_target(alone, y, column_kinds(alone), "classification") == []  # one in 190 orders
    many = np.array(["ill"] * 10 + ["well"] * 10)
    frame = stack_views({"v": np.column_stack([many == "ill", rng.normal(size=20)])})
    assert copies_of_target(frame, many, column_kinds(frame), "classification") == ["v__0"]


def test_sparse_views():
    counts = sp.random_array((N, 400), density=0.1, random_state=rng, format="lil")
    counts[:, [33]] = (LABELS == "ill")[:, None] * 2.0 + (LABELS == "late")[:, None]
    X = stack_views({"counts": counts.tocsr()})
    (name,) = copies_of_target(X, LABELS, column_kinds(X), "classification")
    assert name.endswith("33")


@pytest.mark.parametrize("names", [["a__x"], ["a__x", "b__y"]])
def test_the_sentence_names_them(names):
    text = copies_sentence(names)
    assert all(repr(name) in text for name in names) and "remove" in text

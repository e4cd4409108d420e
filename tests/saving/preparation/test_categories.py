"""Categories, as scikit-learn encodes them."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from kernelweave.saving.transformers import as_operation
from prepared import check_operation

rng = np.random.default_rng(0)
WORDS = np.array([["a", "x"], ["b", "y"], ["a", "z"], ["c", "y"], ["a", "y"], ["b", "y"]], dtype=object)
NUMBERS = np.array([[1.0, 3.0], [2.0, np.nan], [1.0, 4.0], [7.0, 3.0], [1.0, 3.0]])
FRAME = pd.DataFrame(
    {
        "city": ["Oslo", "Rome", "Oslo", None, "Rome", "Oslo"],
        "size": [1.0, 2.0, np.nan, 1.0, 1.0, 2.0],
        "flag": [True, False, True, True, False, False],
        "many": [5, 5, 6, 5, 5, 7],
    }
)
STRANGE = [
    np.array([["q", "x"], ["a", "longer than all"], ["a", "y"]], dtype=object),
    np.array([[9.0, 3.0], [1.0, 5.5], [0.0, np.nan]]),
    pd.DataFrame({"city": ["Bern", "Oslo"], "size": [9.0, np.nan], "flag": [True, False], "many": [5, -1]}),
]
TABLES = [WORDS, NUMBERS, FRAME]
UNKNOWNS = [
    {"handle_unknown": "error"},
    {"handle_unknown": "ignore"},
    {"handle_unknown": "infrequent_if_exist"},
    {"handle_unknown": "warn"},
    {"handle_unknown": "infrequent_if_exist", "min_frequency": 2},
    {"handle_unknown": "ignore", "min_frequency": 2},
    {"handle_unknown": "warn", "max_categories": 2},
    {"handle_unknown": "error", "max_categories": 2},
    {"handle_unknown": "infrequent_if_exist", "max_categories": 1},
    {"handle_unknown": "infrequent_if_exist", "min_frequency": 0.4},
]
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories", "ignore:columns .* hold categories")


def one_hot(table, new, **options):
    encoder = OneHotEncoder(**options)
    if options["handle_unknown"] == "error":
        operation = check_operation(encoder, table)
        with pytest.raises(ValueError, match=re.escape("Found unknown categories")):
            encoder.transform(new)
        with pytest.raises(ValueError, match=r"Found unknown categories \[.*\] in column \d during transform"):
            operation.transform(new)
    else:
        operation = check_operation(encoder, table, new)
    return operation


@pytest.mark.parametrize("unknown", UNKNOWNS, ids=str)
@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("which", range(3), ids=["words", "numbers", "frame"])
def test_one_hot(unknown, drop, which):
    one_hot(TABLES[which], STRANGE[which], drop=drop, **unknown)


def test_one_hot_of_other_kinds():
    one_hot(WORDS.astype(str), STRANGE[0].astype(str), handle_unknown="ignore")
    one_hot(WORDS[:, :1], STRANGE[0][:, :1], handle_unknown="ignore")
    one_hot(WORDS[:1], STRANGE[0], handle_unknown="ignore")
    one_hot(WORDS, STRANGE[0], handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    one_hot(WORDS, STRANGE[0], handle_unknown="ignore", dtype=int)
    one_hot(WORDS, STRANGE[0], handle_unknown="ignore", categories=[["c", "b", "a"], ["z", "y", "x", "w"]])
    one_hot(NUMBERS[:, :1], STRANGE[1][:, :1], handle_unknown="ignore", categories=[[0, 1, 2, 7]])
    one_hot(WORDS, STRANGE[0], handle_unknown="ignore", drop=["b", "y"])
    one_hot(NUMBERS, STRANGE[1], handle_unknown="ignore", drop=[2.0, np.nan])
    one_hot(FRAME.astype({"city": "category"}), STRANGE[2], handle_unknown="ignore")
    one_hot(np.array([["a"], [None], [np.nan], ["b"]], dtype=object), np.array([["c"]]), handle_unknown="ignore")
    one_hot(np.array([[True], [False]]), np.array([["maybe"]], dtype=object), handle_unknown="ignore")


def test_the_warning_about_unknown_categories():
    operation = one_hot(WORDS, STRANGE[0], handle_unknown="ignore", drop="first")
    with pytest.warns(UserWarning, match=r"columns \[0, 1\] hold categories that training samples do not have"):
        operation.transform(STRANGE[0])


def test_all_categories_dropped():
    check_operation(OneHotEncoder(drop="first"), np.array([["a"], ["a"]], dtype=object))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"handle_unknown": "use_encoded_value", "unknown_value": -1},
        {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
        {"encoded_missing_value": -5},
        {"handle_unknown": "use_encoded_value", "unknown_value": 50, "min_frequency": 2},
        {"handle_unknown": "use_encoded_value", "unknown_value": 50, "max_categories": 2},
        {"dtype": np.float32},
    ],
    ids=str,
)
@pytest.mark.parametrize("which", range(3), ids=["words", "numbers", "frame"])
def test_ordinal(options, which):
    encoder = OrdinalEncoder(**options)
    table = TABLES[which]
    if which == 2 and "dtype" not in options:
        table = table.fillna({"city": "none"})
    if "handle_unknown" in options:
        check_operation(encoder, table, STRANGE[which])
    else:
        operation = check_operation(encoder, table)
        with pytest.raises(ValueError, match="Found unknown categories"):
            operation.transform(STRANGE[which])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_categories(data):
    entries = st.sampled_from(["a", "b", "", "é", "nan", None, np.nan, 1, 2.5])
    column = st.one_of(
        st.lists(st.sampled_from(["a", "b", "", "é", "nan", None, np.nan]), min_size=3, max_size=9),
        st.lists(st.sampled_from([1.0, -2.5, 0.0, np.nan]), min_size=3, max_size=9),
    )
    fitted = np.array(data.draw(column), dtype=object)[:, None]
    new = np.array(data.draw(st.lists(entries, min_size=1, max_size=5)), dtype=object)[:, None]
    options = data.draw(st.sampled_from([{}, {"min_frequency": 2}, {"max_categories": 2}, {"drop": "if_binary"}]))
    check_operation(OneHotEncoder(handle_unknown="infrequent_if_exist", **options), fitted, new)


def test_names_and_widths():
    operation = as_operation(OneHotEncoder().fit(FRAME), "the transformer", 4)
    assert operation.get_feature_names_out()[0] == "city_Oslo"
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        operation.get_feature_names_out(list("abcd"))
    with pytest.raises(ValueError, match="has 2 features where 4 are expected"):
        operation.transform(FRAME[["city", "size"]])

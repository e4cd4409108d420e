"""What columns hold, and what is said of it; whether targets are classes or numbers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cases import each
from kernelweave import stack_views
from kernelweave.recipes import column_kinds, guess_task
from kernelweave.recipes.kinds import about_columns, given_kinds, number_as_text, with_log


def kind_of(values, **options):
    return column_kinds(pd.DataFrame({"v__x": pd.Series(values, **options)})).loc["v__x"]


@each(
    ("values", "kind"),
    [
        ([1, 2, 3, 4], "number"),
        ([1.5, np.nan, 2.5, 0.0], "number"),
        ([True, False, True, True], "number"),
        (pd.array([1, None, 3], dtype="Int64"), "number"),
        (pd.array([True, None, False], dtype="boolean"), "number"),
        ([1, True, 2.5, None], "number"),
        (["1.5", "2.5", "1e3", "-4"], "number"),
        (["1_000", "2_000", "3_000", "4_000"], "left out"),
        (["\u0661", "\u0662", "\u0663", "\u0664"], "left out"),  # Arabic digits, which pandas reads as text
        (["a", "b", "a", "b"], "category"),
        (["a", "b", "c", "a", "b", "c"], "category"),
        (["a", "b", "c", "d", "a", "b"], "left out"),
        (["1", "2", "1", "2"], "category"),
        ([1, "a", 1, "a"], "category"),
        (["no pain", "pain and fever", "no pain", "no pain"], "category"),
        (pd.Categorical(["u", "v", "w"]), "category"),
        (pd.Categorical([3, 4, 5]), "category"),
        ([f"patient {k} has a strong cough" for k in range(6)], "text"),
        ([f"P-{k}" for k in range(6)], "left out"),
        ([f"Ann Smith{k}" for k in range(6)], "left out"),
        ([np.nan] * 4, "left out"),
        ([None] * 4, "left out"),
        ([7.0] * 4, "left out"),
        ([7.0, np.nan, 7.0], "left out"),
        (["x"] * 4, "left out"),
        (["2020-01-31", "2021-02-28", "2019-12-01", "2020-01-31"], "left out"),
        (["31.01.2020", "28.02.2021", "1.12.2019"], "left out"),
        (["2020-01-31 10:15:00", "2021-02-28T08:00", "2019-12-01"], "left out"),
        (pd.to_datetime(["2020-01-31", "2021-02-28"]), "left out"),
        (pd.to_timedelta([1, 2], unit="D"), "left out"),
        ([pd.Timestamp("2020-01-01"), "x", 3], "left out"),
        ([1 + 2j, 3 + 0j], "left out"),
        ([[1], [2, 3]], "left out"),
        ([*[str(k / 7) for k in range(20)], "n.d."], "left out"),
    ],
)
def test_kind_of_a_column(values, kind):
    found = kind_of(values)
    assert found["kind"] == kind
    assert found["view"] == "v" and isinstance(found["why"], str) and found["why"]


def column(n_samples, values, seed=0):
    return np.random.default_rng(seed).choice(np.array(values, dtype=object), n_samples)


PARTS = [
    f"{what} in the {side} {where}"
    for what in ("pain", "burning", "swelling", "stiffness")
    for side in ("left", "right")
    for where in ("knee", "hip", "shoulder", "elbow", "wrist", "ankle", "jaw", "foot", "hand", "back", "neck")
]


@each(
    ("values", "kind"),
    [
        (column(250, [f"{part} since {days} days" for part in PARTS[:12] for days in range(8)]), "text"),  # about 93
        (column(120, PARTS), "text"),
        (column(250, PARTS[:40]), "category"),
        (column(20, PARTS[:6]), "category"),
        (column(250, [f"stage {stage}{letter}" for stage in ("I", "II", "III") for letter in "abc"]), "category"),
        (
            column(250, ["not known", "never smoked", *(f"smoker since {year}" for year in range(1980, 2020))]),
            "category",
        ),
        (column(60, ["strongly agree", "agree", "neither agree nor disagree", "disagree"]), "category"),
        (column(250, [f"squamous cell carcinoma of site {k}" for k in range(30)]), "category"),
        (column(100, [f"ICD C{k}" for k in range(40)]), "category"),
        (column(250, [f"{k} mg" for k in range(90)]), "category"),
        (column(90, [f"Ward{k}" for k in range(40)]), "category"),
    ],
)
def test_phrases_are_text_and_labels_are_categories(values, kind):
    found = kind_of(values)
    assert found["kind"] == kind, (found["why"], len(set(values)))


def test_reasons_name_what_is_wrong():
    assert "'n.d.'" in kind_of([*[str(k / 7) for k in range(20)], "n.d."])["why"]
    assert "days since the first" in kind_of(["2020-01-31", "2021-02-28", "2019-12-01"])["why"]
    assert kind_of([3.0, 3.0])["why"] == "the same value in all samples (3)"


def test_views_of_columns():
    X = pd.DataFrame({"a__x": [1, 2], "note": ["u", "v"], "__odd": [1, 2], "a__b__c": [3, 4]})
    assert column_kinds(X)["view"].tolist() == ["a", "note", "_odd", "a"]
    assert column_kinds(pd.DataFrame({"age": [1, 2], "size": [3, 4]}))["view"].tolist() == ["X", "X"]
    assert column_kinds(np.eye(3))["view"].tolist() == ["X"] * 3


def test_sparse_views_and_ids():
    X = stack_views({"words": sp.csr_matrix(np.eye(3)), "rna": np.arange(6.0).reshape(3, 2)})
    X["sim"] = ["u", "v", "w"]
    kinds = column_kinds(X, matrices=["sim"])
    assert kinds["kind"].tolist() == ["number", "number", "number", "similarity"]
    assert kinds.loc["words", "why"] == "a sparse matrix of 3 columns"
    assert column_kinds(sp.csr_matrix(np.eye(3)))["why"].tolist() == ["a sparse matrix of 3 columns"]


def test_given_kinds_go_first():
    kinds = column_kinds(pd.DataFrame({"v__x": [1, 2, 3], "v__y": ["a", "b", "a"]}))
    changed = given_kinds(kinds, pd.Series({"v__x": "category"}))
    assert changed["kind"].tolist() == ["category", "category"]
    assert changed["why"].tolist() == ["as given", kinds["why"].iloc[1]]
    assert {dtype.kind for dtype in changed.dtypes} == {"O"}  # as files hold them
    assert given_kinds(kinds, kinds)["why"].tolist() == kinds["why"].tolist()
    for wrong, message in (
        ({"v__z": "text"}, "column 'v__z', which X does not have"),
        ({"v__x": "numeric"}, "must be one of number, category, text, left out, not 'numeric'"),
        (["number"], "must be a Series or a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            given_kinds(kinds, wrong)


def test_logarithms_of_views():
    kinds = column_kinds(pd.DataFrame({"v__x": [1, 2, 3], "v__y": ["a", "b", "a"], "w__z": ["a", "b", "a"]}))
    assert with_log(kinds, ["v"])["why"].tolist() == ["numbers, taken as log(1 + x)", *kinds["why"].iloc[1:]]
    assert with_log(kinds, [])["why"].tolist() == kinds["why"].tolist()
    for wrong, message in (
        (["u"], "log names the view 'u', which X does not have; its views are v, w"),
        (["w"], "log names the view 'w', which has no column of numbers"),
        ("v", "log must be a list of names of views"),
        (3, "log must be a list of names of views"),
    ):
        with pytest.raises(ValueError, match=message):
            with_log(kinds, wrong)


def test_numbers_as_text():
    assert [number_as_text(value) for value in (2, 2.0, 2.5, "x", True)] == ["2", "2", "2.5", "x", "True"]
    assert all(np.isnan(number_as_text(value)) for value in (None, np.nan, pd.NA, pd.NaT))


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        (pd.Categorical([1.5, 2.5, 1.5]), "classification"),
        (np.arange(2000) % 10, "classification"),
        (np.tile([1.0, 2.0, 3.0], 5), "classification"),
        ([0.5, 1.5, 0.5, 1.5], "classification"),
        (np.arange(100), "regression"),
        ([20, 35, 61, 47, 52, 33], "regression"),
        (np.linspace(0, 1, 9), "regression"),
        (np.array([1, 2.5, 3, 4], dtype=object), "regression"),
        (pd.Series([1.0, 2.0, np.nan, 3.5]), "regression"),
    ],
)
def test_guess(y, task):
    found, why = guess_task(y)
    assert found == task
    assert why.startswith("the target ")


def kinds(*rows):
    return pd.DataFrame(rows, columns=["column", "view", "kind", "why"]).set_index("column")


def test_a_view_of_its_own_kinds_has_its_counts():
    found = about_columns(kinds(("a", "lab", "number", ""), ("b", "lab", "number", ""), ("c", "lab", "category", "")))
    assert found == ["The view 'lab' has 2 columns of numbers and 1 of categories."]


def test_views_of_the_same_kinds_share_a_sentence():
    rows = [(f"{view}{i}", f"view{view}", "number", "") for view in range(7) for i in range(view + 1)]
    found = about_columns(kinds(*rows, ("K1", "K1", "similarity", ""), ("K2", "K2", "similarity", "")))
    assert found == [
        "The views 'view0', 'view1', 'view2', 'view3', 'view4' and 2 more have columns of numbers, 28 in all.",
        "The views 'K1', 'K2' are similarity matrices.",
    ]


def test_what_is_left_out():
    rows = [(name, name, "left out", "always the same") for name in "ab"]
    assert about_columns(kinds(*rows, ("c", "c", "text", ""))) == [
        "The views 'a', 'b' are left out: none of their columns can be used.",
        "The view 'c' has 1 column of text.",
        "The columns 'a', 'b' are left out: always the same.",
    ]

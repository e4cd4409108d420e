"""Columns that give the target away, and samples that are equal in all views."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import stack_views
from kernelweave.recipes.kinds import column_kinds
from kernelweave.recipes.leaks import Twins, copies_of_target, copies_sentence, find_twins, merged_groups

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
    counts = sp.random(N, 400, density=0.1, random_state=rng, format="lil")
    counts[:, [33]] = (LABELS == "ill")[:, None] * 2.0 + (LABELS == "late")[:, None]
    X = stack_views({"counts": counts.tocsr()})
    (name,) = copies_of_target(X, LABELS, column_kinds(X), "classification")
    assert name.endswith("33")


@pytest.mark.parametrize("names", [["a__x"], ["a__x", "b__y"]])
def test_the_sentence_names_them(names):
    text = copies_sentence(names)
    assert all(repr(name) in text for name in names) and "remove" in text


def twins_in(X, matrices=None):
    X = X if isinstance(X, pd.DataFrame) else stack_views({"v": np.asarray(X, dtype=float)})
    return find_twins(X, column_kinds(X, matrices=tuple(matrices or ())), matrices)


def pairs(twins, n):
    """Which samples are in one set."""
    same = np.zeros((n, n), dtype=bool) if twins is None else twins.sets[:, None] == twins.sets
    return {(i, j) for i in range(n) for j in range(i) if same[i, j]}


def test_equal_samples_of_several_views_are_found():
    rng = np.random.default_rng(0)
    X = stack_views({"a": rng.normal(size=(30, 4)), "b": rng.normal(size=(30, 3))})
    X.iloc[7] = X.iloc[2]
    X.iloc[9] = X.iloc[2]
    X.iloc[20, :4] = X.iloc[21, :4]  # equal in one view only
    X["c__sex"] = np.where(np.arange(30) % 3, "f", "m")
    X.loc[[2, 7, 9], "c__sex"] = "f"
    X["c__barcode"] = [f"code {i}" for i in range(30)]  # left out, for no model reads it
    twins = twins_in(X)
    assert pairs(twins, 30) == {(7, 2), (9, 2), (9, 7)} and (twins.n_samples, twins.n_sets) == (3, 1)
    assert twins.sentence.startswith("3 samples are equal to another one in all views (one and the same)")
    assert twins_in(X.drop(index=[7, 9])) is None
    shuffled = X.sample(frac=1.0, random_state=0)
    assert len(pairs(twins_in(shuffled), 30)) == 3


def test_missing_values_and_views_are_equal_to_missing_ones_only():
    rng = np.random.default_rng(1)
    X = stack_views({"a": rng.normal(size=(30, 4)), "b": rng.normal(size=(30, 3))})
    X.iloc[5] = X.iloc[4]
    X.iloc[[4, 5], 4:] = np.nan
    X.iloc[8] = X.iloc[7]
    X.iloc[7, 4:] = np.nan
    X.iloc[12] = X.iloc[11]
    X.iloc[[11, 12], 1] = np.nan
    assert pairs(twins_in(X), 30) == {(5, 4), (12, 11)}


def test_samples_without_any_column_that_tells_are_not_together():
    """All that half of the samples have is a column of two values."""
    rng = np.random.default_rng(2)
    X = stack_views({"a": rng.normal(size=(60, 50)), "who": (np.arange(60) % 2)[:, None]})
    X.iloc[:30, :50] = np.nan
    assert twins_in(X) is None


def test_sparse_text_and_similarity():
    rng = np.random.default_rng(3)
    import scipy.sparse as sp

    counts = sp.random(40, 300, density=0.2, random_state=rng, format="csr")
    rows = np.arange(40)
    rows[3] = 1
    notes = [f"seen {i} and {i * i} with care" for i in rows]
    X = stack_views({"counts": counts[rows], "notes": notes})
    assert pairs(twins_in(X), 40) == {(3, 1)}
    A = rng.normal(size=(40, 6))[rows]
    K = pd.DataFrame(A @ A.T, [f"s{i}" for i in range(40)], [f"s{i}" for i in range(40)])
    K = K + 1e-13 * rng.normal(size=K.shape)
    only = pd.DataFrame({"sim": [f"s{i}" for i in range(40)]})
    assert pairs(twins_in(only, {"sim": K}), 40) == {(3, 1)}
    assert pairs(twins_in(X.assign(sim=[f"s{i}" for i in range(40)]), {"sim": K}), 40) == {(3, 1)}


def yes_no(rng, n_columns):
    return rng.integers(0, 2, (100, n_columns))


def severity(rng, n_columns):
    """Symptoms that depend on each other: many samples have none of them."""
    return rng.normal(size=(100, n_columns)) + 2.0 * rng.normal(size=(100, 1)) > 1.5


def mutations(rng, n_columns):
    return rng.random((100, n_columns)) < 0.02


@pytest.mark.parametrize(
    ("make", "n_columns"),
    [(yes_no, 3), (yes_no, 8), (yes_no, 12), (severity, 10), (severity, 30), (severity, 100), (mutations, 60)],
)
def test_chance_twins_are_not_together(make, n_columns):
    rng = np.random.default_rng(4)
    for _ in range(5):
        X = make(rng, n_columns)
        assert len(np.unique(X, axis=0)) < 100 or n_columns == 12  # there are twins
        assert twins_in(X) is None


@pytest.mark.parametrize("make", [yes_no, lambda rng, n: rng.normal(size=(100, n))])
def test_the_same_sample_twice_is_together(make):
    rng = np.random.default_rng(5)
    X = make(rng, 30)[:50]
    twins = twins_in(np.vstack([X, X]))
    assert pairs(twins, 100) == {(i + 50, i) for i in range(50)}
    batch = np.vstack([X, X, X])  # and once more with another number of the batch
    assert len(pairs(twins_in(np.column_stack([batch, np.repeat([0, 0, 1], 50)])), 150)) == 50


def test_two_columns_of_numbers_tell_and_one_does_not():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 2))
    assert len(pairs(twins_in(np.vstack([X, X])), 100)) == 50
    assert twins_in(np.vstack([X[:, :1], X[:, :1]])) is None


def test_groups_and_twins_are_merged():
    twins = Twins(np.array([0, 1, 1, 2, 3]), 2, 1)
    assert merged_groups(None, None) is None
    assert merged_groups(None, twins).tolist() == [0, 1, 1, 2, 3]
    assert merged_groups(["b", "a", "a", "b", "c"], None).tolist() == [1, 0, 0, 1, 2]
    merged = merged_groups(["b", "b", "a", "d", "c"], twins)
    assert merged[0] == merged[1] == merged[2] and len(set(merged)) == 3

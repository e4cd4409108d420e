"""New cohorts: silence about samples of the same kind, a sentence about others, the same in any blocks."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from kernelweave import datasets, load, save, stack_views
from kernelweave.recipes import CohortModel
from kernelweave.recipes.drift import CohortSummary, NewCohort, PairStructure, moments_of, rank_grid, ranks
from kernelweave.recipes.kinds import column_kinds, given_kinds


def sentences(train, *blocks):
    cohort = NewCohort(CohortSummary.of(train, column_kinds(train)))
    for block in blocks:
        cohort.add(block)
    return cohort.sentences()


def heavy(random):
    """Columns without a variance, and columns that one such number makes."""
    return stack_views(
        {
            "x": random.standard_cauchy(size=(400, 30)),
            "common": random.standard_cauchy(size=(400, 1)) * random.random(20),
            "skewed": np.exp(2 * random.normal(size=(400, 1)) + random.normal(size=(400, 10))),
        }
    )


def mixed(random):
    town = np.array([f"town {k}" for k in random.zipf(1.7, 400) % 97], dtype=object)
    frame = pd.DataFrame({"age": random.normal(size=400), "town": town})
    return stack_views({"x": frame.assign(age=frame["age"].mask(random.random(400) < 0.2))})


def tables():
    X, _ = datasets.load_multifeat(return_X_y=True)
    random = np.random.default_rng(0)
    return {
        "digits": X.iloc[:, ::4],
        "wine": stack_views({"x": load_wine(as_frame=True).data}),
        "diabetes": stack_views({"x": load_diabetes(as_frame=True).data}),
        "cancer": stack_views({"x": load_breast_cancer(as_frame=True).data}),
        "heavy tails": heavy(random),
        "categories": mixed(random),
    }


TABLES = tables()


def split(X, size, seed, most=150):
    order = np.random.default_rng(seed).permutation(len(X))
    return X.iloc[order[size : size + most]], X.iloc[order[:size]]


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_said_about_samples_of_the_same_kind(name):
    said = 0
    for size in (5, 10, 20, 60):
        for seed in range(6):
            said += bool(sentences(*split(TABLES[name], size, seed)))
    assert said == 0


CHANGES = {
    "times 10": lambda train, X: X * 10,
    "shifted by a standard deviation": lambda train, X: X + train.std(),
    "logarithm": lambda train, X: np.log1p(X.clip(lower=0)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["digits", "wine", "cancer"])
def test_another_scale_is_noticed(name, change):
    for seed in range(3):
        train, new = split(TABLES[name], 30, seed)
        assert any("differ" in sentence for sentence in sentences(train, CHANGES[change](train, new)))


@pytest.mark.parametrize("name", ["digits", "wine", "cancer", "heavy tails"])
def test_other_units_of_one_column_are_noticed_and_named(name):
    train, new = split(TABLES[name], 20, 0)
    column = next(one for one in train.columns if train[one].nunique() > 20)
    view, _, rest = column.partition("__")
    found = sentences(train, new.assign(**{column: new[column] * 1000 + 1000}))
    assert len(found) == 1
    assert found[0].startswith(f"view {view!r}: 1 of ") and f"({rest} by " in found[0]


def test_columns_in_another_order_are_noticed_though_each_looks_the_same():
    random = np.random.default_rng(0)
    hidden = random.normal(size=(200, 8))
    values = np.repeat(hidden, 5, axis=1) + random.normal(size=(200, 40)) / 3
    X = stack_views({"x": values})
    assert sentences(X[:150], X[150:]) == []
    permuted = X[150:].set_axis(X.columns[random.permutation(40)], axis=1)[list(X.columns)]
    (said,) = sentences(X[:150], permuted)
    assert "columns that go together in the training samples do not" in said


def test_more_samples_are_needed_for_smaller_differences():
    random = np.random.default_rng(0)
    X = stack_views({"x": random.normal(size=(2000, 12))})
    assert not sentences(X[:1000], X[1000:1005] + 0.7)
    assert sentences(X[:1000], X[1000:1100] + 0.7)
    assert not sentences(X[:1000], X[1000:] + 0.2)  # significant, and small


def test_blocks_add_up_to_the_whole():
    train, new = split(TABLES["digits"], 60, 0)
    new = new * 3
    assert sentences(train, new) == sentences(train, new[:1], new[1:31], new[31:])
    assert sentences(train, new)


def test_categories_that_are_new():
    train, new = split(TABLES["categories"], 40, 0)
    (said,) = sentences(train, new.assign(x__town=new["x__town"].str.upper()))
    assert said.startswith(
        "view 'x', column 'town': 40 of 40 samples have a category that no training sample has ('TOWN"
    )


def test_missing_views_and_cells():
    train, new = split(TABLES["digits"], 40, 0)
    names = [name for name in new if name.startswith("fou__")]
    gone = new.astype(float)
    gone.loc[gone.index[:20], names] = np.nan
    assert sentences(train, gone) == ["view 'fou': 20 of 40 samples lack it (50%); of the training samples 0% do"]
    gone = new.astype(float)
    gone.loc[gone.index[:30], names[:2]] = np.nan
    (said,) = sentences(train, gone)
    assert said == "view 'fou': 2 columns are empty far more often than in the training samples (0 75%, 4 75%)"
    # A view of which there is no column at all is a matter of the call, not of the samples.
    assert sentences(train, new.drop(columns=names)) == []


def test_sparse_views():
    matrix = sp.random(150, 500, 0.05, format="csr", random_state=0)
    X = stack_views({"words": matrix})
    assert sentences(X[:100], X[100:]) == []
    scaled = stack_views({"words": matrix[100:] * 20})
    assert sentences(X[:100], scaled)[0].startswith("view 'words': the values differ")


def test_similarities():
    random = np.random.default_rng(0)
    points = random.normal(size=(80, 3))
    ids = [f"s{k}" for k in range(80)]
    K = pd.DataFrame(np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 9), index=ids, columns=ids)
    X = pd.DataFrame({"trees": ids}, index=ids)
    kinds = column_kinds(X[:60], matrices=("trees",))
    summary = CohortSummary.of(X[:60], kinds, {"trees": K.iloc[:60, :60]})
    for factor, is_unlike in ((1.0, False), (0.2, True)):
        cohort = NewCohort(summary)
        cohort.add(X[60:], {"trees": K.iloc[60:, :60] * factor})
        assert bool(cohort.sentences()) == is_unlike


def test_few_and_empty_samples_are_no_error():
    X = stack_views({"x": np.arange(6.0).reshape(3, 2)})
    assert sentences(X, X[:0]) == []
    assert sentences(X, X[:1] * np.nan) == []
    assert NewCohort(CohortSummary.of(X, column_kinds(X))).sentences() == []


def test_ranks_are_even_for_samples_of_the_same_kind():
    random = np.random.default_rng(0)
    values = random.standard_cauchy(size=(300, 400))
    values[:, 300:] = random.integers(0, 3, (300, 100))  # with ties
    u = ranks(values[200:], rank_grid(values[:200]))
    scores = (u.mean(axis=0) - 0.5) * np.sqrt(12 / (1 / 100 + 1 / 200))
    assert abs(scores[:300].mean()) < 0.2 and abs(scores[:300].var() - 1) < 0.3
    assert scores[300:].var() < 1.3
    assert (ranks(np.full((1, 400), np.nan), rank_grid(values)) == 0.5).all()


@pytest.mark.parametrize("n_samples", [1, 2, 24, 300])
def test_moments_are_those_of_the_ranks_with_ties_and_gaps_and_without(n_samples):
    random = np.random.default_rng(0)
    table = random.normal(size=(n_samples, 700), loc=5.0)
    table[:, 200:400] = random.integers(0, 4, (n_samples, 200))
    table[:, 400:600][random.random((n_samples, 200)) < 0.3] = np.nan
    table[:, 600] = np.nan
    given = np.asfortranarray(table)
    grid, (n, mean, scale, low, high, middle) = moments_of(given)
    np.testing.assert_array_equal(given, table)  # which is not sorted in place
    np.testing.assert_allclose(grid, rank_grid(table), rtol=1e-14)
    known = np.delete(np.arange(700), np.flatnonzero(n == 0))
    np.testing.assert_array_equal(n, (~np.isnan(table)).sum(axis=0))
    for found, function in ((mean, np.nanmean), (scale, np.nanstd), (low, np.nanmin), (high, np.nanmax)):
        np.testing.assert_allclose(found[known], function(table[:, known], axis=0), atol=1e-12)
        assert found[600] == 0.0
    distance = np.where(np.isnan(table), np.nan, abs(2 * ranks(table, grid) - 1))
    np.testing.assert_allclose(middle[known], np.nanmean(distance[:, known], axis=0), atol=1e-12)


def test_the_correlation_of_pairs_is_that_of_other_samples():
    random = np.random.default_rng(0)
    noise = random.normal(size=(24, 200))  # of few samples and many columns some look alike by chance
    assert PairStructure.of(noise, rank_grid(noise), np.arange(200), np.ones(24, dtype=bool)) is None


def test_models_keep_the_summary_in_their_files(tmp_path):
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    X = X.iloc[::10].astype(float).assign(who__sex=np.where(np.arange(200) % 3 == 0, "f", "m"))
    X.loc[X.index[:30], [name for name in X if name.startswith("fou__")]] = np.nan  # some lack a view
    model = CohortModel("alone:mor", effort="quick", random_state=0).fit(X, y[::10])
    save(model, tmp_path / "model.kw")
    found = load(tmp_path / "model.kw").cohort_
    for name, value in vars(model.cohort_).items():
        if name != "pairs":
            assert np.array_equal(getattr(found, name), value), name
    cohort = NewCohort(found)
    cohort.add(X.sample(40, random_state=0).assign(mor__0=1e6))
    assert cohort.sentences()[0].startswith("view 'mor': 1 of 6 columns differs")
    assert len(found.pairs) == len(model.cohort_.pairs) >= 5


def test_many_columns_take_little_time():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 20_000))).rename(columns=lambda name: f"rna__{name}")
    began = time.process_time()
    summary = CohortSummary.of(X, given_kinds(column_kinds(X), column_kinds(X)["kind"]))
    NewCohort(summary).add(X)
    assert time.process_time() - began < 3.0  # 20 s where each column looks at all of them

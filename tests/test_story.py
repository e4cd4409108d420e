"""The whole way of a person with files: read, compare, fit, save, load, predict a new cohort, explain.

Each of the four cohorts of `cohorts.py` goes the same way, without a line that is meant for one of them.
"""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import cross_val_score

from cohorts import COHORTS, write_cohort
from kernelweave import MKLClassifier, MKLRegressor, load, read_views, save
from kernelweave.combiners import ConvexMKL, Localized, Mean
from kernelweave.model_selection import view_report

MARGIN = 0.2  # of accuracy or R^2, by which a model must be better than a constant


@pytest.fixture(scope="module", params=COHORTS)
def story(request, tmp_path_factory):
    """A cohort, what was read of it, a model, and the same model fitted."""
    cohort = write_cohort(request.param, tmp_path_factory.mktemp(request.param))
    read = read_views(cohort.paths, target=cohort.target, **cohort.options)
    if pd.api.types.is_numeric_dtype(read.y):
        model = MKLRegressor(cohort.kernels, C=100.0, epsilon=1.0, random_state=0)
    else:
        model = MKLClassifier(cohort.kernels, C=10.0, multiclass="one-vs-all", random_state=0)
    return cohort, read, model, clone(model).fit(read.X, read.y)


def constant(y, new):
    """The score of a constant prediction, fitted to y, on new targets."""
    simplest = DummyRegressor() if pd.api.types.is_numeric_dtype(y) else DummyClassifier()
    return simplest.fit(np.zeros((len(y), 1)), y).score(np.zeros((len(new), 1)), new)


def values_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def test_files_are_read_as_they_were_written(story):
    cohort, read, _, _ = story
    first = next(iter(cohort.views))
    assert read.X.index.name == "sample" and read.X.index.equals(read.y.index)
    assert len(read.X) == len(cohort.views[first]) - len(cohort.truth)
    for view, table in cohort.views.items():
        names = [name for name in read.X if name.startswith(f"{view}__")]
        own = read.X[names].dropna(how="all")
        assert len(own) < len(read.X) or view == first
        for name, column in zip(names, table, strict=True):
            expected = table.loc[own.index, column]
            if pd.api.types.is_numeric_dtype(expected):
                np.testing.assert_allclose(own[name].astype(float), expected, rtol=1e-12)
            else:
                assert own[name].tolist() == expected.tolist()


def test_overlap_counts_samples(story):
    cohort, read, _, _ = story
    present = {view: read.X.filter(regex=f"^{view}__").notna().any(axis=1) for view in cohort.views}
    for view, there in present.items():
        assert read.overlap.loc[view, "samples"] == there.sum()
    assert read.overlap.loc["in all views", "samples"] == np.all(list(present.values()), axis=0).sum()
    assert read.overlap.loc["in X", "samples"] == len(read.X)


@pytest.mark.filterwarnings("ignore:held-out samples give no reason to weigh kernels differently")
@pytest.mark.parametrize("combiner", [Mean(), ConvexMKL(), Localized()], ids=["mean", "convex", "localized"])
def test_methods_are_compared_by_cross_validation(story, combiner):
    _, read, model, _ = story
    scores = cross_val_score(clone(model).set_params(combiner=combiner), read.X, read.y, cv=2)
    assert scores.mean() > constant(read.y, read.y) + MARGIN


def test_a_saved_model_predicts_a_new_cohort(story, tmp_path):
    cohort, read, _, fitted = story
    save(fitted, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    new = read_views(cohort.new_paths, **cohort.options)
    assert new.y is None and not any(name.startswith(f"{cohort.missing}__") for name in new.X)
    np.testing.assert_array_equal(values_of(loaded, new.X), values_of(fitted, new.X))
    truth = cohort.truth.loc[new.X.index]
    assert loaded.score(new.X, truth) > constant(read.y, truth) + MARGIN


def test_the_order_of_columns_does_not_matter(story):
    _, read, _, fitted = story
    turned = read.X[read.X.columns[::-1]]
    np.testing.assert_array_equal(values_of(fitted, turned), values_of(fitted, read.X))


def test_missing_columns_are_named(story):
    cohort, read, _, fitted = story
    first = next(name for name in read.X if not name.startswith(f"{cohort.missing}__"))
    with pytest.raises(ValueError, match=f"lacks 1 of .*{re.escape(first)}"):
        fitted.predict(read.X.drop(columns=first))


def test_contributions_tell_which_view_decided(story):
    cohort, _, _, fitted = story
    new = read_views(cohort.new_paths, **cohort.options).X
    table = fitted.contributions(new)
    assert table.index.equals(new.index)
    by_class = table.columns.nlevels == 2
    sums = table.T.groupby(level=0, sort=False).sum().T if by_class else table.sum(axis=1)
    np.testing.assert_allclose(sums, values_of(fitted, new), rtol=1e-8, atol=1e-10)
    missing = table.xs(cohort.missing, axis=1, level=1) if by_class else table[[cohort.missing]]
    assert (missing == 0.0).to_numpy().all()


def test_view_report_tells_what_each_view_gives(story):
    cohort, read, model, _ = story
    report = view_report(model, read.X, read.y, cv=3)
    together = report.loc[("all views", "together"), "score"]
    assert together > constant(read.y, read.y) + MARGIN
    for view in cohort.views:
        assert report.loc[(view, "alone"), "samples"] <= len(read.X)
        assert np.isfinite(report.loc[view].to_numpy(dtype=float)).all()

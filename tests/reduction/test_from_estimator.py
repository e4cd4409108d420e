"""Learned projections as a transformer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from conventions import checks
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import Localized, Projected, Softmax
from kernelweave.kernels import Linear
from kernelweave.reduction import FromEstimator

X, y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["a__0", "a__1", "b__0", "b__1"])


def model(n_components=1, **options):
    return MKLClassifier(combiner=Projected(n_components, **options), random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@checks(
    [FromEstimator(model(2, max_iter=5))],
    [FromEstimator(MKLRegressor(combiner=Projected(1, max_iter=5), random_state=0))],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def test_features_are_the_projections_of_the_fitted_copy():
    gated = MKLClassifier([Linear("a"), Linear("b")], Projected(2, Softmax()), multiclass="joint", random_state=0)
    transformer = FromEstimator(gated)
    features = transformer.fit_transform(FRAME, y)
    np.testing.assert_array_equal(features, clone(gated).fit(FRAME, y).project(FRAME))
    assert list(transformer.get_feature_names_out()) == ["a__0", "a__1", "b__0", "b__1"]
    assert not hasattr(gated, "projections_")
    assert transformer.n_features_in_ == 4 and list(transformer.feature_names_in_) == list(FRAME.columns)


def test_a_fitted_estimator_transforms_at_once():
    fitted = model().fit(X, y == 0)
    transformer = FromEstimator(fitted)
    np.testing.assert_array_equal(transformer.transform(X), fitted.project(X))
    with pytest.raises(NotFittedError, match="neither is its estimator"):
        clone(transformer).transform(X)
    with pytest.raises(NotFittedError):
        FromEstimator(model()).get_feature_names_out()


def test_it_works_before_a_classifier_and_in_a_search():
    pipeline = make_pipeline(FromEstimator(model(1).set_params(normalize=None)), LogisticRegression())
    search = GridSearchCV(pipeline, {"fromestimator__estimator__combiner__n_components": [1, 2]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9


def test_estimators_without_targets():
    features = FromEstimator(MKLOneClass(combiner=Projected(2), random_state=0)).fit_transform(X)
    assert features.shape == (150, 2)


def test_weights_reach_the_estimator():
    weight = np.where(np.arange(150) < 50, 3.0, 1.0)
    weighted = FromEstimator(model()).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighted.transform(X), model().fit(X, y, sample_weight=weight).project(X))
    assert np.abs(weighted.transform(X) - FromEstimator(model()).fit(X, y).transform(X)).max() > 1e-6


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MKLClassifier(), r"must have the combiner Projected\(...\)"),
        (MKLClassifier(combiner=Localized()), r"must have the combiner Projected\(...\)"),
        (LogisticRegression(), "estimator of FromEstimator must be an MKLClassifier"),
    ],
)
def test_other_estimators(estimator, message):
    with pytest.raises(ValueError, match=message):
        FromEstimator(estimator).fit(X, y)

"""A fit that fails leaves the model as it was: not fitted, or fitted to what it was fitted to before."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from conventions import NumericSurvival
from kernelweave import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ColumnBoostingClassifier,
    ColumnBoostingRegressor,
    KernelSAMME,
    KernelVoting,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    estimators,
    reduction,
)
from kernelweave.combiners import ConvexMKL, Projected
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import Function, Gaussian, Linear
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reduction import (
    AKDAQR,
    MKLDR,
    FromEstimator,
    KernelFisher,
    KernelOrthogonalCentroid,
    KernelPLS,
    LeadingComponents,
    LocalFisher,
    SubspaceKernel,
)

rng = np.random.default_rng(0)
Y = np.tile([0, 1, 2], 8)
X = rng.normal(size=(24, 3)) + Y[:, None]
OTHER = np.full((30, 4), np.inf)


class LateError(Exception):
    """Not an error of a value: nothing that a check expects."""


def failing(A, B):
    """A kernel of training samples only: it fails late, where samples are compared."""
    if (A > 90).any():
        raise LateError
    return A @ B.T


MODELS = [
    MKLClassifier([Function(failing), Gaussian()], ConvexMKL()),
    MKLRegressor([Function(failing)]),
    MKLOneClass([Function(failing)]),
    NumericSurvival([Function(failing), Gaussian()], ConvexMKL()),
    ColumnBoostingClassifier([Function(failing), Linear()]),
    ColumnBoostingRegressor([Function(failing)]),
    KernelVoting([Function(failing), Linear()]),
    KernelSAMME([Linear(), Function(failing)]),
    SparseLargeMarginClassifier(3),
    BayesianMKLClassifier([Linear(), Function(failing)]),
    BayesianMKLRegressor([Linear(), Function(failing)]),
    MKLDR([Linear(), Function(failing)]),
    KernelFisher(Function(failing)),
    KernelPLS(Function(failing)),
    KernelOrthogonalCentroid(Function(failing)),
    AKDAQR(Function(failing)),
    SubspaceKernel(Function(failing)),
    LocalFisher(),
    LeadingComponents(PCA()),
    FromEstimator(MKLClassifier([Linear()], Projected(1))),
    ResponseSurfaceSearchCV(MKLClassifier([Function(failing)]), ["C"], cv=2, max_iter=1, tol=10.0),
    ResponseSurfaceSearchCV(MKLClassifier(), ["C"], cv=2, max_iter=1, tol=10.0, error_score="raise"),
]


def test_every_public_estimator_is_here():
    public = {
        each
        for module in (estimators, reduction)
        for name in module.__all__
        if inspect.isclass(each := getattr(module, name)) and issubclass(each, BaseEstimator) and hasattr(each, "fit")
    }
    assert public <= {cls for model in MODELS for cls in type(model).__mro__}


def output(model):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


def break_(model, how):
    if how == "input":
        model.fit(OTHER, np.tile([0, 1], 15))
    elif how == "late":  # in a kernel, or where the last fold is fitted
        model.fit(np.where(np.arange(24)[:, None] == 23, 91.0, np.c_[X, X[:, :1]]), np.tile([3, 4], 12))
    elif hasattr(model, "n_components"):
        model.set_params(n_components=-1).fit(X, Y)
    elif hasattr(model, "factors"):
        model.set_params(factors=["no_such"]).fit(X, Y)
    elif hasattr(model, "estimator"):
        model.set_params(estimator=MKLClassifier(tol="x")).fit(X, Y)
    else:
        model.set_params(tol="x").fit(X, Y)


CASES = [
    pytest.param(model, how, id=f"{type(model).__name__}-{how}")
    for model in MODELS
    for how in ("input", "late", "parameter")
    if how != "late" or "failing" in repr(model)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "how"), CASES)
def test_a_failed_fit_leaves_the_model_as_it_was(model, how):
    given, model = model, clone(model)
    with pytest.raises((ValueError, TypeError, LateError)):
        break_(model, how)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not [name for name in vars(model) if name not in model.get_params(deep=False)]
    model = clone(given).fit(X, Y)
    before = output(model)
    state = dict(vars(model))
    with pytest.raises((ValueError, TypeError, LateError)):
        break_(model, how)
    np.testing.assert_array_equal(output(model), before)
    assert all(vars(model)[name] is value for name, value in state.items() if name.endswith("_"))
    assert vars(model).keys() == state.keys()

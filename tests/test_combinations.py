"""Combiners x machines x ways of computing x precisions x missing views: what holds of every one that is offered.

Every two of these meet in the short run; all of them in the long one.
"""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from cases import pairwise
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, combiners, load, save
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Polynomial

KERNELS = [Gaussian("a"), Linear("b"), Polynomial("c", degree=2)]
STEPS = {"max_iter": 3}
COMBINERS = {
    "mean": combiners.Mean(),
    "convex": combiners.ConvexMKL(),
    "lp": combiners.LpMKL(),
    "elastic": combiners.ElasticMKL(),
    "group": combiners.GroupMKL(["x", "x", "y"]),
    "alignment": combiners.AlignmentWeights(),
    "easy": combiners.EasyMKL(),
    "single": combiners.BestSingle(cv=3),
    "polynomial": combiners.PolynomialMKL(**STEPS),
    "localized": combiners.Localized(l2=0.1, max_iter=5),
    "sigmoid": combiners.Localized(combiners.Sigmoid(), l2=0.1, max_iter=5),
    "regional": combiners.ConvexLocalized(2, softness=0.5),
    "projected": combiners.Projected(2, combiners.Softmax(), **STEPS),
}
PROBLEMS = {
    "svm": (MKLClassifier, "two", {"machine": "svm"}),
    "squared hinge": (MKLClassifier, "two", {"machine": "squared-hinge"}),
    "least squares, classes": (MKLClassifier, "two", {"machine": "least-squares"}),
    "one-vs-all": (MKLClassifier, "three", {"multiclass": "one-vs-all"}),
    "one-vs-one": (MKLClassifier, "three", {"multiclass": "one-vs-one"}),
    "joint": (MKLClassifier, "three", {"multiclass": "joint"}),
    "tube": (MKLRegressor, "one", {"machine": "svm"}),
    "squared tube": (MKLRegressor, "one", {"machine": "squared-epsilon-insensitive"}),
    "least squares": (MKLRegressor, "both", {"machine": "least-squares"}),
    "one class": (MKLOneClass, None, {"nu": 0.2}),
}
FEATURES = {"approximation": NystroemFeatures(1000)}
WAYS = {
    "matrices": {"storage": "dense"},
    "tiles": {"storage": "lazy"},
    "features": {"storage": "dense", **FEATURES},
    "features again": {"storage": "lazy", **FEATURES},
}
FACTORS = [list(COMBINERS), list(PROBLEMS), list(WAYS), ["float64", "float32"], ["complete", "missing"]]
REMEDIES = ("storage=", "approximation=", "machine=", "multiclass=", "use ", "pass ", "take ")


def samples(gaps):
    random = np.random.default_rng(7)
    X = pd.DataFrame(random.normal(size=(50, 7)), columns=["a__0", "a__1", "a__2", "b__0", "b__1", "c__0", "c__1"])
    X[["b__0", "b__1"]] += 1.5
    score = np.sin(2.0 * X["a__0"]) + X["b__0"] - 1.5 + 0.5 * X["c__0"] * X["c__1"]
    if gaps == "missing":  # the view a stays whole, because BestSingle needs one that is
        X.loc[X.index[::7], ["b__0", "b__1"]] = np.nan
        X.loc[X.index[3::7], ["c__0", "c__1"]] = np.nan
    targets = {"two": (score > 0).to_numpy(), "three": np.digitize(score, [-0.6, 0.6]), "one": score.to_numpy()}
    return X, targets | {"both": np.column_stack([score, X["a__1"] ** 2]), None: None}


def check(combiner, problem, way, dtype, gaps, path):
    """The model is refused with a remedy, or certified, finite, the sum of its parts, and the same from a file."""
    X, targets = samples(gaps)
    estimator, target, options = PROBLEMS[problem]
    model = estimator(KERNELS, COMBINERS[combiner], tol=1e-3, **options, **WAYS[way], dtype=dtype)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    train, new = X.iloc[:40], X.iloc[40:]
    y = None if target is None else targets[target][:40]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that end early
        try:
            model.fit(train) if y is None else model.fit(train, y)
        except ValueError as refused:
            assert any(word in str(refused) for word in REMEDIES), refused
            assert not hasattr(model, "kernels_")
            return False
    gap = float(np.max(model.duality_gap_))
    assert -1e-6 * abs(model.objective_) <= gap or np.isnan(gap)
    decide = model.predict if estimator is MKLRegressor else model.decision_function
    values = decide(new)
    assert np.isfinite(values).all() and len(model.predict(new)) == 10
    save(model, path)
    again = load(path)
    loaded = (again.predict if estimator is MKLRegressor else again.decision_function)(new)
    np.testing.assert_allclose(loaded, values, rtol=1e-6, atol=1e-6)
    weights = model.kernel_weights(new).to_numpy()
    assert np.isfinite(weights).all()
    if problem != "one-vs-one":  # votes of pairs are no sums
        _check_parts(model, new, values)
    return True


def _check_parts(model, new, values):
    try:
        parts = model.contributions(new)
    except ValueError as refused:
        assert "products" in str(refused) or "product" in str(refused), refused
        return
    if parts.columns.nlevels == 1:
        np.testing.assert_allclose(parts.sum(axis=1), np.ravel(values), rtol=1e-4, atol=1e-4)
        return
    sums = parts.T.groupby(level=0, sort=False).sum().T.to_numpy()
    if sums.shape == values.shape:
        np.testing.assert_allclose(sums, values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_every_two_meet(way, tmp_path):
    rows = [row for row in pairwise(*FACTORS) if row[2] == way]
    found = [check(*row, tmp_path / "model.kw") for row in rows]
    assert sum(found) > (0.1 if "features" in way else 0.4) * len(found)


@pytest.mark.long
@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("way", WAYS)
def test_all_of_them(combiner, way, tmp_path):
    for row in itertools.product(PROBLEMS, ["float64", "float32"], ["complete", "missing"]):
        problem, dtype, gaps = row
        try:
            check(combiner, problem, way, dtype, gaps, tmp_path / "model.kw")
        except AssertionError as error:
            error.add_note(str(row))
            raise

"""A weight is a number of repetitions; weight 0 is absence."""

import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
LABELS = rng.integers(0, 3, size=40)
TARGETS = {"classifier": LABELS, "regressor": X[:, 0] + 0.2 * rng.normal(size=40), "one-class": None}
WEIGHT = rng.integers(0, 4, size=40)
NEW = rng.normal(size=(10, 3))


def make(kind, normalize):
    options = {"kernels": [Linear(), Gaussian()], "normalize": normalize, "tol": 1e-7}
    if kind == "one-class":
        return MKLOneClass(nu=0.6, **options)  # so that samples reach their bounds
    return {"classifier": MKLClassifier, "regressor": MKLRegressor}[kind](**options)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center"])
@pytest.mark.parametrize("kind", list(TARGETS))
def test_weights_equal_repetitions(kind, normalize):
    y = TARGETS[kind]
    weighted = make(kind, normalize).fit(X, y, sample_weight=WEIGHT)
    repeated = make(kind, normalize).fit(np.repeat(X, WEIGHT, axis=0), None if y is None else np.repeat(y, WEIGHT))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(weighted._values(NEW), repeated._values(NEW), atol=1e-4)


@pytest.mark.parametrize("kind", list(TARGETS))
def test_weight_zero_is_absence(kind):
    y = TARGETS[kind]
    kept = np.flatnonzero(WEIGHT)
    corrupt = X.copy()
    corrupt[WEIGHT == 0] = 1e6
    weighted = make(kind, "center").fit(corrupt, y, sample_weight=(WEIGHT > 0).astype(float))
    without = make(kind, "center").fit(X[kept], None if y is None else y[kept])
    np.testing.assert_array_equal(weighted.dual_coef_, without.dual_coef_)
    np.testing.assert_array_equal(weighted.support_, kept[without.support_])


def test_class_weight_multiplies_cost():
    y = LABELS > 0
    by_class = MKLClassifier([Linear()], class_weight={False: 3.0, True: 0.5}, tol=1e-8).fit(X, y)
    by_sample = MKLClassifier([Linear()], tol=1e-8).fit(X, y, sample_weight=np.where(y, 0.5, 3.0))
    np.testing.assert_allclose(by_class.decision_function(NEW), by_sample.decision_function(NEW), atol=1e-6)
    balanced = MKLClassifier([Linear()], class_weight="balanced", tol=1e-8).fit(X, y)
    factor = len(y) / (2 * np.bincount(y))
    explicit = MKLClassifier([Linear()], class_weight=dict(enumerate(factor)), tol=1e-8).fit(X, y.astype(int))
    np.testing.assert_allclose(balanced.decision_function(NEW), explicit.decision_function(NEW), atol=1e-6)


def test_class_weight_by_string_label():
    y = np.array(["b", "a", "c"])[LABELS]
    heavy = MKLClassifier([Linear()], class_weight={"a": 100.0, "b": 1.0, "c": 1.0}).fit(X, y)
    assert (heavy.predict(X) == "a").sum() > (MKLClassifier([Linear()]).fit(X, y).predict(X) == "a").sum()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(39), "39 entries, but X has 40"),
        (np.ones((40, 2)), "Sample weights must be 1D"),
        (np.r_[-1.0, np.ones(39)], "at least 0"),
        (np.r_[np.nan, np.ones(39)], "finite"),
        (np.zeros(40), "zero for every sample"),
        (np.where(LABELS == 0, 1.0, 0.0), "only one class: .*0"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier().fit(X, LABELS, sample_weight=weight)


def test_scalar_weight_scales_cost():
    scaled = MKLClassifier(tol=1e-8).fit(X, LABELS, sample_weight=2.0)
    double = MKLClassifier(C=2.0, tol=1e-8).fit(X, LABELS)
    np.testing.assert_array_equal(scaled.dual_coef_, double.dual_coef_)

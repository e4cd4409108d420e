"""Properties that all combiners with one weight per kernel share."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BinaryMKL,
    CorrelationWeights,
    ErrorWeights,
    FeatureSpaceMeasure,
    IdealKernelDistance,
    KernelDifference,
    KLDivergence,
    LinearMKL,
)
from kernelweave.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(8)
X = rng.normal(size=(27, 4))
NEW = rng.normal(size=(9, 4))
TWO = np.where(X[:, 0] + 0.4 * rng.normal(size=27) > 0, 1, 0)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
VALUE = X[:, 0] + 0.2 * rng.normal(size=27)
KERNELS = [Gaussian([0, 1]), Linear([1, 2]), Polynomial()]
PROBLEMS = {
    "binary": (MKLClassifier(), TWO),
    "one-vs-one": (MKLClassifier(multiclass="one-vs-one"), THREE),
    "joint": (MKLClassifier(multiclass="joint"), THREE),
    "least squares": (MKLClassifier(machine="least-squares"), TWO),
    "regression": (MKLRegressor(), VALUE),
    "novelty": (MKLOneClass(), None),
}
CLASSES = {"binary", "one-vs-one", "joint", "least squares"}
TARGETS = CLASSES | {"regression"}
WORKS = [
    (AlignmentWeights(), TARGETS),
    (AlignmentWeights("qp"), TARGETS),
    (AlignmentWeights("qcqp"), TARGETS),
    (AlignmentWeights("gradient"), TARGETS),
    (IdealKernelDistance(), TARGETS),
    (FeatureSpaceMeasure(), CLASSES),
    (KLDivergence(), TARGETS),
    (AccuracyWeights(threshold=0.1, cv=3), CLASSES),
    (CorrelationWeights(cv=3), {"regression"}),
    (ErrorWeights(cv=3), {"regression"}),
    (LinearMKL(), {"binary", "regression", "novelty"}),
    (LinearMKL("alignment"), TARGETS),
    (BinaryMKL(1), set(PROBLEMS)),
    (KernelDifference(), {"binary", "least squares"}),
    (KernelDifference("square"), set(PROBLEMS)),
]
IDS = [repr(combiner) for combiner, _ in WORKS]


def model_of(combiner, problem, kernels=KERNELS, **options):
    model, y = PROBLEMS[problem]
    return clone(model).set_params(kernels=kernels, combiner=combiner, random_state=0, **options), y


def decisions(model, X=NEW):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("problem", list(PROBLEMS))
@pytest.mark.parametrize(("combiner", "works"), WORKS, ids=IDS)
def test_every_problem_works_or_is_refused_clearly(combiner, works, problem):
    model, y = model_of(combiner, problem)
    if problem not in works:
        with pytest.raises(ValueError, match=type(combiner).__name__):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert np.isfinite(decisions(model)).all()
    assert model.kernel_weights_.index.tolist() == ["gaussian", "linear", "polynomial"]
    if not isinstance(combiner, LinearMKL | KernelDifference):
        assert model.kernel_weights_.min() >= 0 and model.kernel_weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize(("combiner", "works"), WORKS, ids=IDS)
def test_one_kernel_is_the_plain_machine(combiner, works):
    problem = "regression" if "regression" in works else "binary"
    learned, y = model_of(combiner, problem, [Gaussian()], tol=1e-8)
    plain, _ = model_of(None, problem, [Gaussian()], tol=1e-8)
    np.testing.assert_allclose(decisions(learned.fit(X, y)), decisions(plain.fit(X, y)), atol=1e-5)
    np.testing.assert_allclose(learned.kernel_weights_, [1.0], atol=1e-6)


@pytest.mark.parametrize(("combiner", "works"), WORKS, ids=IDS)
def test_order_of_kernels_does_not_matter(combiner, works):
    if isinstance(combiner, KernelDifference):
        pytest.skip("combines kernels one after the other; see test_difference.py")
    problem = "regression" if "regression" in works else "binary"
    one, y = model_of(combiner, problem, tol=1e-6)
    other, _ = model_of(combiner, problem, KERNELS[::-1], tol=1e-6)
    weights = other.fit(X, y).kernel_weights_.reindex(one.fit(X, y).kernel_weights_.index)
    np.testing.assert_allclose(weights, one.kernel_weights_, atol=1e-3)


@pytest.mark.parametrize(("combiner", "works"), WORKS, ids=IDS)
def test_order_of_samples_does_not_matter(combiner, works):
    problem = "regression" if "regression" in works else "binary"
    if hasattr(combiner, "cv"):  # the same folds, of permuted samples
        order = np.concatenate([rng.permutation(9), 9 + rng.permutation(9), 18 + rng.permutation(9)])
        combiner = clone(combiner).set_params(cv=KFold(3))
    else:
        order = rng.permutation(27)
    one, y = model_of(combiner, problem, tol=1e-6)
    other, _ = model_of(combiner, problem, tol=1e-6)
    one.fit(X, y)
    other.fit(X[order], y[order])
    np.testing.assert_allclose(other.kernel_weights_, one.kernel_weights_, atol=1e-3)
    np.testing.assert_allclose(decisions(other), decisions(one), atol=2e-2)


@pytest.mark.parametrize(("combiner", "works"), WORKS, ids=IDS)
def test_missing_views(combiner, works):
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    frame.loc[[3, 20], ["b__0", "b__1"]] = np.nan
    kernels = [Gaussian("a"), Linear("b")]
    problem = "regression" if "regression" in works else "binary"
    model, y = model_of(combiner, problem, kernels)
    if isinstance(combiner, LinearMKL | KernelDifference):
        with pytest.raises(ValueError, match="sample 3 lacks the view of the kernel 'b'"):
            model.fit(frame, y)
        return
    model.fit(frame, y)
    weights = model.kernel_weights(frame)
    assert weights.loc[3, "b"] == 0 and weights.loc[3, "a"] == pytest.approx(1)
    assert np.isfinite(decisions(model, frame)).all()


@pytest.mark.parametrize("rule", ["proportional", "qcqp"])
def test_sample_weights_are_repetitions(rule):
    weight = np.where(np.arange(27) < 8, 2, 1)
    again = np.repeat(np.arange(27), weight)
    for combiner in (AlignmentWeights(rule), IdealKernelDistance(), FeatureSpaceMeasure()):
        one = MKLClassifier(KERNELS, combiner).fit(X, TWO, sample_weight=weight)
        two = MKLClassifier(KERNELS, combiner).fit(X[again], TWO[again])
        np.testing.assert_allclose(one.kernel_weights_, two.kernel_weights_, atol=1e-4)

"""Kernels that are not positive semidefinite: no gap limits how far the fit is from the best, and none is reported."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save
from kernelweave.combiners import BestSingle, ConvexMKL, FixedWeights, KernelDifference, PerOutput
from kernelweave.kernels import Distance, Function, Gaussian, IndefiniteKernelWarning, Linear, Precomputed

RNG = np.random.default_rng(0)
N = 40
POINTS = RNG.normal(size=(N, 3))
Y = POINTS[:, 0] + 0.5 * RNG.normal(size=N) > 0
IDS = np.arange(N)[:, None]
BENT = POINTS @ np.diag([1.0, 1.0, -1.0]) @ POINTS.T  # one negative eigenvalue
BOTH = np.column_stack([np.arange(N), POINTS])


def bent(A, B):
    return A @ np.diag([1.0, 1.0, -1.0]) @ B.T


def fitted(model, X=IDS, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        return model.fit(X, y)


def dual(K, signed):
    return np.abs(signed).sum() - 0.5 * signed @ K @ signed


@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_there_is_no_gap(storage):
    model = fitted(MKLClassifier([Precomputed(BENT)], C=1.0, normalize=None, storage=storage))
    assert np.isnan(model.duality_gap_) and np.isfinite(model.objective_)


def test_a_feasible_point_may_be_better():
    better = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(20, 20))
        K, y = (A + A.T) / 2.0, np.tile([1.0, -1.0], 10)
        model = fitted(MKLClassifier([Precomputed(K)], C=1.0, normalize=None), IDS[:20], y)
        assert np.isnan(model.duality_gap_)
        for _ in range(200):  # as many samples of either class at the bound
            chosen = rng.permutation(10)[: rng.integers(1, 11)]
            signed = np.zeros(20)
            signed[2 * chosen], signed[2 * rng.permutation(10)[: len(chosen)] + 1] = 1.0, -1.0
            better += dual(K, signed) > model.objective_ + 1e-9
    assert better > 0  # which a gap of 0 would contradict


@pytest.mark.parametrize(
    "kernel",
    [
        Function(bent, [1, 2, 3]),
        Precomputed(BENT, [0]) + Gaussian([1]),
        0.5 * Precomputed(BENT, [0]),
        Distance("chebyshev", [1, 2, 3], scale=5.0),
    ],
    ids=["function", "sum", "product", "distance"],
)
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_other_kernels(kernel, storage):
    with pytest.warns(IndefiniteKernelWarning):
        model = MKLClassifier([kernel], normalize=None, storage=storage).fit(BOTH, Y)
    assert np.isnan(model.duality_gap_)


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier([Precomputed(BENT)], C=0.01, normalize=None, machine="squared-hinge"),
        MKLClassifier([Precomputed(BENT)], C=0.01, normalize=None, machine="least-squares"),
        MKLRegressor([Precomputed(BENT)], C=0.1, normalize=None),
        MKLOneClass([Precomputed(BENT + 5.0)], nu=0.5, normalize=None),
    ],
    ids=["squared hinge", "least squares", "regressor", "one class"],
)
def test_other_machines(model):
    assert np.isnan(fitted(model, y=POINTS[:, 0] if isinstance(model, MKLRegressor) else Y).duality_gap_)


KERNELS = [("bent", Precomputed(BENT, [0])), ("plain", Gaussian([1, 2, 3]))]


@pytest.mark.parametrize(
    ("combiner", "is_certified"),
    [
        (None, False),
        (ConvexMKL(), False),
        (PerOutput(ConvexMKL()), False),
        (FixedWeights({"plain": 1.0}), True),
        (FixedWeights({"bent": 1.0}), False),
        (KernelDifference(repair=None), False),
        (KernelDifference("square"), False),
        (KernelDifference(), True),
    ],
    ids=str,
)
def test_kernels_that_the_model_uses(combiner, is_certified):
    y = np.digitize(POINTS[:, 0], [-0.5, 0.5]) if isinstance(combiner, PerOutput) else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MKLClassifier(KERNELS, combiner, normalize=None).fit(BOTH, y)
    assert np.isfinite(model.duality_gap_) == is_certified


def test_one_that_is_looked_at_and_not_used():
    with pytest.warns(IndefiniteKernelWarning):
        model = MKLClassifier(KERNELS, BestSingle(cv=2), normalize=None).fit(BOTH, Y)
    assert np.isfinite(model.duality_gap_) == (model.active_kernels_ == ["plain"])


@pytest.mark.parametrize("repair", ["clip", "shift"])
def test_repaired_kernels_have_a_gap(repair):
    assert np.isfinite(fitted(MKLClassifier([Precomputed(BENT, repair=repair)], normalize=None)).duality_gap_)


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("storage", ["dense", "lazy"])
def test_rounding_is_no_negative_eigenvalue(n, storage):
    points = np.random.default_rng(1).normal(size=(n, 3)) + 1.0
    y = points[:, 0] > 1.0
    for K in (points @ points.T, (points @ points.T).astype(np.float32), np.corrcoef(points)):
        assert np.linalg.eigvalsh(K.astype(float))[0] < 0.0
        model = MKLClassifier([Precomputed(K)], normalize=None, storage=storage).fit(np.arange(n)[:, None], y)
        assert np.isfinite(model.duality_gap_)


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-5])
def test_small_negative_eigenvalues_are_found(share):
    rng = np.random.default_rng(2)
    points, v = rng.normal(size=(300, 3)), rng.normal(size=300)
    K = Gaussian().fit(points).gram(points)
    K -= (share * np.linalg.norm(K) + v @ K @ v / (v @ v)) / (v @ v) * np.outer(v, v)  # the quotient at v is -share
    with pytest.warns(IndefiniteKernelWarning):
        model = MKLClassifier([Precomputed(K)], normalize=None).fit(np.arange(300)[:, None], points[:, 0] > 0)
    assert np.isnan(model.duality_gap_)


def test_files(tmp_path):
    model = fitted(MKLClassifier(KERNELS, normalize=None, verbose=1), BOTH)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    assert np.isnan(again.duality_gap_)
    np.testing.assert_array_equal(again.decision_function(BOTH), model.decision_function(BOTH))


def test_a_fit_that_ends_early_says_nothing_of_a_gap():
    with pytest.warns(ConvergenceWarning) as told:
        MKLClassifier([Precomputed(BENT)], normalize=None, max_iter=1).fit(IDS, Y)
    assert "nan" not in str(told[-1].message) and "gap" not in str(told[-1].message)


def test_a_linear_kernel_has_one():
    assert np.isfinite(fitted(MKLClassifier([Linear()]), POINTS).duality_gap_)

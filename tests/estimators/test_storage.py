"""Single precision is taken only where it leaves the objective as it is, whatever the user wishes."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import FixedWeights, Product
from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = [Linear(), Polynomial(), Polynomial(degree=3), Gaussian(), Gaussian(scale=20.0), Laplacian()]
DOUBLE = 1e-9  # share of the objective: the rounding of float64


def problem(rng):
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    points = rng.normal(size=(n, d))
    values = points[:, 0] + 0.7 * rng.normal(size=n)
    values[:2] = 1.0, -1.0  # both classes
    return points, values


NORMALIZATIONS = [None, "unit-diagonal", "unit-trace", "center"]


def check_gap(rng, kernel, normalize, storage):
    """The objective in float32 is as near to that of a random problem in float64 as the gaps say."""
    points, values = problem(rng)
    # Of larger means a power leaves values that C times double precision does not hold either.
    X = 10.0 ** rng.uniform(-1, 1) * points + 10.0 ** (rng.uniform(-1, 3) / getattr(kernel, "degree", 1))
    given = {"C": 10.0 ** rng.uniform(-2, 3), "normalize": normalize, "max_iter": 20_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = MKLClassifier([kernel], storage=storage, dtype="float32", **given).fit(X, values > 0)
        true = MKLClassifier([kernel], storage="dense", tol=1e-5, **given).fit(X, values > 0)
    gaps = found.duality_gap_ + true.duality_gap_
    assert abs(found.objective_ - true.objective_) <= gaps + DOUBLE * true.objective_


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_gap_holds_for_the_kernel_in_double_precision(kernel, normalize, storage):
    rng = np.random.default_rng(KERNELS.index(kernel))
    for _ in range(3):
        check_gap(rng, kernel, normalize, storage)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(400))
def test_the_gap_holds_over_random_means_scales_and_costs(seed):
    rng = np.random.default_rng([7, seed])
    kernel = KERNELS[rng.integers(len(KERNELS))]
    check_gap(rng, kernel, NORMALIZATIONS[rng.integers(4)], ["dense", "lazy"][rng.integers(2)])


@pytest.mark.parametrize("machine", ["squared-hinge", "least-squares"])
@pytest.mark.parametrize("mean", [0.0, 300.0])
def test_other_losses(machine, mean):
    points, values = problem(np.random.default_rng(1))
    found, true = (
        MKLClassifier([Linear()], machine=machine, C=10.0, normalize=None, dtype=dtype).fit(points + mean, values > 0)
        for dtype in ("float32", "float64")
    )
    assert abs(found.objective_ - true.objective_) <= found.duality_gap_ + DOUBLE * true.objective_


@pytest.mark.parametrize("mean", [0.0, 300.0])
def test_regression_is_measured_by_the_size_of_the_targets(mean):
    points, values = problem(np.random.default_rng(2))
    found, true = (
        MKLRegressor([Linear()], C=1.0, normalize=None, dtype=dtype, epsilon=0.0).fit(points + mean, 1e-3 * values)
        for dtype in ("float32", "float64")
    )
    assert abs(found.objective_ - true.objective_) <= found.duality_gap_ + DOUBLE * true.objective_


def test_novelty_is_measured_by_what_tells_samples_apart():
    X = problem(np.random.default_rng(3))[0] + 3000.0
    found, true = (
        MKLOneClass([Linear()], normalize=None, dtype=dtype, tol=1e-6).fit(X).decision_function(X)
        for dtype in ("float32", "float64")
    )
    np.testing.assert_array_equal(found, true)


@pytest.mark.parametrize("combiner", [FixedWeights([1e4, 1e4]), Product()], ids=str)
def test_weights_and_products_count(combiner):
    points, values = problem(np.random.default_rng(4))
    kernels = [Linear(), Linear()]
    found, true = (
        MKLClassifier(kernels, combiner, C=1.0, normalize=None, dtype=dtype).fit(30.0 + 10.0 * points, values > 0)
        for dtype in ("float32", "float64")
    )
    np.testing.assert_array_equal(found.dual_coef_, true.dual_coef_)


def test_single_precision_is_taken_where_it_is_enough():
    points, values = problem(np.random.default_rng(5))
    kernel = MKLClassifier([Gaussian()], C=10.0, dtype="float32").fit_kernel(points, values > 0)
    assert kernel.gram().dtype == np.float32

"""Features with a large mean: centred before they are multiplied where that is the same, and a warning elsewhere."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import FixedWeights
from kernelweave.kernels import Constant, Gaussian, KernelStack, Linear, Polynomial, Precomputed
from kernelweave.kernels.arithmetic import KernelSheet, SharedKernel
from kernelweave.views import Views

RNG = np.random.default_rng(0)
POINTS = np.round(RNG.normal(size=(40, 3)) * 2**10) / 2**10  # a large mean leaves them exactly as they are
NEW = np.round(RNG.normal(size=(9, 3)) * 2**10) / 2**10
Y = POINTS[:, 0] + 0.5 * RNG.normal(size=40) > 0
MEANS = [0.0, 2.0**10, 2.0**24, 2.0**30]
LOST = "rounding hides"


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("mean", MEANS)
def test_a_centred_linear_kernel_does_not_depend_on_the_mean(mean, storage):
    weight = np.linspace(0.5, 2.0, 40)
    centre = weight @ POINTS / weight.sum()
    true, cross = (A @ (POINTS - centre).T for A in (POINTS - centre, NEW - centre))
    stack = KernelStack([Linear()], "center", storage=storage).fit(POINTS + mean, weight)
    if storage == "dense":
        np.testing.assert_allclose(stack.gram(0), true, atol=1e-12)
        np.testing.assert_allclose(stack.gram_rows(0, np.array([3, 1])), true[[3, 1]], atol=1e-12)
    else:
        np.testing.assert_allclose(stack.in_parts().sources[0].block(None, None), true, atol=1e-12)
    new = Views(NEW + mean)
    values, diagonal = stack.compare(0, new, np.ones(9, dtype=bool))
    np.testing.assert_allclose(values, cross, atol=1e-12)
    np.testing.assert_allclose(diagonal, ((NEW - centre) ** 2).sum(axis=1), atol=1e-12)
    kept = stack.restrict(np.array([0, 7, 20]))
    np.testing.assert_allclose(kept.cross(0, new, np.ones(9, dtype=bool)), cross[:, [0, 7, 20]], atol=1e-12)
    part = stack.subset(np.arange(0, 40, 2))
    assert part.n_samples == 20


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("mean", MEANS)
def test_a_model_does_not_depend_on_the_mean(mean, storage, tmp_path):
    true = MKLClassifier([Linear()], C=10.0, normalize="center", tol=1e-6).fit(POINTS, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MKLClassifier([Linear()], C=10.0, normalize="center", storage=storage, tol=1e-6).fit(POINTS + mean, Y)
    assert abs(model.objective_ - true.objective_) <= model.duality_gap_ + true.duality_gap_ + 1e-9
    found = model.decision_function(NEW + mean)
    np.testing.assert_allclose(found, true.decision_function(NEW), atol=1e-3)  # tol leaves as much
    save(model, tmp_path / "model.kw")
    for again in (load(tmp_path / "model.kw"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.decision_function(NEW + mean), found)


def test_missing_views_and_transformers():
    gaps = POINTS + 2.0**26
    gaps[[3, 8], :2] = np.nan
    present = ~np.isnan(gaps[:, 0])
    stack = KernelStack([Linear([0, 1]), Linear([2])], "center").fit(gaps)
    points = POINTS[present, :2] - POINTS[present, :2].mean(axis=0)
    true = np.zeros((40, 40))
    true[np.ix_(present, present)] = points @ points.T
    np.testing.assert_allclose(stack.gram(0), true, atol=1e-12)
    own = Linear(transformer=StandardScaler())
    np.testing.assert_allclose(
        KernelStack([own], "center").fit(POINTS + 2.0**20).gram(0),
        KernelStack([own], "center").fit(POINTS).gram(0),
        atol=1e-8,  # the scaler computes the mean
    )


def test_values_that_were_computed_beforehand_are_not_those():
    X = POINTS + 2.0**26
    sheet = SharedKernel(Linear(), [KernelSheet.compute(Linear(), X, NEW + 2.0**26)])
    plain, shared = (KernelStack([kernel], "center").fit(X) for kernel in (Linear(), sheet))
    np.testing.assert_array_equal(shared.gram(0), plain.gram(0))


def told(kernels, normalize, X, storage="dense"):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        stack = KernelStack(kernels, normalize, storage=storage).fit(X)
        if storage == "dense":
            stack.matrices()
        else:
            stack.in_parts()
    return [str(each.message) for each in found if LOST in str(each.message)]


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", ["center", None, "unit-diagonal", "unit-trace"])
def test_a_warning_where_differences_are_lost(normalize, storage):
    far = POINTS + 2.0**26
    kernels = [("square", Polynomial()), ("sum", Linear() + Gaussian()), ("near", Polynomial([0]) * Constant(2.0))]
    for name, kernel in kernels:
        (message,) = told([(name, kernel)], normalize, far, storage)
        assert f"the kernel {name!r}" in message and "StandardScaler" in message
        assert not told([(name, kernel)], normalize, POINTS + 100.0, storage)
    assert bool(told([Linear()], normalize, far, storage)) == (normalize != "center")
    assert not told([Gaussian()], normalize, far, storage)


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", ["center", None])
def test_no_warning_where_there_is_nothing_to_lose(normalize, storage):
    constant = np.full((30, 2), 1 / 3)
    for kernel in (Linear(), Polynomial(), Gaussian(), Constant(0.1)):
        assert not told([kernel], normalize, constant, storage)
    outlier = POINTS.copy()
    outlier[0] = 1e6
    assert not told([Polynomial(), Linear()], normalize, outlier, storage)


def test_precomputed_and_sparse_kernels_that_are_centred():
    far = POINTS + 2.0**26
    assert told([Precomputed(far @ far.T)], "center", np.arange(40)[:, None])
    assert told([Linear()], "center", sp.csr_matrix(far))
    assert not told([Linear()], "center", sp.csr_matrix(POINTS))


def test_shifts_of_kernels_that_are_not_used_are_not_kept(tmp_path):
    model = MKLRegressor([Linear([0]), Linear([1])], FixedWeights([1.0, 0.0]), normalize="center").fit(POINTS, Y * 1.0)
    save(model, tmp_path / "model.kw")
    normalizers = load(tmp_path / "model.kw")._kernel.stack.normalizers
    assert normalizers[0].shift_.shape == (1,) and normalizers[1].shift_ is None

"""Landmarks: where they are drawn from, how much they capture, and what that costs."""

import tracemalloc
import warnings

import numpy as np
import pytest

from kernelweave.features import NystroemFeatures
from kernelweave.features.nystroem import METHODS, drawn_landmarks, pivoted
from kernelweave.kernels import Function, Gaussian, IndefiniteKernelWarning, KernelStack, Linear, Precomputed
from kernelweave.kernels.stack import single_stack

FLOAT64 = np.dtype("float64")


def clustered(n, seed=0):
    """A large cluster and several small ones, far away."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=20.0, size=(30, 5))
    which = np.where(rng.random(n) < 0.8, 0, rng.integers(1, 30, n))
    return centres[which] + 0.3 * rng.normal(size=(n, 5))


def share(X, method, count, seed, kernel=None):
    stack = KernelStack([Gaussian() if kernel is None else kernel]).fit(X)
    approximation = NystroemFeatures(count, method=method)
    return approximation.fit_map(stack, 0, np.random.RandomState(seed), dtype=FLOAT64).trace_share


@pytest.mark.parametrize("method", ["rpcholesky", "kmeans++"])
def test_chosen_landmarks_capture_more_than_uniform_ones_of_clusters(method):
    X = clustered(1000)
    chosen, uniform = (
        [share(X, each, 35, seed, Gaussian(scale=4.0)) for seed in range(4)] for each in (method, "uniform")
    )
    assert min(chosen) > max(uniform)


def test_pivots_have_the_distribution_of_those_drawn_one_at_a_time():
    X = np.array([[0.0], [0.1], [3.0], [9.0]])
    stack = KernelStack([Gaussian(scale=1.0)]).fit(X)
    counts = np.zeros((4, 4))
    for seed in range(800):
        first, second = pivoted(stack, 2, np.random.RandomState(seed))
        counts[first, second] += 1
    K = stack.gram(0)
    expected = np.zeros((4, 4))
    for first in range(4):
        residual = np.diagonal(K) - K[first] ** 2
        expected[first] = 0.25 * residual / residual.sum()
    assert np.abs(counts / 800 - expected).max() < 0.04


def test_heavy_samples_are_drawn_more_often():
    X = np.array([[0.0], [3.0], [6.0]])
    stack = KernelStack([Gaussian(scale=1.0)]).fit(X, np.array([1.0, 1.0, 8.0]))
    first = [pivoted(stack, 1, np.random.RandomState(seed))[0] for seed in range(300)]
    assert 0.73 < np.mean(np.array(first) == 2) < 0.87


@pytest.mark.parametrize("method", METHODS)
def test_landmarks_are_distinct_sorted_and_as_many_as_asked(method):
    X = np.random.default_rng(0).normal(size=(300, 6))
    stack = KernelStack([Gaussian()]).fit(X)
    chosen = drawn_landmarks(stack, 100, method, np.random.RandomState(0))
    assert len(chosen) == 100 and (np.diff(chosen) > 0).all()
    again = drawn_landmarks(stack, 100, method, np.random.RandomState(0))
    np.testing.assert_array_equal(chosen, again)
    np.testing.assert_array_equal(drawn_landmarks(stack, 1000, method, np.random.RandomState(0)), np.arange(300))


@pytest.mark.parametrize("method", ["rpcholesky", "kmeans++"])
def test_copies_of_samples_are_no_further_landmarks(method):
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 20, axis=0)
    stack = KernelStack([Gaussian()]).fit(X)
    chosen = drawn_landmarks(stack, 50, method, np.random.RandomState(0))
    assert len(chosen) == 10 and len(np.unique(X[chosen], axis=0)) == 10


def test_a_linear_kernel_takes_as_many_pivots_as_it_has_columns():
    X = np.random.default_rng(0).normal(size=(200, 5))
    stack = KernelStack([Linear()], None).fit(X)
    assert len(drawn_landmarks(stack, 50, "rpcholesky", np.random.RandomState(0))) == 5


@pytest.mark.parametrize("method", METHODS)
def test_a_kernel_that_is_zero(method):
    stack = KernelStack([Linear()], None).fit(np.zeros((60, 2)))
    found = NystroemFeatures(10, method=method).fit_map(stack, 0, np.random.RandomState(0), dtype=FLOAT64)
    phi = found.transform(stack.support, np.ones(60, dtype=bool))
    assert found.trace_share == 1.0 and not phi.any() and np.isfinite(phi).all()


def test_landmarks_are_among_samples_that_have_the_view():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[40:, 0] = np.nan
    stack = KernelStack([Gaussian([0]), Gaussian([1, 2])]).fit(X)
    found = NystroemFeatures(10).fit_map(stack, 0, np.random.RandomState(0), dtype=FLOAT64)
    assert found.landmarks.n_samples == 10 and (found.landmarks.support.positions < 40).all()
    phi = found.transform(stack.support, stack.present[:, 0])
    assert not phi[40:].any() and abs((phi[:40] ** 2).sum(axis=1).mean() - 1.0) < 1e-9


def test_eigenvalues_are_cut_where_they_are_rounding_whatever_the_type_of_the_features():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    stack = KernelStack([Gaussian(scale=2.0)]).fit(X)
    values = np.linalg.eigvalsh(stack.gram(0))
    for name, tolerance in (("float32", 1e-6), ("float64", 1e-12)):
        found = NystroemFeatures(200).fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype(name))
        phi = found.transform(stack.support, np.ones(200, dtype=bool)).astype(name)
        assert np.abs(phi @ phi.T - stack.gram(0)).max() < tolerance
        assert (values > 1e-11 * values[-1]).sum() <= found.n_features <= (values > 1e-15 * values[-1]).sum() < 30


def test_memory_is_that_of_the_values_to_the_landmarks():
    X = np.random.default_rng(0).normal(size=(4000, 10))
    stack = KernelStack([Gaussian()]).fit(X)
    stack.support.read(np.arange(10), "x")
    values = 4000 * 200 * 8
    tracemalloc.start()
    NystroemFeatures(200).fit_map(stack, 0, np.random.RandomState(0), dtype=FLOAT64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * values < 4000**2 * 8 / 2


def test_a_low_share_of_the_trace_is_a_warning():
    X = np.random.default_rng(0).normal(size=(500, 30))
    with pytest.warns(UserWarning, match=r"20 landmarks capture 4 % of the trace of the kernel 'wide'.*larger width"):
        share(X, "rpcholesky", 20, 0, kernel=("wide", Gaussian(scale=0.5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0.05 < share(X, "rpcholesky", 20, 0) < 0.5
        assert share(X, "rpcholesky", 500, 0, kernel=Gaussian(scale=0.5)) > 1.0 - 1e-9


INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def features_of_matrix(kernel, normalize="unit-diagonal"):
    ids = np.arange(3.0)[:, None]
    stack = KernelStack([("likeness", kernel)], normalize).fit(ids)
    found = NystroemFeatures(10).fit_map(stack, 0, np.random.RandomState(0), dtype=FLOAT64)
    return found.transform(stack.support, np.ones(3, dtype=bool))


def test_negative_eigenvalues_are_cut_with_a_warning():
    with pytest.warns(IndefiniteKernelWarning, match="'likeness' is not positive semidefinite.*leave the negative"):
        phi = features_of_matrix(Precomputed(INDEFINITE), None)
    clipped = np.array([[1.5, 1.5, 0.0], [1.5, 1.5, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(phi @ phi.T / (phi @ phi.T)[2, 2], clipped, atol=1e-12)


def test_clipping_is_what_it_is_without_an_approximation():
    phi = features_of_matrix(Precomputed(INDEFINITE, repair="clip"))
    exact = KernelStack([Precomputed(INDEFINITE, repair="clip")]).fit(np.arange(3.0)[:, None]).gram(0)
    np.testing.assert_allclose(phi @ phi.T, exact, atol=1e-12)


def test_a_shift_has_no_explicit_features():
    with pytest.raises(ValueError, match='repair="shift" of the kernel \'likeness\'.*use repair="clip"'):
        features_of_matrix(Precomputed(INDEFINITE, repair="shift"))
    phi = features_of_matrix(Precomputed(np.eye(3) + 1.0, repair="shift"), None)  # nothing to repair
    np.testing.assert_allclose(phi @ phi.T, np.eye(3) + 1.0, atol=1e-12)


def test_pivots_of_an_indefinite_kernel():
    X = np.random.default_rng(0).normal(size=(120, 3))
    stack = KernelStack([Function(lambda A, B: np.tanh(2.0 * A @ B.T - 0.5))], None).fit(X)
    own = single_stack(stack, 0, normalize=None)
    chosen = drawn_landmarks(own, 40, "rpcholesky", np.random.RandomState(0))
    assert 1 <= len(chosen) <= 40

"""The fused programs give the values of the plain path, for every kind, width and shape.

Without a CUDA device Triton's interpreter runs them on the CPU, slowly: few samples.
"""

import importlib
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from kernelweave.arrays import torch_place
from kernelweave.kernels import ChiSquared, Gaussian, KernelStack, Laplacian, Linear, Polynomial, Precomputed
from kernelweave.kernels.tiles import device, functions
from kernelweave.kernels.tiles.stack import TileStack
from kernelweave.kernels.tiles.sums import TiledSum
from places import HAS_TORCH, has_cuda

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not HAS_TORCH or find_spec("triton") is None, reason="torch or Triton is not installed"),
]
N = 70
rng = np.random.default_rng(0)


@pytest.fixture
def place(monkeypatch):
    """A place of fused programs: a CUDA device, or torch on the CPU with the programs interpreted."""
    if has_cuda():
        return torch_place("cuda")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.delitem(sys.modules, "kernelweave.kernels.tiles._triton", raising=False)
    importlib.import_module("kernelweave.kernels.tiles._triton")
    monkeypatch.setattr(functions, "is_fused", lambda place: place.is_torch)
    return torch_place("cpu")


def kernels_of(widths):
    """Kernels of all kinds on views of so many columns, and the samples."""
    made = {
        "gaussian": lambda view, d: Gaussian(view),
        "polynomial": lambda view, d: Polynomial(view, 2 + d % 2),
        "laplacian": lambda view, d: Laplacian(view),
        "chi-squared": lambda view, d: ChiSquared(view),
        "linear": lambda view, d: Linear(view),
    }
    kernels, columns, first = [], [], 0
    for kind, d in widths:
        kernels.append(made[kind](slice(first, first + d), d))
        columns.append(rng.random((N, d)) if kind == "chi-squared" else rng.normal(size=(N, d)))
        first += d
    return kernels, np.hstack(columns)


def host_values(parts):
    """All values of the kernels from the features of the sources, which are rounded, in float64."""
    return [np.asarray(parts.place.numpy(source.block(None, None)), dtype=float) for source in parts.sources]


WIDTHS = {
    "gaussian": [("gaussian", d) for d in (1, 10, 11, 26, 27, 59, 90)],
    "polynomial": [("polynomial", d) for d in (1, 16, 17, 70)],
    "distances": [("laplacian", 1), ("laplacian", 5), ("chi-squared", 1), ("chi-squared", 5)],
    "mixed": [("gaussian", 3), ("linear", 2), ("laplacian", 3), ("gaussian", 3)],
}


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
@pytest.mark.parametrize("name", WIDTHS)
def test_images_are_products_with_the_kernels(name, normalize, place):
    kernels, X = kernels_of(WIDTHS[name])
    stack = KernelStack(kernels, normalize, dtype="float32", storage="lazy", place=place).fit(X)
    parts = stack.in_parts()
    assert parts.device.groups
    K = host_values(parts)
    dense = KernelStack(kernels, normalize).fit(X).matrices()
    for k, exact in zip(K, dense, strict=True):
        assert np.abs(k - exact).max() < 5e-3 * max(1.0, np.abs(exact).max())  # features have 11 significant bits
    some, P = np.array([3, 69, 8]), len(kernels)
    cases = [(None, None, 1, None), (some, np.arange(1, N, 2), 5, None), (np.array([5]), np.array([6]), 1, None)]
    for rows, columns, n_outputs, chosen in [*cases, (None, some, 2, [P - 1, 0])]:
        n_columns = N if columns is None else len(columns)
        V = rng.normal(size=(n_columns, P, n_outputs))
        found = place.numpy(parts.images(rows, columns, place.asarray(V), chosen))
        for m in range(P):
            part = K[m] if rows is None else K[m][rows]
            part = part if columns is None else part[:, columns]
            wanted = part @ V[:, m] if chosen is None or m in chosen else np.zeros_like(found[:, m])
            assert np.abs(found[:, m] - wanted).max() < 2e-5 * max(1.0, np.abs(part).max())


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_a_block_is_the_sum_of_kernels_and_symmetric(normalize, place):
    kernels, X = kernels_of([("gaussian", 3), ("linear", 2), ("laplacian", 2), ("gaussian", 3), ("polynomial", 4)])
    parts = KernelStack(kernels, normalize, dtype="float32", storage="lazy", place=place).fit(X).in_parts()
    left, weights, rows = rng.random((N, 5)), np.array([0.5, 1.0, 0.0, 2.0, 1.0]), rng.permutation(N)[:66]
    found = TiledSum(parts, left, weights).block(rows)
    K = host_values(parts)
    wanted = sum(w * np.outer(left[rows, m], left[rows, m]) * K[m][np.ix_(rows, rows)] for m, w in enumerate(weights))
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()
    assert np.array_equal(found, found.T)


def test_subsets_and_new_samples(place):
    kernels, X = kernels_of([("gaussian", 3), ("laplacian", 2), ("gaussian", 4)])
    parts = KernelStack(kernels, dtype="float32", storage="lazy", place=place).fit(X).in_parts()
    V, K = rng.normal(size=(N, 3, 1)), host_values(parts)
    parts.images(None, None, place.asarray(V))  # packs the features
    index = np.array([5, 60, 2, 33])
    part = parts.subset(index)
    found = place.numpy(part.images(None, None, place.asarray(V[:4])))
    for m in range(3):
        assert np.allclose(found[:, m], K[m][np.ix_(index, index)] @ V[:4, m], atol=1e-5)
    from kernelweave.views import as_views

    new = parts.against(as_views(X[index]))
    found = place.numpy(new.images(None, None, place.asarray(V)))
    for m in range(3):
        assert np.allclose(found[:, m], K[m][index] @ V[:, m], atol=1e-5)
    assert new.device.groups[0].columns is parts.device.groups[0].columns  # not packed again


def test_empty_sets_have_images_of_zeros(place):
    kernels, X = kernels_of([("gaussian", 3)])
    parts = KernelStack(kernels, dtype="float32", storage="lazy", place=place).fit(X).in_parts()
    nobody = np.empty(0, dtype=int)
    assert parts.images(nobody, None, place.zeros((N, 1, 2))).shape == (0, 1, 2)
    assert place.numpy(parts.images(None, nobody, place.zeros((0, 1, 2)))).tolist() == np.zeros((N, 1, 2)).tolist()


def test_more_columns_than_a_chunk(place, monkeypatch):
    monkeypatch.setattr(device, "CHUNK", 128)
    monkeypatch.setattr(device, "PROGRAMS", 2)
    kernels, X = kernels_of([("gaussian", 3), ("gaussian", 3)])
    X = np.tile(X, (3, 1)) + 0.01 * rng.normal(size=(3 * N, X.shape[1]))
    parts = KernelStack(kernels, dtype="float32", storage="lazy", place=place).fit(X).in_parts()
    V, K = rng.normal(size=(3 * N, 2, 1)), host_values(parts)
    found = place.numpy(parts.images(None, None, place.asarray(V)))
    for m in range(2):
        assert np.allclose(found[:, m], K[m] @ V[:, m], atol=1e-5)


def test_other_sources_stay_beside(place):
    X = rng.normal(size=(N, 3))
    K = X @ X.T
    kernels = [Gaussian(slice(1, 4)), Precomputed(K, view=[0])]
    stack = KernelStack(kernels, None, dtype="float32", storage="lazy", place=place)
    parts = stack.fit(np.column_stack([np.arange(N), X])).in_parts()
    V = rng.normal(size=(N, 2, 1))
    found = place.numpy(parts.images(None, None, place.asarray(V)))
    assert np.allclose(found[:, 1], K @ V[:, 1], atol=1e-4)
    assert isinstance(parts, TileStack)


def test_the_largest_features_stay_in_float64(place):
    X = 100.0 * rng.normal(size=(N, 3))
    parts = KernelStack([Gaussian(scale=1.0)], dtype="float32", storage="lazy", place=place).fit(X).in_parts()
    assert not parts.device.groups
    assert parts.sources[0].rows.features.dtype == place.xp.float64

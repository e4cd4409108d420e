"""Kernels in parts have the same values in every place: NumPy, array-api-strict, torch."""

import numpy as np
import pytest

from kernelweave.kernels import (
    ChiSquared,
    Distance,
    Gaussian,
    KernelStack,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
)
from kernelweave.kernels.tiles.sums import TiledSum
from kernelweave.views import as_views
from places import in_every_place

rng = np.random.default_rng(0)
N = 40
FEATURES = rng.random((N, 4))
X = np.column_stack([np.arange(N), FEATURES])
GRAM = FEATURES @ FEATURES.T
LOOSE = 4e-3  # on a CUDA device features have 11 significant bits


def kernels():
    columns = slice(1, 5)
    return {
        "linear": Linear(columns),
        "polynomial": Polynomial(columns, 3),
        "gaussian": Gaussian(columns),
        "laplacian": Laplacian(columns),
        "chi-squared": ChiSquared(columns),
        "precomputed": Precomputed(GRAM, view=[0]),
        "distance": Distance("euclidean", view=columns),
        "sum": Gaussian(columns) + Linear(columns),
        "product": Laplacian(columns) * Polynomial(columns),
    }


def lazy(place, normalize="unit-diagonal", dtype="float64", chosen=None):
    made = kernels() if chosen is None else {name: kernels()[name] for name in chosen}
    with np.errstate(all="raise"):
        return KernelStack(list(made.items()), normalize, dtype=dtype, storage="lazy", place=place).fit(X)


def dense(normalize="unit-diagonal"):
    return KernelStack(list(kernels().items()), normalize).fit(X)


@pytest.mark.filterwarnings("ignore:.*positive semidefinite", "ignore:.*on the CPU")
@in_every_place
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_blocks_and_images_are_those_of_the_dense_stack(place_of, normalize, dtype):
    place = place_of()
    K = dense(normalize).matrices()
    parts = lazy(place, normalize, dtype).in_parts()
    error = 1e-10 if dtype == "float64" else LOOSE if place.is_cuda else 2e-5
    rows, columns = np.array([7, 3, 39]), np.array([0, 7, 20, 21])
    V = rng.normal(size=(4, len(K), 2))
    images = place.numpy(parts.images(rows, columns, place.asarray(V)))
    everything = place.numpy(parts.images(None, None, place.asarray(rng.normal(size=(N, len(K), 1)))))
    assert everything.shape == (N, len(K), 1) and images.dtype == np.float64
    for m, k in enumerate(K):
        block = place.numpy(parts.block(m, rows, columns))
        assert np.abs(block - k[np.ix_(rows, columns)]).max() <= error * max(1.0, np.abs(k).max())
        wanted = k[np.ix_(rows, columns)] @ V[:, m]
        assert np.abs(images[:, m] - wanted).max() <= 4 * error * max(1.0, np.abs(k).max())


@pytest.mark.filterwarnings("ignore:.*positive semidefinite", "ignore:.*on the CPU")
@in_every_place
def test_a_sum_in_parts_is_the_sum_of_the_matrices(place_of):
    place = place_of()
    K = dense().matrices()
    P = len(K)
    left, weights, coef = rng.random((N, P)), rng.random(P), rng.normal(size=N)
    wanted = np.einsum("m,im,mij,jm->ij", weights, left, K, left)
    parts = lazy(place).in_parts()
    for keeps in (False, True):
        kernel = TiledSum(parts, left, weights, keeps_images=keeps)
        rows, targets = np.array([5, 30, 2]), np.array([1, 5])
        assert np.allclose(kernel.block(rows), wanted[np.ix_(rows, rows)], atol=1e-9)
        assert np.allclose(kernel.diagonal, np.diag(wanted), atol=1e-9)
        image = kernel.image(coef)
        assert np.allclose(place.numpy(kernel.value(image, place.asarray(coef))), wanted @ coef, atol=1e-8)
        change, new = np.array([1.0, -2.0, 0.5]), coef.copy()
        new[rows] += change
        kernel.add(image, rows, change, targets)
        found = place.numpy(kernel.value(image, place.asarray(new)))
        assert np.allclose(found[targets], (wanted @ new)[targets], atol=1e-8)
        part = kernel.subset(rows)
        assert np.allclose(part.block(np.arange(3)), wanted[np.ix_(rows, rows)], atol=1e-9)
        assert np.allclose(kernel.product(rows, rows, change[:, None]), wanted[np.ix_(rows, rows)] @ change[:, None])


@pytest.mark.filterwarnings("ignore:.*positive semidefinite", "ignore:.*on the CPU")
@in_every_place
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_new_samples_are_compared_as_by_the_dense_stack(place_of, normalize):
    place, names = place_of(), [name for name in kernels() if name != "precomputed"]
    new = X[:5] + np.array([0.0, 0.1, 0.0, 0.2, 0.0])
    stack = dense(normalize)
    stack.matrices()  # learns the constants
    parts = lazy(place, normalize, chosen=names).in_parts().against(as_views(new))
    present = np.ones(5, dtype=bool)
    for m, name in enumerate(names):
        wanted = stack.cross(stack.names.index(name), as_views(new), present)
        assert np.allclose(place.numpy(parts.block(m, None, None)), wanted, atol=1e-9)

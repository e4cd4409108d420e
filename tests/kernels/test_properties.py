"""Every kernel has the properties of kernels, and keeps the promises of its capabilities."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from kernel_properties import check_kernel
from kernelweave import kernels
from kernelweave.kernels import (
    ChiSquared,
    Clinical,
    Constant,
    Distance,
    Function,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Pairwise,
    Polynomial,
    Precomputed,
    Spectrum,
    ViewKernel,
)
from kernelweave.kernels.arithmetic import KernelSheet, SharedKernel
from own_kernels import ExponentialProduct, RationalQuadratic

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(20, 4))
MISSING = NUMBERS.copy()
MISSING[[3, 11], :2] = np.nan
IDS = np.arange(20.0)[:, None]
TEXT = pd.DataFrame({"text": ["".join(rng.choice(list("acgt"), 12)) for _ in range(20)]})
LABELS = np.array([f"s{row}" for row in range(20)], dtype=object)
TABLE = pd.DataFrame(
    {"age": NUMBERS[:, 0], "sex": rng.choice(["f", "m"], 20).astype(object), "code": rng.integers(3, size=20)}
).mask(rng.random((20, 3)) < 0.3)
SIMILARITY = NUMBERS @ NUMBERS.T
DISTANCES = np.linalg.norm(NUMBERS[:, None] - NUMBERS, axis=2)
OF_NUMBERS = {
    "linear": Linear(),
    "polynomial": Polynomial(),
    "cubic": Polynomial(degree=3, coef0=0.5),
    "first degree": Polynomial(degree=1),
    "gaussian": Gaussian(),
    "gaussian of a width": Gaussian(scale=1.3),
    "laplacian": Laplacian(),
    "euclidean distance": Distance(),
    "chebyshev distance": Distance("chebyshev"),
    "standardised distance": Distance("seuclidean"),
    "function": Function(lambda A, B: np.tanh(A @ B.T)),
    "constant": Constant(2.0),
    "sum": Linear([0, 1]) + 0.5 * Gaussian([2, 3]),
    "product": Polynomial([0]) * Gaussian(),
    "pairwise": Pairwise(Gaussian(scale=1.0), first=[0, 1], second=[2, 3]),
    "rational quadratic": RationalQuadratic(),
    "exponential product": ExponentialProduct(),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_kernels_of_numbers(name):
    check_kernel(OF_NUMBERS[name], NUMBERS)


@pytest.mark.parametrize("name", [name for name, each in OF_NUMBERS.items() if "transformer" in each.get_params()])
@pytest.mark.parametrize("gaps", ["none", "views", "cells"])
def test_kernels_with_a_transformer(name, gaps):
    X = NUMBERS * [1.0, 10.0, 100.0, 0.1] + 5.0
    if gaps == "views":
        X[[3, 11]] = np.nan
    elif gaps == "cells":
        X[[3, 11], :2] = np.nan
    prepare = make_pipeline(SimpleImputer(), StandardScaler(), PCA(3))
    check_kernel(clone(OF_NUMBERS[name]).set_params(transformer=prepare), X)


def test_which_kernels_take_a_transformer():
    without = {name for name, kernel in OF_NUMBERS.items() if "transformer" not in kernel.get_params()}
    assert without == {"constant", "sum", "product", "pairwise", "rational quadratic", "exponential product"}
    assert "transformer" in ChiSquared().get_params() and "transformer" not in Spectrum().get_params()


@pytest.mark.parametrize(
    "kernel",
    [
        Linear([0, 1]),
        Polynomial([0, 1]),
        Gaussian([0, 1]),
        Laplacian([0, 1]),
        Distance("cosine", [0, 1]),
        Linear([0, 1]) + Gaussian([2, 3]),
        Linear([2, 3]) * Gaussian([0, 1]),
        Pairwise(Linear(), first=[0, 1], second=[2, 3]),
        RationalQuadratic([0, 1]),
    ],
)
def test_kernels_where_views_are_missing(kernel):
    check_kernel(kernel, MISSING)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3), Gaussian(), Laplacian(), Distance("cosine")])
def test_kernels_of_sparse_samples(kernel):
    check_kernel(kernel, sp.random(20, 6, 0.6, "csr", random_state=0))


OF_OTHERS = [
    (ChiSquared(), np.abs(NUMBERS)),
    (ChiSquared(transformer=MinMaxScaler()), NUMBERS),
    (Linear(transformer=CountVectorizer(analyzer="char", ngram_range=(2, 2))), TEXT),
    (Gaussian(transformer=TfidfVectorizer(analyzer="char")) + Linear(transformer=OneHotEncoder()), TEXT),
    (Pairwise(Gaussian(transformer=StandardScaler()), first=[0, 1], second=[2, 3]), MISSING),
    (Precomputed(SIMILARITY), IDS),
    (Distance(DISTANCES), IDS),
    (Precomputed(pd.DataFrame(SIMILARITY, LABELS, LABELS), "id"), pd.DataFrame({"id": LABELS})),
    (Precomputed(pd.DataFrame(SIMILARITY, LABELS, LABELS), "id"), pd.DataFrame({"id": [None, *LABELS[1:]]})),
    (Distance(pd.DataFrame(DISTANCES, LABELS, LABELS)), LABELS[:, None]),
    (Clinical(nominal=["code"]), TABLE),
    (Clinical(["age", "code"]), TABLE),
    (Clinical("sex") + Linear("age"), TABLE.dropna(subset="age")),
    (Spectrum(k=2), TEXT),
    (Spectrum("text", k=2) + 1.0, TEXT),
    (Precomputed(SIMILARITY) * Precomputed(SIMILARITY), IDS),
    (SharedKernel(Gaussian(), [KernelSheet.compute(Gaussian(), NUMBERS, NUMBERS[:0])]), NUMBERS),
]


@pytest.mark.parametrize(("kernel", "X"), OF_OTHERS)
def test_kernels_of_other_samples(kernel, X):
    check_kernel(kernel, X)


def test_every_public_kernel_is_here():
    here = {type(kernel) for kernel in [*OF_NUMBERS.values(), *(kernel for kernel, _ in OF_OTHERS)]}
    public = {getattr(kernels, name) for name in kernels.__all__}
    assert {each for each in public if isinstance(each, type) and issubclass(each, Kernel)} - here == {
        Kernel,
        ViewKernel,
    }


class BrokenPullback(RationalQuadratic):
    def pullback(self, A, Z, weights):
        return 2.0 * super().pullback(A, Z, weights)


class NotStationary(ExponentialProduct):
    is_stationary = True


class NotLinear(Polynomial):
    is_linear = True


class NotSymmetric(ExponentialProduct):
    def cross_of(self, A, B):
        return super().cross_of(A, B) + A[:, :1]


class OtherDiagonal(Gaussian):
    def diagonal_of(self, A):
        return np.full(len(A), 2.0)


class NotDefinite(ExponentialProduct):
    def cross_of(self, A, B):
        return -super().cross_of(A, B)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (BrokenPullback(), "not the derivative"),
        (NotStationary(), "not invariant"),
        (NotLinear(), "no inner product"),
        (NotSymmetric(), "not symmetric"),
        (OtherDiagonal(), "diagonal"),
        (NotDefinite(), "negative"),
    ],
)
def test_the_list_finds_broken_promises(kernel, message):
    with pytest.raises(AssertionError, match=message):
        check_kernel(kernel, NUMBERS)


def test_which_kernels_declare_what():
    declared = {
        "is_linear": ["linear"],
        "is_stationary": ["gaussian", "laplacian", "rational quadratic"],
        "is_differentiable": ["linear", "polynomial", "gaussian", "rational quadratic", "exponential product"],
        "has_width": ["gaussian", "laplacian", "euclidean distance", "rational quadratic"],
    }
    for capability, names in declared.items():
        for name in names:
            assert getattr(OF_NUMBERS[name], capability), (name, capability)
    for capability in declared:
        assert not getattr(OF_NUMBERS["function"], capability)
    assert not Laplacian().is_differentiable and not Precomputed(SIMILARITY).is_stationary
    with pytest.raises(TypeError, match="Laplacian has no derivatives"):
        Laplacian().fit(NUMBERS).pullback(NUMBERS, NUMBERS, np.ones((20, 20)))
    with pytest.raises(TypeError, match="Pairwise is no function of the features of one view"):
        OF_NUMBERS["pairwise"].fit(NUMBERS).read(None)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3), Gaussian(scale=2.0)])
def test_derivatives_with_sparse_samples(kernel):
    A, Z, weights = NUMBERS[:6], NUMBERS[6:10], rng.normal(size=(6, 4))
    dense, thin = kernel.fit(A).pullback(A, Z, weights), kernel.fit(A).pullback(sp.csr_matrix(A), Z, weights)
    assert isinstance(thin, np.ndarray)
    np.testing.assert_allclose(thin, dense, atol=1e-12)


def test_the_view_comes_first():
    """Or second, after the matrix, metric or function that the kernel is made of."""
    made_of = {Precomputed: "K", Distance: "metric", Function: "function"}
    public = [getattr(kernels, name) for name in kernels.__all__]
    for kernel in public:
        if isinstance(kernel, type) and issubclass(kernel, ViewKernel) and kernel is not ViewKernel:
            expected = [made_of[kernel], "view"] if kernel in made_of else ["view"]
            assert list(signature(kernel).parameters)[: len(expected)] == expected, kernel

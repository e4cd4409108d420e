"""Fourier features, exact features, and transformers of the user's."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import StandardScaler

from cases import each
from feature_properties import features_of, fitted_stack
from kernelweave.features import ExactFeatures, FourierFeatures, TransformerFeatures
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from kernelweave.kernels.normalization import NORMALIZATIONS

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
MISSING = X.copy()
MISSING[[3, 11], :2] = np.nan
WEIGHT = np.linspace(0.5, 2.0, 30)
FLOAT64 = np.dtype("float64")


def fit(approximation, stack, seed=0):
    return approximation.fit_map(stack, 0, np.random.RandomState(seed), dtype=FLOAT64)


@pytest.mark.parametrize("kernel", [Gaussian(scale=2.0), Laplacian(scale=4.0)])
def test_fourier_features_converge_to_the_kernel(kernel):
    stack = KernelStack([kernel]).fit(X)
    K, errors = stack.gram(0), []
    for count in (50, 5000):
        maps = [fit(FourierFeatures(count), stack, seed) for seed in range(5)]
        products = [features_of(each, stack) @ features_of(each, stack).T for each in maps]
        assert all(each.n_features == count and abs(each.trace_share - 1.0) < 1e-12 for each in maps)
        assert np.allclose([np.diagonal(product) for product in products], 1.0)
        errors.append(np.sqrt(np.mean([(product - K) ** 2 for product in products])))
    assert errors[1] < 0.2 * errors[0] and errors[1] < 0.02


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_fourier_features_are_normalised_as_the_kernel(normalize):
    stack = fitted_stack(Gaussian([0, 1]), MISSING, normalize, WEIGHT)
    found = fit(FourierFeatures(20_000), stack)
    phi = features_of(found, stack)
    exact = fitted_stack(Gaussian([0, 1]), MISSING, normalize, WEIGHT).gram(0)
    assert np.abs(phi @ phi.T - exact).max() < 0.05 and not phi[[3, 11]].any()


def test_an_odd_number_of_fourier_features_is_rounded_up():
    assert fit(FourierFeatures(7), KernelStack([Gaussian()]).fit(X)).n_features == 8


def test_fourier_features_of_a_sparse_view_and_of_a_prepared_one():
    dense = sp.random(30, 8, 0.5, "csr", random_state=0)
    maps = [fit(FourierFeatures(40), KernelStack([Gaussian(scale=1.0)]).fit(each)) for each in (dense, dense.toarray())]
    stack = KernelStack([Gaussian(scale=1.0)]).fit(dense)
    np.testing.assert_allclose(features_of(maps[0], stack), features_of(maps[1], stack), atol=1e-12)
    prepared = KernelStack([Gaussian(transformer=PCA(2))]).fit(X)
    assert fit(FourierFeatures(40), prepared).frequencies.shape == (2, 20)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian() + Gaussian([0]), Polynomial()])
def test_fourier_features_of_other_kernels(kernel):
    stack = KernelStack([("mine", kernel)]).fit(X)
    with pytest.raises(ValueError, match=r"FourierFeatures are for Gaussian and Laplacian.*'mine'.*NystroemFeatures"):
        fit(FourierFeatures(10), stack)


EXACT = {
    "linear": Linear([0, 1]),
    "square": Polynomial([0, 1]),
    "cube": Polynomial([0, 1], degree=3, coef0=0.5),
    "homogeneous": Polynomial([0, 1], degree=4, coef0=0.0),
    "first degree": Polynomial([0, 1], degree=1),
    "sum": Linear([0, 1]) + 2.0,
    "scaled sum": 0.5 * Polynomial([0]) + Linear([2, 3]),
    "product": Linear([0, 1]) * Polynomial([2, 3]),
    "prepared": Polynomial(transformer=PCA(2)),
}


@each("normalize", NORMALIZATIONS)
@each("name", EXACT)
def test_exact_features_have_the_values_of_the_kernel(name, normalize):
    for data in (X, MISSING) if name != "prepared" else (X,):
        exact = fitted_stack(EXACT[name], data, normalize, WEIGHT).gram(0)
        stack = fitted_stack(EXACT[name], data, normalize, WEIGHT)
        found = fit(ExactFeatures(), stack)
        phi = features_of(found, stack)
        assert phi.shape[1] == found.n_features and abs(found.trace_share - 1.0) < 1e-12
        np.testing.assert_allclose(phi @ phi.T, exact, atol=1e-12 * np.abs(exact).max())
        part = stack.support.rows(np.array([4, 11, 2]))
        np.testing.assert_allclose(features_of(found, stack, part), phi[[4, 11, 2]], atol=1e-14 * np.abs(phi).max())


def test_exact_features_of_sparse_views():
    data = sp.random(30, 6, 0.5, "csr", random_state=0)
    stack = KernelStack([Polynomial()], None).fit(data)
    phi = features_of(fit(ExactFeatures(), stack), stack)
    np.testing.assert_allclose(phi @ phi.T, stack.gram(0), atol=1e-12)


def test_rows_that_are_zero_stay_zero():
    data = X * (np.arange(30) % 3 > 0)[:, None]
    stack = KernelStack([Linear()]).fit(data)
    phi = features_of(fit(ExactFeatures(), stack), stack)
    assert not phi[::3].any() and np.allclose((phi[1::3] ** 2).sum(axis=1), 1.0)


def test_views_that_are_too_wide_for_exact_features():
    wide = rng.normal(size=(10, 200))
    with pytest.raises(ValueError, match=r"'many' \(Polynomial\) has 20301 exact features, more than 10000"):
        fit(ExactFeatures(), KernelStack([("many", Polynomial())]).fit(wide))
    sparse = sp.random(10, 20_000, 0.01, "csr", random_state=0)
    with pytest.raises(ValueError, match=r"'words' \(Linear\) has 20000 exact features.*NystroemFeatures"):
        fit(ExactFeatures(), KernelStack([("words", Linear())]).fit(sparse))
    assert fit(ExactFeatures(), KernelStack([Linear()]).fit(sparse.toarray())).n_features == 20_000


def test_exact_features_of_other_kernels():
    with pytest.raises(ValueError, match=r"ExactFeatures are for linear.*'mine' is or contains Gaussian"):
        fit(ExactFeatures(), KernelStack([("mine", Linear() + Gaussian())]).fit(X))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_a_transformer_makes_features_of_what_the_kernel_compares(normalize):
    kernel = Gaussian([0, 1], transformer=StandardScaler())
    stack = fitted_stack(kernel, MISSING, normalize)
    approximation = TransformerFeatures(RBFSampler(n_components=20, random_state=0))
    found = fit(approximation, stack)
    phi = features_of(found, stack)
    values, present = stack.kernels[0].read(stack.support)
    own = RBFSampler(n_components=20, random_state=0).fit(values[present]).transform(values[present])
    if normalize == "center":
        own = own - own.mean(axis=0)
    if normalize == "unit-diagonal":
        own = own / np.linalg.norm(own, axis=1, keepdims=True)
    np.testing.assert_allclose(phi[present] / np.linalg.norm(phi), own / np.linalg.norm(own), atol=1e-12)
    assert not phi[~present].any() and not hasattr(approximation.transformer, "random_weights_")
    if normalize != "center":
        assert abs((phi[present] ** 2).sum(axis=1).mean() - 1.0) < 1e-12


def test_a_transformer_gets_the_targets():
    class Means:
        def fit(self, X, y):
            self.means_ = np.stack([X[y == label].mean(axis=0) for label in (0, 1)])
            return self

        def transform(self, X):
            return X @ self.means_.T

        def get_params(self, deep=True):
            return {}

    stack = KernelStack([Linear()]).fit(X, None, (X[:, 0] > 0).astype(int))
    assert fit(TransformerFeatures(Means()), stack).n_features == 2


@pytest.mark.parametrize(
    ("kernel", "data"),
    [
        (Precomputed(np.eye(30)), np.arange(30.0)[:, None]),
        (Linear([0]) + Linear([1]), X),
    ],
)
def test_kernels_without_features_for_a_transformer(kernel, data):
    with pytest.raises(ValueError, match=r"a transformer as approximation takes the features.*'mine'.*Nystroem"):
        fit(TransformerFeatures(PCA(1)), KernelStack([("mine", kernel)]).fit(data))


def test_a_transformer_that_fails_names_the_kernel():
    text = pd.DataFrame({"text": ["abc", "bcd", "cde"]})
    with pytest.raises(ValueError, match="of the approximation of the kernel 'words'"):
        fit(TransformerFeatures(PCA(1)), KernelStack([("words", Spectrum(k=2))]).fit(text))
    found = fit(TransformerFeatures(TfidfVectorizer(analyzer="char")), KernelStack([Spectrum(k=2)]).fit(text))
    assert found.n_features == 5
    with pytest.raises(ValueError, match=r"of the approximation of the kernel 'x' fails: .*n_components"):
        fit(TransformerFeatures(PCA(9)), KernelStack([("x", Linear())]).fit(X))

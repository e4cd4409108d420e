"""SparseLargeMarginClassifier: a plain machine on kernel (16), whose expansion vectors move downhill."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from conventions import checks
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.estimators.ensembles import _Optimum
from kernelweave.kernels import Gaussian, Laplacian, Linear, Polynomial
from kernelweave.kernels.points import LandmarkKernel
from kernelweave.machines import BinaryMachine
from own_kernels import RationalQuadratic

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:160]
y = y[:160]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@checks(
    [SparseLargeMarginClassifier(4, max_iter=5)],
    [SparseLargeMarginClassifier(3, Linear(), C=0.1, init="samples", ridge=1e-3, max_iter=5)],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def test_it_is_a_machine_on_the_kernel_of_its_expansion_vectors():
    model = SparseLargeMarginClassifier(4, Gaussian(scale=6.0), C=2.0, random_state=0).fit(X, y)
    Z = model.expansion_vectors_
    psi, products = rbf_kernel(X, Z, gamma=1 / 36), rbf_kernel(Z, gamma=1 / 36)
    K = psi @ np.linalg.solve(products, psi.T)
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(K), atol=2e-3)
    dual = (
        np.abs(svc.dual_coef_).sum() - 0.5 * svc.dual_coef_ @ K[np.ix_(svc.support_, svc.support_)] @ svc.dual_coef_.T
    )
    assert model.objective_ == pytest.approx(dual.item(), rel=1e-4) and model.duality_gap_ < 1e-4 * model.objective_


def test_gradient_through_the_machine():
    """Danskin: differences of the machine, solved anew at every point."""
    rows = np.concatenate([np.flatnonzero(y == label)[:30] for label in (0, 1)])
    data, signs = X[rows, :6], 2.0 * y[rows] - 1.0
    Z = data[[0, 1, 31]] + 0.1
    for kernel in (Gaussian(scale=5.0), Linear(), Polynomial(degree=2), RationalQuadratic(scale=5.0)):
        spanned = LandmarkKernel(kernel.fit(data), data, ridge=1e-3)

        def value(z, spanned=spanned):
            return spanned.judged_by(_Optimum(BinaryMachine(signs, 1.0)))(z.reshape(Z.shape))[0]

        gradient = spanned.judged_by(_Optimum(BinaryMachine(signs, 1.0)))(Z)[1]
        expected = approx_fprime(Z.ravel(), value, 1e-5).reshape(Z.shape)
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(gradient, expected, atol=0.02 * np.abs(expected).max())


def test_a_kernel_of_the_user():
    own = SparseLargeMarginClassifier(5, RationalQuadratic(), random_state=0).fit(X, y)
    objective = own.history_["objective"].to_numpy()
    assert objective[-1] < 0.9 * objective[0] and own.score(X, y) > 0.9


@pytest.mark.parametrize("init", ["centroids", "samples", X[:5]])
def test_the_objective_falls(init):
    model = SparseLargeMarginClassifier(5, init=init, random_state=0).fit(X, y)
    objective = model.history_["objective"].to_numpy()
    assert (np.diff(objective) <= 0).all() and objective[-1] < objective[0]
    assert model.objective_ == pytest.approx(objective[-1], rel=1e-5) and model.n_iter_ == len(objective) - 1


def test_few_vectors_do_what_many_support_vectors_do():
    model = SparseLargeMarginClassifier(5, Gaussian(scale=8.0), C=10.0, random_state=0).fit(X[:110], y[:110])
    full = SVC(C=10.0, gamma=1 / 64).fit(X[:110], y[:110])
    assert model.dual_coef_.shape == (1, 5) and len(full.support_) > 4 * 5
    assert model.score(X[110:], y[110:]) >= full.score(X[110:], y[110:]) - 0.05


def test_several_classes_share_the_vectors():
    data, labels = load_wine(return_X_y=True)
    data = StandardScaler().fit_transform(data)
    names = np.array(["x", "y", "z"])[labels]
    model = SparseLargeMarginClassifier(3, random_state=0).fit(sp.csr_matrix(data), names)
    assert model.decision_function(data).shape == (178, 3) and model.score(data, names) > 0.95
    assert model.expansion_vectors_.shape == (3, 13) and model.dual_coef_.shape == (3, 3)


def test_bad_input():
    with pytest.raises(
        ValueError, match="n_expansion of SparseLargeMarginClassifier must be a positive whole number, not 0"
    ):
        SparseLargeMarginClassifier(0).fit(X, y)
    with pytest.raises(ValueError, match="landmarks can be moved under kernels that are differentiable"):
        SparseLargeMarginClassifier(2, Laplacian()).fit(X, y)
    with pytest.raises(ValueError, match="C of SparseLargeMarginClassifier must be a positive finite number"):
        SparseLargeMarginClassifier(2, C=0.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 moves"):
        SparseLargeMarginClassifier(4, max_iter=2, tol=0.0, random_state=0).fit(X, y)

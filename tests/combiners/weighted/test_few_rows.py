"""One solve on rows that are computed when needed, where few samples have coefficients; else on the whole matrix."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import Mean
from kernelweave.kernels import Gaussian, Laplacian, Linear
from kernelweave.kernels.tiles.sums import TiledSum
from kernelweave.stacks import dense
from kernelweave.stacks.dense import Matrices

KERNELS = [Gaussian([0, 1, 2], scale=2.0), Laplacian([3, 4, 5], scale=4.0)]


@pytest.fixture(autouse=True)
def least(monkeypatch):
    monkeypatch.setattr(dense, "LEAST_SAMPLES", 300)


@pytest.fixture
def made(monkeypatch):
    """How often a whole matrix is made, and a kernel in parts."""
    found = {"whole": 0, "parts": 0}
    whole, parts = Matrices.sum, Matrices.sum_in_few_rows

    def sum_of(self, *given, **options):
        found["whole"] += 1
        return whole(self, *given, **options)

    def few(self, eta):
        K = parts(self, eta)
        found["parts"] += isinstance(K, TiledSum)
        return K

    monkeypatch.setattr(Matrices, "sum", sum_of)
    monkeypatch.setattr(Matrices, "sum_in_few_rows", few)
    return found


def clouds(distance, n=900, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 6)) + distance * np.where(y, 1.0, -1.0)[:, None], y


def svc(X, y, kernels=KERNELS, C=1.0, tol=1e-3):
    K = np.mean([kernel.fit(X).gram(X) for kernel in kernels], axis=0)
    return SVC(kernel="precomputed", C=C, tol=tol).fit(K, y), K


@pytest.mark.parametrize("kernels", [KERNELS[:1], KERNELS])
@pytest.mark.parametrize(("distance", "whole"), [(1.2, 0), (0.15, 1)])
def test_the_model_is_the_same_and_few_support_vectors_need_no_matrix(made, distance, whole, kernels):
    X, y = clouds(distance)
    model = MKLClassifier(kernels, Mean(), tol=1e-5).fit(X, y)
    expected, K = svc(X, y, kernels, tol=1e-5)
    assert made == {"whole": whole, "parts": 1}
    assert (len(expected.support_) > 0.3 * len(y)) == bool(whole)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(K), atol=2e-4)
    assert model.duality_gap_ <= 1e-4 * max(1.0, model.objective_)
    primal = 0.5 * expected.dual_coef_[0] @ K[np.ix_(expected.support_, expected.support_)] @ expected.dual_coef_[0]
    assert model.objective_ == pytest.approx(np.abs(expected.dual_coef_).sum() - primal, rel=1e-5)


def test_a_regression_with_a_wide_tube_needs_no_matrix(made):
    X = clouds(1.0)[0]
    target = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=len(X))
    few = MKLRegressor(KERNELS, Mean(), epsilon=0.8, tol=1e-6).fit(X, target)
    assert made == {"whole": 0, "parts": 1}
    many = MKLRegressor(KERNELS, Mean(), epsilon=0.8, tol=1e-6, max_iter=10**7).fit(X, target)
    assert made["whole"] == 1
    np.testing.assert_allclose(few.predict(X), many.predict(X), atol=1e-4)


def test_a_solve_that_is_given_up_goes_on_with_the_matrix(made):
    X, y = clouds(0.15)
    given_up = MKLClassifier(KERNELS, Mean(), tol=1e-6).fit(X, y)
    alone = MKLClassifier(KERNELS, Mean(), tol=1e-6, max_iter=10**7).fit(X, y)
    assert made == {"whole": 2, "parts": 1}
    np.testing.assert_allclose(given_up.decision_function(X), alone.decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 10**6},  # counts steps of one solve
        {"machine": "squared-hinge"},
        {"machine": "least-squares"},
        {"normalize": "center"},
        {"kernels": [Linear([0, 1, 2]), KERNELS[1]]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_models_that_gain_nothing_are_solved_on_the_matrix(made, options):
    X, y = clouds(1.2)
    MKLClassifier(**{"kernels": KERNELS, **options}).fit(X, y)
    assert made == {"whole": 1, "parts": 0}


def test_samples_that_lack_a_view_and_few_samples_are_solved_on_the_matrix(made):
    X, y = clouds(1.2)
    X[::7, 3:] = np.nan
    MKLClassifier(KERNELS).fit(X, y)
    MKLClassifier(KERNELS).fit(X[:299, :], y[:299])
    assert made == {"whole": 2, "parts": 0}


def test_values_that_are_not_finite_are_told_as_of_the_matrix(made):
    X, y = clouds(1.2)
    X[:, 0] *= 1e200
    with pytest.raises(ValueError, match="gives NaN, infinite or overflowing values"):
        MKLClassifier([Gaussian([0], scale=1e-200)]).fit(X, y)

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import EasyMKL
from kernelweave.combiners.programs import Margin
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from kernelweave.machines import SquaredHinge

rng = np.random.default_rng(0)
N = 40
X = rng.normal(size=(N, 4))
Y = X[:, 0] + 0.5 * rng.normal(size=N) > 0
KERNELS = [Linear([0, 1]), Gaussian(scale=2.0), Polynomial([2, 3])]
MATRICES = KernelStack(KERNELS).fit(X).matrices()


def distribution(K, y, lam):
    """gamma by a quadratic program over distributions on each class."""
    n = len(y)
    Q = 2.0 * ((1.0 - lam) * K * np.outer(y, y) + lam * np.eye(n))
    A = np.vstack([y > 0, y < 0, -np.eye(n)]).astype(float)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-12
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(n)]
    b = np.concatenate([[1.0, 1.0], np.zeros(n)])
    problem = sp.csc_matrix(np.triu(Q)), np.zeros(n), sp.csc_matrix(A), b, cones, settings
    return np.array(clarabel.DefaultSolver(*problem).solve().x)


@pytest.mark.parametrize("lam", [0.02, 0.1, 0.7, 1.0])
def test_weights_come_from_the_margin_distribution(lam):
    y = np.where(Y, 1.0, -1.0)
    gamma = distribution(MATRICES.mean(axis=0), y, lam)
    forms = np.array([gamma * y @ K @ (gamma * y) for K in MATRICES])
    model = MKLClassifier(KERNELS, EasyMKL(lam), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.kernel_weights_, forms / forms.sum(), atol=1e-5)


def test_all_samples_count_alike_at_one():
    signed = np.where(Y, 1.0 / Y.sum(), -1.0 / (~Y).sum())
    forms = np.array([signed @ K @ signed for K in MATRICES])
    model = MKLClassifier(KERNELS, EasyMKL(1.0), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.kernel_weights_, forms / forms.sum(), atol=1e-6)


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-all", "joint"])
def test_several_classes(multiclass):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MKLClassifier(KERNELS, EasyMKL(), multiclass=multiclass, C=10.0).fit(X, labels)
    assert model.kernel_weights_.sum() == pytest.approx(1.0)
    assert model.score(X, labels) > 0.85


def test_the_signal_gets_most_of_the_weight():
    model = MKLClassifier([Linear([0]), Linear([1]), Linear([2])], EasyMKL(), normalize="unit-trace").fit(
        X, X[:, 0] > 0
    )
    assert model.kernel_weights_.iloc[0] > 0.9


def test_clear_errors():
    with pytest.raises(ValueError, match="lam of EasyMKL"):
        MKLClassifier(KERNELS, EasyMKL(0.0)).fit(X, Y)
    with pytest.raises(ValueError, match="needs a classifier"):
        MKLRegressor(KERNELS, EasyMKL()).fit(X, X[:, 0])


@pytest.mark.parametrize("lam", [0.02, 0.3, 0.9])
def test_lam_of_the_paper_is_one_of_ours(lam):
    y = np.where(Y, 1.0, -1.0)
    gamma = y * distribution(MATRICES.sum(axis=0), y, lam)  # the sum, as the paper has it
    theirs = np.einsum("i,mij,j->m", gamma, MATRICES, gamma)
    own = lam / ((1 - lam) * 3 + lam)
    ours = MKLClassifier(KERNELS, EasyMKL(own), tol=1e-8).fit(X, Y).kernel_weights_
    np.testing.assert_allclose(ours, theirs / theirs.sum(), atol=1e-4)
    assert own * 3 / (1 - own + own * 3) == pytest.approx(lam)


def test_the_margin_problem_is_solved_on_the_matrix_itself_which_is_the_same_afterwards():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 3))
    K, y = np.exp(-((A[:, None] - A) ** 2).sum(axis=2)), np.where(A[:, 0] > 0, 1.0, -1.0)
    kept = K.copy()
    found = Margin(0.1, 40).for_targets(y, 1.0).solve(K, gap_tol=1e-9)
    np.testing.assert_array_equal(K, kept)
    expected = SquaredHinge().for_targets(y, 9.0).solve(K, gap_tol=1e-9)  # C = (1 - lam) / lam, without bounds
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-4)

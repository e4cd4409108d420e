import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL, EigenvalueCosts
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed

X = np.random.default_rng(0).normal(size=(40, 3))


def counted(K):
    """Eigenvalues above half of their mean, whose sum is the trace."""
    eigenvalues = np.linalg.eigvalsh(K)
    return int((eigenvalues > 0.5 * eigenvalues.mean()).sum())


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_counts_agree_with_numpy(normalize):
    stack = KernelStack([Linear(), Gaussian(scale=0.3), Gaussian(scale=5.0)], normalize).fit(X)
    expected = [counted(stack.gram(m)) for m in range(3)]
    assert len(set(expected)) == 3
    np.testing.assert_allclose(EigenvalueCosts(1.0).costs(stack), expected)
    np.testing.assert_allclose(EigenvalueCosts(0.5).costs(stack), np.sqrt(expected))


def test_a_case_by_hand():
    # Eigenvalues 6, 3, 2 and 1 have mean 3; three of them exceed 1.5.
    stack = KernelStack([Precomputed(np.diag([1.0, 6.0, 3.0, 2.0]))], normalize=None).fit(np.arange(4)[:, None])
    np.testing.assert_array_equal(EigenvalueCosts(2.0).costs(stack), [9.0])


def test_scale_does_not_matter():
    K = X @ X.T
    stack = KernelStack([Precomputed(K), Precomputed(1e-3 * K), Precomputed(1e3 * K)], normalize=None)
    costs = EigenvalueCosts(1.0).costs(stack.fit(np.arange(40)[:, None]))
    np.testing.assert_array_equal(costs, np.full(3, counted(K)))


def test_a_kernel_of_zeros_costs_one():
    stack = KernelStack([Linear()], normalize=None).fit(np.zeros((5, 2)))
    np.testing.assert_array_equal(EigenvalueCosts(1.0).costs(stack), [1.0])


def test_samples_without_the_view_do_not_count():
    gaps = np.column_stack([X, X])
    gaps[::2, :3] = np.nan
    stack = KernelStack([Gaussian([0, 1, 2], scale=1.0), Linear([3, 4, 5])], normalize=None).fit(gaps)
    present = Gaussian(scale=1.0).fit(X[1::2]).gram(X[1::2])
    whole = np.zeros((40, 40))
    whole[1::2, 1::2] = present
    assert counted(present) != counted(whole)
    assert EigenvalueCosts(1.0).costs(stack)[0] == counted(present)


def test_gamma_zero_gives_plain_costs_without_any_kernel(monkeypatch):
    stack = KernelStack([Linear(), Gaussian()]).fit(X)
    monkeypatch.setattr(KernelStack, "gram", None)
    np.testing.assert_array_equal(EigenvalueCosts(0.0).costs(stack), [1.0, 1.0])


@pytest.mark.parametrize("gamma", [-0.1, np.nan, np.inf, "a", None, True])
def test_bad_gamma_is_named(gamma):
    with pytest.raises(ValueError, match="gamma of EigenvalueCosts"):
        EigenvalueCosts(gamma).costs(KernelStack([Linear()]).fit(X))


def test_gamma_is_a_parameter_of_a_model():
    model = MKLClassifier([Linear(), Gaussian(scale=0.3)], ConvexMKL(EigenvalueCosts(0.5)))
    model = clone(model).set_params(combiner__costs__gamma=0.9)
    assert model.get_params()["combiner__costs__gamma"] == 0.9
    model.fit(X, X[:, 0] > 0)
    counts = [counted(KernelStack(model.kernels).fit(X).gram(m)) for m in range(2)]
    np.testing.assert_allclose(model.combiner_.costs_, np.array(counts) ** 0.9)
    np.testing.assert_allclose((model.combiner_.costs_**2 * model.kernel_weights_).sum(), 1.0)

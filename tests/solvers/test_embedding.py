"""Graph embedding under one kernel, against dense eigenproblems and a root search for the trace ratio."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA

from kernelweave.solvers.embedding import GraphLaplacian, class_laplacians, principal, ratio_trace, signed, trace_ratio


def problem(n, n_classes=4, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, 6 if rank is None else rank))
    X[:, 0] += labels
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return (np.exp(-squared / 12.0) if rank is None else X @ X.T), labels


def dense(K, labels, ridge):
    n = len(K)
    same = labels[:, None] == labels[None, :]
    W = same / np.bincount(labels)[labels]
    H = np.eye(n) - 1.0 / n
    return K @ (np.diag(W.sum(axis=1)) - W) @ K + ridge * np.eye(n), K @ H @ K


def angle(first, second):
    """Largest angle between two column spaces."""
    return scipy.linalg.subspace_angles(first, second).max()


@pytest.mark.parametrize(("n", "rank"), [(60, None), (60, 3), (300, None)])
def test_trace_ratio_is_the_root_of_the_sum_of_smallest_eigenvalues(n, rank):
    K, labels = problem(n, rank=rank)
    S, S_prime = dense(K, labels, 0.01)
    root = scipy.optimize.brentq(
        lambda t: scipy.linalg.eigvalsh(S - t * S_prime, subset_by_index=[0, 2]).sum(), 1e-9, 10.0, xtol=1e-13
    )
    found = trace_ratio(K, *class_laplacians(labels), 0.01, 3, np.random.RandomState(0), tol=1e-10)
    assert found.converged and found.objective == pytest.approx(root, rel=1e-7)
    A = found.solution
    np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-10)
    assert np.trace(A.T @ S @ A) / np.trace(A.T @ S_prime @ A) == pytest.approx(root, rel=1e-7)


def test_trace_ratio_never_rises_from_a_start_and_forgets_it():
    K, labels = problem(80)
    best = trace_ratio(K, *class_laplacians(labels), 0.01, 2, np.random.RandomState(0), tol=1e-10)
    for seed in range(3):
        start = np.linalg.qr(np.random.default_rng(seed).normal(size=(80, 2)))[0]
        found = trace_ratio(K, *class_laplacians(labels), 0.01, 2, np.random.RandomState(0), start, tol=1e-10)
        assert found.objective == pytest.approx(best.objective, rel=1e-8)


def test_trace_ratio_from_a_start_without_spread():
    K, labels = problem(30, rank=2)
    nothing = scipy.linalg.null_space(K)[:, :2]
    found = trace_ratio(K, *class_laplacians(labels), 0.01, 2, np.random.RandomState(0), nothing)
    assert np.isfinite(found.objective) and found.objective < 10


@pytest.mark.parametrize("n", [60, 300])
def test_ratio_trace_spans_the_generalised_eigenvectors(n):
    """60 samples are solved densely, 300 by Lanczos' method."""
    K, labels = problem(n)
    S, S_prime = dense(K, labels, 0.01)
    values, vectors = scipy.linalg.eigh(S_prime, S)
    found = ratio_trace(K, *class_laplacians(labels), 0.01, 3, np.random.RandomState(0))
    assert angle(found.solution, vectors[:, -3:]) < 1e-5
    np.testing.assert_allclose(found.solution.T @ S @ found.solution, np.eye(3), atol=1e-7)
    assert found.objective == pytest.approx((1.0 / (1.0 + values[-3:])).mean(), rel=1e-7)
    A = found.solution
    by_definition = np.trace(np.linalg.solve(A.T @ (S + S_prime) @ A, A.T @ S @ A)) / 3
    assert found.objective == pytest.approx(by_definition, rel=1e-7)


def test_lanczos_that_does_not_converge_leaves_the_work_to_a_dense_solve(monkeypatch):
    K, labels = problem(300)
    expected = ratio_trace(K, *class_laplacians(labels), 0.01, 3, np.random.RandomState(0)).solution
    monkeypatch.setattr("kernelweave.solvers.embedding._LANCZOS_RESTARTS", 1)
    monkeypatch.setattr("kernelweave.solvers.embedding._LANCZOS_TOL", 1e-300)
    found = ratio_trace(K, *class_laplacians(labels), 0.01, 3, np.random.RandomState(0)).solution
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_principal_is_kernel_pca_up_to_a_shift():
    K, _ = problem(50)
    total = class_laplacians(np.zeros(50, dtype=int))[1]
    ours = K @ principal(K, total, 4).solution
    theirs = KernelPCA(4, kernel="precomputed").fit_transform(K)
    ours -= ours.mean(axis=0)
    np.testing.assert_allclose(np.abs((ours * theirs).sum(axis=0)), (theirs**2).sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose((ours**2).sum(axis=0), (theirs**2).sum(axis=0), rtol=1e-8)


def test_principal_beyond_the_rank_is_zero():
    K, _ = problem(30, rank=2)
    found = principal(K, class_laplacians(np.zeros(30, dtype=int))[1], 4)
    assert found.solution[:, :2].any() and not found.solution[:, 2:].any()
    with pytest.raises(ValueError, match="all samples are equal"):
        principal(np.ones((5, 5)), class_laplacians(np.zeros(5, dtype=int))[1], 1)


def test_nothing_to_keep_apart_is_told():
    within, total = class_laplacians(np.array([0, 0, 1, 1]))
    for solve in (trace_ratio, ratio_trace):
        with pytest.raises(ValueError, match="keep apart"):
            solve(np.zeros((4, 4)), within, total, 0.1, 1, np.random.RandomState(0))


def test_signs_do_not_depend_on_chance():
    A = np.array([[1.0, -3.0], [-2.0, 1.0]])
    np.testing.assert_array_equal(signed(A), signed(-A))
    np.testing.assert_array_equal(signed(A), [[-1.0, 3.0], [2.0, -1.0]])


def test_laplacians_multiply_like_dense_matrices():
    rng = np.random.default_rng(0)
    S = rng.uniform(size=(7, 7))
    S = S + S.T
    F, c = rng.normal(size=(7, 2)), np.array([0.5, -0.2])
    W = S + F @ np.diag(c) @ F.T
    L = np.diag(W.sum(axis=1)) - W
    B = rng.normal(size=(7, 3))
    for affinity in (S, sp.csr_array(S)):
        ours = GraphLaplacian.of_affinities(affinity, F, c)
        np.testing.assert_allclose(ours.dot(B), L @ B)
        np.testing.assert_allclose(ours.dot(B[:, 0]), L @ B[:, 0])
        other = GraphLaplacian.of_diagonal(np.arange(7.0))
        np.testing.assert_allclose((2.0 * ours + other).dot(B), 2 * L @ B + np.arange(7.0)[:, None] * B)
        np.testing.assert_allclose((other - ours).dot(B), np.arange(7.0)[:, None] * B - L @ B)


def test_class_laplacians_leave_out_samples_without_label():
    labels = np.array([0, -1, 1, 0, 1, -1])
    known = labels >= 0
    within, total = (laplacian.dot(np.eye(6)) for laplacian in class_laplacians(labels))
    part = [laplacian.dot(np.eye(4)) for laplacian in class_laplacians(labels[known])]
    for whole, small in zip((within, total), part, strict=True):
        np.testing.assert_allclose(whole[np.ix_(known, known)], small)
        assert not whole[~known].any() and not whole[:, ~known].any()

"""The kernel-weight step: against brute force, Clarabel on the program as printed, and its own bound."""

from itertools import combinations

import clarabel
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from cases import each
from kernelweave.solvers.weights.cone_ratio import exact, local, printed, relaxed


def forms(n_kernels, seed, rank=3):
    rng = np.random.default_rng(seed)
    above, below = rng.normal(size=(n_kernels, n_kernels + 2)), rng.normal(size=(n_kernels, rank))
    return above @ above.T + 0.1 * np.eye(n_kernels), below @ below.T


def brute_force(N, D):
    """The best non-negative eigenvector, any of them, of any block."""
    best = np.inf
    for size in range(1, len(N) + 1):
        for support in combinations(range(len(N)), size):
            block = np.ix_(support, support)
            values, vectors = scipy.linalg.eigh(D[block], N[block])
            for value, vector in zip(values, vectors.T, strict=True):
                if value > 1e-12 and ((vector >= -1e-9).all() or (vector <= 1e-9).all()):
                    best = min(best, 1.0 / value)
    return best


def ratio(N, D, b):
    return (b @ N @ b) / (b @ D @ b)


@each("n_kernels", [1, 2, 3, 4, 5, 6])
@each("seed", range(8))
def test_exact_is_the_global_minimum(n_kernels, seed):
    N, D = forms(n_kernels, seed)
    found = exact(N, D)
    assert found.objective == pytest.approx(brute_force(N, D), rel=1e-9)
    assert found.objective == pytest.approx(ratio(N, D, found.solution))
    assert (found.solution >= 0).all() and found.solution.sum() == pytest.approx(1.0)
    assert found.violation < 1e-6 * found.objective


def test_exact_does_not_depend_on_its_start():
    N, D = forms(6, 3)
    values = [exact(N, D, start).objective for start in (None, *np.eye(6), np.ones(6))]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_equal_kernels_share_alike(seed):
    """With N = D + ridge and equal kernels the ridge is least for equal weights."""
    v = np.random.default_rng(seed).uniform(0.5, 1.0)
    N, D = np.full((4, 4), v) + 0.1 * np.eye(4), np.ones((4, 4))
    np.testing.assert_allclose(exact(N, D).solution, 0.25, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_relaxed_reaches_its_bound_at_twenty_kernels(seed):
    N, D = forms(20, seed)
    found = relaxed(N, D)
    assert found.gap <= 1e-6 * found.objective  # the bound proves the minimum global
    assert found.objective == pytest.approx(ratio(N, D, found.solution))


@pytest.mark.parametrize("seed", range(8))
def test_bound_of_the_relaxation_is_below_the_minimum(seed):
    N, D = forms(6, seed)
    found = relaxed(N, D)
    assert found.objective - found.gap <= brute_force(N, D) * (1 + 1e-7)
    assert found.objective >= brute_force(N, D) * (1 - 1e-9)


def test_relaxed_is_not_worse_than_its_start():
    N, D = forms(8, 1)
    best = exact(N, D)
    assert relaxed(N, D, best.solution).objective <= best.objective * (1 + 1e-12)


def test_local_descends_to_a_stationary_point():
    N, D = forms(7, 2)
    found = local(N, D, np.ones(7))
    assert found.objective < ratio(N, D, np.ones(7)) and found.violation < 1e-6


def program_as_printed(N, D):
    """(25)-(28) by Clarabel: variables beta and B inside one semidefinite matrix of size M + 1."""
    size = len(N) + 1
    columns, rows = np.tril_indices(size)
    root = np.where(rows == columns, 1.0, np.sqrt(2.0))

    def entries(matrix):
        full = np.zeros((size, size))
        full[1:, 1:] = matrix
        return full[rows, columns] * np.where(rows == columns, 1.0, 2.0) / root

    corner = ((rows == 0) & (columns == 0)).astype(float)
    betas = np.flatnonzero((rows == 0) & (columns > 0))
    positive = sp.csc_matrix((-np.ones(len(betas)), (np.arange(len(betas)), betas)), shape=(len(betas), len(rows)))
    A = sp.vstack([entries(D)[None, :], corner[None, :], positive, -sp.identity(len(rows))], format="csc")
    b = np.concatenate([[1.0, 1.0], np.zeros(len(betas) + len(rows))])
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(len(betas)), clarabel.PSDTriangleConeT(size)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(sp.csc_matrix((len(rows),) * 2), entries(N), A, b, cones, settings).solve()
    return answer.obj_val, np.array(answer.x)[betas] / np.sqrt(2.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_program_as_printed_gives_the_unconstrained_minimum(seed):
    N, D = forms(5, seed)
    optimum, beta = program_as_printed(N, D)
    assert optimum == pytest.approx(1.0 / scipy.linalg.eigh(D, N, eigvals_only=True)[-1], rel=1e-5)
    found = printed(N, D)
    assert found.objective - found.gap == pytest.approx(optimum, rel=1e-5)
    vector = scipy.linalg.eigh(D, N)[1][:, -1]
    if (vector > 0).any() and (vector < 0).any():
        assert np.abs(beta).max() < 1e-2  # two signs leave beta = 0 only
        assert found.objective > optimum * (1 + 1e-6) and exact(N, D).objective > optimum * (1 + 1e-6)


def test_printed_is_exact_where_the_eigenvector_has_one_sign():
    N, D = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([[1.0, 0.5], [0.5, 0.8]])
    assert printed(N, D).objective == pytest.approx(exact(N, D).objective) and printed(N, D).gap < 1e-12

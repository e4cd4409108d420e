"""Partitions and their weights against every partition of a few samples, scikit-learn's k-means and cone programs."""

import itertools

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from kernelweave.solvers.base import solve_cone_program, triangle
from kernelweave.solvers.partitions import (
    alternate,
    best_weights,
    centre_products,
    centred,
    improve,
    indicators,
    inertia_of,
    leading,
    localize,
    min_max_weights,
    nearest,
    nearest_with_gates,
    seeds,
)


def gram(seed, n=8, columns=2):
    x = np.random.default_rng(seed).normal(size=(n, columns))
    return x @ x.T


def matrices_of(seed, n=40, n_kernels=4, centres=3):
    """Centred kernels of trace 1 over samples that are more or less in clusters."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % centres
    found = []
    for m in range(n_kernels):
        x = rng.normal(size=(centres, 3 + m))[y] * rng.uniform(0.3, 2.0) + rng.normal(size=(n, 3 + m))
        K = centred(x @ x.T)[0]
        found.append(K / np.trace(K))
    return np.array(found)


def partitions(n, k):
    """Every partition of n samples into k clusters, each once: clusters are numbered as they first occur."""
    grown = [[0]]
    for _ in range(n - 1):
        grown = [[*labels, c] for labels in grown for c in range(min(max(labels) + 2, k))]
    return [np.array(labels) for labels in grown if max(labels) == k - 1]


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 3), (2, 4), (3, 1), (4, 8)])
def test_the_best_of_several_starts_is_the_best_of_all_partitions(seed, k):
    K, rng = gram(seed), np.random.RandomState(seed)
    best = min(inertia_of(K, labels) for labels in partitions(8, k))
    found = min(improve(K, nearest(K, seeds(K, k, rng))).inertia for _ in range(20))
    assert_allclose(found, best, atol=1e-12 * np.trace(K))
    about_mean = centred(K.copy())[0]
    bound = np.trace(about_mean) - leading(about_mean, k - 1)[0].sum()
    looser = np.trace(K) - leading(K, k)[0].sum()
    rounding = 1e-12 * np.trace(K)
    assert looser - rounding <= bound <= best + rounding
    if k in (1, 8):  # one cluster, and one for each sample
        assert_allclose(bound, best, atol=1e-12 * np.trace(K))


def test_inertia_is_that_of_k_means():
    x = np.random.default_rng(0).normal(size=(60, 3))
    model = KMeans(4, n_init=1, random_state=0).fit(x)
    K = x @ x.T
    assert_allclose(inertia_of(K, model.labels_), model.inertia_, rtol=1e-10)
    better = improve(K, model.labels_)
    assert better.inertia <= model.inertia_ * (1.0 + 1e-10)


@pytest.mark.parametrize("order", [None, 5])
def test_no_single_move_lowers_the_inertia_at_the_end(order):
    K, rng = gram(3, n=40), np.random.RandomState(1)
    found = improve(K, rng.permutation(np.arange(40) % 5), rng=None if order is None else np.random.RandomState(order))
    assert found.converged and (np.diff(found.inertias) < 0.0).all()
    assert_allclose(found.inertia, inertia_of(K, found.labels), rtol=1e-12)
    sizes = np.bincount(found.labels)
    for i, c in itertools.product(range(40), range(5)):
        other = found.labels.copy()
        other[i] = c
        if sizes[found.labels[i]] > 1:
            assert inertia_of(K, other) >= found.inertia * (1.0 - 1e-9)


def test_sweeps_are_limited():
    K = gram(3, n=40)
    found = improve(K, np.arange(40) % 5, max_sweeps=1)
    assert not found.converged and len(found.inertias) == 2


def test_identical_samples_are_seeds_once():
    x = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 4, axis=0)
    chosen = seeds(x @ x.T, 5, np.random.RandomState(0))
    assert sorted(chosen // 4) == [0, 1, 2]
    found = improve(x @ x.T, nearest(x @ x.T, chosen))
    assert_allclose(found.inertia, 0.0, atol=1e-12)


def by_cone_program(matrices, rank):
    """min over g of the sum of the largest eigenvalues of sum_m g_m^2 K_m: variables x, g, t and S (a triangle).

    The sum of the r largest eigenvalues of K is the least r t + tr(S) with t I + S - K and S positive semidefinite.
    """
    P, n = matrices.shape[:2]
    eye, size = triangle(np.eye(n)), n * (n + 1) // 2
    linear = np.concatenate([np.zeros(2 * P), [float(rank)], eye])
    rows, right, cones = [np.zeros((1, 2 * P + 1 + size))], [[1.0]], [clarabel.ZeroConeT(1)]
    rows[0][0, P : 2 * P] = 1.0
    for m in range(P):
        block = np.zeros((3, 2 * P + 1 + size))
        block[0, m] = block[1, m] = -1.0
        block[2, P + m] = -2.0
        rows.append(block)
        right.append([1.0, -1.0, 0.0])
        cones.append(clarabel.SecondOrderConeT(3))
    K = np.array([triangle(each) for each in matrices]).T
    rows.append(np.hstack([K, np.zeros((size, P)), -eye[:, None], -np.eye(size)]))
    rows.append(np.hstack([np.zeros((size, 2 * P + 1)), -np.eye(size)]))
    right += [np.zeros(size), np.zeros(size)]
    cones += [clarabel.PSDTriangleConeT(n)] * 2
    found = solve_cone_program(None, linear, np.vstack(rows), np.concatenate(right), cones)
    return np.array(found.x)[P : 2 * P], float(found.obj_val)


@pytest.mark.parametrize(("seed", "rank"), [(0, 1), (1, 2), (2, 3)])
def test_min_max_weights_are_those_of_a_cone_program(seed, rank):
    matrices, watched = matrices_of(seed, n=10), []
    weights, bundle = min_max_weights(matrices, rank, 1e-8, 100, watched.append)
    expected, optimum = by_cone_program(matrices, rank)
    assert bundle.converged and bundle.gap <= 1e-8 * bundle.upper
    assert_allclose(bundle.upper, optimum, rtol=1e-6)
    assert_allclose(weights, expected, atol=1e-3)  # the objective is flat: 1e-6 of it is 1e-3 of a weight
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert (np.diff(watched) <= 0.0).all() and watched[0] > watched[-1]


def test_min_max_weights_where_eigenvalues_repeat():
    """The function has kinks there: many kernels of few directions, and identities."""
    rng = np.random.default_rng(0)
    blocks = np.array([np.diag(np.repeat(row, 2)) for row in rng.uniform(size=(5, 6))])
    for matrices in (blocks, np.array([np.eye(6), np.diag([3.0, 1, 1, 0.5, 0.5, 0])])):
        bundle = min_max_weights(matrices, 3, 1e-6, 200, lambda objective: None)[1]
        assert bundle.converged
        assert_allclose(bundle.upper, by_cone_program(matrices, 3)[1], rtol=1e-5)


def test_best_weights():
    q = np.array([0.3, 0.9, 0.5])
    weights = best_weights(q)
    others = np.random.default_rng(0).dirichlet(np.ones(3), 2000)
    assert (weights**2 @ q <= (others**2 @ q)).all()
    assert_allclose(weights**2 @ q, 1.0 / (1.0 / q).sum())
    assert_allclose(best_weights(np.zeros(2)), 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_turns_never_raise_the_objective(seed):
    matrices, rng = matrices_of(seed), np.random.RandomState(seed)
    weights, found = alternate(matrices, rng.permutation(np.arange(40) % 3), 300, rng)
    assert found.converged and (np.diff(found.inertias) <= 1e-13).all()
    inertias = np.array([inertia_of(K, found.labels) for K in matrices])
    assert_allclose(weights, best_weights(inertias), rtol=1e-9)
    K = np.tensordot(weights**2, matrices, axes=1)
    assert_allclose(found.inertia, inertia_of(K, found.labels), rtol=1e-9)
    assert len(improve(K, found.labels).inertias) == 1  # no move is left


def directions_of(seed, n=30):
    matrices = matrices_of(seed, n=n)
    roots = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    return matrices / (roots[:, :, None] * roots[:, None, :])


def test_gates_are_the_nearest_of_the_simplex():
    rng = np.random.default_rng(0)
    products, lengths = rng.normal(size=(5, 3, 2)), rng.uniform(size=2)
    present = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    labels, gates, costs = nearest_with_gates(products, lengths, present)
    others = rng.dirichlet(np.full(3, 0.5), 5000)
    for i in range(5):
        tried = others * present[i]
        tried = tried[tried.sum(axis=1) > 0.0]
        tried = tried / tried.sum(axis=1)[:, None] if len(tried) else np.zeros((1, 3))
        values = (tried**2).sum(axis=1)[:, None] - 2.0 * tried @ products[i] + lengths
        assert costs[i] <= values.min() + 1e-12 and values.min() <= costs[i] + 0.01
        assert labels[i] == values.min(axis=0).argmin()
        assert not gates[i, ~present[i]].any()
        assert_allclose(gates[i].sum(), float(present[i].any()))


def by_quadratic_program(matrices, present, labels):
    """The least inertia over weights of samples for a given partition."""
    P, n = matrices.shape[:2]
    members = indicators(labels)
    apart = np.eye(n) - members @ (members / members.sum(axis=0)).T
    Q = np.zeros((P * n, P * n))
    for m in range(P):
        Q[m * n : (m + 1) * n, m * n : (m + 1) * n] = 2.0 * apart * matrices[m]
    absent = np.flatnonzero(~present.T.ravel())
    A = np.vstack([np.tile(np.eye(n), P), np.eye(P * n)[absent], -np.eye(P * n)])
    cones = [clarabel.ZeroConeT(n + len(absent)), clarabel.NonnegativeConeT(P * n)]
    right = np.concatenate([np.ones(n), np.zeros(len(absent) + P * n)])
    return float(solve_cone_program(np.triu(Q), np.zeros(P * n), A, right, cones).obj_val)


@pytest.mark.parametrize("seed", range(3))
def test_localized_weights_are_those_of_a_quadratic_program(seed):
    matrices = directions_of(seed)
    present = np.ones((30, 4), dtype=bool)
    present[:5, seed] = False
    matrices[seed][:5] = matrices[seed][:, :5] = 0.0
    labels = improve(np.mean(matrices, axis=0), np.arange(30) % 3).labels
    local = localize(matrices, present, labels, 1e-10, 2000)
    found, gates = local.partition, local.gates
    assert found.converged and (np.diff(found.inertias) <= 1e-12).all()
    assert_allclose(gates.sum(axis=1), 1.0)
    assert not gates[~present].any() and (gates >= 0.0).all()
    K = np.einsum("im,mij,jm->ij", gates, matrices, gates)
    assert_allclose(found.inertia, inertia_of(K, found.labels), rtol=1e-9)
    assert_allclose(found.inertia, by_quadratic_program(matrices, present, found.labels), rtol=1e-5)
    products, lengths, _ = centre_products(matrices, gates, found.labels)
    assert (nearest_with_gates(products, lengths, present)[0] == found.labels).all()


def test_empty_clusters_get_the_farthest_samples():
    """Two clusters around the same centre: all samples are nearest to one of them."""
    x = np.concatenate([np.full(6, -1.0), np.full(6, 1.0)])
    K = np.outer(x, x)[None]
    local = localize(K, np.ones((12, 1), dtype=bool), np.arange(12) % 3, 1e-6, 50)
    assert len(np.unique(local.partition.labels)) == 3
    assert (np.diff(local.partition.inertias) <= 1e-12).all()


def test_steps_of_localized_weights_are_limited():
    found = localize(directions_of(0), np.ones((30, 4), dtype=bool), np.arange(30) % 3, 1e-10, 2).partition
    assert not found.converged and len(found.inertias) == 2

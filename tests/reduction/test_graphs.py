"""Every graph against its definition, written out pair by pair."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave.reduction import (
    LDAGraph,
    LDEGraph,
    LFDAGraph,
    LPPGraph,
    MFAGraph,
    PCAGraph,
    SemiSupervisedGraph,
    UserGraph,
)
from kernelweave.reduction.graphs import local_affinity

rng = np.random.default_rng(0)
N = 18
LABELS = rng.permutation(np.arange(N) % 3)
FEATURES = rng.normal(size=(2, N, 3))
FEATURES[:, :, 0] += LABELS
GRAMS = np.array([X @ X.T for X in FEATURES])
PRESENT = np.ones((N, 2), dtype=bool)


def squared(m, i, j):
    return ((FEATURES[m, i] - FEATURES[m, j]) ** 2).sum()


def nearest(m, i, k, candidates):
    return sorted((j for j in candidates if j != i), key=lambda j: squared(m, i, j))[:k]


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def averaged(rule):
    """Mean over kernels of a rule w(m, i, j)."""
    return np.mean([[[rule(m, i, j) for j in range(N)] for i in range(N)] for m in range(2)], axis=0)


def dense(graph, labels=LABELS, present=PRESENT):
    return [part.dot(np.eye(N)) for part in graph.laplacians(GRAMS, present, labels)]


def test_lda():
    same = LABELS[:, None] == LABELS[None, :]
    above, below = dense(LDAGraph("total"))
    np.testing.assert_allclose(above, laplacian(same / 6.0), atol=1e-12)
    np.testing.assert_allclose(below, laplacian(np.full((N, N), 1.0 / N)), atol=1e-12)
    np.testing.assert_allclose(dense(LDAGraph())[1], below - above, atol=1e-12)


@pytest.mark.parametrize("among", ["all", "class"])
def test_lde(among):
    def rule(k, wanted):
        def candidates(i):
            return [j for j in range(N) if among == "all" or wanted(i, j)]

        return averaged(
            lambda m, i, j: float(
                i != j
                and wanted(i, j)
                and (j in nearest(m, i, k, candidates(i)) or i in nearest(m, j, k, candidates(j)))
            )
        )

    above, below = dense(LDEGraph(3, 6, among=among))
    np.testing.assert_allclose(above, laplacian(rule(3, lambda i, j: LABELS[i] == LABELS[j])), atol=1e-12)
    np.testing.assert_allclose(below, laplacian(rule(6, lambda i, j: LABELS[i] != LABELS[j])), atol=1e-12)


def test_lpp_holds_the_weighted_variance():
    everybody = range(N)
    W = averaged(lambda m, i, j: float(j in nearest(m, i, 4, everybody) or i in nearest(m, j, 4, everybody)))
    above, below = dense(LPPGraph(4), None)
    np.testing.assert_allclose(above, laplacian(W), atol=1e-12)
    d = W.sum(axis=1)
    Z = rng.normal(size=N)
    np.testing.assert_allclose(Z @ below @ Z, d @ (Z - d @ Z / d.sum()) ** 2)
    np.testing.assert_allclose(below @ np.ones(N), 0.0, atol=1e-12)  # a constant has no spread


def test_mfa():
    def border(m):
        W = np.zeros((N, N))
        for label in range(3):
            pairs = [(i, j) for i in range(N) for j in range(N) if LABELS[i] == label != LABELS[j]]
            for i, j in sorted(pairs, key=lambda pair: squared(m, *pair))[:5]:
                W[i, j] = W[j, i] = 1.0
        return W

    def same(i):
        return [j for j in range(N) if LABELS[i] == LABELS[j]]

    above, below = dense(MFAGraph(2, 5))
    within = averaged(lambda m, i, j: float(j in nearest(m, i, 2, same(i)) or i in nearest(m, j, 2, same(j))))
    np.testing.assert_allclose(above, laplacian(within), atol=1e-12)
    np.testing.assert_allclose(below, laplacian((border(0) + border(1)) / 2), atol=1e-12)


def test_lfda():
    def scale(m, i):
        members = [j for j in range(N) if LABELS[i] == LABELS[j]]
        return np.sqrt(squared(m, i, nearest(m, i, 2, members)[1]))

    def affinity(m, i, j):
        return float(LABELS[i] == LABELS[j]) * np.exp(-squared(m, i, j) / (scale(m, i) * scale(m, j)))

    A = averaged(affinity)
    same = LABELS[:, None] == LABELS[None, :]
    above, below = dense(LFDAGraph(2))
    np.testing.assert_allclose(above, laplacian(A / 6.0), atol=1e-12)
    np.testing.assert_allclose(below, laplacian(np.where(same, A, 1.0) / N), atol=1e-12)


def test_semi_supervised():
    y = np.where(rng.uniform(size=N) < 0.5, -1, LABELS + 10)
    graph = SemiSupervisedGraph(3, alpha=0.7)
    labels = graph.encode(y)
    np.testing.assert_array_equal(labels == -1, y == -1)
    np.testing.assert_array_equal(labels[y != -1], LABELS[y != -1])
    above, below = dense(graph, labels)
    Z = rng.normal(size=N)
    known = labels >= 0
    mean = Z[known].mean()
    total = ((Z[known] - mean) ** 2).sum()
    between = sum((labels == c).sum() * (Z[labels == c].mean() - mean) ** 2 for c in range(3))
    everybody = range(N)
    W = averaged(lambda m, i, j: float(j in nearest(m, i, 3, everybody) or i in nearest(m, j, 3, everybody)))
    smooth = (W * (Z[:, None] - Z[None, :]) ** 2).sum() / 2
    np.testing.assert_allclose(Z @ above @ Z, total + 0.7 * smooth / 3)
    np.testing.assert_allclose(Z @ below @ Z, between)


def test_labels_of_the_semi_supervised_graph():
    graph = SemiSupervisedGraph()
    np.testing.assert_array_equal(graph.encode(np.array(["b", "a", "b"])), [1, 0, 1])
    for y in ([-1, -1, -1], [-1, 4, 4]):
        with pytest.raises(ValueError, match="at least two classes"):
            graph.encode(np.array(y))


def test_a_sample_without_a_view_has_no_neighbours_there():
    present = PRESENT.copy()
    present[[0, 5], 0] = False
    alone = [LPPGraph(3), LDEGraph(3, 3), MFAGraph(2, 4), LFDAGraph(2)]
    for graph in alone:
        with_both = dense(graph, present=present)
        only_second = [part.dot(np.eye(N)) for part in graph.laplacians(GRAMS[1:], present[:, 1:], LABELS)]
        for i, j in [(0, 5), (0, 7), (5, 9)]:  # half of the second kernel's affinity, for the first has none
            if not isinstance(graph, LFDAGraph):
                assert with_both[0][i, j] == pytest.approx(only_second[0][i, j] / 2)


def test_pca_centres():
    above, below = PCAGraph().laplacians(GRAMS, PRESENT, None)
    assert above is None
    np.testing.assert_allclose(below.dot(np.eye(N)), np.eye(N) - 1.0 / N, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_user_graph(container):
    W = rng.uniform(size=(N, N))
    W = W + W.T
    above, below = dense(UserGraph(container(W), container(W**2)))
    np.testing.assert_allclose(above, laplacian(W))
    np.testing.assert_allclose(below, laplacian(W**2))
    np.testing.assert_allclose(dense(UserGraph(container(W), D=np.arange(N)))[1], np.diag(np.arange(N)))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (UserGraph(np.eye(N)), "exactly one of W_prime and D"),
        (UserGraph(np.eye(N), np.eye(N), D=np.ones(N)), "exactly one of W_prime and D"),
        (UserGraph(np.eye(3), np.eye(N)), r"W of UserGraph must have a row .* its shape is \(3, 3\)"),
        (UserGraph(np.eye(N), -np.eye(N)), "W_prime of UserGraph must hold finite affinities"),
        (UserGraph(np.triu(np.ones((N, N))), np.eye(N)), "W of UserGraph must be symmetric"),
        (UserGraph(np.eye(N), D=np.zeros(N)), "D of UserGraph"),
        (LDAGraph("within"), "against of LDAGraph must be"),
        (LPPGraph(0), "n_neighbors of LPPGraph must be a positive whole number, not 0"),
        (LDEGraph(3, 2.5), "n_neighbors_between of LDEGraph must be a positive whole number"),
        (LDEGraph(3, 3, among="some"), "among of LDEGraph must be"),
        (MFAGraph(3, True), "n_neighbors_between of MFAGraph must be"),
        (LFDAGraph("x"), "n_neighbors of LFDAGraph must be"),
        (SemiSupervisedGraph(alpha=-1.0), "alpha of SemiSupervisedGraph must be"),
    ],
)
def test_bad_parameters_are_named(graph, message):
    with pytest.raises(ValueError, match=message):
        graph.laplacians(GRAMS, PRESENT, LABELS)


def test_classes_far_apart_have_no_neighbours_across():
    far = np.array([np.outer(LABELS * 100.0, LABELS * 100.0) + GRAMS[0]])
    with pytest.raises(ValueError, match='raise n_neighbors_between or search with among="class"'):
        LDEGraph(2, 2, among="all").laplacians(far, PRESENT[:, :1], LABELS)
    assert LDEGraph(2, 2).laplacians(far, PRESENT[:, :1], LABELS)[1].diagonal.sum() > 0


x = np.array([0.0, 1.0, 3.0, 7.0])
SQUARED = (x[:, None] - x[None, :]) ** 2


def test_affinities_by_hand():
    scale = {1: [1.0, 1.0, 2.0, 4.0], 2: [3.0, 2.0, 3.0, 6.0], 3: [7.0, 6.0, 4.0, 7.0]}
    for k, s in scale.items():
        np.testing.assert_allclose(local_affinity(SQUARED, k), np.exp(-SQUARED / np.outer(s, s)))
    np.testing.assert_array_equal(local_affinity(SQUARED, 50), local_affinity(SQUARED, 3))
    np.testing.assert_array_equal(local_affinity(np.zeros((1, 1)), 7), [[1.0]])


def test_weights_are_copies():
    weight = np.array([1, 3, 2, 1])
    copies = np.repeat(np.arange(4), weight)
    for k in range(1, 9):
        whole = local_affinity(SQUARED[np.ix_(copies, copies)], k)
        first = np.searchsorted(copies, np.arange(4))
        np.testing.assert_allclose(local_affinity(SQUARED, k, weight), whole[np.ix_(first, first)])
    np.testing.assert_allclose(local_affinity(SQUARED, 2, np.ones(4)), local_affinity(SQUARED, 2))


def test_scales_of_zero():
    squared = SQUARED[np.ix_([0, 0, 0, 3], [0, 0, 0, 3])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        affinity = local_affinity(squared, 2)
    expected = np.eye(4)
    expected[:3, :3] = 1.0
    np.testing.assert_array_equal(affinity, expected)

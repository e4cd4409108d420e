"""`MKLDR`: equalities with known methods, and the objective."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from kernelweave import stack_views
from kernelweave.kernels import Gaussian, Linear
from kernelweave.reduction import (
    MKLDR,
    KernelFisher,
    LDAGraph,
    LDEGraph,
    PCAGraph,
    SemiSupervisedGraph,
    UserGraph,
)
from kernelweave.reduction.mkldr import Search
from mkldr_problem import GRAPHS, KERNELS, NEW, N, X, Y


def span_angle(first, second):
    return scipy.linalg.subspace_angles(first, second).max()


def objective(model, grams, W, W_prime):
    """The objective by its definition, pair by pair."""
    K = sum(weight * gram for weight, gram in zip(model.kernel_weights_, grams, strict=True))
    Z = K @ model.alphas_
    distances = ((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    ridge = model.ridge_ * (model.alphas_**2).sum() * (model.kernel_weights_**2).sum()
    return ((W * distances).sum() / 2 + ridge) / ((W_prime * distances).sum() / 2)


def lda_affinities(y):
    same = y[:, None] == y[None, :]
    return same / np.bincount(y)[y], np.full((len(y), len(y)), 1.0 / len(y))


# --- equalities with known methods ---


@pytest.mark.parametrize("against", ["total", "between"])
def test_ratio_trace_with_one_kernel_spans_kernel_discriminant_analysis(against):
    model = MKLDR([Gaussian(scale=3.0)], LDAGraph(against), step="ratio-trace", ridge=0.05).fit(X, Y)
    K = Gaussian(scale=3.0).fit(X).gram(X)
    means = np.array([K[:, c == Y].mean(axis=1) for c in range(3)])
    between = sum((c == Y).sum() * np.outer(m - K.mean(axis=1), m - K.mean(axis=1)) for c, m in enumerate(means))
    within = sum((K[:, c == Y] - means[c][:, None]) @ (K[:, c == Y] - means[c][:, None]).T for c in range(3))
    kept = between + within if against == "total" else between
    within += model.ridge_ * np.eye(N)
    assert span_angle(model.alphas_, scipy.linalg.eigh(kept, within)[1][:, -2:]) < 1e-6
    np.testing.assert_allclose(model.alphas_.T @ within @ model.alphas_, np.eye(2), atol=1e-8)


@pytest.mark.parametrize("eps", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("kernels", [KERNELS[:1], KERNELS], ids=["one kernel", "mean kernel"])
def test_equal_weights_are_kernel_fisher_on_the_mean_kernel(kernels, eps):
    mean = sum(kernel for _, kernel in kernels) * (1 / len(kernels))
    fisher = KernelFisher(mean, ridge=eps).fit(X, Y)
    model = MKLDR(kernels, LDAGraph("between"), weights_step="fixed", normalize=None, ridge=eps).fit(X, Y)
    assert model.ridge_ * (model.kernel_weights_**2).sum() == pytest.approx(fisher.ridge_)
    # Both have unit within-class scatter, so the embeddings agree up to signs.
    for part in (X, NEW):
        ours, theirs = model.transform(part), fisher.transform(part)
        signs = np.sign((model.transform(X) * fisher.transform(X)).sum(axis=0))
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-6 * np.abs(theirs).max())
    alike = clone(model).set_params(weights_ridge=eps).fit(X, Y)
    assert alike.objective_ == pytest.approx(np.mean(1 / (1 + fisher.eigenvalues_)))
    # With another ridge it is another space.
    other = MKLDR(kernels, weights_step="fixed", normalize=None, ridge=10.0 * eps).fit(X, Y)
    assert span_angle(other.alphas_, fisher.coef_) > 1e-3


def test_weights_begin_at_kernel_fisher_and_never_get_worse():
    start = MKLDR(KERNELS, weights_step="fixed").fit(X, Y)
    model = MKLDR(KERNELS).fit(X, Y)
    assert model.history_["objective"].iloc[0] == start.objective_
    assert model.objective_ == model.history_["objective"].min() < 0.99 * start.objective_


def many_classes(seed=0):
    """A hundred classes in three linear views of 6, 8 and 10 columns."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(100), 6)
    views = {f"v{d}": rng.normal(size=(100, d))[y] + 0.3 * rng.normal(size=(600, d)) for d in (6, 8, 10)}
    frame = stack_views(views)
    training = np.arange(600) % 2 == 0
    return frame[training], y[training], frame[~training], y[~training]


def test_low_rank_kernels_of_many_classes_fill_what_can_be_filled():
    frame, y, new, y_new = many_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MKLDR().fit(frame, y)
    assert model.alphas_.shape[1] == 24  # the rank of all kernels together, less than 99
    assert (model.kernel_weights_ > 0.1).all()
    fisher = KernelFisher(sum(Linear(view) for view in ("v6", "v8", "v10")), normalize=None).fit(frame, y)

    def accuracy(transformer):
        return KNeighborsClassifier(1).fit(transformer.transform(frame), y).score(transformer.transform(new), y_new)

    assert accuracy(model) > 0.98 and accuracy(model) > accuracy(fisher) - 0.02


def test_linear_kernel_agrees_with_linear_discriminant_analysis():
    model = MKLDR([Linear()], step="ratio-trace", ridge=1e-9, normalize=None).fit(X, Y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, Y)
    ours = X.T @ model.alphas_
    for column in range(2):
        cosine = ours[:, column] @ lda.scalings_[:, column]
        cosine /= np.linalg.norm(ours[:, column]) * np.linalg.norm(lda.scalings_[:, column])
        assert abs(cosine) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("step", ["trace-ratio", "ratio-trace"])
def test_pca_graph_is_kernel_pca(step):
    model = MKLDR([Gaussian(scale=3.0)], PCAGraph(), n_components=4, step=step).fit(X)
    kpca = KernelPCA(4, kernel="rbf", gamma=1 / 9).fit(X)
    shift = model.transform(X).mean(axis=0)
    for part in (X, NEW):
        ours, theirs = model.transform(part) - shift, kpca.transform(part)
        signs = np.sign((ours * theirs).sum(axis=0))
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-8)
    assert model.objective_ == pytest.approx(4 / kpca.eigenvalues_.sum())


def test_pca_graph_keeps_given_weights():
    model = MKLDR(KERNELS[:2], PCAGraph(), n_components=3, init={"a": 3.0, "b": 1.0}).fit(X)
    np.testing.assert_allclose(model.kernel_weights_, [0.75, 0.25])
    K = 0.75 * KERNELS[0][1].fit(X).gram(X) + 0.25 * KERNELS[1][1].fit(X).gram(X)
    assert span_angle(model.alphas_, KernelPCA(3, kernel="precomputed").fit(K).eigenvectors_) < 1e-6
    np.testing.assert_allclose(MKLDR(KERNELS, PCAGraph()).fit(X).kernel_weights_, 1 / 3)
    with pytest.raises(ValueError, match="nothing to learn from with PCAGraph"):
        MKLDR(KERNELS, PCAGraph(), weights_step="exact").fit(X)


def test_user_graph_is_the_ready_one():
    W, W_prime = lda_affinities(Y)
    ready = MKLDR(KERNELS, LDAGraph("total")).fit(X, Y)
    own = MKLDR(KERNELS, UserGraph(W, W_prime), n_components=2).fit(X)
    np.testing.assert_allclose(own.transform(NEW), ready.transform(NEW), atol=1e-6)
    np.testing.assert_allclose(own.kernel_weights_, ready.kernel_weights_, atol=1e-6)


def test_constraint_with_a_diagonal_matrix():
    """(3): one kernel and the ratio-trace step are the generalised eigenproblem of K L K and K D K."""
    W, D = lda_affinities(Y)[0], np.random.default_rng(2).uniform(0.5, 2.0, size=N)
    model = MKLDR([Gaussian(scale=3.0)], UserGraph(W, D=D), n_components=3, step="ratio-trace").fit(X)
    K = Gaussian(scale=3.0).fit(X).gram(X)
    S = K @ (np.diag(W.sum(axis=1)) - W) @ K + model.ridge_ * np.eye(N)
    assert span_angle(model.alphas_, scipy.linalg.eigh(K @ np.diag(D) @ K, S)[1][:, -3:]) < 1e-6


# --- the objective ---


@pytest.mark.parametrize("init", ["identity", "equal", [0.1, 0.1, 0.8]])
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: type(graph).__name__)
@pytest.mark.parametrize("step", ["ratio-trace", "trace-ratio"])
def test_objective_never_rises(graph, init, step):
    y = np.where(np.arange(N) % 4 == 0, -1, Y) if isinstance(graph, SemiSupervisedGraph) else Y
    model = MKLDR(KERNELS, graph, n_components=2, step=step, init=init, ridge=1e-2, tol=1e-5, max_iter=1000).fit(X, y)
    values = model.history_["objective"].to_numpy()
    assert len(values) == model.n_iter_ > 1
    assert (np.diff(values) <= 1e-12 * values[:-1]).all()
    assert model.objective_ == values[-1] < values[0]
    if step == "trace-ratio":
        np.testing.assert_allclose(model.alphas_.T @ model.alphas_, np.eye(model.alphas_.shape[1]), atol=1e-10)


@pytest.mark.parametrize("weights_step", ["exact", "dnn", "paper"])
def test_trace_ratio_is_what_it_says(weights_step):
    model = MKLDR(KERNELS, LDAGraph("total"), step="trace-ratio", weights_step=weights_step, normalize=None).fit(X, Y)
    grams = [kernel.fit(X).gram(X) for _, kernel in KERNELS]
    assert model.objective_ == pytest.approx(objective(model, grams, *lda_affinities(Y)), rel=1e-8)
    H = np.eye(N) - 1 / N
    assert model.ridge_ == pytest.approx(0.01 * np.mean([np.trace(K @ H @ K) for K in grams]) / N)


def ratio_trace(weights, grams, eps, y, n_components):
    """The best ratio trace for given weights against scatter between classes, by its definition."""
    K = sum(weight * gram for weight, gram in zip(weights, grams, strict=True))
    W, W_prime = lda_affinities(y)
    S = K @ (np.diag(W.sum(axis=1)) - W) @ K + eps * (weights @ weights) * np.eye(len(y))
    both = S + K @ (np.eye(len(y)) - W_prime - np.diag(W.sum(axis=1)) + W) @ K
    A = scipy.linalg.eigh(S, both)[1][:, :n_components]
    return np.trace(np.linalg.solve(A.T @ both @ A, A.T @ S @ A)) / n_components


def test_ratio_trace_is_what_it_says_and_no_weights_are_better():
    """Against the objective by its definition, minimised over the simplex without slopes."""
    model = MKLDR(KERNELS, weights_ridge=0.5, tol=1e-10, normalize=None).fit(X, Y)
    grams = [kernel.fit(X).gram(X) for _, kernel in KERNELS]
    mean, (W, _) = sum(grams) / 3, lda_affinities(Y)
    unit = 3 * np.trace(mean @ (np.eye(N) - W) @ mean) / N
    assert model.ridge_ == pytest.approx(0.01 * unit)

    def value(weights):
        return ratio_trace(weights / weights.sum(), grams, 0.5 * unit, Y, 2)

    assert model.objective_ == pytest.approx(value(model.kernel_weights_.to_numpy()), rel=1e-8)
    bounds = [(1e-9, 1.0)] * 3
    others = [
        scipy.optimize.minimize(value, start, bounds=bounds, method="Nelder-Mead", options={"xatol": 1e-6}).fun
        for start in (np.full(3, 0.3), np.array([0.8, 0.1, 0.1]), np.array([0.1, 0.1, 0.8]))
    ]
    assert model.objective_ == pytest.approx(min(others), rel=1e-6)


def test_slopes_are_those_of_the_objective():
    grams = np.array([kernel.fit(X).gram(X) for _, kernel in KERNELS])
    for graph in (LDAGraph(), LDEGraph(3, 10)):
        numerator, denominator = graph.laplacians(grams, np.ones((N, 3), dtype=bool), Y)
        search = Search(
            grams,
            numerator,
            denominator=denominator,
            ridge=0.01,
            weights_ridge=0.1,
            n_components=2,
            step="ratio-trace",
            weights_step="exact",
            rng=np.random.RandomState(0),
        )
        b = np.array([0.5, 0.2, 0.3])
        numeric = [
            (search._point(b + 1e-5 * e).objective(2) - search._point(b - 1e-5 * e).objective(2)) / 2e-5
            for e in np.eye(3)
        ]
        np.testing.assert_allclose(search._point(b).slopes / 2, numeric, rtol=1e-5, atol=1e-8)


def test_no_small_change_of_weights_or_coefficients_is_better():
    settings = {"ridge": 0.05, "tol": 1e-10, "max_iter": 2000, "normalize": None}
    model = MKLDR(KERNELS, LDAGraph("total"), step="trace-ratio", **settings).fit(X, Y)
    grams, affinities = [kernel.fit(X).gram(X) for _, kernel in KERNELS], lda_affinities(Y)
    best = objective(model, grams, *affinities)
    weights, alphas = model.kernel_weights_.copy(), model.alphas_.copy()
    changes = np.random.default_rng(1)
    for _ in range(20):
        model.kernel_weights_ = np.maximum(weights + 1e-3 * changes.normal(size=3), 0)
        model.alphas_ = np.linalg.qr(alphas + 1e-3 * changes.normal(size=alphas.shape))[0]
        assert objective(model, grams, *affinities) > best * (1 - 1e-9)


def test_many_kernels_by_the_doubly_non_negative_program():
    kernels = [Gaussian([i % 6], scale=1.0 + i) for i in range(13)]
    model = MKLDR(kernels, step="trace-ratio", ridge=1.0, tol=1e-3).fit(X, Y)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    np.testing.assert_allclose(model.kernel_weights_.sum(), 1.0)
    exact = MKLDR(kernels, step="trace-ratio", ridge=1.0, tol=1e-3, weights_step="exact").fit(X, Y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-2)


def test_the_informative_kernel_gets_the_weight():
    noise = np.hstack([X, np.random.default_rng(2).normal(size=(N, 3))])
    kernels = [("signal", Gaussian([0, 3], scale=2.0)), ("noise", Gaussian([6, 7, 8], scale=2.0))]
    for step in ("trace-ratio", "paper"):
        weights = MKLDR(kernels, LDAGraph("total"), step=step, init="identity", ridge=0.1).fit(noise, Y).kernel_weights_
        assert list(weights.index) == ["signal", "noise"] and weights["signal"] > 1.5 * weights["noise"]
    weights = MKLDR(kernels).fit(noise, Y).kernel_weights_
    assert weights["signal"] > 3 * weights["noise"]
    # Under a small ridge both kernels draw the training samples of a class together, informative or not.
    assert MKLDR(kernels, weights_ridge=0.01).fit(noise, Y).kernel_weights_["noise"] > 0.4


def test_fixed_weights_and_one_kernel_take_one_iteration():
    assert MKLDR(KERNELS, weights_step="fixed").fit(X, Y).n_iter_ == 1
    assert MKLDR([Gaussian(scale=3.0)]).fit(X, Y).n_iter_ == 1


@pytest.mark.parametrize("step", ["ratio-trace", "trace-ratio", "paper"])
def test_seconds_are_those_of_each_iteration(step, monkeypatch):
    clock = itertools.count(100.0)
    monkeypatch.setattr("kernelweave.reduction.mkldr.time.perf_counter", lambda: next(clock))
    assert MKLDR(KERNELS, step=step, ridge=0.1, max_iter=500).fit(X, Y).history_["seconds"].unique().tolist() == [1.0]


def test_stopping_early_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="MKLDR stopped after 2 iterations"):
        model = MKLDR(KERNELS, max_iter=2, tol=1e-12).fit(X, Y)
    assert model.n_iter_ == 2
    with pytest.warns(ConvergenceWarning, match="MKLDR stopped after 1 iterations"):
        MKLDR(KERNELS, max_iter=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MKLDR(KERNELS).fit(X, Y)

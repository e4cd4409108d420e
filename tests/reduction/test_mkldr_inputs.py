"""`MKLDR`: the samples, kernels, labels and parameters that users give it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from conventions import checks
from kernelweave import stack_views
from kernelweave.kernels import Distance, Gaussian, Linear, Polynomial, Precomputed
from kernelweave.reduction import MKLDR, LDAGraph, LDEGraph, LPPGraph, PCAGraph
from mkldr_problem import GRAPHS, KERNELS, NEW, N, X, Y


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_training_samples_are_embedded_like_new_ones(normalize):
    model = MKLDR([*KERNELS, ("d", Polynomial(degree=2))], normalize=normalize).fit(X, Y)
    together = model.transform(np.vstack([NEW, X]))
    np.testing.assert_allclose(together[9:], model.transform(X), atol=1e-9)
    np.testing.assert_allclose(
        MKLDR([*KERNELS, ("d", Polynomial(degree=2))], normalize=normalize).fit_transform(X, Y),
        model.transform(X),
        atol=1e-9,
    )


def test_new_samples_by_definition():
    model = MKLDR(KERNELS, normalize=None).fit(X, Y)
    crosses = [kernel.fit(X).cross(NEW, X) for _, kernel in KERNELS]
    K = sum(weight * cross for weight, cross in zip(model.kernel_weights_, crosses, strict=True))
    np.testing.assert_allclose(model.transform(NEW), K @ model.alphas_, atol=1e-10)  # (29)


def test_blocks_of_new_samples(monkeypatch):
    model = MKLDR(KERNELS).fit(X, Y)
    whole = model.transform(NEW)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 2 * N)
    np.testing.assert_allclose(model.transform(NEW), whole, atol=1e-12)


def test_precomputed_and_distance_kernels():
    gram = Gaussian(scale=3.0).fit(X).gram(np.vstack([X, NEW]))
    far = squareform(pdist(np.vstack([X, NEW])))
    ids = np.arange(N + 9)[:, None]
    kernel = Precomputed(gram[:N, :N])
    model = MKLDR([("k", kernel)]).fit(ids[:N], Y)
    np.testing.assert_allclose(model.transform(ids[:N]), MKLDR([Gaussian(scale=3.0)]).fit(X, Y).transform(X), atol=1e-8)
    model.replace_kernel("k", kernel.extend(gram[N:, :N], np.ones(9)))
    np.testing.assert_allclose(
        model.transform(ids[N:]), MKLDR([Gaussian(scale=3.0)]).fit(X, Y).transform(NEW), atol=1e-8
    )
    by_distance = MKLDR([Distance(far, scale=3.0)]).fit(ids[:N], Y)  # (8)
    np.testing.assert_allclose(by_distance.transform(ids[N:]), model.transform(ids[N:]), atol=1e-6)


def test_a_missing_view_adds_nothing():
    frame = stack_views({"a": X[:, :3], "b": X[:, 3:]})
    frame.loc[[2, 7], ["a__0", "a__1", "a__2"]] = np.nan
    model = MKLDR([Gaussian("a", scale=3.0), Gaussian("b", scale=3.0)], step="ratio-trace").fit(frame, Y)
    second = model.kernel_weights_["b"] * Gaussian(scale=3.0).fit(X[:, 3:]).gram(X[:, 3:]) @ model.alphas_
    np.testing.assert_allclose(model.transform(frame)[[2, 7]], second[[2, 7]], atol=1e-9)
    frame.loc[2, ["b__0", "b__1", "b__2"]] = np.nan
    with pytest.raises(ValueError, match="sample 2 has no view at all"):
        model.transform(frame)


def test_a_sample_without_a_view_that_has_a_weight_has_no_place():
    frame = stack_views({"a": X[:, :3], "b": X[:, 3:]})
    lacking = frame.copy()
    lacking.loc[4, ["a__0", "a__1", "a__2"]] = np.nan
    model = MKLDR([Gaussian("a"), Gaussian("b")], weights_step="fixed", init={"a": 1.0}).fit(frame, Y)
    for transform in (model.transform, lambda part: MKLDR(**model.get_params(deep=False)).fit(part, Y)):
        with pytest.raises(ValueError, match=r"sample 4 has none of the views whose kernels have a weight \(a\)"):
            transform(lacking)


def test_unused_views_may_be_absent():
    frame = stack_views({"a": X[:, :3], "b": X[:, 3:]})
    model = MKLDR([Gaussian("a"), Gaussian("b")], weights_step="fixed", init={"a": 1.0}).fit(frame, Y)
    expected = model.transform(frame)
    np.testing.assert_array_equal(model.transform(frame[[c for c in frame if c.startswith("a")]]), expected)


def test_containers_and_types():
    kernels = [Gaussian(scale=3.0), Linear()]
    model = MKLDR(kernels, step="ratio-trace").fit(X, Y)
    expected = model.transform(NEW)
    sparse = MKLDR(kernels, step="ratio-trace").fit(sp.csr_matrix(X), Y).transform(sp.csr_matrix(NEW))
    np.testing.assert_allclose(sparse, expected, atol=1e-6)
    narrow = MKLDR(kernels, step="ratio-trace").fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(narrow.transform(NEW.astype(np.float32)), expected, atol=1e-3)
    half = MKLDR(kernels, step="ratio-trace", dtype="float32").fit(X, Y)
    np.testing.assert_allclose(half.objective_, model.objective_, rtol=1e-4)
    frame = pd.DataFrame(NEW, index=list("abcdefghi"))
    out = MKLDR([Gaussian(scale=3.0)]).set_output(transform="pandas").fit(X, Y).transform(frame)
    assert list(out.columns) == ["mkldr0", "mkldr1"] and list(out.index) == list("abcdefghi")
    assert MKLDR().fit(stack_views({"a": X[:, :3], "b": X[:, 3:]}), Y).kernel_names_ == ["a", "b"]


def test_labels_of_any_kind():
    numbers = MKLDR(KERNELS).fit(X, Y).transform(NEW)
    words = MKLDR(KERNELS).fit(X, np.array(["u", "v", "w"])[Y]).transform(NEW)
    np.testing.assert_array_equal(words, numbers)


@pytest.mark.parametrize("step", ["trace-ratio", "ratio-trace"])
@pytest.mark.parametrize("graph", GRAPHS[:4], ids=lambda graph: type(graph).__name__)
def test_a_class_with_one_member(graph, step):
    y = np.where(np.arange(N) == 11, 3, Y)
    model = MKLDR(KERNELS, graph, step=step, max_iter=1000).fit(X, y)
    assert model.transform(NEW).shape == (9, 3) and np.isfinite(model.transform(NEW)).all()


@pytest.mark.parametrize("step", ["ratio-trace", "trace-ratio", "paper"])
def test_more_components_than_rank(step):
    with pytest.warns(UserWarning, match="components separate no samples and are left out"):
        model = MKLDR([Linear([0, 1])], LDAGraph("total"), n_components=5, step=step, normalize=None).fit(X, Y)
    Z = model.transform(X)
    assert Z.shape[1] == len(model.get_feature_names_out()) == np.linalg.matrix_rank(Z) <= 2
    with pytest.warns(UserWarning, match="58 of 60 components separate no samples"):  # three classes, two directions
        assert MKLDR(KERNELS, n_components=N, step="ratio-trace").fit(X, Y).transform(NEW).shape == (9, 2)
    assert MKLDR(KERNELS, LDAGraph("total"), n_components=N - 1).fit(X, Y).transform(NEW).shape == (9, N - 1)


def test_default_number_of_components():
    assert MKLDR(KERNELS).fit(X, Y).alphas_.shape == (N, 2)
    assert MKLDR(KERNELS).fit(X, Y == 1).alphas_.shape == (N, 1)
    assert MKLDR(KERNELS, LPPGraph()).fit(X).alphas_.shape == (N, 2)


def test_folds_without_some_class():
    y = np.sort(Y)  # the folds below are blocks: some miss a class
    pipe = make_pipeline(MKLDR(KERNELS), KNeighborsClassifier(1))
    scores = cross_val_score(pipe, X[np.argsort(Y, kind="stable")], y, cv=KFold(3), error_score="raise")
    assert len(scores) == 3


def test_searches_reach_kernels_and_graph():
    pipe = make_pipeline(MKLDR(KERNELS, LDEGraph()), KNeighborsClassifier(1))
    grid = {"mkldr__kernels__a__scale": [1.0, 3.0], "mkldr__graph__n_neighbors": [2, 4], "mkldr__ridge": [0.1]}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.7


def constant(A, B):
    return np.ones((len(A), len(B)))


def test_results_do_not_depend_on_chance():
    big = np.tile(X, (5, 1)) + 0.1 * np.random.default_rng(2).normal(size=(5 * N, 6))
    y = np.tile(Y, 5)
    models = [MKLDR(KERNELS, step="ratio-trace", random_state=seed).fit(big, y) for seed in (0, 1)]
    np.testing.assert_allclose(models[0].transform(NEW), models[1].transform(NEW), atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"graph": "lda"}, "graph of MKLDR must be a graph"),
        ({"step": "ratio"}, "step of MKLDR must be"),
        ({"weights_step": "sdp"}, "weights_step of MKLDR must be"),
        ({"weights_step": "exact"}, r'weights_step=.exact. is a way to solve \(22\), which step="ratio-trace"'),
        ({"init": "random"}, "init of MKLDR must be"),
        ({"init": {"flat": 1.0}, "kernels": [*KERNELS, ("flat", constant)]}, "init gives weight only to kernels"),
        ({"weights_ridge": 0.0}, "weights_ridge of MKLDR must be"),
        ({"init": {"z": 1.0}}, r"init names kernels that are not there: \['z'\]"),
        ({"init": [0.0, 0.0, 0.0]}, "init must give one of the kernels"),
        ({"ridge": 0.0}, "ridge of MKLDR must be"),
        ({"ridge": 1e-30, "kernels": [Linear()]}, "ridge is too small"),
        ({"tol": -1.0}, "tol of MKLDR must be"),
        ({"max_iter": 0}, "max_iter of MKLDR must be"),
        ({"n_components": 0}, "n_components of MKLDR must be"),
        ({"n_components": N + 1}, "there are only 60 samples"),
        ({"normalize": "max"}, "normalize must be "),
        ({"graph": LDEGraph(n_neighbors=0)}, "n_neighbors of LDEGraph must be"),
    ],
)
def test_bad_parameters_are_named_and_nothing_is_half_fitted(parameters, message):
    model = MKLDR(**{"kernels": KERNELS, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


def test_labels_are_asked_for():
    with pytest.raises(ValueError, match="requires y"):
        MKLDR(KERNELS).fit(X)
    with pytest.raises(ValueError, match="Unknown label type"):
        MKLDR(KERNELS).fit(X, X[:, 0])
    for graph in GRAPHS[:4]:
        with pytest.raises(ValueError, match="at least two classes, but y has only one class: 'a'"):
            MKLDR(KERNELS, graph).fit(X, np.full(N, "a"))
    with pytest.raises(ValueError, match="nothing to keep apart"):
        MKLDR([Linear()], normalize=None).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


TRANSFORMERS = [
    MKLDR(),
    MKLDR([Linear(), Gaussian(scale=1.0)], n_components=1, step="ratio-trace", tol=1e-2),
    MKLDR([Gaussian(scale=1.0), Gaussian(scale=3.0)], LPPGraph(), n_components=1),
    MKLDR([Gaussian(scale=1.0)], PCAGraph(), n_components=2),
]


def expected_failures(estimator):
    if estimator.kernels is not None:
        return {}
    return {
        "check_fit2d_1feature": "one positive feature is constant under a linear kernel of unit diagonal, so there is "
        "nothing to embed, and the message says that instead of naming the number of features"
    }


@checks(TRANSFORMERS[:1], TRANSFORMERS[1:], expected_failures)
def test_scikit_learn_convention(estimator, check):
    check(estimator)

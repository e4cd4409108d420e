"""`KernelVoting` and `KernelSAMME`: the discriminants, the votes, the boosting, and what users may give."""

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from conventions import checks
from kernelweave import KernelSAMME, KernelVoting, stack_views
from kernelweave.estimators.ensembles import boosted
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.reduction import MKLDR, LDAGraph, LDEGraph

rng = np.random.default_rng(0)
N = 90
Y = rng.permutation(np.arange(N) % 3)
X = rng.normal(size=(N, 6))
X[:, 0] += 2.5 * Y
X[:, 3] -= 2.5 * (Y == 1)
NEW, NEW_Y = rng.normal(size=(40, 6)), np.arange(40) % 3
NEW[:, 0] += 2.5 * NEW_Y
NEW[:, 3] -= 2.5 * (NEW_Y == 1)
KERNELS = [("a", Gaussian([0, 1, 2], scale=3.0)), ("b", Gaussian([3, 4, 5], scale=3.0)), ("c", Linear([1, 2]))]
ENSEMBLES = [KernelVoting, KernelSAMME]


@checks(
    [KernelVoting(), KernelSAMME()],
    [
        KernelVoting([Linear(), Gaussian(scale=1.0)], rule="centroid"),
        KernelSAMME([Linear(), Gaussian(scale=1.0)], rule="centroid", cv=2, random_state=0),
    ],
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)


def neighbours(kernel, new):
    """Labels of the training samples, nearest first, in the space of MKLDR with one kernel."""
    space = MKLDR([kernel], LDAGraph("total"), step="paper").fit(X, Y)
    order = KNeighborsClassifier(N).fit(space.transform(X), Y).kneighbors(space.transform(new), return_distance=False)
    return Y[order]


@pytest.mark.parametrize("model", ENSEMBLES)
def test_one_kernel_is_its_nearest_neighbour_classifier(model):
    kernel = KERNELS[0][1]
    np.testing.assert_array_equal(model([kernel]).fit(X, Y).predict(NEW), neighbours(kernel, NEW)[:, 0])


@pytest.mark.parametrize("model", ENSEMBLES)
def test_centroids_of_a_linear_kernel_are_linear_discriminant_analysis(model):
    ours = model([Linear()], rule="centroid", ridge=1e-9, normalize=None).fit(X, Y).predict(NEW)
    lda = LinearDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, Y)
    assert np.mean(ours == lda.predict(NEW)) == 1.0


def test_votes_with_ties_go_on_to_the_next_neighbours():
    ranked = [neighbours(kernel, NEW) for _, kernel in KERNELS]
    expected, ties = [], 0
    for i in range(len(NEW)):
        votes = np.zeros(3)
        for place in range(N):
            for labels in ranked:
                votes[labels[i, place]] += 1
            if (votes == votes.max()).sum() == 1:
                break
            ties += 1
        expected.append(votes.argmax())
    assert ties > 3
    np.testing.assert_array_equal(KernelVoting(KERNELS).fit(X, Y).predict(NEW), expected)


def test_blocks_of_new_samples(monkeypatch):
    model = KernelVoting(KERNELS).fit(X, Y)
    expected = model.predict(NEW)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 7 * 3 * N)
    np.testing.assert_array_equal(model.predict(NEW), expected)


def test_boosting_by_hand():
    """Two rounds of Zhu et al.'s Algorithm 2 on four samples and three classes."""
    wrong = np.array([[1, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)
    (first, error, alpha), (second, error_2, alpha_2) = boosted(wrong, 3, 2)
    assert (first, error) == (0, 0.25) and alpha == pytest.approx(np.log(3) + np.log(2))
    weights = np.array([6.0, 1, 1, 1]) / 9
    assert second == 1 and error_2 == pytest.approx(weights[1] + weights[2])
    assert alpha_2 == pytest.approx(np.log((1 - error_2) / error_2) + np.log(2))


def test_boosting_stops():
    assert boosted(np.ones((2, 5), dtype=bool), 3, 10) == []  # worse than chance
    perfect = boosted(np.array([[0, 0, 0], [1, 0, 0]], dtype=bool), 3, 10)
    assert len(perfect) == 1 and perfect[0][0] == 0 and np.isfinite(perfect[0][2])


def test_samme_weighs_the_votes():
    model = KernelSAMME(KERNELS, random_state=0).fit(X, Y)
    totals = model.history_.groupby("kernel")["coefficient"].sum()
    np.testing.assert_allclose(model.kernel_weights_[totals.index], totals / totals.sum())
    assert model.kernel_weights_.sum() == pytest.approx(1.0)
    votes = np.zeros((len(NEW), 3))
    for name, kernel in KERNELS:
        votes[np.arange(len(NEW)), neighbours(kernel, NEW)[:, 0]] += model.kernel_weights_[name]
    np.testing.assert_allclose(model.decision_function(NEW), votes)
    np.testing.assert_array_equal(model.predict(NEW), votes.argmax(axis=1))
    assert model.kernel_weights_["c"] < model.kernel_weights_["a"]  # c holds noise only


def test_nothing_better_than_chance_leaves_equal_weights():
    line = np.arange(12.0)[:, None] * [1.0, -1.0]  # the neighbours of each sample are of the other class
    model = KernelSAMME([Gaussian([0]), Gaussian([1])], random_state=0).fit(line, np.tile([0, 1], 6))
    assert len(model.history_) == 0 and (model.kernel_weights_ == 0.5).all()
    with_one_each = KernelSAMME([Gaussian([0]), Gaussian([1])]).fit(line[:3], [0, 1, 2])
    np.testing.assert_array_equal(with_one_each.kernel_weights_, 0.5)
    assert len(with_one_each.history_) == 0


@pytest.mark.parametrize("model", ENSEMBLES)
def test_another_graph(model):
    lde = model(KERNELS, LDEGraph(3, 10)).fit(X, Y)
    assert lde.score(NEW, NEW_Y) > 0.5
    space = MKLDR([KERNELS[0][1]], LDEGraph(3, 10), n_components=2, step="paper").fit(X, Y)
    assert scipy.linalg.subspace_angles(lde._discriminants[0].coefficients, space.alphas_).max() < 1e-6


@pytest.mark.parametrize("model", ENSEMBLES)
def test_a_class_with_one_member_and_labels_of_any_kind(model):
    y = np.array(["u", "v", "w", "x"], dtype=object)[np.where(np.arange(N) == 4, 3, Y)]
    fitted = model(KERNELS).fit(X, y)
    assert fitted.predict(X[4:5])[0] == "x" and set(fitted.predict(NEW)) <= {"u", "v", "w", "x"}


@pytest.mark.parametrize("model", ENSEMBLES)
def test_a_missing_view_has_no_vote(model):
    frame = stack_views({"a": X[:, :3], "b": X[:, 3:]})
    kernels = [Gaussian("a", scale=3.0), Gaussian("b", scale=3.0)]
    fitted = model(kernels, random_state=0).fit(frame, Y)
    new = stack_views({"a": NEW[:, :3], "b": NEW[:, 3:]})
    new.loc[:9, ["a__0", "a__1", "a__2"]] = np.nan
    single = model(kernels[1:]).fit(frame, Y).predict(new)
    np.testing.assert_array_equal(fitted.predict(new)[:10], single[:10])
    frame.loc[:19, ["a__0", "a__1", "a__2"]] = np.nan
    incomplete = model(kernels, random_state=0).fit(frame, Y)
    assert not incomplete._discriminants[0].coefficients[:20].any()
    assert incomplete.score(new, NEW_Y) > 0.5


@pytest.mark.parametrize("model", ENSEMBLES)
def test_searches_and_precomputed_kernels(model):
    assert cross_val_score(model(KERNELS), X, Y, cv=3, error_score="raise").mean() > 0.6
    grid = {"kernels__a__scale": [1.0, 3.0], "ridge": [0.1]}
    assert GridSearchCV(model(KERNELS), grid, cv=2, error_score="raise").fit(X, Y).best_score_ > 0.6
    gram = Gaussian(scale=3.0).fit(X).gram(np.vstack([X, NEW]))
    ids = np.arange(N + 40)[:, None]
    by_id = model([Precomputed(gram)], random_state=0).fit(ids[:N], Y).predict(ids[N:])
    np.testing.assert_array_equal(by_id, model([Gaussian(scale=3.0)], random_state=0).fit(X, Y).predict(NEW))


@pytest.mark.parametrize("model", ENSEMBLES)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "knn"}, "rule of .* must be"),
        ({"ridge": 0}, "ridge of .* must be"),
        ({"n_components": 0}, "n_components of .* must be"),
        ({"graph": "lde"}, "graph of .* must be"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_and_nothing_is_half_fitted(model, parameters, message):
    ensemble = model(KERNELS, **parameters)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, Y)
    assert not hasattr(ensemble, "classes_")
    with pytest.raises(ValueError, match="at least two classes"):
        model(KERNELS).fit(X, np.zeros(N))


def test_bad_parameters_of_samme():
    for name, value in (("cv", 1), ("n_rounds", 0), ("cv", 2.0)):
        with pytest.raises(ValueError, match=f"{name} of KernelSAMME must be a (positive )?whole number"):
            KernelSAMME(KERNELS, **{name: value}).fit(X, Y)


def test_history_is_a_table():
    history = KernelSAMME(KERNELS, n_rounds=4, random_state=0).fit(X, Y).history_
    assert isinstance(history, pd.DataFrame) and list(history.columns) == ["kernel", "error", "coefficient"]
    assert 1 <= len(history) <= 4

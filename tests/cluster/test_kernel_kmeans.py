"""`KernelKMeans`: its kernels, weights, certificates and predictions. The solvers are in test_partitions.py."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from kernelweave import load, save, stack_views
from kernelweave.cluster import LEARNED, KernelKMeans
from kernelweave.kernels import Gaussian, KernelStack, Linear, Normalizer, Precomputed
from kernelweave.solvers.partitions import centred, inertia_of, leading

KERNELS = [("a", Gaussian("a")), ("b", Gaussian("b")), ("noise", Gaussian("noise"))]
EVERY = ["mean", [0.5, 2.0, 0.0], *LEARNED]


def problem(n=90, seed=0, k=3):
    """Clusters of which view a tells the first from the others, and view b the last."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    a = 5.0 * (y == 0)[:, None] + rng.normal(size=(n, 2))
    b = 5.0 * (y == k - 1)[:, None] + rng.normal(size=(n, 3))
    return stack_views({"a": a, "b": b, "noise": rng.normal(size=(n, 4))}), y


X, Y = problem()


def combined(model, X):
    """The matrix of the combined kernel of a fitted model, made anew; views must be there for all samples."""
    stack = KernelStack(model.kernels, model.normalize).fit(X)
    matrices = [centred(K.copy())[0] for K in stack.matrices()]
    if model.weights != "localized":
        return np.tensordot(model.kernel_weights_, matrices, axes=1)
    found = 0.0
    for K, gates in zip(matrices, np.sqrt(model.kernel_weights(X).to_numpy().T), strict=True):
        amplitudes = gates / np.sqrt(np.diagonal(K))
        found = found + amplitudes[:, None] * K * amplitudes
    return centred(found)[0]


@pytest.mark.parametrize("weights", EVERY, ids=str)
def test_labels_inertia_and_bound_belong_to_the_combined_kernel(weights):
    model = KernelKMeans(KERNELS, 3, weights=weights, random_state=0, tol=1e-10, max_iter=3000).fit(X)
    assert adjusted_rand_score(Y, model.labels_) > (0.3 if weights == "min-max" else 0.8)  # it weighs noise most
    assert (model.predict(X) == model.labels_).all()
    assert (KernelKMeans(KERNELS, 3, weights=weights, random_state=0).fit_predict(X) == model.labels_).mean() > 0.9
    K = combined(model, X)
    # Weights of samples as they are predicted are a last step beyond those of the fit, at a relative change of 1e-10.
    assert_allclose(model.inertia_, inertia_of(K, model.labels_), rtol=1e-8)
    assert_allclose(model.inertia_bound_, np.trace(K) - leading(K, 2)[0].sum(), rtol=1e-6)
    assert 0.0 < model.inertia_bound_ < model.inertia_
    changes = np.diff(model.history_["objective"])
    assert (changes <= 1e-12 * model.objective_).all() and model.n_iter_ == len(changes) + 1
    assert model.objective_ == model.history_["objective"].iloc[-1]
    if weights not in ("min-max", "min-min"):
        assert_allclose(model.objective_, model.inertia_, rtol=1e-9)
    assert np.isnan(model.duality_gap_) == (weights != "min-max")


def test_given_weights():
    by_name = KernelKMeans(KERNELS, 3, weights={"b": 2.0, "a": 0.5}, random_state=0).fit(X)
    assert by_name.kernel_weights_.to_dict() == {"a": 0.5, "b": 2.0, "noise": 0.0}
    without = X.drop(columns=[name for name in X.columns if name.startswith("noise")])
    assert (by_name.predict(without) == by_name.labels_).all()


def test_a_linear_kernel_is_k_means():
    x = np.random.default_rng(1).normal(size=(150, 4)) + 100.0 + 4.0 * np.eye(4)[np.arange(150) % 4]
    theirs = KMeans(4, n_init=10, random_state=0).fit(x)
    ours = KernelKMeans([Linear()], 4, normalize="center", random_state=0).fit(x)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    new = x + 0.5
    assert adjusted_rand_score(ours.predict(new), theirs.predict(new)) == 1.0


def test_new_samples_go_to_the_nearest_centre():
    model = KernelKMeans(KERNELS, 3, random_state=0).fit(X)
    new = problem(seed=1)[0]
    values = sum(rbf_kernel(new.filter(like=f"{v}__"), X.filter(like=f"{v}__"), 1 / width) for v, width in widths())
    within = sum(rbf_kernel(X.filter(like=f"{v}__"), gamma=1 / width) for v, width in widths())
    members = np.eye(3)[model.labels_] / np.bincount(model.labels_)
    distances = -2.0 * values @ members + np.einsum("ic,ij,jc->c", members, within, members)
    assert (model.predict(new) == distances.argmin(axis=1)).all()
    assert adjusted_rand_score(model.predict(new), Y) > 0.6


def widths():
    """2 s^2 of a Gaussian of default width: n_columns times the variance of the view."""
    for view in ("a", "b", "noise"):
        values = X.filter(like=f"{view}__").to_numpy()
        yield view, values.shape[1] * values.var()


def test_learned_weights_do_not_depend_on_the_scale_of_kernels():
    scaled = [("a", 5.0 * Gaussian("a")), ("b", Gaussian("b")), ("noise", Gaussian("noise"))]
    for weights in LEARNED:
        settings = {"weights": weights, "normalize": None, "random_state": 0}
        models = [KernelKMeans(kernels, 3, **settings).fit(X) for kernels in (KERNELS, scaled)]
        assert (models[0].labels_ == models[1].labels_).all()
        found, other = (model.kernel_weights_ for model in models)
        if weights != "localized":
            found = found / [5.0, 1.0, 1.0] / (found / [5.0, 1.0, 1.0]).sum()
        # The cone solver's answer moves by the root of its tolerance where the objective is flat; the scale is 5.
        assert_allclose(other, found, rtol=1e-3)


def test_what_learned_weights_prefer():
    """Min-max weighs most what clusters explain least, even noise; min-min what they explain."""
    models = {name: KernelKMeans(KERNELS, 3, weights=name, random_state=0).fit(X) for name in ("min-max", "min-min")}
    assert models["min-max"].duality_gap_ <= 1e-4 * models["min-max"].objective_
    explained = {}
    for name, model in models.items():
        share = [1.0 - inertia_of(K, model.labels_) / np.trace(K) for K in map(centred_gram, KERNELS)]
        explained[name] = share @ model.kernel_weights_
    assert explained["min-min"] > explained["min-max"]
    assert models["min-max"].kernel_weights_.idxmax() == "noise" == models["min-min"].kernel_weights_.idxmin()


@pytest.mark.parametrize("weights", ["min-max", "min-min"])
def test_the_objective_is_that_of_the_weights(weights):
    """Of kernels of trace 1 and weights g of sum 1, whose squares are the weights of the kernels but for a factor."""
    model = KernelKMeans(KERNELS, 3, weights=weights, random_state=0).fit(X)
    matrices = np.array([centred_gram(kernel) for kernel in KERNELS])
    traces = np.trace(matrices, axis1=1, axis2=2)
    gates = np.sqrt(model.kernel_weights_.to_numpy() * traces)
    K = np.tensordot((gates / gates.sum()) ** 2 / traces, matrices, axes=1)
    expected = leading(K, 2)[0].sum() if weights == "min-max" else inertia_of(K, model.labels_)
    assert_allclose(model.objective_, expected, rtol=1e-9)
    assert_allclose(model.kernel_weights_.sum(), 1.0)


def centred_gram(kernel):
    return centred(KernelStack([kernel]).fit(X).gram(0))[0]


# Missing views


def without_views(X, share=0.3, seed=0):
    X, rng = X.copy(), np.random.default_rng(seed)
    lacking = rng.integers(0, 3, size=len(X))
    for place, view in enumerate(("a", "b", "noise")):
        rows = (lacking == place) & (rng.uniform(size=len(X)) < 3 * share / 2)
        X.loc[rows, X.columns.str.startswith(f"{view}__")] = np.nan
    return X


@pytest.mark.parametrize("weights", EVERY, ids=str)
def test_missing_views(weights):
    holed = without_views(X)
    model = KernelKMeans(KERNELS, 3, weights=weights, random_state=0).fit(holed)
    assert (model.predict(holed) == model.labels_).all()
    whole = holed.notna().all(axis=1).to_numpy()
    assert adjusted_rand_score(model.labels_[whole], Y[whole]) > 0.5
    assert model.inertia_bound_ < model.inertia_
    shown = model.kernel_weights(holed)
    lacking = holed["a__0"].isna().to_numpy()
    assert lacking.any() and not shown.loc[lacking, "a"].any() and (shown.loc[~lacking, "a"] >= 0.0).all()
    assert list(shown.columns) == ["a", "b", "noise"] and shown.index.equals(holed.index)


def test_a_missing_view_adds_nothing_to_distances_between_clusters():
    """The sample is at the mean of the view: the same as a kernel whose row is that of the mean."""
    holed = without_views(X)
    model = KernelKMeans([("a", Gaussian("a")), ("b", Gaussian("b"))], 3, random_state=0).fit(holed)
    total = 0.0
    for view in ("a", "b"):
        there = holed[f"{view}__0"].notna().to_numpy()
        K = np.zeros((len(X), len(X)))
        own = KernelStack([Gaussian(view)]).fit(holed.loc[there]).gram(0)
        K[np.ix_(there, there)] = centred(own)[0]
        total = total + 0.5 * K
    assert_allclose(model.inertia_, inertia_of(total, model.labels_), rtol=1e-9)


def test_a_sample_without_any_used_view_is_refused():
    holed = X.copy()
    holed.loc[holed.index[7], X.columns.str.match("(a|b)__")] = np.nan
    with pytest.raises(ValueError, match=r"sample 7 .*has none of the views whose kernels have a weight \(a, b\)"):
        KernelKMeans(KERNELS, 3, weights=[1.0, 1.0, 0.0]).fit(holed)
    model = KernelKMeans(KERNELS, 3, weights=[1.0, 1.0, 0.0], random_state=0).fit(X)
    with pytest.raises(ValueError, match="none of the views"):
        model.predict(holed)


# Degenerate samples and kernels


@pytest.mark.parametrize("weights", EVERY, ids=str)
def test_one_cluster_and_one_for_each_sample(weights):
    one = KernelKMeans(KERNELS, 1, weights=weights, random_state=0).fit(X)
    assert not one.labels_.any() and not one.predict(X).any()
    assert_allclose(one.inertia_bound_, one.inertia_, rtol=1e-9)
    few = X.iloc[:6]
    each = KernelKMeans(KERNELS, 6, weights=weights, random_state=0).fit(few)
    assert sorted(each.labels_) == list(range(6)) and (each.predict(few) == each.labels_).all()
    assert_allclose(each.inertia_, 0.0, atol=1e-12)


@pytest.mark.parametrize("weights", EVERY, ids=str)
def test_identical_samples_are_one_cluster(weights):
    same = pd.concat([X.iloc[[0]]] * 5 + [X.iloc[[1]]] * 5)
    with pytest.warns(ConvergenceWarning, match="only 2 samples differ .* 2 clusters instead of n_clusters=4"):
        model = KernelKMeans(KERNELS, 4, weights=weights, random_state=0).fit(same)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1], 5)) == 1.0
    assert (model.predict(same) == model.labels_).all()
    with pytest.warns(ConvergenceWarning, match="only 1 samples differ"):
        constant = KernelKMeans(KERNELS, 2, weights=weights, random_state=0).fit(same.iloc[:5])
    assert not constant.labels_.any() and constant.inertia_ == constant.inertia_bound_ == 0.0
    assert not constant.predict(X).any()


@pytest.mark.parametrize("weights", LEARNED)
def test_a_constant_kernel_gets_no_weight(weights):
    constant = X.assign(flat=1.0)
    model = KernelKMeans([*KERNELS, ("flat", Gaussian("flat", scale=1.0))], 3, weights=weights, random_state=0)
    model.fit(constant)
    assert model.kernel_weights_["flat"] == 0.0
    other = KernelKMeans(KERNELS, 3, weights=weights, random_state=0).fit(X)
    assert (model.labels_ == other.labels_).all()
    assert_allclose(model.kernel_weights_[:3], other.kernel_weights_, rtol=1e-9)


def test_refusals():
    with pytest.raises(ValueError, match="n_clusters is 91, but there are only 90 samples"):
        KernelKMeans(KERNELS, 91).fit(X)
    with pytest.raises(ValueError, match="at least 2 samples"):
        KernelKMeans(KERNELS, 1).fit(X.iloc[:1])
    with pytest.raises(ValueError, match='weights of KernelKMeans must be "mean", "min-max"'):
        KernelKMeans(KERNELS, weights="max").fit(X)
    with pytest.raises(ValueError, match="weights names kernels that are not there: \\['c'\\]"):
        KernelKMeans(KERNELS, weights={"c": 1.0}).fit(X)
    with pytest.raises(ValueError, match="weights must give one of the kernels a positive weight"):
        KernelKMeans(KERNELS, weights=[0.0, 0.0, 0.0]).fit(X)
    indefinite = np.eye(8) * 2.0 - 1.0
    for weights in LEARNED:
        model = KernelKMeans([("s", Precomputed(indefinite))], 2, weights=weights, normalize=None)
        with pytest.warns(UserWarning, match="not positive semidefinite"), pytest.raises(ValueError, match="repair="):
            model.fit(np.arange(8)[:, None])
        assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("weights", ["mean", *LEARNED])
def test_early_stops_are_told(weights):
    noise = [("noise", Gaussian("noise")), ("a", Gaussian("a", scale=0.3))]
    with pytest.warns(ConvergenceWarning, match="max_iter=1 while its objective still fell"):
        KernelKMeans(noise, 7, weights=weights, max_iter=1, tol=1e-12, random_state=0).fit(X)


def test_random_state_decides_and_another_fit_leaves_nothing_behind():
    model = KernelKMeans(KERNELS, 3, weights="localized", random_state=3)
    first = model.fit(X).labels_.copy()
    assert (model.fit(X).labels_ == first).all()
    model.set_params(weights="mean").fit(X)
    assert model.kernel_weights_.tolist() == [1 / 3] * 3
    assert (model.predict(X) == model.labels_).all()


@pytest.mark.parametrize("weights", EVERY, ids=str)
def test_a_loaded_model_predicts_the_same(weights, tmp_path):
    model = KernelKMeans(KERNELS, 3, weights=weights, random_state=0).fit(without_views(X))
    save(model, tmp_path / "model")
    again, new = load(tmp_path / "model"), without_views(problem(seed=1)[0])
    assert (again.predict(new) == model.predict(new)).all()
    assert (again.kernel_weights(new) == model.kernel_weights(new)).all(axis=None)


def with_one_cluster(model):
    model.labels_ = np.zeros_like(model.labels_)


def without_weights(model):
    model.kernel_weights_ *= 0.0


def without_spreads(model):
    del model._spreads


def uncentred(model):
    model._centres[0] = Normalizer(None, "a")


def with_a_kernel_that_is_not_kept(model):
    model._state.active[0] = False


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (with_one_cluster, "labels_ leave a cluster empty"),
        (without_weights, "kernel_weights_ are all 0"),
        (without_spreads, "one of the attributes _amplitudes and _spreads only"),
        (uncentred, r"_centres\[0\] does not centre the kernel"),
        (with_a_kernel_that_is_not_kept, "uses a kernel of which nothing is kept"),
    ],
)
def test_forged_files_are_refused(forge, message, tmp_path):
    model = KernelKMeans(KERNELS, 3, weights="localized", random_state=0).fit(X)
    forge(model)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model")

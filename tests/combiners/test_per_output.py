import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import (
    AlignmentWeights,
    ConvexMKL,
    FixedWeights,
    GeneralizedMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    PolynomialMKL,
)
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 4))
NEW = rng.normal(size=(9, 4))
Y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])]
KERNELS = [Linear([0, 1]), Gaussian(scale=2.0), Polynomial([2, 3])]


def fitted(combiner, **options):
    options = {"weights": "per-class", "tol": 1e-6, **options}
    return MKLClassifier(KERNELS, combiner, **options).fit(X, Y)


def test_each_class_has_the_weights_of_its_own_binary_problem():
    model = fitted(ConvexMKL(), multiclass="one-vs-all")
    assert model.kernel_weights_.index.tolist() == ["a", "b", "c"]
    assert model.kernel_weights_.columns.tolist() == ["linear", "gaussian", "polynomial"]
    for label in "abc":
        alone = MKLClassifier(KERNELS, ConvexMKL(), tol=1e-6).fit(X, label == Y)
        np.testing.assert_allclose(model.kernel_weights_.loc[label], alone.kernel_weights_, atol=1e-3)
        values = model.decision_function(NEW)[:, "abc".index(label)]
        np.testing.assert_allclose(values, alone.decision_function(NEW), atol=1e-3)


def test_each_pair_has_the_weights_of_its_own_samples():
    model = fitted(ConvexMKL(), multiclass="one-vs-one", normalize=None, C=0.3)
    pair = np.isin(Y, ["a", "c"])
    alone = MKLClassifier(KERNELS, ConvexMKL(), C=0.3, normalize=None, tol=1e-6).fit(X[pair], Y[pair])
    np.testing.assert_allclose(model.kernel_weights_.loc["a vs c"], alone.kernel_weights_, atol=1e-3)
    np.testing.assert_allclose(model._values(NEW)[:, 1], alone.decision_function(NEW), atol=1e-3)


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-all"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_given_weights_are_the_shared_model(multiclass, normalize):
    options = {"multiclass": multiclass, "normalize": normalize, "C": 0.5}
    for combiner in (Mean(), FixedWeights([0.3, 0.0, 0.7])):
        own, shared = fitted(combiner, **options), fitted(combiner, weights="shared", **options)
        np.testing.assert_allclose(own.decision_function(NEW), shared.decision_function(NEW), atol=1e-5)
        assert own.objective_ == pytest.approx(shared.objective_, rel=1e-6)
        assert own.prediction_cost() == pytest.approx(shared.prediction_cost())


def test_least_squares_classes():
    model = fitted(LpMKL(), multiclass="one-vs-all", machine="least-squares")
    alone = MKLClassifier(KERNELS, LpMKL(), machine="least-squares", tol=1e-6).fit(X, Y == "b")
    np.testing.assert_allclose(model.kernel_weights_.loc["b"], alone.kernel_weights_, atol=1e-3)


def test_weights_of_samples_are_labelled_by_class_and_kernel():
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(N)])
    model = MKLClassifier([Linear([0]), Linear([1])], ConvexMKL(), multiclass="one-vs-all", weights="per-class")
    weights = model.fit(frame, Y).kernel_weights(frame)
    assert weights.columns[0] == ("a", "linear")
    assert weights.index[3] == "s3"
    np.testing.assert_allclose(weights["b"].iloc[0], model.kernel_weights_.loc["b"])


def test_two_classes_are_one_machine():
    model = MKLClassifier(KERNELS, ConvexMKL(), weights="per-class").fit(X, Y == "a")
    assert isinstance(model.kernel_weights_, pd.Series)


def test_results_do_not_depend_on_threads():
    one, two = (fitted(ConvexMKL(), n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_clear_errors():
    with pytest.raises(ValueError, match="the joint machine"):
        fitted(ConvexMKL(), multiclass="joint")
    with pytest.raises(ValueError, match='weights of MKLClassifier must be "shared"'):
        fitted(ConvexMKL(), weights="own")


def test_extended_precomputed_kernels():
    gram = np.vstack([X, NEW]) @ np.vstack([X, NEW]).T
    kernel = Precomputed(gram[:N, :N], view=[0])
    model = MKLClassifier([("k", kernel)], ConvexMKL(), weights="per-class").fit(np.arange(N)[:, None], Y)
    model.replace_kernel("k", kernel.extend(gram[N:, :N], np.diagonal(gram)[N:]))
    plain = MKLClassifier([("k", Linear())], weights="shared").fit(X, Y)
    np.testing.assert_array_equal(model.predict(np.arange(N, N + 9)[:, None]), plain.predict(NEW))


@pytest.mark.parametrize(
    ("combiner", "multiclass"),
    [(PolynomialMKL(tau=0.5), "one-vs-all"), (GeneralizedMKL(strength=0.1), "one-vs-one")],
)
def test_kernels_learned_by_gradients(combiner, multiclass):
    model = fitted(combiner, multiclass=multiclass, tol=1e-3)
    column = 1
    chosen = np.isin(Y, ["a", "c"]) if multiclass == "one-vs-one" else np.ones(N, dtype=bool)
    target = Y[chosen] == ("c" if multiclass == "one-vs-one" else "b")
    alone = MKLClassifier(KERNELS, combiner).fit(X[chosen], target)
    np.testing.assert_allclose(model._values(NEW)[:, column], alone.decision_function(NEW), atol=0.2)


@pytest.mark.parametrize("combiner", [AlignmentWeights("qcqp"), AlignmentWeights(), GeneralizedMKL(), ConvexMKL()])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_view_that_nobody_of_a_pair_has(combiner):
    holes = X.copy()
    holes[Y != "c", 2:] = np.nan
    options = {"weights": "per-class", "multiclass": "one-vs-one", "C": 0.5}
    model = MKLClassifier([Linear([0, 1]), Gaussian([2, 3])], combiner, **options).fit(holes, Y)
    assert model.kernel_weights_.loc["a vs b"].iloc[1] == 0.0
    assert model.history_["output"].tolist() == sorted(model.history_["output"])


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-all"])
def test_summary_of_the_gates_of_each_output(multiclass):
    model = fitted(Localized(l2=0.01), multiclass=multiclass, tol=1e-3, random_state=0)
    summary, weights = model.gating_summary_, model.kernel_weights(X)
    assert list(summary) == ["samples", "class", "output", "kernel", "weight", "gate", "share"]
    assert set(summary["samples"]) == {"training", "support"}
    for output, part in summary[summary["samples"] == "training"].groupby("output"):
        members = np.isin(Y, output.split(" vs ")) if multiclass == "one-vs-one" else np.full(N, True)
        assert set(part["class"]) == {"all", *Y[members]}
        together = part[part["class"] == "all"]
        np.testing.assert_allclose(together["weight"], weights.loc[members, output].mean(), atol=1e-12)
        np.testing.assert_allclose(together["share"], (weights.loc[members, output] > 0).mean(), atol=1e-12)


@pytest.mark.parametrize("form", [{}, {"storage": "lazy"}, {"approximation": "nystroem"}], ids=str)
def test_one_output_has_the_weights_of_the_combiner_itself(form):
    for estimator, y in ((MKLClassifier, Y == "a"), (MKLRegressor, X[:, 0])):
        each, alone = (estimator(KERNELS, own, tol=1e-6, **form).fit(X, y) for own in (PerOutput(LpMKL()), LpMKL()))
        np.testing.assert_allclose(each.kernel_weights_.iloc[0], alone.kernel_weights_, atol=1e-3)
        np.testing.assert_allclose(each.predict(NEW), alone.predict(NEW), atol=1e-2)

"""C="gcv": the model is that of the C that is chosen, and what cannot choose is refused before anything is computed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import BestSingle, ConvexMKL, KernelDifference, Mean, Product
from kernelweave.estimators.reuse import fit_path
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import SquaredError
from kernelweave.machines.gcv import gcv_scores

rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 4))
NUMBERS = X[:, :2] ** 2 + 0.3 * rng.normal(size=(N, 2))
TWO = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(NUMBERS[:, 0], [0.3, 1.0])]
WEIGHT = rng.uniform(0.2, 3.0, N)
KERNELS = [("line", Linear()), ("bump", Gaussian(scale=1.0))]


class Untouched(Linear):
    """A kernel that must not be fitted."""

    def fit(self, *args, **kwargs):
        raise AssertionError("computed before the refusal")


def classifier(**given):
    return MKLClassifier(KERNELS, C="gcv", machine="least-squares").set_params(**given)


def regressor(**given):
    return MKLRegressor(KERNELS, C="gcv", machine="least-squares").set_params(**given)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (classifier(), TWO),
        (classifier(class_weight={"a": 2.0, "b": 1.0, "c": 0.5}), THREE),
        (classifier(combiner=Product(), normalize="center"), THREE),
        (classifier(combiner=BestSingle(cv=3), random_state=0), TWO),
        (regressor(), NUMBERS[:, 0]),
        (regressor(machine=SquaredError()), NUMBERS),
        (regressor(combiner=Mean(), dtype="float32", storage="dense"), NUMBERS),
    ],
    ids=["two", "three", "product", "best", "number", "loss", "single"],
)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_the_model_is_that_of_the_chosen_cost(model, y, weight):
    model = clone(model).fit(X, y, sample_weight=weight)
    assert isinstance(model.gcv_, pd.Series) and model.gcv_.index.name == "C" and len(model.gcv_) == 15
    assert model.gcv_.idxmin() == model.C_ and model.C == "gcv"
    if isinstance(model.combiner, BestSingle):  # its kernels are judged at the C of each
        return
    alone = clone(model).set_params(C=model.C_).fit(X, y, sample_weight=weight)
    # where the largest C asks for float64, that of the chosen one may not
    coarse = 1e-9 if model.dtype is None else 1e-4
    np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_, rtol=coarse, atol=coarse)
    np.testing.assert_allclose(model._values(X), alone._values(X), rtol=coarse, atol=coarse)
    assert not hasattr(alone, "C_") and not hasattr(model.set_params(C=1.0).fit(X, y), "gcv_")


def test_the_criterion_is_that_of_the_combined_kernel_with_all_weights():
    factors = {"a": 2.0, "b": 1.0, "c": 0.5}
    model = classifier(class_weight=factors).fit(X, THREE, sample_weight=WEIGHT)
    stack = KernelStack(KERNELS).fit(X, WEIGHT)
    targets = np.where(THREE[:, None] == model.classes_, 1.0, -1.0)
    weight = WEIGHT * [factors[label] for label in THREE]
    expected = gcv_scores(0.5 * (stack.gram(0) + stack.gram(1)), targets, weight, model.gcv_.index.to_numpy())
    np.testing.assert_allclose(model.gcv_, expected, rtol=1e-9)


def test_noise_takes_a_small_cost_and_a_clean_function_a_large_one():
    y = np.sin(2 * X[:, 0])
    noise = np.random.default_rng(1).normal(size=N)
    kernels = [Gaussian([0], scale=1.0)]
    found = [regressor(kernels=kernels).fit(X, target).C_ for target in (noise, y + 0.3 * noise, y)]
    assert found[0] < 0.1 < found[1] < 1e3 < found[2]


def test_chosen_models_are_saved_cloned_and_searched(tmp_path):
    model = classifier().fit(X, THREE)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert loaded.C == "gcv" and loaded.C_ == model.C_
    pd.testing.assert_series_equal(loaded.gcv_, model.gcv_)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert clone(model).get_params()["C"] == "gcv"
    search = GridSearchCV(classifier(), {"C": ["gcv", 1e-3]}, cv=3).fit(X, THREE)
    assert search.best_params_ == {"C": "gcv"} and np.isfinite(search.cv_results_["mean_test_score"]).all()


REFUSED = [
    (MKLClassifier(C="gcv"), TWO, "machine=\"least-squares\", not 'auto'"),
    (MKLRegressor(C="gcv", machine="squared-epsilon-insensitive"), NUMBERS, 'is for machine="least-squares"'),
    (classifier(storage="lazy"), TWO, "which storage='lazy' does not hold"),
    (regressor(approximation="nystroem"), NUMBERS, "which approximation='nystroem' does not hold"),
    (classifier(combiner=ConvexMKL()), TWO, "such as Mean, and ConvexMKL finds it for a given C"),
    (regressor(combiner=KernelDifference("square")), NUMBERS, "KernelDifference finds it for a given C"),
    (classifier(multiclass="one-vs-one"), THREE, 'use multiclass="one-vs-all"'),
    (classifier(weights="per-class"), THREE, 'use weights="shared"'),
    (regressor(weights="per-target"), NUMBERS, 'use weights="shared"'),
]


@pytest.mark.parametrize(("model", "y", "message"), REFUSED)
def test_what_cannot_choose_is_refused_with_a_remedy(model, y, message):
    model = clone(model)
    if model.approximation is None:
        model.set_params(kernels=[("a", Untouched([0])), ("b", Untouched([1]))])
    with pytest.raises(ValueError, match="GridSearchCV") as error:
        model.fit(X, y)
    assert message in str(error.value)
    assert not hasattr(model, "intercept_")


@pytest.mark.parametrize("C", ["GCV", "", "auto", None, 0.0, -1])
def test_other_words_are_refused(C):
    with pytest.raises(ValueError, match='C of MKLClassifier must be a positive finite number or "gcv"'):
        classifier(C=C).fit(X, TWO)


def test_a_path_takes_numbers_as_costs():
    with pytest.raises(ValueError, match='numbers as values of C, and not "gcv"'):
        list(fit_path(classifier(), X, TWO, "C", [1.0, "gcv"]))
    models = list(fit_path(classifier(), X, TWO, "tol", [1e-2, 1e-6]))
    assert models[0].C_ == models[1].C_

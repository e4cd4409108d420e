"""Views and combiners by name in place of objects: what they stand for, in searches, copies, files and errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save, stack_views
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean, Projected, Softmax
from kernelweave.combiners.named import NAMED
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes import method_names
from kernelweave.reduction import FromEstimator

RNG = np.random.default_rng(0)
X = stack_views({"rna": RNG.normal(size=(60, 12)), "protein": RNG.normal(size=(60, 11)), "age": RNG.normal(size=60)})
Y = np.where(X["rna__0"] + X["protein__1"] + 0.3 * RNG.normal(size=60) > 0, "case", "control")
OBJECTS = {
    "mean": Mean(),
    "lp": LpMKL(p=4 / 3),
    "convex": ConvexMKL(),
    "localized": Localized(),
    "projected": Projected(gating=Softmax(), n_components=10, gating_components=2),
}
VIEWS = ["rna", "protein"]


def test_every_name_is_that_of_a_method():
    assert set(OBJECTS) == set(NAMED) <= set(method_names("classification", []))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("estimator", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_names_stand_for_objects(estimator, name):
    y = X["rna__0"] if estimator is MKLRegressor else Y
    kernels = [Linear("rna"), Linear("protein")]
    given = estimator(VIEWS, combiner=name, random_state=0)
    given.fit(X, y)
    other = estimator(kernels, OBJECTS[name], random_state=0).fit(X, y)
    assert given.get_params(deep=False)["kernels"] == VIEWS and given.combiner == name
    assert type(given.combiner_) is type(OBJECTS[name]) and given.kernel_names_ == VIEWS
    decide = "predict" if estimator is MKLRegressor else "decision_function"
    np.testing.assert_array_equal(getattr(given, decide)(X), getattr(other, decide)(X))


def test_names_beside_kernels_and_under_names_of_their_own():
    model = MKLClassifier(["rna", ("chip", "protein"), Gaussian("rna"), "age"]).fit(X, Y)
    assert model.kernel_names_ == ["rna", "chip", "rna-2", "age"]
    assert [type(kernel) for kernel in model.kernels_] == [Linear, Linear, Gaussian, Linear]


def test_copies_and_parameters():
    model = MKLClassifier(VIEWS, "lp")
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)
    assert isinstance(model.get_params()["kernels__rna"], Linear)
    model.set_params(kernels__rna=Gaussian("rna"), combiner="mean")
    assert isinstance(model.kernels[0][1], Gaussian) and model.combiner == "mean"
    model.set_params(combiner=LpMKL(), combiner__p=3.0)
    assert model.combiner.p == 3.0
    with pytest.raises(ValueError, match="combiner is 'lp', which has no parameters; use a combiner such as LpMKL"):
        MKLClassifier(VIEWS, "lp").set_params(combiner__p=3.0)


def test_a_search_over_names():
    search = GridSearchCV(MKLClassifier(VIEWS), {"combiner": ["mean", "lp"], "kernels": [VIEWS, ["rna"]]}, cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.combiner in ("mean", "lp") and search.cv_results_["mean_test_score"].min() > 0.4


def test_methods_of_a_named_combiner():
    model = MKLClassifier(VIEWS, "localized")
    assert hasattr(model, "gates") and not hasattr(MKLClassifier(VIEWS, "lp"), "gates")
    assert FromEstimator(MKLClassifier(VIEWS, "projected", random_state=0)).fit(X, Y).transform(X).shape == (60, 20)


@pytest.mark.parametrize("name", ["lp", "projected"])
def test_files(tmp_path, name):
    model = MKLClassifier(["rna", ("chip", "protein")], name, random_state=0).fit(X, Y)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    assert loaded.get_params(deep=False) == model.get_params(deep=False)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(clone(loaded).fit(X, Y).decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    "model, message",
    [
        (MKLClassifier(VIEWS, "lpp"), '"projected" or None, not .lpp.; did you mean "lp"'),
        (MKLRegressor(VIEWS, "localised"), 'combiner of MKLRegressor .* did you mean "localized"'),
        (MKLClassifier(VIEWS, "stacking"), 'combiner of MKLClassifier must be a combiner such as Mean.., "mean", "lp"'),
        (MKLClassifier(["rnas", "protein"]), "the view 'rnas' matches no column of X; did you mean 'rna'"),
        (MKLClassifier("rna"), "kernels must be a list; wrap a single kernel, or the name of a view, as"),
        (MKLClassifier([""]), "an entry that is no kernel, name of a view or callable"),
    ],
)
def test_unknown_names(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, X["rna__0"] if isinstance(model, MKLRegressor) else Y)


def test_names_with_explicit_features():
    model = MKLClassifier(VIEWS, "convex", approximation="nystroem", random_state=0).fit(X, Y)
    assert model.score(X, pd.Series(Y)) > 0.8


@pytest.mark.parametrize("kernels", [{"rna": 1.0}, {"rna"}, {"rna": Linear("rna")}, 3])
def test_what_has_no_order_is_no_list_of_names(kernels):
    with pytest.raises(ValueError, match="kernels must be a list of kernels, names of views or"):
        MKLClassifier(kernels).fit(X, Y)


def test_names_need_columns_with_names():
    with pytest.raises(ValueError, match="the view 'rna' is a name, but X has no column names.*kernels="):
        MKLClassifier(np.array(["rna"])).fit(X.to_numpy(), Y)
    assert MKLClassifier(np.array(["rna"])).fit(X, Y).kernel_names_ == ["rna"]

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from kernelweave import MKLClassifier, MKLRegressor, stack_views
from kernelweave.combiners import ConvexMKL, FixedWeights
from kernelweave.estimators.kernel_lists import KernelSubsets, fitted_model
from kernelweave.kernels import Distance, Gaussian, Linear, Pairwise, Precomputed
from kernelweave.model_selection import ResponseSurfaceSearchCV

rng = np.random.default_rng(0)
X = stack_views({"a": rng.normal(size=(30, 3)), "b": rng.normal(size=(30, 2)), "id": np.arange(30)})
Y = (X["a__0"] + X["b__0"] > 0).to_numpy()
KERNELS = [Linear("a"), Gaussian("a"), ("wide", Gaussian("b"))]


def views_of(kernels, data=X):
    return KernelSubsets(MKLClassifier(kernels), data).views


def test_kernels_over_the_same_columns_are_one_view():
    assert views_of(KERNELS) == {"a": ["a", "a-2"], "b": ["wide"]}
    assert views_of([Linear(slice(0, 3)), Gaussian(["a__2", "a__0", "a__1"])]) == {"linear": ["linear", "gaussian"]}
    assert views_of([Linear([0, 1]), Linear("a")]) == {"linear": ["linear"], "a": ["a"]}


def test_a_kernel_over_several_views_is_one_by_itself():
    assert views_of([Linear("a"), Linear("a") + Gaussian("b")]) == {"a": ["a"], "a+b": ["a+b"]}
    assert views_of([Linear("a"), 2.0 * Gaussian("a") * Linear("a")]) == {"a": ["a", "a*2*a"]}
    pairs = Pairwise(Linear(), first=[0], second=[1])
    assert views_of([Linear("a"), ("pairs", pairs)]) == {"a": ["a"], "pairs": ["pairs"]}


def test_a_kernel_that_bears_the_name_of_anothers_view():
    assert views_of([("a", Linear("b")), ("b", Linear("a"))]) == {"b": ["a"], "a": ["b"]}
    assert views_of([Linear("a"), ("a-2", Linear([0])), ("b", Linear([3]))]) == {"a": ["a"], "a-2": ["a-2"], "b": ["b"]}
    assert views_of([("x", Linear("b")), ("b", Linear([0]))]) == {"x": ["x"], "b": ["b"]}


def test_default_kernels_and_precomputed_ones():
    assert views_of(None, X.drop(columns="id")) == {"a": ["a"], "b": ["b"]}
    assert views_of(None, X.to_numpy()) == {"linear": ["linear"]}
    assert views_of([Precomputed(np.eye(30), "id"), Linear("a")]) == {"id": ["id"], "a": ["a"]}


def test_each_matrix_is_a_view():
    first, second = np.eye(30), np.ones((30, 30))
    kernels = [("text", Precomputed(first, "id")), ("graph", Precomputed(second, "id")), ("wide", Gaussian("b"))]
    assert views_of(kernels) == {"text": ["text"], "graph": ["graph"], "b": ["wide"]}
    distances = [Distance(second - first, "id"), Distance(2.0 * (second - first), "id")]
    assert views_of(distances) == {"id": ["id"], "id-2": ["id-2"]}
    assert views_of([("graph", Precomputed(first, "id"))]) == {"graph": ["graph"]}
    scaled = [Precomputed(first, "id"), 2.0 * Precomputed(second, "id")]
    assert len(views_of(scaled)) == 2


def test_names_stay_and_combiners_lose_entries():
    model = MKLClassifier(KERNELS, FixedWeights({"a": 1.0, "a-2": 1.0, "wide": 2.0}), C=3.0)
    subsets = KernelSubsets(model, X)
    part = subsets.of(["a-2"])
    assert part.fit(X, Y).kernel_names_ == ["a-2"]
    assert part.C == 3.0
    assert part.combiner.weights == {"a-2": 4.0}
    assert subsets.of(subsets.names).combiner.weights == model.combiner.weights
    assert model.kernels == KERNELS


def inside(estimator, *kept):
    return KernelSubsets(estimator, X, Y).of(kept)


def test_inside_pipelines_and_other_estimators():
    def frame(X):
        return X[[name for name in X.columns if name != "id"]]

    pipeline = make_pipeline(FunctionTransformer(frame), MKLClassifier())
    assert KernelSubsets(pipeline, X, Y).views == {"a": ["a"], "b": ["b"]}
    fitted = inside(pipeline, "b").fit(X, Y)
    assert fitted_model(fitted).kernel_names_ == ["b"]
    calibrated = CalibratedClassifierCV(pipeline, cv=2)
    assert [name for name, _ in inside(calibrated, "b").estimator[-1].kernels] == ["b"]
    assert fitted_model(inside(calibrated, "b").fit(X, Y)) is None
    assert fitted_model(inside(calibrated.set_params(ensemble=False), "b").fit(X, Y)).kernel_names_ == ["b"]
    target = TransformedTargetRegressor(MKLRegressor(KERNELS), transformer=StandardScaler())
    assert fitted_model(inside(target, "wide").fit(X, X["a__0"])).kernel_names_ == ["wide"]


def test_searches_lose_parameters_of_kernels_that_are_left_out():
    grid = {"C": [1.0, 2.0], "kernels__a-2__scale": [1.0], "kernels__wide__scale": [2.0], "combiner__costs__a": [1.0]}
    search = GridSearchCV(MKLClassifier(KERNELS, ConvexMKL()), grid, cv=2)
    assert list(inside(search, "wide").param_grid) == ["C", "kernels__wide__scale"]
    assert fitted_model(inside(search, "wide").fit(X, Y)).kernels_[0].scale_ == 2.0
    assert list(inside(search, "a", "a-2").param_grid) == ["C", "kernels__a-2__scale", "combiner__costs__a"]
    assert inside(search, "a", "a-2", "wide").param_grid == grid
    several = GridSearchCV(search.estimator, [grid, {"C": [3.0]}], cv=2)
    assert [list(entry) for entry in inside(several, "wide").param_grid] == [["C", "kernels__wide__scale"], ["C"]]
    drawn = RandomizedSearchCV(make_pipeline(search.estimator), {"mklclassifier__kernels__wide__scale": [1.0]})
    assert inside(drawn, "a").param_distributions == {}


def test_combiners_that_are_searched():
    grid = {"combiner": [FixedWeights([1.0, 1.0, 2.0]), ConvexMKL()]}
    found = inside(GridSearchCV(MKLClassifier(KERNELS), grid), "wide").param_grid["combiner"]
    assert found[0].weights == {"wide": 4.0}
    with pytest.raises(ValueError, match=r"changes all kernels at once \(kernels\)"):
        inside(GridSearchCV(MKLClassifier(KERNELS), {"kernels": [KERNELS]}), "wide")


def test_response_surfaces_over_what_is_left():
    model = MKLClassifier(KERNELS, ConvexMKL())
    factors = ["combiner__costs__a", "combiner__costs__wide"]
    assert inside(ResponseSurfaceSearchCV(model, factors), "a", "a-2").factors == ["combiner__costs__a"]
    assert isinstance(inside(ResponseSurfaceSearchCV(model, factors), "a-2"), MKLClassifier)


def test_presence_is_that_of_the_model():
    lacking = X.astype(float)
    lacking.loc[[2, 25], [name for name in X if name.startswith("a__")]] = np.nan
    lacking.loc[7, ["b__0", "b__1"]] = np.nan
    for steps in ([], [StandardScaler().set_output(transform="pandas")]):
        subsets = KernelSubsets(make_pipeline(*steps, MKLClassifier(KERNELS)), lacking, Y)
        train, new = subsets.presence(lacking[:20], lacking[20:], y=Y[:20])
        assert np.argwhere(~train).tolist() == [[2, 0], [2, 1], [7, 2]]
        assert np.argwhere(~new).tolist() == [[5, 0], [5, 1]]


def test_models_without_kernels_are_refused():
    for other in (LogisticRegression(), make_pipeline(StandardScaler()), "model", MKLClassifier):
        with pytest.raises(ValueError, match="a model over kernels is needed"):
            KernelSubsets(other, X)

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import plt
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, FixedWeights, Localized
from kernelweave.display import KernelWeightsDisplay
from kernelweave.kernels import Gaussian, Linear

KERNELS = [("line", Linear()), ("bell", Gaussian(scale=2.0))]


class Weighted(TransformerMixin, BaseEstimator):
    """A transformer with kernel weights, as MKL-DR has."""

    def __init__(self, weights=(0.25, 0.75)):
        self.weights = weights

    def fit(self, X, y=None):
        self.kernel_weights_ = pd.Series(self.weights, ["line", "bell"])
        return self

    def transform(self, X):
        return X


@pytest.fixture(scope="module")
def data():
    return datasets.make_gauss(4, 90, random_state=0)


def heights(container):
    return [bar.get_height() for bar in container]


def test_bars_are_the_weights_by_kernel_name(data):
    model = MKLClassifier(KERNELS, FixedWeights({"line": 0.3, "bell": 2.0})).fit(*data)
    figure, ax = plt.subplots()
    display = KernelWeightsDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert heights(display.bars_[0]) == pytest.approx([0.3, 2.0])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["line", "bell"]
    assert ax.get_legend() is None and len(ax.collections) == 0  # one group, no spread


def test_bars_over_folds_are_means_with_standard_deviations(data):
    results = cross_validate(MKLClassifier(KERNELS, ConvexMKL()), *data, cv=3, return_estimator=True)
    display = KernelWeightsDisplay.from_cv_results(results)
    found = np.array([model.kernel_weights_ for model in results["estimator"]])
    np.testing.assert_allclose(display.weights, found)
    assert heights(display.bars_[0]) == pytest.approx(found.mean(axis=0))
    segments = display.ax_.collections[0].get_segments()
    for m, (low, high) in enumerate(segments):
        mean, deviation = found[:, m].mean(), found[:, m].std(ddof=1)
        assert (low[1], high[1]) == pytest.approx((mean - deviation, mean + deviation))


def test_groups_stand_side_by_side(data, legend_labels):
    models = [Weighted(weights).fit(None) for weights in ([0.2, 0.8], [0.4, 0.6], [1.0, 3.0])]
    display = KernelWeightsDisplay.from_estimators({"first": models[:2], "second": models[2]})
    assert heights(display.bars_[0]) == pytest.approx([0.3, 0.7]) and heights(display.bars_[1]) == [1.0, 3.0]
    assert legend_labels(display.ax_) == ["first", "second"]
    assert display.spread.loc["second"].isna().all()
    left, right = (container[0] for container in display.bars_)
    assert left.get_x() + left.get_width() < right.get_x() + 1e-12


def test_samples_give_the_spread(data, gated):
    X = data[0]
    display = KernelWeightsDisplay.from_estimator(gated, X)
    gates = gated.kernel_weights(X).to_numpy()
    np.testing.assert_allclose(display.mean.to_numpy()[0], gates.mean(axis=0))
    np.testing.assert_allclose(display.spread.to_numpy()[0], gates.std(axis=0, ddof=1))


def test_weights_of_each_class_are_a_heat_map_or_groups_of_bars(data):
    X = data[0]
    y = np.digitize(X[:, 0], [-2.5, -1.0, 0.0, 1.5])
    model = MKLClassifier(KERNELS, ConvexMKL(), multiclass="one-vs-all", weights="per-class").fit(X, y)
    display = KernelWeightsDisplay.from_estimator(model)
    np.testing.assert_allclose(display.image_.get_array(), model.kernel_weights_)
    written = [float(text.get_text()) for text in display.ax_.texts]
    np.testing.assert_allclose(written, model.kernel_weights_.to_numpy().ravel(), atol=0.0051)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0", "1", "2", "3", "4"]
    assert len(display.plot(kind="bar").bars_) == 5
    over_samples = KernelWeightsDisplay.from_estimator(model, X)
    assert list(over_samples.mean.index) == [0, 1, 2, 3, 4] and len(over_samples.weights) == 5 * len(X)
    np.testing.assert_allclose(over_samples.mean, model.kernel_weights_, atol=1e-9)


def test_models_are_found_inside_pipelines_and_searches(data):
    inner = make_pipeline(StandardScaler(), MKLClassifier(KERNELS, ConvexMKL()))
    search = GridSearchCV(inner, {"mklclassifier__C": [1.0]}, cv=2).fit(*data)
    display = KernelWeightsDisplay.from_estimator(search)
    expected = search.best_estimator_[-1].kernel_weights_
    assert heights(display.bars_[0]) == pytest.approx(list(expected))
    np.testing.assert_allclose(KernelWeightsDisplay.from_estimator(search, data[0]).mean.iloc[0], expected)
    nested = Pipeline([("all", make_pipeline(StandardScaler(), Weighted())), ("last", KNeighborsClassifier())])
    display = KernelWeightsDisplay.from_estimator(nested.fit(*data))
    assert heights(display.bars_[0]) == [0.25, 0.75]


def test_the_largest_kernels_come_first():
    weights = pd.DataFrame([[0.1, 0.5, 0.0, 0.4]], index=["a"], columns=list("pqrs"))
    display = KernelWeightsDisplay(weights=weights).plot(largest=2, bar_kw={"color": "black"})
    assert heights(display.bars_[0]) == [0.5, 0.4]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["q", "s"]
    assert display.bars_[0][0].get_facecolor() == (0.0, 0.0, 0.0, 1.0)


def test_one_kernel_is_fine(data):
    display = KernelWeightsDisplay.from_estimator(MKLClassifier([Linear()]).fit(*data))
    assert heights(display.bars_[0]) == [1.0]


def test_errors(data):
    with pytest.raises(NotFittedError):
        KernelWeightsDisplay.from_estimator(MKLClassifier(KERNELS))
    with pytest.raises(ValueError, match="KNeighborsClassifier has no kernel_weights_"):
        KernelWeightsDisplay.from_estimator(KNeighborsClassifier().fit(*data))
    with pytest.raises(ValueError, match="same kernels"):
        other = MKLClassifier([Linear()]).fit(*data)
        KernelWeightsDisplay.from_estimators([Weighted().fit(None), other])
    with pytest.raises(ValueError, match="return_estimator=True"):
        KernelWeightsDisplay.from_cv_results({"test_score": np.ones(3)})
    with pytest.raises(ValueError, match="at least one"):
        KernelWeightsDisplay.from_estimators([])
    with pytest.raises(ValueError, match="kind must be"):
        KernelWeightsDisplay.from_estimator(Weighted().fit(None), kind="pie")
    unlabelled = Weighted().fit(None)
    unlabelled.kernel_weights_ = np.ones(2)
    with pytest.raises(ValueError, match="labelled by kernel name"):
        KernelWeightsDisplay.from_estimator(unlabelled)


def test_gates_of_a_model_on_explicit_features_by_their_mean():
    X, y = datasets.make_gauss(4, 80, random_state=0)
    model = MKLClassifier(KERNELS, Localized(l2=0.01), approximation="nystroem", random_state=0).fit(X, y)
    display = KernelWeightsDisplay.from_estimator(model)
    np.testing.assert_allclose(np.ravel(display.weights), model.kernel_weights_)
    assert display.ax_.patches or display.ax_.lines

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import plt
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.display import ConvergenceDisplay
from kernelweave.kernels import Gaussian, Linear


def model(objective, n_support=None, solves=1, seconds=0.5):
    history = pd.DataFrame({"objective": objective, "solves": solves, "seconds": seconds})
    if n_support is not None:
        history["n_support"] = n_support
    return SimpleNamespace(history_=history)


def test_objective_and_support_vectors_against_all_solves_so_far(legend_labels):
    display = ConvergenceDisplay.from_estimators(
        {"one": model([9.0, 5.0, 4.0], [30, 20, 10], solves=[1, 3, 2]), "two": model([8.0, 6.0], [25, 15])}
    )
    upper, lower = display.lines_["one"]
    np.testing.assert_array_equal(upper.get_xydata(), [[1, 9], [4, 5], [6, 4]])
    np.testing.assert_array_equal(lower.get_xydata(), [[1, 30], [4, 20], [6, 10]])
    assert legend_labels(display.axes_[0]) == ["one", "two"]
    assert [ax.get_ylabel() for ax in display.axes_] == ["objective", "support vectors"]
    assert display.axes_[1].get_xlabel() == "machine solves"


def test_seconds_and_iterations_are_counted_from_the_start():
    display = ConvergenceDisplay.from_estimator(model([3.0, 2.0, 1.0], seconds=[0.5, 0.25, 1.0]), against="seconds")
    (line,) = display.lines_["SimpleNamespace"]
    np.testing.assert_allclose(line.get_xdata(), [0.5, 0.75, 1.75])
    assert len(display.axes_) == 1  # the history knows no support vectors
    (line,) = display.plot(against="iterations").lines_["SimpleNamespace"]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])


def test_best_so_far_passes_over_trial_points():
    display = ConvergenceDisplay.from_estimator(model([9.0, 12.0, 7.0, 8.0, 6.0], [5, 9, 4, 8, 3]), best_so_far=True)
    upper, lower = display.lines_["SimpleNamespace"]
    np.testing.assert_array_equal(upper.get_ydata(), [9.0, 9.0, 7.0, 7.0, 6.0])
    np.testing.assert_array_equal(lower.get_ydata(), [5, 5, 4, 4, 3])


def test_excess_is_over_the_least_of_all_models():
    display = ConvergenceDisplay.from_estimators({"a": model([9.0, 4.0]), "b": model([8.0, 6.0])}, scale="excess")
    np.testing.assert_array_equal(display.lines_["a"][0].get_ydata(), [5.0, np.nan])
    np.testing.assert_array_equal(display.lines_["b"][0].get_ydata(), [4.0, 2.0])
    assert display.axes_[0].get_yscale() == "log"
    assert display.plot(scale="log").axes_[0].get_yscale() == "log"


def test_a_fitted_pipeline_on_given_axes():
    X, y = datasets.make_gauss(4, 80, random_state=0)
    fitted = make_pipeline(StandardScaler(), MKLClassifier([Linear(), Gaussian()], ConvexMKL())).fit(X, y)
    figure, ax = plt.subplots()
    display = ConvergenceDisplay.from_estimator(fitted, ax=ax, line_kw={"linewidth": 7})
    assert display.axes_ == [ax] and display.figure_ is figure
    (line,) = display.lines_["MKLClassifier"]
    history = fitted[-1].history_
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(history) + 1))
    np.testing.assert_array_equal(line.get_ydata(), history["objective"])
    assert line.get_linewidth() == 7
    seconds = display.histories["MKLClassifier"]["seconds"].iloc[-1]
    assert seconds == pytest.approx(history["seconds"].sum())


def test_errors():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(MKLClassifier())
    with pytest.raises(ValueError, match="mapping from labels"):
        ConvergenceDisplay.from_estimators([model([1.0])])
    with pytest.raises(ValueError, match="against must be"):
        ConvergenceDisplay.from_estimator(model([1.0]), against="hours")
    with pytest.raises(ValueError, match="scale must be"):
        ConvergenceDisplay.from_estimator(model([1.0]), scale="cubic")
    with pytest.raises(ValueError, match=r"lacks \['solves'\]"):
        ConvergenceDisplay.from_estimator(SimpleNamespace(history_=pd.DataFrame({"objective": [1.0], "seconds": 1.0})))
    with pytest.raises(ValueError, match="one fit for each class"):
        each = model([1.0, 2.0])
        each.kernel_weights_ = pd.DataFrame(np.eye(2))
        ConvergenceDisplay.from_estimator(each)
    with pytest.raises(ValueError, match="ax must be 2 matplotlib axes"):
        ConvergenceDisplay.from_estimator(model([1.0], [4]), ax=plt.subplots(3)[1])


def test_models_on_explicit_features_have_an_objective_and_no_support_vectors():
    X, y = datasets.make_gauss(4, 80, random_state=0)
    gates = Localized(l2=0.01)
    fitted = MKLClassifier([Linear(), Gaussian()], gates, approximation="nystroem", random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(fitted)
    assert len(display.axes_) == 1 and "n_support" not in fitted.history_
    (line,) = display.axes_[0].lines
    assert line.get_ydata()[-1] == pytest.approx(fitted.history_["objective"].iloc[-1])

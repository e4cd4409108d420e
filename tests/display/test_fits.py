import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import plt
from kernelweave import MKLRegressor
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.display import RegressionFitDisplay
from kernelweave.kernels import Gaussian, Linear

X = np.linspace(0.3, 6.0, 40)[:, None]
Y = np.sin(X[:, 0])


def test_fit_tube_and_gates_of_one_model(gated, legend_labels):
    display = RegressionFitDisplay.from_estimator(gated, X - 3.0, Y)
    fit = np.abs(display.grid)
    np.testing.assert_allclose(display.fits["Gated"], fit)
    np.testing.assert_allclose(display.lines_["Gated"].get_ydata(), fit)
    assert display.grid[0] < -2.7 and display.grid[-1] > 3.0 and display.epsilons == {"Gated": 0.25}
    upper, lower = display.axes_
    samples, rings, tube = upper.collections
    np.testing.assert_allclose(samples.get_offsets(), np.column_stack([X - 3.0, Y]))
    np.testing.assert_allclose(rings.get_offsets(), np.column_stack([X - 3.0, Y])[[0, 3]])
    edges = tube.get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx(fit.max() + 0.25)
    expected = gated.kernel_weights(display.grid[:, None])
    for line, name in zip(lower.get_lines(), expected, strict=True):
        np.testing.assert_allclose(line.get_ydata(), expected[name])
    assert legend_labels(lower) == ["left", "middle", "up"]
    assert legend_labels(upper) == ["samples", "support vectors", "Gated", "tube, epsilon = 0.25"]


def test_each_kernel_of_a_gated_model_by_itself(legend_labels):
    model = MKLRegressor([Linear()] * 2, Localized(l2=0.01), C=100.0, random_state=0).fit(X, np.abs(X[:, 0] - 3.0))
    display = RegressionFitDisplay.from_estimator(model, X, Y)
    values, gates = model.local_values(display.grid[:, None]), model.kernel_weights(display.grid[:, None])
    fit, *local = display.ax_.get_lines()
    alone = [f"{name} alone" for name in values]
    assert [line.get_label() for line in local] == alone and legend_labels(display.ax_)[-len(alone) :] == alone
    for line, gate in zip(local, display.axes_[1].get_lines(), strict=True):
        assert line.get_color() == gate.get_color() and line.get_linestyle() == gate.get_linestyle()
    for line, name in zip(local, values, strict=True):
        np.testing.assert_allclose(line.get_ydata(), values[name].where(gates[name] > 0.1))
    assert display.plot(local=False).ax_.get_lines()[1:] == []
    both = RegressionFitDisplay.from_estimators({"a": model, "b": model}, X, Y)
    assert len(both.ax_.get_lines()) == 2


def test_several_models_with_and_without_kernels(legend_labels):
    frame, target = pd.DataFrame({"time": X[:, 0]}), pd.Series(Y, name="height")
    several = MKLRegressor([Linear(), Gaussian(scale=1.0)], ConvexMKL(), epsilon=0.2)
    models = {
        "scaled": make_pipeline(StandardScaler(), several),
        "single": MKLRegressor([Linear()], epsilon=0.05),
        "plain": LinearRegression(),
    }
    for model in models.values():
        model.fit(frame, target)
    display = RegressionFitDisplay.from_estimators(models, frame, target)
    assert list(display.gates) == ["scaled"] and display.epsilons == {"scaled": 0.2, "single": 0.05}
    rows = pd.DataFrame({"time": display.grid})
    for label, model in models.items():
        np.testing.assert_allclose(display.fits[label], model.predict(rows))
    np.testing.assert_allclose(display.gates["scaled"].iloc[0], models["scaled"][-1].kernel_weights_)
    assert display.ax_.get_ylabel() == "height" and display.axes_[1].get_xlabel() == "time"
    assert display.support is None and legend_labels(display.ax_) == ["samples", "scaled", "single", "plain"]


def test_one_axes_has_the_fit_only(gated):
    figure, ax = plt.subplots()
    display = RegressionFitDisplay.from_estimator(gated, X, Y, ax=ax, tube=False, support=False)
    assert display.axes_ == [ax] and display.figure_ is figure
    assert len(ax.collections) == 1


def test_errors(gated):
    with pytest.raises(ValueError, match="one column to be drawn along, not 2"):
        RegressionFitDisplay.from_estimator(gated, np.ones((40, 2)), Y)
    with pytest.raises(ValueError, match="one value for each of the 40 samples"):
        RegressionFitDisplay.from_estimator(gated, X, Y[:3])
    with pytest.raises(ValueError, match="y must be given"):
        RegressionFitDisplay.from_estimator(gated, X, None)
    with pytest.raises(ValueError, match="two dimensions"):
        RegressionFitDisplay.from_estimator(gated, X[:, 0], Y)
    with pytest.raises(NotFittedError):
        RegressionFitDisplay.from_estimator(MKLRegressor([Linear()]), X, Y)


BOTH = pd.DataFrame({"sine": Y, "cosine": np.cos(X[:, 0])})


@pytest.mark.parametrize("weights", ["shared", "per-target"])
def test_one_of_several_targets(weights):
    model = MKLRegressor([Linear(), Gaussian(scale=1.0)], ConvexMKL(), C=3.0, weights=weights).fit(X, BOTH)
    display = RegressionFitDisplay.from_estimator(model, X, BOTH, target="cosine")
    np.testing.assert_allclose(display.fits["MKLRegressor"], model.predict(display.grid[:, None])[:, 1])
    np.testing.assert_allclose(display.y, BOTH["cosine"])
    np.testing.assert_array_equal(display.support, model.support_[model.dual_coef_[1] != 0.0])
    own = model.kernel_weights_ if weights == "shared" else model.kernel_weights_.loc["cosine"]
    np.testing.assert_allclose(display.gates["MKLRegressor"].iloc[0], own)
    assert display.names[1] == "cosine"
    alone = RegressionFitDisplay.from_estimator(model, X, BOTH["cosine"].to_numpy(), target="cosine")
    np.testing.assert_allclose(alone.fits, display.fits)


def test_local_fits_of_one_of_several_targets():
    model = MKLRegressor([Linear()] * 2, Localized(l2=0.01), C=30.0, random_state=0).fit(X, BOTH.to_numpy())
    display = RegressionFitDisplay.from_estimator(model, X, BOTH.to_numpy(), target=1)
    values = model.local_values(display.grid[:, None])
    np.testing.assert_allclose(display.local["MKLRegressor"], values[1])
    assert display.names == ("x", "y")


def test_targets_of_other_models_and_of_one_column():
    plain, column = LinearRegression().fit(X, BOTH), MKLRegressor().fit(X, BOTH[["sine"]])
    models = {"plain": plain, "own": MKLRegressor().fit(X, BOTH)}
    display = RegressionFitDisplay.from_estimators(models, X, BOTH, target="sine")
    np.testing.assert_allclose(display.fits["plain"], plain.predict(display.grid[:, None])[:, 0])
    display = RegressionFitDisplay.from_estimator(column, X, BOTH[["sine"]])
    np.testing.assert_allclose(display.fits["MKLRegressor"], column.predict(display.grid[:, None])[:, 0])


def test_a_target_has_to_be_chosen():
    model = MKLRegressor().fit(X, BOTH)
    for target in (None, "tangent", 0):
        with pytest.raises(ValueError, match=r"target must be one of \['sine', 'cosine'\]"):
            RegressionFitDisplay.from_estimator(model, X, BOTH, target=target)
    with pytest.raises(ValueError, match="target must be None where there is one target"):
        RegressionFitDisplay.from_estimator(MKLRegressor().fit(X, Y), X, Y, target="sine")


def test_gates_of_a_model_on_explicit_features():
    kernels = [("line", Linear()), ("bell", Gaussian(scale=0.3))]
    y = np.where(X[:, 0] < 3.0, X[:, 0], 3.0 + np.sin(6.0 * X[:, 0]))
    model = MKLRegressor(kernels, Localized(l2=1e-4), approximation="nystroem", normalize=None, C=10.0, random_state=0)
    display = RegressionFitDisplay.from_estimator(model.fit(X, y), X, y)
    np.testing.assert_allclose(display.fits["MKLRegressor"], model.predict(display.grid[:, None]))
    gates = [line.get_ydata() for line in display.axes_[1].lines]
    np.testing.assert_allclose(gates, model.kernel_weights(display.grid[:, None]).T)
    assert np.ptp(gates[0]) > 0.1

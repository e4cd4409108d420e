import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import ContourSet, plt, to_hex
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, datasets
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.display import GatingDisplay
from kernelweave.kernels import Linear, Polynomial


@pytest.fixture(scope="module")
def data():
    return datasets.make_gauss(4, 80, random_state=0)


@pytest.fixture(scope="module")
def explicit(data):
    kernels = [("linear", Linear()), ("quadratic", Polynomial(degree=2))]
    model = MKLClassifier(kernels, Localized(l2=1e-3), approximation="nystroem", normalize=None, random_state=0)
    return model.fit(*data)


def segments(contour):
    return [path.vertices for path in contour.get_paths() if len(path.vertices)]


def contours(ax):
    return [entry for entry in ax.collections if isinstance(entry, ContourSet)]


def test_regions_are_the_strongest_kernels_on_the_grid(data, gated):
    X, y = data
    display = GatingDisplay.from_estimator(gated, X, y, grid_resolution=40)
    grid = np.stack(np.meshgrid(display.first, display.second), axis=-1)
    expected = gated.kernel_weights(grid.reshape(-1, 2)).to_numpy()
    np.testing.assert_array_equal(display.regions, expected.argmax(axis=1).reshape(40, 40))
    np.testing.assert_allclose(display.grid_gates[7, 3], gated.kernel_weights([grid[7, 3]]).to_numpy()[0])
    np.testing.assert_allclose(display.decision, grid.sum(axis=-1) - 0.5)
    np.testing.assert_array_equal(display.strongest, gated.kernel_weights(X).to_numpy().argmax(axis=1))
    assert display.first[0] < X[:, 0].min() and display.second[-1] > X[:, 1].max()


def test_tint_is_as_opaque_as_the_lead_is_large(data, gated):
    display = GatingDisplay.from_estimator(gated, data[0], grid_resolution=40)
    image = display.ax_.images[0].get_array()
    strength = display.grid_gates.max(axis=2)
    order = np.argsort(strength.ravel())
    assert (np.diff(image[:, :, 3].ravel()[order]) >= -1e-12).all() and np.ptp(image[:, :, 3]) > 0.2
    same = image[display.regions == 0][:, :3]
    assert (same == same[0]).all() and not (image[display.regions == 2][0, :3] == same[0]).all()


def test_lines_lie_where_the_two_largest_gates_are_equal(data, gated):
    display = GatingDisplay.from_estimator(gated, data[0], grid_resolution=200)
    *boundaries, decision = contours(display.ax_)
    n_points = 0
    for boundary in boundaries:
        for line in segments(boundary):
            first, second = np.sort(gated.kernel_weights(line).to_numpy(), axis=1)[:, :-3:-1].T
            np.testing.assert_allclose(first, second, atol=0.05)
            n_points += len(line)
    assert n_points > 100
    assert list(decision.levels) == [-1.0, 0.0, 1.0]
    for level, path in zip(decision.levels, decision.get_paths(), strict=True):
        np.testing.assert_allclose(path.vertices.sum(axis=1) - 0.5, level, atol=1e-9)


def test_samples_support_vectors_and_legend(data, gated, legend_labels):
    X, y = data
    figure, ax = plt.subplots()
    display = GatingDisplay.from_estimator(gated, X, y, ax=ax, support_kw={"s": 99})
    assert display.ax_ is ax and display.figure_ is figure and display.kind_ == "regions"
    negative, positive, rings = [entry for entry in ax.collections if hasattr(entry, "get_sizes")][-3:]
    np.testing.assert_allclose(negative.get_offsets(), X[y == -1])
    np.testing.assert_allclose(positive.get_offsets(), X[y == 1])
    np.testing.assert_allclose(rings.get_offsets(), X[[0, 3]])
    assert rings.get_sizes() == [99]
    lines = ["equal gates", "decision boundary", "margins"]
    assert legend_labels(ax) == ["left", "middle", "up", "class -1", "class 1", "support vector", *lines]
    bare = GatingDisplay.from_estimator(gated, X, support=False, legend=False)
    assert bare.support is None and bare.ax_.get_legend() is None


def test_kernels_keep_the_colours_that_are_given(data, gated):
    X, y = data
    given = {"up": "#123456", "left": "#abcdef"}
    display = GatingDisplay.from_estimator(gated, X, y, colors=given, grid_resolution=20, legend=False)
    inks = {handle.get_label(): to_hex(handle.get_facecolor()) for handle in display.handles_[:3]}
    assert inks["up"] == "#123456" and inks["left"] == "#abcdef" and inks["middle"] not in given.values()
    image, regions = display.ax_.images[0].get_array(), display.regions
    assert to_hex(image[regions == 0][0][:3]) == "#abcdef" and to_hex(image[regions == 2][0][:3]) == "#123456"
    strongest = GatingDisplay.from_estimator(gated, X, y, kind="strongest", colors=given)
    shown = {to_hex(ink[:3]) for dots in strongest.ax_.collections[:2] for ink in dots.get_facecolor()}
    assert {"#123456", "#abcdef"} <= shown
    with pytest.raises(ValueError, match="colors names 'down'"):
        GatingDisplay.from_estimator(gated, X, y, colors={"down": "red"})


def test_the_legend_of_a_small_panel_is_below_its_labels(data, gated):
    X, y = data
    figure, panels = plt.subplots(2, 2, figsize=(5.0, 5.0))
    display = GatingDisplay.from_estimator(gated, X, y, ax=panels[0, 0], grid_resolution=20)
    figure.canvas.draw()
    legend, label = display.ax_.get_legend().get_window_extent(), display.ax_.xaxis.label.get_window_extent()
    assert legend.y1 <= label.y0


def test_a_pipeline_with_a_scaler_and_a_data_frame(data):
    X = pd.DataFrame(data[0] * [1.0, 50.0], columns=["width", "height"])
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, MKLClassifier([Linear(), Polynomial(degree=2)], ConvexMKL())).fit(X, data[1])
    display = GatingDisplay.from_estimator(model, X, data[1], grid_resolution=20)
    assert display.names == ("width", "height") and display.ax_.get_ylabel() == "height"
    place = pd.DataFrame([[display.first[4], display.second[11]]], columns=X.columns)
    assert display.decision[11, 4] == pytest.approx(model.decision_function(place)[0])
    np.testing.assert_allclose(display.grid_gates[11, 4], model[-1].kernel_weights_)
    np.testing.assert_array_equal(display.support, model[-1].support_)


def test_gates_see_what_the_pipeline_makes_of_the_samples(data, gated):
    X = data[0] + [5.0, -3.0]
    scaler = StandardScaler()
    inner = make_pipeline(scaler, gated)
    pipeline = make_pipeline(StandardScaler(with_std=False), inner).fit(X)
    display = GatingDisplay.from_estimator(pipeline, X, grid_resolution=10)
    expected = gated.kernel_weights((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(display.gates, expected)


def test_machines_other_than_the_binary_one(data, legend_labels):
    X = data[0]
    one_class = GatingDisplay.from_estimator(MKLOneClass([Polynomial(degree=2)], nu=0.2).fit(X), X, grid_resolution=30)
    assert not one_class.margins and "margins" not in legend_labels(one_class.ax_)
    regression = GatingDisplay.from_estimator(MKLRegressor([Linear()]).fit(X, X[:, 0]), X, X[:, 0], grid_resolution=30)
    assert regression.decision is None and legend_labels(regression.ax_) == ["linear", "support vector"]
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    model = MKLClassifier([Linear()], normalize=None, multiclass="joint").fit(X, y)
    several = GatingDisplay.from_estimator(model, X, y, grid_resolution=60)
    assert several.decision.shape == (60, 60, 3)
    for line in contours(several.ax_):
        for points in segments(line):
            ranked = np.sort(model.decision_function(points), axis=1)
            np.testing.assert_allclose(ranked[:, 2], ranked[:, 1], atol=0.1)


def test_weights_of_one_class(data):
    X = data[0]
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    kernels = [Linear(), Polynomial(degree=2)]
    model = MKLClassifier(kernels, ConvexMKL(), multiclass="one-vs-all", weights="per-class").fit(X, y)
    display = GatingDisplay.from_estimator(model, X, y, output=2, grid_resolution=10)
    np.testing.assert_allclose(display.gates.iloc[0], model.kernel_weights_.loc[2])
    with pytest.raises(ValueError, match="output must be one of"):
        GatingDisplay.from_estimator(model, X, y)


def test_samples_in_an_embedding_by_strongest_kernel(data, gated, legend_labels):
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 9.0, 1.0, 2.0]
    display = GatingDisplay.from_estimator(gated, X, np.arange(50) % 2)
    expected = PCA(2).fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(display.points, expected)
    assert display.kind_ == "strongest" and display.regions is None
    even, odd, _ = display.ax_.collections
    strongest = gated.kernel_weights(X).to_numpy().argmax(axis=1)
    colours = even.get_facecolors()[:, :3]
    assert len(np.unique(colours, axis=0)) == len(np.unique(strongest[::2]))
    for m in np.unique(strongest[::2]):
        assert (np.ptp(colours[strongest[::2] == m], axis=0) == 0).all()
    assert legend_labels(display.ax_) == ["left", "middle", "up", "class 0", "class 1", "support vector"]


def test_one_panel_for_each_kernel(data, gated):
    X, y = data
    places = np.random.default_rng(1).normal(size=(len(X), 2))
    display = GatingDisplay.from_estimator(gated, X, kind="panels", embedding=places)
    assert [ax.get_title() for ax in display.axes_] == ["left", "middle", "up"]
    gates = gated.kernel_weights(X)
    for ax, name in zip(display.axes_, gates, strict=True):
        np.testing.assert_allclose(ax.collections[0].get_array(), gates[name])
        np.testing.assert_allclose(ax.collections[0].get_offsets(), places)
    with pytest.raises(ValueError, match="ax must be 3 matplotlib axes"):
        display.plot(plt.subplots()[1], kind="panels")


def test_one_kernel_is_one_region(data):
    X, y = data
    display = GatingDisplay.from_estimator(MKLClassifier([Linear()]).fit(X, y), X, y, grid_resolution=20)
    assert (display.regions == 0).all()


def test_errors(data, gated):
    X, y = data
    with pytest.raises(ValueError, match="X of two columns and no embedding, but X has 3"):
        GatingDisplay.from_estimator(gated, np.ones((9, 3)), kind="regions")
    with pytest.raises(ValueError, match="kind must be"):
        GatingDisplay.from_estimator(gated, X, kind="map")
    with pytest.raises(NotFittedError):
        GatingDisplay.from_estimator(MKLClassifier([Linear()]), X)
    with pytest.raises(ValueError, match="has no kernel_weights"):
        GatingDisplay.from_estimator(StandardScaler().fit(X), X)
    with pytest.raises(ValueError, match="one value for each of the 80 samples"):
        GatingDisplay.from_estimator(gated, X, y[:5])
    with pytest.raises(ValueError, match="pass the X of the fit, or support=False"):
        GatingDisplay.from_estimator(gated, X[:3])
    with pytest.raises(ValueError, match=r"shape \(80, 2\)"):
        GatingDisplay.from_estimator(gated, X, embedding=np.ones((80, 3)))
    with pytest.raises(ValueError, match="pass an embedding"):
        GatingDisplay.from_estimator(gated, X[:, :1])
    with pytest.raises(ValueError, match="output must be None"):
        GatingDisplay.from_estimator(gated, X, output=1)
    in_embedding = GatingDisplay.from_estimator(gated, X, embedding=X)
    with pytest.raises(ValueError, match="needs gates on a grid"):
        in_embedding.plot(kind="regions")


@pytest.mark.parametrize("kind", ["regions", "strongest", "panels"])
def test_models_on_explicit_features_have_gates_and_no_support_vectors(data, explicit, kind, legend_labels):
    X, y = data
    display = GatingDisplay.from_estimator(explicit, X, y, kind=kind, grid_resolution=20)
    np.testing.assert_allclose(display.gates, explicit.kernel_weights(X))
    assert np.ptp(display.gates.to_numpy(), axis=0).min() > 0.1  # they differ from sample to sample
    assert display.support is None and display.kind_ == kind
    assert all("support vector" not in legend_labels(ax) for ax in display.axes_ if ax.get_legend())
    if kind == "regions":
        grid = np.stack(np.meshgrid(display.first, display.second), axis=-1)
        np.testing.assert_allclose(display.decision[3], explicit.decision_function(grid[3]))
        np.testing.assert_array_equal(display.regions[3], explicit.kernel_weights(grid[3]).to_numpy().argmax(axis=1))

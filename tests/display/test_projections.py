import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import ContourSet, plt, to_rgba
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, datasets
from kernelweave.combiners import GaussianGate, Localized, Projected, Sigmoid, Softmax
from kernelweave.display import ProjectionDisplay
from kernelweave.kernels import Gaussian, Linear, Polynomial

TWO = [("one", Linear()), ("two", Linear())]


@pytest.fixture(scope="module")
def toy():
    X, y, _ = datasets.make_local_projection_toy(120, random_state=0)
    return np.hstack([X, np.random.default_rng(0).normal(size=(120, 3))]), y


@pytest.fixture(scope="module")
def lines(toy):
    """Two regions along one gating direction, each with a line of its own."""
    combiner = Projected(1, Softmax(), gating_components=1, n_init=3)
    return MKLClassifier(TWO, combiner, C=10.0, normalize=None, random_state=0).fit(*toy)


@pytest.fixture(scope="module")
def planes(toy):
    """Regions of three kernels in a gating plane, each with a plane of its own."""
    combiner = Projected(2, Softmax(), gating_components=2)
    return MKLClassifier([*TWO, ("three", Linear())], combiner, C=10.0, normalize=None, random_state=0).fit(*toy)


def contours(ax):
    return [entry for entry in ax.collections if isinstance(entry, ContourSet)]


def vertices(contour):
    return np.vstack([path.vertices for path in contour.get_paths() if len(path.vertices)])


def points(ax):
    """What was drawn of samples and of the rings around support vectors, in the order of drawing."""
    return [np.asarray(entry.get_offsets()) for entry in ax.collections if not isinstance(entry, ContourSet)]


def verticals(ax, style):
    found = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == style]
    return np.sort(found)


def scores_of_codes(model):
    """Slopes and biases of the scores as functions of T' x^G."""
    return model.gating_projection_.T.to_numpy() @ model.gating_coef_.to_numpy(), model.gating_intercept_.to_numpy()


def weights_of(model, X):
    """f as a linear function of the gated projections, by the support vectors' own."""
    return (model.dual_coef_ @ model.project(X[model.support_]).to_numpy())[0], model.intercept_[0]


def test_gating_space_of_one_dimension_is_a_strip_with_the_boundary_between_regions(toy, lines):
    X, y = toy
    display = ProjectionDisplay.from_estimator(lines, X, y)
    codes = StandardScaler().fit_transform(X) @ lines.gating_projection_.to_numpy()
    np.testing.assert_allclose(display.gating.points, codes)
    ax = display.axes_[0]
    low, high, _ = points(ax)
    np.testing.assert_allclose(low[:, 0], codes[y == -1, 0])
    np.testing.assert_allclose(high[:, 0], codes[y == 1, 0])
    assert (np.abs(low[:, 1]) < 0.5).all() and (np.abs(high[:, 1] - 1) < 0.5).all()
    (slopes,), biases = scores_of_codes(lines)
    boundary = (biases[1] - biases[0]) / (slopes[0] - slopes[1])
    np.testing.assert_allclose(verticals(ax, "-."), [boundary], atol=1e-3)
    for text in ax.texts:
        scores = text.get_position()[0] * slopes + biases
        assert text.get_text() == ["one", "two"][scores.argmax()]
    assert len(ax.texts) == 2


def test_gating_plane_has_lines_where_gates_are_equal_and_names_inside_regions(toy, planes):
    X, y = toy
    display = ProjectionDisplay.from_estimator(planes, X, y)
    slopes, biases = scores_of_codes(planes)
    ax = display.axes_[0]
    np.testing.assert_allclose(np.vstack(points(ax)[:2]), np.vstack([display.gating.points[y == k] for k in (-1, 1)]))
    for contour in contours(ax):
        ranked = np.sort(vertices(contour) @ slopes + biases, axis=1)
        np.testing.assert_allclose(ranked[:, -1], ranked[:, -2], atol=0.05)
    assert contours(ax)
    for text in ax.texts:
        assert text.get_text() == planes.kernel_names_[(text.get_position() @ slopes + biases).argmax()]
    there = np.unique(display.gating.values.argmax(axis=2))
    assert sorted(text.get_text() for text in ax.texts) == sorted(planes.kernel_names_[m] for m in there)


def test_samples_lie_in_the_space_of_their_region(toy, planes):
    X, y = toy
    display = ProjectionDisplay.from_estimator(planes, X, y)
    region, projected = planes.region(X), planes.project(X, by_kernel=True)
    assert {space.title for space in display.spaces} == set(region)
    for space, ax in zip(display.spaces, display.axes_[1:], strict=True):
        np.testing.assert_array_equal(space.rows, np.flatnonzero(region == space.title))
        inside = projected[space.title].to_numpy()[space.rows]
        negative, positive, rings = points(ax)
        np.testing.assert_allclose(negative, inside[y[space.rows] == -1])
        np.testing.assert_allclose(positive, inside[y[space.rows] == 1])
        np.testing.assert_allclose(rings, inside[np.isin(space.rows, planes.support_)])
        assert ax.get_title() == f"{space.title}: {len(space.rows)} samples"


def test_thresholds_of_lines_are_where_the_region_s_own_function_is_0_and_1(toy, lines):
    X, y = toy
    display = ProjectionDisplay.from_estimator(lines, X, y)
    w, b = weights_of(lines, X)
    for m, (space, ax) in enumerate(zip(display.spaces, display.axes_[1:], strict=True)):
        low, high = space.grid[0][[0, -1]]
        np.testing.assert_allclose(verticals(ax, "-"), [-b / w[m]], atol=1e-9)
        margins = np.sort([(-1 - b) / w[m], (1 - b) / w[m]])
        seen = margins[(margins > low) & (margins < high)]
        np.testing.assert_allclose(verticals(ax, "--"), seen, atol=1e-9)
        assert len(seen) == 2 and ax.get_xlim() == (low, high)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2), Gaussian(scale=2.0)])
def test_lines_of_a_plane_are_level_lines_of_the_decision_function(toy, kernel):
    X, y = toy
    model = MKLClassifier([kernel], Projected(2, init="lda"), C=10.0, normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    assert display.gating is None and len(display.axes_) == 1
    (W,) = model.projections_.values()
    drawn = contours(display.ax_)
    assert len(drawn) == 3
    for contour in drawn:
        back = vertices(contour) @ W.to_numpy().T  # W' W = I, so this is a sample at that point
        np.testing.assert_allclose(model.decision_function(back), contour.levels[0], atol=0.02)
    assert {contour.levels[0] for contour in drawn} == {-1.0, 0.0, 1.0}


def test_more_than_two_dimensions_are_seen_along_principal_axes(toy):
    X, y = toy
    combiner = Projected(3, Softmax(), gating_components=3)
    model = MKLClassifier(TWO, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    expected = [model.gating_space(X).to_numpy()]
    expected += [model.project(X, by_kernel=True)[space.title].to_numpy()[space.rows] for space in display.spaces]
    for space, full, ax in zip([display.gating, *display.spaces], expected, display.axes_, strict=True):
        found = PCA(2).fit_transform(full)
        np.testing.assert_allclose(np.abs(space.points), np.abs(found), atol=1e-6)
        assert space.values is None and not contours(ax)
        assert ax.get_xlabel().startswith("principal axis 1 of 3")
    strongest = model.kernel_weights(X).to_numpy().argmax(axis=1)
    place = {text.get_text(): text.get_position() for text in display.axes_[0].texts}
    np.testing.assert_allclose(place["two"], np.median(display.gating.points[strongest == 1], axis=0))


def test_several_classes(toy, legend_labels):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = MKLClassifier([Linear()], Projected(2), multiclass="joint", C=10.0, normalize=None, random_state=0)
    display = ProjectionDisplay.from_estimator(model.fit(X, y), X, y)
    assert not display.margins and len(points(display.ax_)) == 4
    W = model.projections_["linear"].to_numpy()
    for contour in contours(display.ax_):
        ranked = np.sort(model.decision_function(vertices(contour) @ W.T), axis=1)
        np.testing.assert_allclose(ranked[:, 2], ranked[:, 1], atol=0.05)
    assert contours(display.ax_)
    assert legend_labels(display.ax_) == ["class 0", "class 1", "class 2", "support vector", "decision boundary"]
    flat = MKLClassifier([Linear()], Projected(1), multiclass="one-vs-all", C=10.0, normalize=None, random_state=0)
    display = ProjectionDisplay.from_estimator(flat.fit(X, y), X, y)
    thresholds = verticals(display.ax_, "-")
    W = flat.projections_["linear"].to_numpy()
    before, after = (flat.predict((thresholds + step)[:, None] @ W.T) for step in (-1e-3, 1e-3))
    assert (before != after).all() and {*before, *after} == set(flat.predict(X))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["0", "1", "2"]


def test_regression_has_its_target_as_colour_and_height(toy, legend_labels):
    X, _ = toy
    y = X[:, 0] + 0.3 * X[:, 1] ** 2
    model = MKLRegressor([Polynomial(degree=2)], Projected(1), C=10.0, normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    z = model.project(X, by_kernel=True)["polynomial"].to_numpy()[:, 0]
    samples, rings = points(display.ax_)
    np.testing.assert_allclose(samples, np.column_stack([z, y]))
    np.testing.assert_allclose(rings, samples[model.support_])
    W = model.projections_["polynomial"].to_numpy()
    (curve,) = display.ax_.lines
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()[:, None] @ W.T))
    assert display.ax_.get_ylabel() == "y" and legend_labels(display.ax_) == ["support vector", "fitted function"]
    shades = display.ax_.collections[0].get_facecolors()
    lowest, highest = plt.get_cmap("viridis")([0.0, 1.0])
    np.testing.assert_allclose(shades[[y.argmin(), y.argmax()]], [lowest, highest], atol=0.02)


def test_regression_in_planes_and_without_targets(toy):
    X, _ = toy
    y = X[:, 0] * X[:, 1]
    combiner = Projected(2, Softmax(), gating_components=2)
    model = MKLRegressor(TWO, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.y, model.predict(X))
    assert display.classes == [] and display.quantity
    for space, ax in zip(display.spaces, display.axes_[1:], strict=True):
        (contour,) = contours(ax)
        name = f"{space.title}__0", f"{space.title}__1"
        w = model.dual_coef_ @ model.project(X[model.support_])[list(name)].to_numpy()
        for level, path in zip(contour.levels, contour.get_paths(), strict=True):
            np.testing.assert_allclose(path.vertices @ w[0] + model.intercept_, level, atol=1e-6)


def test_one_class_has_a_boundary_and_no_margins(toy, legend_labels):
    X, y = toy
    model = MKLOneClass([Gaussian(scale=2.0)], Projected(2), nu=0.2, normalize=None, random_state=0).fit(X)
    display = ProjectionDisplay.from_estimator(model, X)
    (contour,) = contours(display.ax_)
    W = model.projections_["gaussian"].to_numpy()
    np.testing.assert_allclose(model.decision_function(vertices(contour) @ W.T), 0.0, atol=0.01)
    assert legend_labels(display.ax_) == ["support vector", "decision boundary"] and not display.margins
    coloured = ProjectionDisplay.from_estimator(model, X, y, support=False)
    assert coloured.classes == [-1, 1] and len(points(coloured.ax_)) == 2


def test_kernels_without_gates_share_all_samples_and_no_boundary(toy):
    X, y = toy
    model = MKLClassifier(TWO, Projected(1), normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    assert display.gating is None and [len(space.rows) for space in display.spaces] == [120, 120]
    assert all(space.values is None for space in display.spaces) and not any(ax.lines for ax in display.axes_)


def test_joint_picture_of_two_regions(toy, lines, legend_labels):
    X, y = toy
    marks = np.where(y == 1, np.where(X[:, 0] < 0, "left", "right"), "middle")
    display = ProjectionDisplay.from_estimator(lines, X, y, kind="joint", marks=marks)
    gated = lines.project(X).to_numpy()
    middle, left, right, rings = points(display.ax_)
    np.testing.assert_allclose(middle, gated[y == -1])
    np.testing.assert_allclose(left, gated[marks == "left"])
    np.testing.assert_allclose(right, gated[marks == "right"])
    np.testing.assert_allclose(rings, gated[lines.support_])
    assert legend_labels(display.ax_)[:4] == ["middle", "left", "right", "support vector"]
    w, b = weights_of(lines, X)
    assert [contour.levels[0] for contour in contours(display.ax_)] == [0.0, -1.0, 1.0]
    for contour in contours(display.ax_):
        np.testing.assert_allclose(vertices(contour) @ w + b, contour.levels[0], atol=1e-9)
    assert display.ax_.get_xlabel() == "gated projection of one"
    turned = ProjectionDisplay.from_estimator(lines, X, y, kind="joint", components=["two__0", "one__0"])
    np.testing.assert_allclose(turned.spaces[0].points, gated[:, ::-1])
    np.testing.assert_allclose(vertices(contours(turned.ax_)[0]) @ w[::-1] + b, 0.0, atol=1e-9)


def test_joint_picture_has_no_line_where_it_does_not_show_all(toy, planes, legend_labels):
    X, y = toy
    chosen = ["one__0", "three__1"]
    display = ProjectionDisplay.from_estimator(planes, X, y, kind="joint", components=chosen, marks=y > 0)
    np.testing.assert_allclose(display.spaces[0].points, planes.project(X)[chosen])
    assert not contours(display.ax_)
    with pytest.raises(ValueError, match="components must be two of"):
        ProjectionDisplay.from_estimator(planes, X, y, kind="joint")
    curved = [("one", Gaussian()), ("two", Gaussian())]
    model = MKLClassifier(curved, Projected(1, Softmax()), normalize=None, random_state=0).fit(X, y)
    assert not contours(ProjectionDisplay.from_estimator(model, X, y, kind="joint").ax_)
    across = ProjectionDisplay.from_estimator(planes, X, y, kind="joint", components=chosen, marks=np.arange(120) % 2)
    assert legend_labels(across.ax_)[:2] == ["class -1, 0", "class -1, 1"]


@pytest.mark.parametrize("gate", [Sigmoid(), GaussianGate()])
def test_other_gates(toy, gate):
    X, y = toy
    combiner = Projected(1, gate, gating_components=2)
    model = MKLClassifier(TWO, combiner, C=10.0, normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    region = model.region(X)
    assert sum(len(space.rows) for space in display.spaces) == 120
    # the gates at a sample's own place in the gating plane
    first, second = (
        np.abs(axis[:, None] - column).argmin(axis=0)
        for axis, column in zip(display.gating.grid, display.gating.points.T, strict=True)
    )
    strongest = display.gating.values[second, first].argmax(axis=1)
    assert np.mean(np.array(model.kernel_names_)[strongest] == region) > 0.95


def test_missing_views(toy):
    X, y = toy
    X = pd.DataFrame(X.copy(), columns=["a__0", "a__1", "b__0", "b__1", "b__2"])
    X.loc[3, ["a__0", "a__1"]] = np.nan
    X.loc[4, ["b__0", "b__1", "b__2"]] = np.nan
    model = MKLClassifier([Linear("a"), Linear("b")], Projected(1, Softmax(), gating_components=2), random_state=0)
    display = ProjectionDisplay.from_estimator(model.fit(X, y), X, y)
    rows = {space.title: set(space.rows) for space in display.spaces}
    assert 3 not in rows.get("a", set()) and 3 in rows["b"]
    assert 4 not in rows["b"] and 4 in rows["a"]
    assert all(np.isfinite(space.points).all() for space in display.spaces)


def test_switched_off_views_need_not_be_there(toy):
    X, y = toy
    X = pd.DataFrame(X.copy(), columns=["a__0", "a__1", "b__0", "b__1", "b__2"])
    combiner = Projected(2, Softmax(), inputs="a", gate_tol=0.6)
    model = MKLClassifier([Gaussian("a"), Linear("b")], combiner, C=10.0, random_state=0).fit(X, y)
    assert model.removable_kernels_ == ["b"]
    display = ProjectionDisplay.from_estimator(model, X[["a__0", "a__1"]], y)
    assert [space.title for space in display.spaces] == ["a"] and len(display.spaces[0].rows) == 120


def test_a_sample_without_an_open_gate_is_in_no_region(toy, lines, monkeypatch):
    X, y = toy
    gates = lines.kernel_weights(X)
    gates.iloc[5] = 0.0
    monkeypatch.setattr(MKLClassifier, "kernel_weights", lambda self, X: gates)
    display = ProjectionDisplay.from_estimator(lines, X, y)
    assert all(5 not in space.rows for space in display.spaces)
    assert sum(len(space.rows) for space in display.spaces) == 119


def test_pipeline_axes_and_styles(toy, lines):
    X, y = toy
    pipeline = make_pipeline(StandardScaler(), clone(lines)).fit(X * 3.0, y)
    figure, axes = plt.subplots(1, 3)
    display = ProjectionDisplay.from_estimator(
        pipeline, X * 3.0, y, ax=axes, legend=False, scatter_kw={"s": 7}, support_kw={"s": 99},
        decision_kw={"color": "red"}, boundary_kw={"color": "green"},
    )  # fmt: skip
    assert display.figure_ is figure and display.axes_ == list(axes) and not figure.legends
    np.testing.assert_allclose(display.gating.points, pipeline[-1].gating_space(StandardScaler().fit_transform(X)))
    assert [entry.get_sizes()[0] for entry in axes[0].collections] == [7, 7, 99]
    assert {to_rgba(line.get_color()) for line in axes[1].lines} == {to_rgba("red")}
    assert to_rgba(axes[0].lines[0].get_color()) == to_rgba("green")


def test_least_squares_has_no_margins(toy):
    X, y = toy
    model = MKLClassifier([Linear()], Projected(1), machine="least-squares", normalize=None, random_state=0).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y, support=False)
    assert not display.margins and len(verticals(display.ax_, "--")) == 0


def test_errors(toy, lines):
    X, y = toy
    with pytest.raises(ValueError, match="has no projections; fit a model with the combiner Projected"):
        ProjectionDisplay.from_estimator(MKLClassifier(TWO, Localized()).fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        ProjectionDisplay.from_estimator(MKLClassifier(TWO, Projected(1)), X, y)
    with pytest.raises(ValueError, match="kind must be"):
        ProjectionDisplay.from_estimator(lines, X, y, kind="map")
    with pytest.raises(ValueError, match="leave it out with kind='spaces'"):
        ProjectionDisplay.from_estimator(lines, X, y, components=["one__0", "two__0"])
    with pytest.raises(ValueError, match="components must be two of"):
        ProjectionDisplay.from_estimator(lines, X, y, kind="joint", components=["one__0", "three__0"])
    with pytest.raises(ValueError, match="y must have one value for each of the 120 samples"):
        ProjectionDisplay.from_estimator(lines, X, y[:5])
    with pytest.raises(ValueError, match="marks must have one value"):
        ProjectionDisplay.from_estimator(lines, X, y, marks=y[:5])
    with pytest.raises(ValueError, match="pass the X of the fit, or support=False"):
        ProjectionDisplay.from_estimator(lines, X[:1], y[:1])
    with pytest.raises(ValueError, match="ax must be 3 matplotlib axes"):
        ProjectionDisplay.from_estimator(lines, X, y, ax=plt.subplots()[1])


def test_several_targets_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = MKLRegressor([Linear()], Projected(1), random_state=0).fit(X, X[:, :2])
    with pytest.raises(ValueError, match="draws a model of one target"):
        ProjectionDisplay.from_estimator(model, X)

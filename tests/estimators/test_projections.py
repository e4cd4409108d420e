"""What estimators tell of projections: projected samples, regions, labelled matrices, and the kernels in use."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import GaussianGate, Localized, Mean, Projected, Sigmoid, Softmax
from kernelweave.kernels import Gaussian, Linear, Polynomial
from projected_problem import SIDE, WIDE, local_model

FRAME = stack_views({"a": WIDE[:, :3], "b": WIDE[:, 3:]}).set_index(pd.Index([f"sample {k}" for k in range(200)]))
ATTRIBUTES = ("projections_", "feature_importance_", "gating_projection_")


def frame_model(gating=None, gating_components=None, kernels=None, normalize="unit-diagonal", **options):
    kernels = [Linear("a"), Linear("b")] if kernels is None else kernels
    combiner = Projected(2, gating, gating_components=gating_components, **options)
    return MKLClassifier(kernels, combiner, C=10.0, normalize=normalize, random_state=0).fit(FRAME[:120], SIDE[:120])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("gating", [None, Softmax(), Sigmoid()])
def test_projected_samples_are_gates_times_projected_features(gating):
    model, new = frame_model(gating), FRAME[120:]
    projected, gates = model.project(new), model.gates(new)
    assert_allclose((gates**2).sum(axis=1), 1.0)
    assert list(projected) == ["a__0", "a__1", "b__0", "b__1"]
    assert_array_equal(projected.index, new.index)
    apart = model.project(new, by_kernel=True)
    assert list(apart) == ["a", "b"]
    for name, columns in (("a", slice(0, 3)), ("b", slice(3, 6))):
        features = WIDE[120:, columns]
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
        points = features @ model.projections_[name].to_numpy()
        assert_allclose(apart[name], points, atol=1e-12)
        assert_array_equal(apart[name].index, new.index)
        assert_allclose(projected[[f"{name}__0", f"{name}__1"]], gates[[name]].to_numpy() * points, atol=1e-12)
    assert isinstance(model.project(new.to_numpy()[:1].repeat(2, axis=0)).index, pd.RangeIndex)


@pytest.mark.parametrize("gating", [None, Softmax(), GaussianGate()])
def test_the_decision_function_of_linear_kernels_is_linear_in_them(gating):
    model = frame_model(gating)
    design = np.column_stack([model.project(FRAME), np.ones(200)])
    values = model.decision_function(FRAME)
    slopes, *_ = np.linalg.lstsq(design, values, rcond=None)
    assert_allclose(design @ slopes, values, atol=1e-8)
    assert slopes[-1] == pytest.approx(model.intercept_[0])


def test_labels_of_projections():
    model = frame_model(Softmax(), gating_components=2)
    assert list(model.projections_) == ["a", "b"]
    assert list(model.projections_["a"].index) == ["a__0", "a__1", "a__2"]
    assert list(model.projections_["b"]) == ["b__0", "b__1"]
    assert list(model.gating_projection_.index) == [f"{view}__{k}" for view in "ab" for k in range(3)]
    assert list(model.gating_projection_) == ["gating__0", "gating__1"]
    assert_allclose(model.gating_projection_.T @ model.gating_projection_, np.eye(2), atol=1e-10)
    plain = local_model()
    assert list(plain.projections_) == ["linear", "linear-2"]
    assert list(plain.projections_["linear-2"].index) == list(range(6))
    squares = frame_model(Softmax(), gating_components=2, inputs="a", quadratic=True).gating_projection_
    assert len(squares) == 9 and squares.index[4] == "a__0 * a__1"


def test_feature_importance_is_the_length_of_rows():
    model = local_model()
    assert list(model.feature_importance_) == model.kernel_names_
    for name, W in model.projections_.items():
        importance = model.feature_importance_[name]
        assert importance.name == name
        assert_array_equal(importance.index, W.index)
        assert_allclose(importance, np.sqrt((W**2).sum(axis=1)))
        assert importance.idxmax() in (0, 1) and importance.max() > 0.9  # the features that matter


def test_projections_are_copies():
    model = frame_model()
    before = model.decision_function(FRAME)
    for W in model.projections_.values():
        W.iloc[:, :] = 0.0
    assert_array_equal(model.decision_function(FRAME), before)


def test_regions_are_those_of_the_largest_gate():
    model = local_model()
    region = model.region(WIDE)
    assert region.dtype == object and set(region) == {"linear", "linear-2"}
    assert_array_equal(region, model.kernel_weights(WIDE).idxmax(axis=1))
    sides = [pd.Series(region[WIDE[:, feature] > 0.5]).value_counts(normalize=True) for feature in (0, 1)]
    assert max(side.iloc[0] for side in sides) > 0.9  # one feature decides the region, the other the class
    localized = MKLClassifier([Linear()] * 2, Localized(l2=0.01), C=10.0, random_state=0).fit(WIDE, SIDE)
    assert_array_equal(localized.region(WIDE), localized.kernel_weights(WIDE).idxmax(axis=1))


def test_active_and_removable_kernels():
    views = stack_views({"a": WIDE[:, :2], "b": WIDE[:, 2:4], "none": 1e-3 * WIDE[:, 4:]})
    truth = np.where(WIDE[:, 0] > 0, WIDE[:, 1] > 0, WIDE[:, 2] > 0)
    combiner = Projected(1, Softmax("paper"), inputs="a", l2=1e-5, gate_tol=0.16)
    model = MKLClassifier(combiner=combiner, C=10.0, normalize=None, random_state=1).fit(views[:120], truth[:120])
    assert model.active_kernels_ == ["a", "b"] and model.removable_kernels_ == ["none"]
    plain = MKLClassifier().fit(views, truth)
    assert plain.active_kernels_ == ["a", "b", "none"] and plain.removable_kernels_ == []
    assert list(model.projections_) == ["a", "b", "none"]
    assert not (model.region(views) == "none").any()


@pytest.mark.parametrize("combiner", [None, Mean()])
def test_other_combiners_have_no_projections(combiner):
    model = MKLClassifier(combiner=combiner)
    for fitted in (model, model.fit(FRAME, SIDE)):
        assert not hasattr(fitted, "project") and not hasattr(fitted, "region")
        assert not any(hasattr(fitted, name) for name in ATTRIBUTES)
    with pytest.raises(AttributeError, match="project"):
        model.project(FRAME)
    assert not hasattr(MKLClassifier(combiner=Localized()), "project")
    assert hasattr(MKLClassifier(combiner=Localized()), "region")
    assert hasattr(MKLClassifier(combiner=Projected()), "project")


def test_attributes_vanish_with_another_combiner():
    model = frame_model(Softmax(), 2)
    assert all(hasattr(model, name) for name in ATTRIBUTES)
    model.set_params(combiner__gating=None, combiner__gating_components=None).fit(FRAME, SIDE)
    assert not hasattr(model, "gating_projection_") and hasattr(model, "projections_")
    model.set_params(combiner=Mean()).fit(FRAME, SIDE)
    assert not any(hasattr(model, name) for name in (*ATTRIBUTES, "project", "region"))


def test_regression_and_novelty_detection_project_too():
    target = WIDE[:, 0] - WIDE[:, 3]
    model = MKLRegressor([Linear("a"), Polynomial("b")], Projected(1), C=10.0, random_state=0).fit(FRAME, target)
    assert model.project(FRAME).shape == (200, 2)
    assert model.feature_importance_["a"].idxmax() == "a__0"
    novelty = MKLOneClass([Gaussian("a")], Projected(2), random_state=0).fit(FRAME)
    assert novelty.project(FRAME[:5]).shape == (5, 2)


def test_a_model_that_is_not_fitted():
    with pytest.raises(Exception, match="not fitted"):
        MKLClassifier(combiner=Projected()).project(FRAME)


def test_samples_whose_gates_are_all_closed_are_in_no_region():
    combiner = Projected(1, Sigmoid("paper"), gate_tol=0.04, l2=1e-6)
    model = MKLClassifier([Linear([0]), Linear([1])], combiner, normalize=None, random_state=0).fit(WIDE, SIDE)
    far = 50.0 * WIDE
    closed = (model.kernel_weights(far) == 0.0).all(axis=1).to_numpy()
    assert closed.any() and not closed.all()
    region = model.region(far)
    assert all(name is None for name in region[closed]) and set(region[~closed]) <= {"linear", "linear-2"}


def test_there_are_no_regions_without_a_gating_model():
    assert not hasattr(MKLClassifier([Linear([0]), Linear([1])], Projected(1)).fit(WIDE, SIDE), "region")

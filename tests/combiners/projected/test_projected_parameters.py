"""Parameters of `Projected`: errors, restarts, early stopping, searches, and that a fit changes none of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from cases import each
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import (
    InstanceGate,
    KernelMap,
    Projected,
    Softmax,
)
from kernelweave.features import ExactFeatures
from kernelweave.kernels import Laplacian, Linear, Precomputed
from localized_problem import SIGNS
from projected_problem import KERNELS, SIDE, WIDE, X, local_model


def test_early_stopping_keeps_the_projections_of_least_validation_risk():
    noisy = SIDE ^ (np.random.default_rng(1).random(200) < 0.2)
    combiner = Projected(1, Softmax(), l2=0.0, validation_fraction=0.3)
    model = MKLClassifier([Linear()] * 3, combiner, C=10.0, random_state=1).fit(WIDE[:160], noisy[:160])
    risks = model.history_["validation_risk"]
    assert np.isnan(risks.iloc[-1]) and risks.iloc[:-1].notna().all()
    best = int(np.flatnonzero(risks == risks.min())[-1])
    assert best < len(risks) - 2  # it went on for a while
    stopped = Projected(1, Softmax(), l2=0.0, validation_fraction=0.3, max_iter=max(best, 1))
    with pytest.warns(ConvergenceWarning):
        short = MKLClassifier([Linear()] * 3, stopped, C=10.0, random_state=1).fit(WIDE[:160], noisy[:160])
    np.testing.assert_array_equal(short._kernel.theta, model._kernel.theta)  # as if it had been stopped there
    values = model.decision_function(WIDE[:160])
    margin = np.where(noisy[:160], values, -values)
    assert (margin[np.setdiff1d(np.arange(160), model.support_)] > 1 - 2e-3).all()  # solved for all 160 samples
    kernel = Precomputed(WIDE @ WIDE.T)
    by_kernel = MKLClassifier([kernel] * 3, combiner, C=10.0, random_state=1).fit(np.arange(160)[:, None], noisy[:160])
    assert by_kernel.history_["validation_risk"].iloc[:-1].min() < 0.5


def test_components_by_default_follow_the_classes():
    wide, y = np.random.default_rng(0).normal(size=(60, 20)), np.arange(60) % 15
    for target, expected in ((y, 14), (y < 7, 10)):
        for approximation in (None, ExactFeatures()):
            model = MKLClassifier([Linear()], Projected(), random_state=0, approximation=approximation)
            assert model.fit(wide, target).projections_["linear"].shape[1] == expected, approximation
    for model in (MKLRegressor([Linear()], Projected()), MKLOneClass([Linear()], Projected())):
        assert model.fit(wide, y).projections_["linear"].shape[1] == 10


def test_restarts_are_reproducible_whatever_the_threads():
    fits = [
        local_model(Projected(1, Softmax(), gating_components=2, n_init=4, n_jobs=n_jobs), kernels=3, n=80)
        for n_jobs in (None, None, 4, 4)
    ]
    for other in fits[1:]:
        assert_array_equal(fits[0]._kernel.theta, other._kernel.theta)
        assert_array_equal(fits[0].dual_coef_, other.dual_coef_)
    single = local_model(Projected(1, Softmax(), gating_components=2), kernels=3, n=80)
    assert fits[0].history_["objective"].iloc[-1] <= single.history_["objective"].iloc[-1] + 1e-9
    again = local_model(Projected(1, Softmax(), gating_components=2), kernels=3, n=80, random_state=1)
    assert not np.allclose(single._kernel.theta, again._kernel.theta)


@each(
    ("options", "message"),
    [
        ({"n_components": 0}, 'n_components of Projected must be a positive whole number or "auto", not 0'),
        ({"n_components": 2.0}, "n_components of Projected must be a positive whole number"),
        ({"n_components": True}, "n_components of Projected must be a positive whole number"),
        ({"n_components": "two"}, "n_components of Projected must be a positive whole number"),
        ({"n_components": np.array(0)}, "n_components of Projected must be a positive whole number"),
        ({"n_components": [1, 2]}, "n_components must have one entry for each of the 3 kernels, not 2"),
        ({"n_components": [1, 2, 0]}, "n_components of the kernel 'gaussian' must be a positive whole number"),
        ({"n_components": {"linear": 1}}, "n_components must name each of the kernels"),
        ({"gating": "softmax"}, "gating of .* must be a gating model"),
        ({"gating_components": 2}, "set gating to one of them, or gating_components to None"),
        ({"gating": InstanceGate(), "gating_components": 2}, "not those of gating=InstanceGate"),
        (
            {"gating": Softmax(), "gating_components": 1.5},
            "gating_components of Projected must be a positive whole number",
        ),
        ({"constraint": "stiefel"}, "constraint of Projected must be"),
        ({"projection_l2": -1.0}, "projection_l2 of Projected must be a finite number of at least 0"),
        (
            {"constraint": "penalty", "projection_l2": np.nan},
            "projection_l2 of Projected must be a finite number of at least 0",
        ),
        ({"constraint": "penalty", "projection_l2": 0.0}, "projection_l2 of Projected must be positive"),
        ({"scaling": "rows"}, "scaling of Projected must be"),
        ({"inputs": "a"}, "inputs of Projected are what a gating model reads"),
        ({"n_jobs": "x"}, "n_jobs of Projected must be a whole number other than 0 or None"),
        ({"init": "best"}, "init of Projected must be .* or a mapping from kernel name to matrix, not 'best'"),
        ({"init": None}, "init of Projected must be .* or a mapping from kernel name to matrix, not None"),
        ({"init": {"x": np.eye(3, 2)}}, "init names a kernel that is not there: 'x'"),
        ({"init": {"linear": np.eye(4, 2)}}, r"init of the kernel 'linear' must be finite numbers of shape \(3, 3\)"),
        ({"init": {"linear": np.full((3, 2), np.nan)}}, "init of the kernel 'linear' must be finite"),
        ({"init": {"linear": np.zeros((3, 2))}}, "init of the kernel 'linear' must be .* not all 0"),
        ({"init": {"linear": [["a", 1], [1, 2], [1, 2]]}}, "init of the kernel 'linear' must be finite"),
        ({"features": "views"}, 'features of Projected must be "auto", "kpca", "map" or a mapping'),
        ({"features": 3}, "features of Projected must be .* or a mapping"),
        ({"features": {"x": "kpca"}}, "features names a kernel that is not there: 'x'"),
        ({"features": {"linear": "pca"}}, "features of the kernel 'linear' must be"),
        ({"gating": Softmax(), "inputs": "nothing"}, "nothing"),
        ({"gating": Softmax(), "scaling": "rows"}, "scaling of Projected must be"),
        ({"optimizer": "sgd"}, "optimizer of .* must be"),
        ({"l2": -1.0}, "l2 of Projected must be a finite number of at least 0"),
        ({"max_iter": 0}, "max_iter of Projected must be a positive whole number"),
        ({"n_init": 0}, "n_init of Projected must be a positive whole number"),
        ({"gate_tol": 1.0}, "gate_tol of Projected must be a number of at least 0 and below 1"),
        ({"validation_fraction": 1.0}, "validation_fraction of Projected must be"),
        ({"gating": InstanceGate(), "validation_fraction": 0.2}, "validation_fraction must be 0 with InstanceGate"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS["mixed"], Projected(**options)).fit(X, SIGNS)


def test_kernels_that_are_no_functions_of_projections_are_named():
    with pytest.raises(ValueError, match='the kernel \'laplacian\' .* use features "kpca" or "map"'):
        MKLClassifier([Laplacian()], Projected(features={"laplacian": "view"})).fit(X, SIGNS)


def test_stopping_early_is_told():
    with pytest.warns(ConvergenceWarning, match="Projected stopped after 1 outer iterations"):
        local_model(Projected(1, Softmax(), max_iter=1))


def test_parameters_are_not_changed_by_a_fit():
    gate, start = Softmax("unit"), {"linear": np.eye(6, 1)}
    combiner = Projected(1, gate, init=start, inputs=KernelMap(Linear()))
    before = clone(combiner)
    local_model(combiner)
    assert repr(combiner) == repr(before) and vars(gate) == {"norm": "unit"}
    assert not hasattr(combiner.inputs, "landmarks_") and not hasattr(combiner, "layout_")
    assert_array_equal(start["linear"], np.eye(6, 1))


def test_grid_search_over_components():
    model = MKLClassifier([Linear()] * 2, Projected(1, Softmax()), C=10.0, normalize=None, random_state=0)
    grid = {"combiner__n_components": [1, 2], "combiner__gating_components": [None, 1]}
    search = GridSearchCV(model, grid, cv=2).fit(WIDE[:80], SIDE[:80])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(search.best_params_) == set(grid)

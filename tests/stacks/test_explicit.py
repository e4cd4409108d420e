"""`Features`: values, parts of values, weights and what prediction keeps, against the exact sum."""

import numpy as np
import pytest

from explicit_problem import KERNELS, Twin, X, some_missing
from kernelweave.combiners import FitControl, FixedWeights
from kernelweave.features import ExactFeatures
from kernelweave.kernels import KernelStack, Linear
from kernelweave.kernels.stack import feature_weights
from kernelweave.machines import SquaredHinge
from kernelweave.stacks.explicit import Features, NoFeatures, WeightAmplitudes
from kernelweave.views import as_views
from places import in_every_place

WEIGHTS = {"product": 0.2, "smooth": 0.5, "line": 1.5}


def both(missing: bool = False):
    twin = Twin("one-vs-all", X=some_missing(X) if missing else X)
    return twin, *twin.check(lambda: FixedWeights(WEIGHTS), tol=1e-10)


@pytest.mark.parametrize("missing", [False, True])
def test_parts_and_weights_are_those_of_the_exact_sum(missing):
    twin, exact, found = both(missing)
    views = twin.dense.support
    shares = found.shares(views, found.solution.coef)
    np.testing.assert_allclose(shares, exact.shares(views, exact.solution.coef), atol=1e-6)
    np.testing.assert_allclose(shares.sum(axis=2), found.values(views, found.solution.coef), atol=1e-10)
    np.testing.assert_allclose(found.cross(views) @ found.solution.coef, shares.sum(axis=2), atol=1e-10)
    np.testing.assert_allclose(found.sample_weights(views), exact.sample_weights(views), atol=1e-12)
    line = found.feature_weights(2, found.solution.coef)
    np.testing.assert_allclose(line, exact.feature_weights(2, exact.solution.coef), atol=1e-5)
    np.testing.assert_array_equal(np.sort(found.columns()), np.sort(exact.columns()))


def test_prediction_keeps_landmarks_of_active_kernels_only():
    twin, _, found = both()
    kept = found.restrict(np.empty(0, dtype=int))
    views, coef = as_views(X[:7]), found.solution.coef
    np.testing.assert_allclose(kept.values(views, coef), found.values(views, coef))
    assert kept.stack.engine is None and kept.stack.reservoir.reference.n_samples == 0
    assert (
        isinstance(kept.stack.maps[3], NoFeatures) and kept.stack.maps[3].n_features == twin.explicit.maps[3].n_features
    )
    assert kept.stack.offsets.tolist() == found.stack.offsets.tolist()
    assert kept.evaluations(coef).tolist() == [90.0, 90.0, 1.0, 0.0]  # landmarks, and the column of a linear kernel
    assert kept.values_per_sample(coef) <= 180
    kept.values(as_views(np.column_stack([X[:7, :4], np.full((7, 2), np.nan)])), coef)  # noise is not read


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_weights_of_columns_from_exact_features(normalize):
    stack = KernelStack([("all", Linear())], normalize).fit(X)
    found = ExactFeatures().fit_map(stack, 0, np.random.RandomState(0), dtype=np.dtype("float64"))
    alone = FixedWeights({"all": 2.0}).kernel(Features(stack, [found], None, len(X)), np.array([2.0]))
    c = np.random.default_rng(0).normal(size=(len(X), 2))
    stack.gram(0)
    phi = found.transform(stack.support, np.ones(len(X), dtype=bool))
    w = np.sqrt(2.0) * phi.T @ c
    np.testing.assert_allclose(alone.feature_weights(0, w), feature_weights(stack, 0, 2.0 * c), atol=1e-8)


def test_kernels_that_are_not_linear_have_no_weights_of_columns():
    twin = Twin("squared-hinge", kernels=[KERNELS[0]])
    kernel = FixedWeights({"product": 1.0}).fit(twin.explicit, twin.machine, FitControl())
    kernel.stack.maps[0] = NoFeatures(kernel.stack.maps[0].n_features)
    assert kernel.feature_weights(0, kernel.solution.coef) is None


@in_every_place
def test_amplitudes_and_losses_in_every_place(place_of):
    place = place_of()
    eta, reference = np.array([0.5, 0.0, 2.0]), np.array([1.0, 1.0, 1.0])
    present = np.array([[True, True, True], [True, False, True], [False, True, False]])
    for amplitudes in (WeightAmplitudes(eta), WeightAmplitudes(eta, reference), WeightAmplitudes(eta, 0.0 * eta)):
        found = place.numpy(amplitudes.of(place.asarray(present), place))
        np.testing.assert_allclose(found, amplitudes.of(present))
    losses = SquaredHinge().for_targets(np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 3.0])).terms
    moved = losses.mapped(place.asarray)
    values = np.array([[0.3], [-2.0], [5.0]])
    for mine, theirs in zip(moved.respond(place.asarray(values)), losses.respond(values), strict=True):
        np.testing.assert_allclose(place.numpy(mine), theirs)
    np.testing.assert_allclose(place.numpy(moved.curvature(place.asarray(values))), losses.curvature(values))


def test_factors_of_samples_that_lack_views():
    eta = np.array([1.0, 3.0])
    present = np.array([[True, True], [False, True], [True, False], [False, False]])
    found = WeightAmplitudes(eta).of(present) ** 2
    np.testing.assert_allclose(found, [[1.0, 3.0], [0.0, 4.0], [4.0, 0.0], [0.0, 0.0]])
    equal = WeightAmplitudes(eta, np.ones(2)).of(present) ** 2
    np.testing.assert_allclose(equal[1:3], [[0.0, 6.0], [2.0, 0.0]])

"""Weights from similarity with the targets on explicit features, against the exact path."""

import numpy as np
import pytest

from explicit_problem import Twin, X, some_missing
from kernelweave.combiners import AlignmentWeights, FeatureSpaceMeasure, IdealKernelDistance
from kernelweave.combiners.similarity import compared_with_targets

RULES = ["proportional", "qp", "qcqp", "gradient"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("case", ["squared-hinge", "one-vs-all", "squared-epsilon-insensitive", "several targets"])
def test_inner_products_are_those_of_the_exact_path(case, centered, missing):
    twin = Twin(case, X=some_missing(X) if missing else X, normalize=None)
    exact = compared_with_targets(twin.dense, twin.machine, twin, centered, True)
    found = compared_with_targets(twin.explicit, twin.machine, twin, centered, True)
    np.testing.assert_allclose(found.to_target, exact.to_target, rtol=1e-8)
    np.testing.assert_allclose(found.norms, exact.norms, rtol=1e-8)
    np.testing.assert_allclose(found.target_norm, exact.target_norm, rtol=1e-10)
    np.testing.assert_allclose(found.between, exact.between, rtol=1e-7)
    alone = compared_with_targets(twin.explicit, twin.machine, twin, centered, False)
    np.testing.assert_allclose(alone.norms, exact.norms, rtol=1e-8)
    assert alone.between is None


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_the_weights_of_the_exact_path(rule):
    exact, found = Twin("squared-hinge").check(lambda: AlignmentWeights(rule))
    np.testing.assert_allclose(found.weights(), exact.weights(), atol=1e-6)


def test_the_distance_to_the_ideal_kernel_is_that_of_the_exact_path():
    for case in ("squared-hinge", "several targets"):
        Twin(case).check(lambda: IdealKernelDistance())


@pytest.mark.parametrize("case", ["squared-hinge", "one-vs-all"])
@pytest.mark.parametrize("missing", [False, True])
def test_the_feature_space_measure_is_that_of_the_exact_path(case, missing):
    twin = Twin(case, X=some_missing(X) if missing else X)
    twin.check(lambda: FeatureSpaceMeasure(), allowed=1e-4)
    exact, found = FeatureSpaceMeasure(), FeatureSpaceMeasure()
    exact.fit(twin.dense, twin.machine)
    found.fit(twin.explicit, twin.machine)
    np.testing.assert_allclose(found.measures_, exact.measures_, rtol=1e-6)
    np.testing.assert_allclose(found.measure_, exact.measure_, rtol=1e-6)


def test_a_constant_kernel_has_no_alignment():
    from kernelweave.kernels import Gaussian, Linear

    ones = np.column_stack([X, np.ones(len(X))])
    twin = Twin("squared-hinge", X=ones, kernels=[("constant", Linear([6])), ("good", Gaussian([0, 1]))])
    found = compared_with_targets(twin.explicit, twin.machine, twin, True, True)
    assert found.norms[0] == 0.0 == found.to_target[0] and found.norms[1] > 0.0


def test_they_are_served():
    assert AlignmentWeights().needs() == IdealKernelDistance().needs() == {}

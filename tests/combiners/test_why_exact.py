"""Which combiners are had with explicit features, and what the others say."""

import inspect

import numpy as np
import pytest
from explicit_problem import Twin, X, some_missing

from kernelweave import combiners
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    Combiner,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    EigenvalueCosts,
    ElasticMKL,
    ErrorWeights,
    FeatureSpaceMeasure,
    FixedWeights,
    GroupMKL,
    IdealKernelDistance,
    LpMKL,
    Mean,
    SparseMKL,
)

SERVED = {
    Mean: "squared-hinge",
    FixedWeights: "squared-hinge",
    ConvexMKL: "squared-hinge",
    LpMKL: "squared-hinge",
    ElasticMKL: "squared-hinge",
    GroupMKL: "squared-hinge",
    SparseMKL: "squared-hinge",
    BinaryMKL: "squared-hinge",
    EasyMKL: "squared-hinge",
    AlignmentWeights: "squared-hinge",
    IdealKernelDistance: "squared-hinge",
    FeatureSpaceMeasure: "squared-hinge",
    BestSingle: "squared-hinge",
    AccuracyWeights: "squared-hinge",
    CorrelationWeights: "squared-epsilon-insensitive",
    ErrorWeights: "squared-epsilon-insensitive",
}
GIVEN = {FixedWeights: ({"noise": 1.0, "line": 0.5},), BinaryMKL: (2,)}
ELSEWHERE = {"Localized", "PerOutput", "Projected"}  # gates and projections have tests of their own


def concrete():
    found = {getattr(combiners, name) for name in combiners.__all__}
    return sorted(
        (c for c in found if isinstance(c, type) and issubclass(c, Combiner) and not inspect.isabstract(c)),
        key=lambda c: c.__name__,
    )


def made(cls):
    return cls(*GIVEN.get(cls, ()))


@pytest.mark.parametrize("cls", concrete(), ids=lambda cls: cls.__name__)
def test_every_combiner_is_served_or_says_why_not(cls):
    if cls.__name__ in ELSEWHERE:
        return
    try:
        combiner = made(cls)
    except TypeError:
        combiner = cls(Mean())
    why = combiner.why_exact
    if cls in SERVED:
        assert why is None
        twin = Twin(SERVED[cls])
        kernel = combiner.fit(twin.explicit, twin.machine, None)
        assert kernel.weights().shape == (4,) and kernel.solution.converged
        assert np.isfinite(kernel.values(twin.dense.support, kernel.solution.coef)).all()
    else:
        assert why is not None and cls.__name__ in why and len(why) > len(cls.__name__) + 15
        assert why != f"{cls.__name__} reads whole Gram matrices", "a reason of its own"


def test_costs_give_their_own_reason():
    class Own:
        def costs(self, stack):
            return np.ones(stack.n_kernels)

    assert ConvexMKL(EigenvalueCosts(1.0)).why_exact is None
    assert "Own, the costs of LpMKL, reads whole Gram matrices" in LpMKL(costs=Own()).why_exact


def test_eigenvalues_are_counted_as_in_the_exact_path():
    for missing in (False, True):
        twin = Twin("squared-hinge", X=some_missing(X) if missing else X)
        costs = EigenvalueCosts(1.0)
        np.testing.assert_array_equal(costs.costs(twin.explicit), costs.costs(twin.dense))
    twin.check(lambda: ConvexMKL(EigenvalueCosts(0.5)))

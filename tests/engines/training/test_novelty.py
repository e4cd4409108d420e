"""One-class machines on explicit features: the exact twin, and the offset at a quantile of the scores."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explicit_problem import Twin, X, some_missing
from kernelweave.combiners import ConvexMKL, FitControl, LpMKL, Mean
from kernelweave.engines import InMemory
from kernelweave.engines.primal import Scored, at_quantile, quantile


def blocks(scores, weight, cuts=(3, 4, 17)):
    edges = [0, *(cut for cut in cuts if cut < len(scores)), len(scores)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    return InMemory([Scored(scores[part, None], None, weight[part]) for part in parts])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False) | st.sampled_from([0.0, 1.0, 1e-300]), min_size=1, max_size=40),
    st.floats(0.0, 1.0),
    st.integers(0, 1000),
)
def test_the_quantile_divides_the_weight(scores, share, seed):
    scores = np.array(scores)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], size=len(scores))
    found = quantile(blocks(scores, weight), share)
    below = weight[scores < found].sum()
    assert below <= share * weight.sum() * (1 + 1e-9)
    above = scores[scores >= found]
    if len(above) and share < 1.0:  # with the next score it would be too much
        assert below + weight[scores == above.min()].sum() >= share * weight.sum() * (1 - 1e-9)


def test_blocks_do_not_matter():
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=500), rng.uniform(1, 2, 500)
    found = [quantile(blocks(scores, weight, cuts), 0.05) for cuts in [(1,), (100, 400), (250, 251, 252)]]
    assert len(set(found)) == 1


@pytest.mark.parametrize("combiner", [lambda: Mean(), lambda: ConvexMKL(), lambda: LpMKL()])
def test_the_machine_is_that_on_the_kernel_with_a_diagonal(combiner):
    Twin("one class").check(combiner)
    Twin("one class", X=some_missing(X)).check(combiner)


def test_the_offset_rejects_the_wanted_share_of_the_weight():
    twin = Twin("one class")
    kernel = Mean().fit(twin.explicit, twin.machine, FitControl(tol=1e-6))
    values = kernel.values(twin.dense.support, kernel.solution.coef)[:, 0]
    before = (values + kernel.solution.intercept[0] < 0.0).mean()
    assert before > 0.3  # every sample with a coefficient
    for nu in (0.02, 0.1, 0.5):
        moved = at_quantile(kernel.operand(), kernel.solution, nu)
        outside = values + moved.intercept[0] < 0.0
        weight = twin.dense.weight
        assert nu - weight.max() / weight.sum() <= weight[outside].sum() / weight.sum() <= nu
        assert (moved.objective, moved.gap) == (kernel.solution.objective, kernel.solution.gap)

"""Weights of its own for each output, on explicit features."""

import numpy as np
import pytest

from explicit_problem import Twin
from kernelweave.combiners import ConvexMKL, EasyMKL, FitControl, LpMKL, Mean
from kernelweave.combiners.per_output import PerOutput


@pytest.mark.parametrize(
    ("case", "combiner"),
    [
        ("one-vs-all", lambda: PerOutput(ConvexMKL())),
        ("one-vs-all", lambda: PerOutput(EasyMKL())),
        ("one-vs-all least squares", lambda: PerOutput(LpMKL())),
        ("several targets", lambda: PerOutput(ConvexMKL())),
        ("several least squares", lambda: PerOutput(Mean())),
    ],
)
def test_every_output_has_the_weights_of_the_exact_path(case, combiner):
    exact, found = Twin(case).check(combiner)
    assert found.weights().shape == (found.solution.coef.shape[1], 4)
    assert len(found.history) >= len(found.weights())


def test_prediction_needs_no_training_samples():
    twin = Twin("one-vs-all")
    kernel = PerOutput(ConvexMKL()).fit(twin.explicit, twin.machine, FitControl(tol=1e-4))
    views, coef = twin.dense.support, kernel.solution.coef
    kept = kernel.restrict(np.empty(0, dtype=int))
    np.testing.assert_allclose(kept.values(views, coef), kernel.values(views, coef))
    np.testing.assert_allclose(kept.shares(views, coef).sum(axis=2), kernel.values(views, coef), atol=1e-10)
    assert kernel.n_samples == 90 and kept.evaluations(coef).max() == 90
    assert all(own.stack.engine is None for own in kept.kernels)


def test_the_reason_is_that_of_the_combiner():
    assert PerOutput(ConvexMKL()).needs() == {}
    assert "cone solver" in PerOutput(ConvexMKL(solver="conic")).needs()["gram"]

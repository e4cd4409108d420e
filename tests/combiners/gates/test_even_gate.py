"""Gates without a gating model: all kernels alike, over the views that a sample has."""

import numpy as np
from numpy.testing import assert_allclose

from kernelweave import MKLClassifier
from kernelweave.combiners import Projected
from kernelweave.combiners.gates import EvenGate
from kernelweave.kernels import Gaussian
from projected_problem import MISSING, A, B, X

LABELS = X[:, 0] > 0


def test_squares_of_gates_sum_to_one():
    present = np.array([[True, True, True], [True, False, True], [False, True, False], [False, False, False]])
    gates = EvenGate().values(np.empty(0), np.empty((4, 0)), present, tol=0.9)
    assert_allclose((gates**2).sum(axis=1), [1.0, 1.0, 1.0, 0.0])
    assert ((gates > 0) == present).all()


def test_there_is_nothing_to_learn():
    gate, codes = EvenGate(), np.empty((4, 0))
    assert gate.start(codes, 3, None).shape == (0,)
    assert (gate.scores(np.empty(0), codes, 3) == 0).all()
    assert gate.scores_pullback(np.empty(0), codes, np.ones((4, 3))).shape == (0,)


def test_without_gating_identity_projections_are_the_mean_kernel_also_for_missing_views():
    kernels, options = [Gaussian(A, scale=2.0), Gaussian(B, scale=2.0)], {"tol": 1e-6, "random_state": 0}
    for samples in (X, MISSING):
        mean = MKLClassifier(kernels, **options).fit(samples, LABELS)
        projected = MKLClassifier(kernels, Projected(9, max_iter=3), **options).fit(samples, LABELS)
        assert_allclose(projected.decision_function(samples), mean.decision_function(samples), atol=1e-3)

"""Every gating model has the properties of gating models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gate_properties import check_gate
from kernelweave import MKLClassifier
from kernelweave.combiners import ClusterGate, Gate, GaussianGate, InstanceGate, Projected, Sigmoid, Softmax
from kernelweave.combiners.gates import EvenGate
from kernelweave.combiners.regional import GivenRegions
from kernelweave.kernels import Gaussian
from projected_problem import MISSING, A, B, X

GATES = [Softmax(), Sigmoid(), GaussianGate(), ClusterGate(n_clusters=4), InstanceGate(), EvenGate()]


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_gates(gate):
    check_gate(gate)


def test_every_gate_of_the_package_is_here():
    def ends(cls):
        below = [end for each in cls.__subclasses__() for end in ends(each)]
        return [*below, *([cls] if "__init__" in vars(cls) or not below else [])]

    ours = {cls for cls in ends(Gate) if cls.__module__.startswith("kernelweave.")}
    assert ours - {GivenRegions} == {type(gate) for gate in GATES}  # those of `test_regional` take memberships only


class WrongSlope(Softmax):
    def scores_pullback(self, theta, codes, slopes):
        return 1.01 * super().scores_pullback(theta, codes, slopes)


class WrongPull(Softmax):
    def codes_pullback(self, theta, codes, slopes):
        return -super().codes_pullback(theta, codes, slopes)


class Lopsided(Softmax):
    def scores(self, theta, codes, n_kernels):
        return super().scores(theta, codes, n_kernels) + np.arange(n_kernels)

    def coefficients(self, theta, n_kernels):
        return super().coefficients(theta, n_kernels)


class Fixed(Softmax):
    def start(self, codes, n_kernels, rng):
        return np.full(n_kernels * (codes.shape[1] + 1), 0.1)


class Open(Softmax):
    def values(self, theta, codes, present, tol=0.0):
        return super().values(theta, codes, np.ones_like(present), tol)


class Together(Softmax):
    def encode(self, inputs):
        return inputs - inputs.mean(axis=0)


class Wider(Softmax):
    def encode(self, inputs):
        return np.hstack([inputs, inputs**2])


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (Wider(), "must be the inputs"),
        (WrongSlope(), "pullback"),
        (WrongPull(), "codes_pullback"),
        (Lopsided(), "mean of the kernels"),
        (Fixed(), "not random"),
        (Open(), "missing"),
        (Together(), "one by one"),
    ],
)
def test_the_list_finds_broken_promises(gate, message):
    with pytest.raises(AssertionError, match=message):
        check_gate(gate)


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

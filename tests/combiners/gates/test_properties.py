"""Every gating model has the properties of gating models."""

import numpy as np
import pytest

from gate_properties import check_gate
from kernelweave.combiners import ClusterGate, Gate, GaussianGate, InstanceGate, Sigmoid, Softmax
from kernelweave.combiners.gates import EvenGate

GATES = [Softmax(), Sigmoid(), GaussianGate(), ClusterGate(n_clusters=4), InstanceGate(), EvenGate()]


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_gates(gate):
    check_gate(gate)


def test_every_gate_of_the_package_is_here():
    def ends(cls):
        below = [end for each in cls.__subclasses__() for end in ends(each)]
        return [*below, *([cls] if "__init__" in vars(cls) or not below else [])]

    ours = {cls for cls in ends(Gate) if cls.__module__.startswith("kernelweave.")}
    assert ours == {type(gate) for gate in GATES}


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

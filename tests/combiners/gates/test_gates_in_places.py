"""Gating models compute the same wherever their codes are, in float64 and in float32."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import arrays
from kernelweave.arrays import precision_of
from kernelweave.combiners import ClusterGate, GaussianGate, Sigmoid, Softmax
from kernelweave.combiners.gates import EvenGate
from places import in_every_place

N, P = 40, 3
GATES = [
    Softmax(),
    Softmax("paper"),
    Sigmoid(),
    Sigmoid("paper"),
    GaussianGate(),
    GaussianGate("paper"),
    ClusterGate(4),
    EvenGate(),
]


def prepared(gate):
    rng = np.random.RandomState(0)
    inputs = rng.normal(size=(N, 4))
    gate.prepare(inputs, rng)
    codes = gate.encode(inputs)
    present = np.ones((N, P), dtype=bool)
    present[2, 0] = present[5, 1:] = present[7] = False
    return codes, present, 10.0 * gate.start(codes, P, rng), rng.normal(size=(N, P))


@in_every_place
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("gate", GATES, ids=str)
def test_values_and_pullback(place_of, precision, gate):
    place, exact = place_of(), 1e-12 if precision == "float64" else 2e-4
    codes, present, theta, slopes = prepared(gate)
    there = place.asarray(codes, precision if codes.dtype.kind == "f" else None)
    for tol in (0.0, 0.05):
        expected = gate.values(theta, codes, present, tol)
        found = gate.values(theta, there, place.asarray(present), tol)
        assert place.numpy(found).dtype == (precision if codes.dtype.kind == "f" else "float64")
        if tol == 0.0:
            assert_allclose(place.numpy(found), expected, atol=exact)
            pulled = gate.pullback(theta, there, found, place.asarray(slopes, precision_of(found)))
            expected = gate.pullback(theta, codes, expected, slopes)
            assert_allclose(place.numpy(pulled), expected, atol=exact * max(1.0, np.abs(expected).max(initial=0.0)))
        else:
            assert_array_equal(place.numpy(found) > 0.0, expected > 0.0)


@in_every_place
def test_large_scores_stay_finite(place_of):
    place = place_of()
    codes = place.asarray(np.array([[1e15], [-1e15], [0.0]]), "float32")
    for gate in (Softmax(), Sigmoid(), GaussianGate(), Sigmoid("paper")):
        theta = np.array([1e6, -1e6, 0.0, 0.0])
        gates = place.numpy(gate.values(theta, codes, place.asarray(np.ones((3, 2), dtype=bool))))
        assert np.isfinite(gates).all(), gate


@in_every_place
def test_place_and_precision_of_an_array(place_of):
    place, own = place_of(), arrays.place_of
    assert own(place.asarray(np.ones(3))).xp.__name__ == place.xp.__name__
    assert precision_of(place.asarray(np.ones(3), "float32")) == "float32"
    assert precision_of(place.asarray(np.arange(3))) == "float64"

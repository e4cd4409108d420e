"""Compiled gates are those of the gating models."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.combiners import Sigmoid, Softmax
from kernelweave.combiners.gates import compiled_gates, compiled_pullback, is_compiled


@pytest.mark.parametrize("gate", [Softmax(), Softmax(norm="paper"), Sigmoid(), Sigmoid(norm="paper")])
@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_gates_and_derivatives_are_those_of_the_model(gate, dtype, atol, size):
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(300, 7)).astype(dtype)
    theta, slopes = size * rng.normal(size=3 * 8), rng.normal(size=(300, 3))
    present = rng.random((300, 3)) > 0.3
    assert is_compiled(gate, codes)
    found = compiled_gates(gate, theta, codes, present)
    wanted = gate.values(theta, codes.astype(np.float64), present)
    np.testing.assert_allclose(found, wanted, atol=size * atol)
    back = compiled_pullback(gate, theta, codes, wanted, slopes)
    exact = gate.pullback(theta, codes.astype(np.float64), wanted, slopes)
    np.testing.assert_allclose(back, exact, atol=size * atol * np.abs(exact).max(), rtol=1e-12)


def test_others_are_left_to_themselves():
    class Own(Softmax):
        """A gating model with scores of its own."""

    assert not is_compiled(Own(), np.zeros((2, 1)))
    assert not is_compiled(Softmax(), np.zeros(2, dtype=int))

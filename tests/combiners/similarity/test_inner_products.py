import numpy as np
import pytest

from kernelweave.combiners.similarity import ideal_factor
from kernelweave.kernels import KernelStack, Linear
from kernelweave.machines import BinaryMachine, OneClassMachine, OneVsOneMachine, RegressionMachine
from kernelweave.stacks import training

X = np.random.default_rng(0).normal(size=(21, 4))
SIGNS = np.where(X[:, 0] > 0.2, 1.0, -1.0)
THREE = np.digitize(X[:, 1], [-0.4, 0.4])


def test_ideal_kernels():
    weight = np.arange(1.0, 22.0)
    stack = training(KernelStack([Linear()]).fit(X, weight))

    def ideal_factor_of(machine, y=None):
        return ideal_factor(stack.for_machine(machine, y), machine, None)

    Z = ideal_factor_of(BinaryMachine(SIGNS, 1.0))
    np.testing.assert_allclose(Z @ Z.T, np.outer(SIGNS, SIGNS))
    Z = ideal_factor_of(OneVsOneMachine(THREE, 1.0))
    np.testing.assert_allclose(Z @ Z.T, np.where(THREE[:, None] == THREE, 1.0, -0.5), atol=1e-12)
    y = X[:, 2] + 5
    Z = ideal_factor_of(RegressionMachine(y, 1.0, epsilon=0.1), y)
    centred = y - (weight @ y) / weight.sum()
    np.testing.assert_allclose(Z @ Z.T, np.outer(centred, centred))
    with pytest.raises(ValueError, match="compares kernels with targets"):
        ideal_factor_of(OneClassMachine(np.ones(21)))

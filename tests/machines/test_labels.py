"""Which class values mean, also where they tie."""

import numpy as np
import pytest

from kernelweave.machines import JointMachine, LeastSquaresClassMachine, OneVsAllMachine
from kernelweave.machines.multiclass import predicted_classes

LABELS = np.repeat([0, 1, 2], [2, 5, 3])


@pytest.mark.parametrize("machine", [JointMachine, LeastSquaresClassMachine, OneVsAllMachine])
def test_held_out_samples_in_a_tie_have_the_class_that_most_training_samples_have(machine):
    held_out = machine(LABELS, 1.0).subset(np.array([0, 1, 2, 9]))  # most of these have another class
    tie = np.full((4, 3), -1.0) + 1e-15 * np.arange(3)
    np.testing.assert_array_equal(held_out.losses(tie), [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(held_out.losses(np.tile([0.5, 0.2, 0.1], (4, 1))), [0.0, 0.0, 1.0, 1.0])


def test_only_values_within_rounding_tie():
    values = np.array([[1.0, 1.0 - 1e-13], [1.0, 1.0 - 1e-6]])
    np.testing.assert_array_equal(predicted_classes(values, np.array([1, 2])), [1, 0])

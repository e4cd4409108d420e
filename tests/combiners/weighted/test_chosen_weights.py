"""What a combiner of one's own may return from `choose`."""

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.combiners import ChosenWeights, FixedWeights
from kernelweave.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0
KERNELS = [("a", Linear([0])), ("b", Gaussian([1]))]


class Own(ChosenWeights):
    """Returns what it is told to."""

    def __init__(self, returned, any_sign=False):
        self.returned = returned
        self.any_sign = any_sign

    def choose(self, stack, machine, control):
        return self.returned


@pytest.mark.parametrize("weights", [np.array([0.3, 0.7]), [0.3, 0.7], (0.3, np.float32(0.7))])
def test_weights_of_ones_own(weights):
    model = MKLClassifier(KERNELS, Own((weights, 0)), tol=1e-8).fit(X, Y)
    fixed = MKLClassifier(KERNELS, FixedWeights([0.3, 0.7]), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), fixed.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.ones(2), "choose of Own must return the weights and the number of machine solves, not array"),
        ((np.ones(2), "many"), "and the number of machine solves"),
        (None, "and the number of machine solves, not None"),
        ((np.ones(3), 0), r"one weight for each of the 2 kernels, but its weights have the shape \(3,\)"),
        ((1.0, 0), r"one weight for each of the 2 kernels, but its weights have the shape \(\)"),
        ((np.ones((2, 1)), 0), r"the shape \(2, 1\)"),
        ((["x", 1], 0), "must return weights that are numbers"),
        (([1.0, np.nan], 0), "a weight for the kernel 'b' that is not finite: nan"),
        (([np.inf, 1.0], 0), "a weight for the kernel 'a' that is not finite: inf"),
        (([1.0, -0.5], 0), "a weight for the kernel 'b' that is negative: -0.5"),
        (([0.0, 0.0], 0), "the weight 0 for every kernel"),
    ],
)
def test_others_are_named(returned, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, Own(returned)).fit(X, Y)


def test_negative_weights_where_they_are_allowed():
    model = MKLClassifier(KERNELS, Own(([1.0, -1e-3], 0), any_sign=True)).fit(X, Y)
    assert model.kernel_weights_["b"] == -1e-3


def test_weights_of_both_signs_have_no_explicit_features():
    class Signed(ChosenWeights):
        any_sign = True

        def choose(self, stack, machine, control):
            return np.ones(stack.n_kernels), 0

    class Old(Signed):
        def choose(self, stack, machine, y, control):
            return np.ones(stack.n_kernels), 0

    assert "both signs" in Signed().needs()["elementwise"] and "gram" not in Signed().needs()
    assert Old().needs().keys() == {"elementwise", "gram"}

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL, FixedWeights, Mean
from kernelweave.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
Y = X[:, 0] > 0
KERNELS = [Linear(), Gaussian(), Polynomial()]


def test_support_vectors_times_the_share_of_the_active_kernels():
    model = MKLClassifier(KERNELS, FixedWeights({"linear": 1.0, "gaussian": 2.0})).fit(X, Y)
    n_support = len(model.support_)
    assert model.prediction_cost() == pytest.approx(n_support * 2 / 3)
    assert model.prediction_cost({"polynomial": 8.0}) == pytest.approx(n_support * 2 / 10)
    assert model.prediction_cost([1.0, 2.0, 4.0]) == pytest.approx(n_support * 3 / 7)


def test_the_costs_of_the_fit_are_the_default():
    model = MKLClassifier(KERNELS, ConvexMKL(costs={"gaussian": 5.0, "polynomial": 5.0})).fit(X, Y)
    assert (model.kernel_weights_ > 0).tolist() == [True, False, False]
    assert model.prediction_cost() == pytest.approx(len(model.support_) / 11)
    assert model.prediction_cost(1.0) == pytest.approx(len(model.support_) / 3)


def test_clear_errors():
    with pytest.raises(NotFittedError):
        MKLClassifier(KERNELS).prediction_cost()
    model = MKLClassifier(KERNELS, Mean()).fit(X, Y)
    with pytest.raises(ValueError, match="costs names kernels"):
        model.prediction_cost({"fax": 1.0})
    with pytest.raises(ValueError, match="must not all be 0"):
        model.prediction_cost(0.0)

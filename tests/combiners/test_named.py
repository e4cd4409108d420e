import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier
from kernelweave.combiners import FixedWeights
from kernelweave.combiners.base import as_numbers
from kernelweave.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0] > 0


def test_numbers_by_name_in_order_and_one_for_all():
    names = ["a", "b"]
    np.testing.assert_array_equal(as_numbers({"b": 3}, names, "costs", 1.0), [1.0, 3.0])
    np.testing.assert_array_equal(as_numbers([2, 0], names, "costs", 1.0), [2.0, 0.0])
    np.testing.assert_array_equal(as_numbers(5, names, "costs", 1.0), [5.0, 5.0])
    np.testing.assert_array_equal(as_numbers(None, names, "costs", 1.0), [1.0, 1.0])


@pytest.mark.parametrize("bad", [{"c": 1.0}, [1.0], [1.0, -1.0], [1.0, np.nan], "ab", [[1.0, 2.0]]])
def test_bad_numbers_name_the_parameter(bad):
    with pytest.raises(ValueError, match="costs"):
        as_numbers(bad, ["a", "b"], "costs", 1.0)


def test_single_numbers_are_parameters():
    given = {"linear": 1.0}
    combiner = FixedWeights(given).set_params(weights__gaussian=2.0)
    assert combiner.get_params()["weights__gaussian"] == 2.0
    assert given == {"linear": 1.0}
    assert clone(combiner).weights == {"linear": 1.0, "gaussian": 2.0}
    with pytest.raises(ValueError, match="weights__linear"):
        FixedWeights([1.0, 2.0]).set_params(weights__linear=3.0)


def test_a_search_over_one_weight():
    model = MKLClassifier([Linear(), Gaussian()], FixedWeights({"linear": 1.0}))
    search = GridSearchCV(model, {"combiner__weights__gaussian": [0.0, 0.5]}, cv=2).fit(X, Y)
    assert set(search.best_estimator_.combiner.weights) == {"linear", "gaussian"}

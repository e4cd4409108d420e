"""Combiners for some of the kernels, and parameters with one number per kernel."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier
from kernelweave.combiners import (
    BinaryMKL,
    ConvexMKL,
    EigenvalueCosts,
    ElasticMKL,
    FixedWeights,
    GroupMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    PolynomialMKL,
    Projected,
)
from kernelweave.combiners.base import as_numbers
from kernelweave.kernels import Gaussian, Linear

NAMES = ["a", "b", "c"]


def kept(combiner, *names):
    return combiner.for_kernels(NAMES, list(names))


@pytest.mark.parametrize("weights", [{"a": 1.0, "b": 3.0}, [1.0, 3.0, 0.0], pd.Series({"b": 3.0, "a": 1.0})])
def test_fixed_weights_keep_their_proportions_and_their_sum(weights):
    assert kept(FixedWeights(weights), "b").weights == {"b": 4.0}
    assert kept(FixedWeights(weights), "a", "b").weights == {"a": 1.0, "b": 3.0}
    assert kept(FixedWeights(weights), "b", "c").weights == {"b": 4.0, "c": 0.0}
    assert kept(FixedWeights(weights), "c").weights == {"c": 4.0}


def test_the_given_combiner_is_not_changed():
    combiner = FixedWeights({"a": 1.0, "b": 3.0})
    kept(combiner, "b")
    assert combiner.weights == {"a": 1.0, "b": 3.0}


@pytest.mark.parametrize("combiner", [ConvexMKL, LpMKL, ElasticMKL, GroupMKL])
def test_the_least_cost_stays_as_it_is(combiner):
    assert kept(combiner(costs={"b": 4.0, "c": 8.0}), "b", "c").costs == {"b": 1.0, "c": 2.0}
    assert kept(combiner(costs=[1.0, 4.0, 8.0]), "a", "c").costs == {"a": 1.0, "c": 8.0}
    assert kept(combiner(), "b").costs is None
    assert isinstance(kept(combiner(costs=EigenvalueCosts()), "b").costs, EigenvalueCosts)


def test_numbers_by_kernel():
    assert kept(ConvexMKL(min_weight={"a": 0.1, "b": 0.2}), "b", "c").min_weight == {"b": 0.2}
    assert kept(ConvexMKL(min_weight=0.1), "b").min_weight == 0.1
    assert kept(PolynomialMKL(ball_center=[1.0, 2.0, 3.0]), "a", "c").ball_center == [1.0, 3.0]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"x": ["a", "b"], "y": ["c"]}, {"x": ["b"], "y": ["c"]}),
        ({"a": "x", "b": "x", "c": "y"}, {"b": "x", "c": "y"}),
        ({"a": ["a", "b"]}, {"a": ["b"]}),  # a group may bear the name of a kernel
        (["x", "x", "y"], ["x", "y"]),
        (None, None),
    ],
)
def test_kernels_stay_in_their_groups(groups, expected):
    assert kept(GroupMKL(groups), "b", "c").groups == expected


def test_no_more_kernels_are_selected_than_there_are():
    assert kept(BinaryMKL(2, max_iter=7), "b").get_params() == {"n_selected": 1, "max_iter": 7}
    assert kept(BinaryMKL(2), "b", "c").n_selected == 2


def test_projections_by_kernel():
    start = np.eye(3, 2)
    combiner = Projected({"a": 1, "b": 2, "c": 3}, init={"b": start, "a": start}, features={"a": "map"})
    other = kept(combiner, "b", "c")
    assert other.n_components == {"b": 2, "c": 3}
    assert list(other.init) == ["b"]
    assert other.features == {}
    assert kept(Projected([1, 2, 3]), "a", "c").n_components == [1, 3]
    assert kept(Projected(2), "a").n_components == 2


def test_a_combiner_inside_another():
    assert kept(PerOutput(FixedWeights([1.0, 1.0, 2.0])), "c").combiner.weights == {"c": 4.0}


def test_lists_that_name_no_kernels_stay():
    inputs = ["x", "y", "z"]
    assert kept(Localized(inputs=inputs), "a").inputs == inputs
    assert isinstance(kept(Mean(), "a"), Mean)


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

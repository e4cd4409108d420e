"""Every constraint has an answer for every object, and an error says what would fit."""

import inspect
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from cases import each
from kernelweave import combiners, estimators, kernels, model_selection, reduction
from kernelweave.combiners import Mean
from kernelweave.validation import (
    Choice,
    Constraints,
    Exactly,
    Flag,
    Instance,
    Number,
    Offers,
    Seed,
    Whole,
    check,
    check_parameters,
)

POSITIVE = Number(above=0)
ANYTHING = [
    np.array([1.0, 2.0]),
    np.array([1]),
    [],
    {},
    {"x"},
    None,
    np.nan,
    -np.inf,
    -1.5,
    10**400,
    "x",
    b"x",
    True,
    np.True_,
    1j,
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "s"),
    pd.Series([1.0]),
    pd.NA,
    object(),
    Mean,
]


@pytest.mark.parametrize(
    ("constraint", "words", "fits", "others"),
    [
        (Number(), "a finite number", [0, -1.5, np.float32(2), Fraction(1, 3)], [np.inf, True, "1"]),
        (POSITIVE, "a positive finite number", [1, 1e-300, np.int64(3)], [0, -1, np.inf, np.nan]),
        (Number(low=0), "a finite number of at least 0", [0, 5], [-1e-9]),
        (Number(above=2), "a finite number above 2", [2.1], [2]),
        (Number(low=0, high=1), "a number from 0 to 1", [0, 1], [-0.1, 1.1]),
        (Number(above=0, high=1), "a number above 0 and at most 1", [1], [0, 1.1]),
        (Number(low=0, below=1), "a number of at least 0 and below 1", [0], [1]),
        (Number(above=0, below=1), "a number above 0 and below 1", [0.5], [0, 1]),
        (Number(high=3), "a number of at most 3", [3, -1], [4]),
        (Whole(), "a whole number", [0, -2, np.int8(3)], [1.0, 2**63, False]),
        (Whole(1), "a positive whole number", [1], [0, 1.0]),
        (Whole(2), "a whole number of at least 2", [2], [1]),
        (Whole(2, 5), "a whole number from 2 to 5", [2, 5], [1, 6]),
        (Whole(but_not=0), "a whole number other than 0", [-1, 1], [0]),
        (Choice("a", "b", None), '"a", "b" or None', ["a", None], ["c", "", 0]),
        (Flag(), "True or False", [True, np.False_], [0, 1, "True"]),
        (Exactly(np.inf, "infinity"), "infinity", [np.inf], [1.0, -np.inf]),
        (Seed(), "None, a whole number from 0 to 2**32 - 1 or a RandomState", [0, None], [-1, "x", 2**32]),
        (Instance(Mean, "a mean"), "a mean", [Mean()], [Mean, 1]),
        (Offers("fit", "score", words="a judge"), "a judge", [estimators.MKLRegressor()], [Mean(), int]),
        (POSITIVE | "auto" | None, 'a positive finite number, "auto" or None', [1, "auto", None], [0, "x"]),
        (Whole(1) | Exactly(-1, "-1 for no limit"), "a positive whole number or -1 for no limit", [-1, 1], [0]),
        (Flag() | Whole(0), "True, False or a whole number of at least 0", [True, 2], [-1]),
    ],
)
def test_what_fits_and_how_it_is_said(constraint, words, fits, others):
    assert constraint.describe() == words
    for value in fits:
        assert constraint.accepts(value), value
    for value in others:
        assert not constraint.accepts(value), value
    for value in ANYTHING:
        assert constraint.accepts(value) in (True, False)


@pytest.mark.parametrize("value", [value for value in ANYTHING if value is not None])
def test_one_error_for_whatever_is_given(value):
    with pytest.raises(ValueError, match=r'^l2 of Mean must be a positive finite number, "auto" or None, not '):
        check(Mean(), "l2", value, POSITIVE | "auto" | None)


def test_owners():
    with pytest.raises(ValueError, match=r"^n must be a positive whole number, not 0$"):
        check(None, "n", 0, Whole(1))
    with pytest.raises(ValueError, match=r"^n of the view 'a' must be a positive whole number, not 0$"):
        check("the view 'a'", "n", 0, Whole(1))


def test_values_come_back_plain():
    assert type(check(None, "x", Fraction(1, 2), POSITIVE)) is float
    assert type(check(None, "x", np.int64(2), Whole(1) | None)) is int
    assert type(check(None, "x", np.True_, Flag())) is bool
    assert check(None, "x", None, Whole(1) | None) is None
    assert isinstance(check(None, "x", 3, Seed()), np.random.RandomState)


class Base:
    _constraints = Constraints(tol=POSITIVE, n=Whole(1))
    tol, n = 1, 2


class Derived(Base):
    _constraints = Constraints(n=Whole(1) | None)
    n = None


def test_a_class_inherits_constraints_and_may_widen_them():
    assert vars(check_parameters(Base())) == {"tol": 1.0, "n": 2}
    assert vars(check_parameters(Derived())) == {"tol": 1.0, "n": None}
    Base.tol = 0
    try:
        with pytest.raises(ValueError, match="tol of Derived must be a positive finite number, not 0"):
            check_parameters(Derived())
    finally:
        Base.tol = 1


def public_classes(*modules):
    for module in modules:
        for name in module.__all__:
            each = getattr(module, name)
            if inspect.isclass(each) and issubclass(each, BaseEstimator):
                yield each


def constraints_of(cls):
    return {name: each for base in reversed(cls.__mro__) for name, each in vars(base).get("_constraints", {}).items()}


@each("cls", list(public_classes(estimators, kernels, combiners, reduction, model_selection)))
def test_constraints_are_on_parameters_and_their_defaults_fit(cls):
    parameters = inspect.signature(cls.__init__).parameters
    for name, constraint in constraints_of(cls).items():
        default = parameters[name].default if name in parameters else getattr(cls, name)
        assert default is inspect.Parameter.empty or constraint.accepts(default), name


# Whole numbers, or something else with a check of its own: a number for each kernel, folds, columns.
OR_ELSE = {"cv", "min_weight", "n_components", "regions"}


@each("cls", list(public_classes(estimators, kernels, combiners, reduction)))
def test_every_parameter_with_a_number_or_flag_for_default_is_constrained(cls):
    parameters = inspect.signature(cls.__init__).parameters.values()
    scalars = {each.name for each in parameters if isinstance(each.default, bool | int | float)}
    assert scalars - OR_ELSE <= set(constraints_of(cls))

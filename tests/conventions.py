"""scikit-learn's estimator checks: all of them, or those that depend on how a configuration fits and predicts.

Configurations of one class share its constructor, its tags, the validation of X, y and sample weights, names of
features and errors before a fit. So one configuration of each class runs every check, and the others the checks of
`SHORT`: what fit and predict do with the samples, what they leave in the model, and whether they do it again alike.

Of three variants of a check (usual memory, read-only memory, read-only memory in single precision) the first and the
last are run.

The checks of one estimator are one test, which runs all of them and names those that fail: a test of its own for each
of 1600 checks takes longer than most of the checks. Those that are expected to fail have their own.
"""

from contextlib import suppress
from functools import partial
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from cases import run_all
from kernelweave import MKLSurvival
from kernelweave.survival import outcome
from kernelweave.validation.inputs import check_numeric_target

SHORT = {
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_outliers_train",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_no_decision_function",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_n_iter",
}


class NumericSurvival(MKLSurvival):
    """The same with times as y, all of them of events: the checks have no censored targets."""

    def fit(self, X, y=None, sample_weight=None, strata=None):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        return super().fit(X, self._outcome(y), sample_weight, strata)

    def score(self, X, y):
        return super().score(X, self._outcome(y))

    def _outcome(self, y):
        y, _ = check_numeric_target(self, y, len(np.asarray(y)))
        return outcome(y - y.min(), np.ones(len(y), dtype=bool))


def checks(every, some=(), expected_failures=lambda estimator: {}):
    """Decorate a test of (estimator, check).

    Parameters
    ----------
    every : list of estimators
        They run all checks; an expected failure is marked as such.
    some : list of estimators
        They run those of `SHORT` that are not expected to fail, each in its plain variant.
    expected_failures : callable
        ``expected_failures(estimator)``, a mapping of names of checks to reasons.
    """
    cases = []
    for place, estimator in enumerate([*every, *some]):
        failures, together = expected_failures(estimator), {}
        for _, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            variant = "".join(f"-{value}" for value in check.keywords.values()) if hasattr(check, "keywords") else ""
            if variant == "-True" or (place >= len(every) and (variant or name not in SHORT or name in failures)):
                continue
            if name in failures:
                marks = [pytest.mark.xfail(reason=failures[name])]
                cases.append(pytest.param(estimator, check, id=_id(estimator, place, name + variant), marks=marks))
            else:
                together[name + variant] = check
        cases.append(pytest.param(estimator, _all_of(together), id=_id(estimator, place, f"{len(together)} checks")))
    return pytest.mark.parametrize(("estimator", "check"), cases)


def _id(estimator, place, what):
    return f"{type(estimator).__name__}{place}-{what}"


def _all_of(checks):
    """One check that runs all of these; one that scikit-learn skips, as where a package is missing, counts as done."""

    def run(estimator):
        run_all({name: partial(_unless_skipped, check, estimator) for name, check in checks.items()})

    return run


def _unless_skipped(check, estimator):
    with suppress(SkipTest):
        check(estimator)

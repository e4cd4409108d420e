"""scikit-learn's estimator checks: all of them, or those that depend on how a configuration fits and predicts.

Configurations of one class share its constructor, its tags, the validation of X, y and sample weights, names of
features and errors before a fit. So one configuration of each class runs every check, and the others the checks of
`SHORT`: what fit and predict do with the samples, what they leave in the model, and whether they do it again alike.

Of three variants of a check (usual memory, read-only memory, read-only memory in single precision) the first and the
last are run.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

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
        failures = expected_failures(estimator)
        for _, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            variant = "".join(f"-{value}" for value in check.keywords.values()) if hasattr(check, "keywords") else ""
            if variant == "-True" or (place >= len(every) and (variant or name not in SHORT or name in failures)):
                continue
            marks = [pytest.mark.xfail(reason=failures[name])] if name in failures else []
            cases.append(
                pytest.param(estimator, check, id=f"{type(estimator).__name__}{place}-{name}{variant}", marks=marks)
            )
    return pytest.mark.parametrize(("estimator", "check"), cases)

"""Rows and columns that carry labels are matched by them, or refused; never trained on in the wrong order."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ColumnBoostingClassifier,
    ColumnBoostingRegressor,
    KernelSAMME,
    KernelVoting,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    stack_views,
)
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reduction import MKLDR, KernelFisher, LeadingComponents, LocalFisher, SubspaceKernel

rng = np.random.default_rng(0)
NAMES = [f"p{i}" for i in range(20)]
Y = pd.Series(np.tile([0, 1], 10), index=NAMES)
X = pd.DataFrame(rng.normal(size=(20, 3)) + 3 * Y.to_numpy()[:, None], index=NAMES)
OTHER_ORDER = Y.iloc[np.r_[0, 1, 19:1:-1]]

SUPERVISED = [
    MKLClassifier(),
    MKLRegressor(),
    ColumnBoostingClassifier(),
    ColumnBoostingRegressor(),
    KernelVoting(),
    KernelSAMME(),
    BayesianMKLClassifier(),
    BayesianMKLRegressor(),
    SparseLargeMarginClassifier(3),
    MKLDR(),
    KernelFisher(),
    SubspaceKernel(),
    LocalFisher(),
    ResponseSurfaceSearchCV(MKLClassifier(), ["C"], cv=2, refit=False),
    LeadingComponents(LocalFisher()),
]


@pytest.mark.parametrize("model", SUPERVISED, ids=lambda model: type(model).__name__)
def test_the_same_labels_in_another_order_are_refused(model):
    message = r"X and y carry the same row labels in another order: row 2 is 'p2' in X and 'p19' in y; pass y.loc"
    with pytest.raises(ValueError, match=message):
        model.fit(X, OTHER_ORDER)
    with pytest.raises(ValueError, match=message):
        model.fit(X, OTHER_ORDER.to_frame())


def test_numbers_given_by_pandas_are_labels_too():
    with pytest.raises(ValueError, match=r"row 0 is 0 in X and 19 in y"):
        MKLClassifier().fit(X.reset_index(drop=True), Y.reset_index(drop=True)[::-1])


def test_repeated_labels_in_another_order():
    labels = np.repeat(["a", "b"], 10)
    with pytest.raises(ValueError, match="row 0 is 'a' in X and 'b' in y; sort both alike"):
        MKLClassifier().fit(X.set_axis(labels), Y.set_axis(labels)[::-1])


def test_the_remedies_work():
    fitted = MKLClassifier().fit(X, Y)
    again = MKLClassifier().fit(X, OTHER_ORDER.loc[X.index])
    np.testing.assert_array_equal(fitted.dual_coef_, again.dual_coef_)
    MKLClassifier().fit(X, OTHER_ORDER.to_numpy())


@pytest.mark.parametrize(
    "labels",
    [
        pd.RangeIndex(20),  # X came out of a step that forgot its labels
        pd.RangeIndex(5, 25),
        [f"p{i + 1}" for i in range(20)],  # the target of the next moment
        [f"q{i}" for i in range(20)],
    ],
    ids=["numbers", "other numbers", "shifted", "disjoint"],
)
def test_positions_count_where_labels_are_not_the_same(labels):
    fitted = MKLClassifier().fit(X, Y)
    again = MKLClassifier().fit(X, Y.set_axis(labels))
    np.testing.assert_array_equal(fitted.dual_coef_, again.dual_coef_)


@pytest.mark.parametrize("model", [MKLClassifier(), MKLRegressor(), MKLOneClass(), LocalFisher()])
def test_sample_weights_too(model):
    weight = pd.Series(np.arange(1.0, 21.0), index=NAMES)
    model.fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="X and sample_weight carry the same row labels in another order"):
        model.fit(X, Y, sample_weight=weight[::-1])


def test_a_detector_ignores_y():
    expected = MKLOneClass().fit(X).decision_function(X)
    np.testing.assert_array_equal(MKLOneClass().fit(X, OTHER_ORDER).decision_function(X), expected)


CLASSES = pd.Series(np.array(["b", "c", "a", "c"])[np.arange(20) % 4], index=NAMES)
SHARES = pd.get_dummies(CLASSES).astype(float) * 0.7 + 0.1


def test_columns_of_posteriors_are_matched_with_the_classes():
    model = MKLClassifier(multiclass="joint")
    wanted = model.fit(X, CLASSES, posterior=SHARES.to_numpy()).dual_coef_
    for frame in (SHARES, SHARES[["c", "a", "b"]], SHARES.set_axis(range(3), axis=1)):
        np.testing.assert_array_equal(model.fit(X, CLASSES, posterior=frame).dual_coef_, wanted)
    weight = np.ones(20)
    weight[:3] = 0.0
    np.testing.assert_array_equal(
        model.fit(X, CLASSES, sample_weight=weight, posterior=SHARES[["c", "a", "b"]]).dual_coef_,
        model.fit(X[3:], CLASSES[3:], posterior=SHARES[3:].to_numpy()).dual_coef_,
    )


@pytest.mark.parametrize("columns", [["a", "b", "d"], ["a", "b", "b"], [1, 2, 3]])
def test_columns_of_other_names_are_refused(columns):
    with pytest.raises(ValueError, match=r"columns of posterior must be named by the classes \['a', 'b', 'c'\], not"):
        MKLClassifier(multiclass="joint").fit(X, CLASSES, posterior=SHARES.set_axis(columns, axis=1))


def test_rows_of_posteriors_in_another_order_are_refused():
    with pytest.raises(ValueError, match="X and posterior carry the same row labels in another order"):
        MKLClassifier(multiclass="joint").fit(X, CLASSES, posterior=SHARES[::-1])


def test_a_series_of_the_first_class_is_refused():
    second = pd.Series(np.where(Y, 0.9, 0.2), index=NAMES, name=1)
    wanted = MKLClassifier().fit(X, Y, posterior=second.to_numpy()).dual_coef_
    np.testing.assert_array_equal(MKLClassifier().fit(X, Y, posterior=second).dual_coef_, wanted)
    both = pd.DataFrame({1: second, 0: 1 - second})
    np.testing.assert_array_equal(MKLClassifier().fit(X, Y, posterior=both).dual_coef_, wanted)
    with pytest.raises(ValueError, match=r"posterior is a series of the class .*0.*, by its name.*Pr\(1\|x\)"):
        MKLClassifier().fit(X, Y, posterior=both[0])


def test_stacked_views_bring_y_along():
    Z, y = stack_views({"a": X[[0, 1]], "b": X[[2]]}, y=OTHER_ORDER)
    assert list(Z.index) == list(y.index) == NAMES
    pd.testing.assert_series_equal(y, Y)
    MKLClassifier().fit(Z, y)

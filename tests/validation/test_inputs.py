"""Masks mean what missing entries mean, dates are not taken for numbers, and documents are a column."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer

from kernelweave import MKLClassifier, MKLRegressor, stack_views
from kernelweave.kernels import Distance, Function, Linear, Precomputed
from kernelweave.reduction import LeadingComponents, LocalFisher
from kernelweave.views import FetchedViews, Views

N = 12
Y = np.tile([0, 1], 6)
A = np.random.default_rng(0).normal(size=(N, 4)) + Y[:, None]
KERNELS = [Linear([0, 1]), Linear([2, 3])]
DAYS = pd.date_range("2020-01-01", periods=N)
SPANS = DAYS - DAYS[0]


def masked(array, *places):
    array = np.ma.array(array, mask=False)
    for place in places:
        array[place] = np.ma.masked
    return array


def test_a_masked_view_is_a_missing_view():
    X = masked(A, np.s_[3, :2], np.s_[5, 2:])
    holes = np.where(np.ma.getmaskarray(X), np.nan, A)
    model, wanted = MKLClassifier(KERNELS).fit(X, Y), MKLClassifier(KERNELS).fit(holes, Y)
    np.testing.assert_array_equal(model.dual_coef_, wanted.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(X), wanted.decision_function(holes))
    np.testing.assert_array_equal(stack_views({"a": X}), holes)


def test_a_partly_masked_view_is_refused_by_name():
    with pytest.raises(ValueError, match="sample 3 is NaN in some of its columns"):
        MKLClassifier(KERNELS).fit(masked(A, np.s_[3, 0]), Y)
    fitted = MKLClassifier(KERNELS).fit(masked(A), Y)  # a mask that hides nothing
    np.testing.assert_array_equal(fitted.dual_coef_, MKLClassifier(KERNELS).fit(A, Y).dual_coef_)
    with pytest.raises(ValueError, match="sample 3 is NaN in some of its columns"):
        fitted.predict(masked(A, np.s_[3, 0]))


def test_masked_whole_numbers_and_text():
    counts = masked(np.arange(6).reshape(3, 2), 1)
    values, present = Views(counts).read(np.arange(2), "counts")
    assert list(present) == [True, False, True]
    words = masked(np.array([["ab"], ["b"], ["a"]], dtype=object), 0)
    assert list(Views(words).read(np.arange(1), "words", text=True)[1]) == [False, True, True]


@pytest.mark.parametrize("model", [LocalFisher(), LeadingComponents(PCA())])
def test_transformers_without_views_have_no_missing_entries(model):
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(masked(A, 3), Y)
    with pytest.raises(ValueError, match="X holds dates or time spans in the column 'day'"):
        model.fit(pd.DataFrame(A).assign(day=DAYS).rename(columns=str), Y)
    with pytest.raises(ValueError, match="X holds dates or time spans"):
        model.fit(np.c_[DAYS, DAYS], Y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(A, Y).transform(masked(A, 3))


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        (MKLClassifier(), np.nan, "Input y contains NaN: sample 'P2' and 1 more; leave such samples out"),
        (MKLClassifier(), None, "Input y contains NaN: sample 'P2' and 1 more"),
        (MKLRegressor(), np.inf, "Input y contains infinity or a value too large .*: sample 'P2' and 1 more"),
    ],
)
def test_targets_that_are_missing_are_named_by_label(model, value, message):
    labels = [f"P{j}" for j in range(N)]
    y = np.array(["ill", "well"] * N, dtype=object)[:N] if value is None else np.arange(N) % 2.0
    y[[2, 4]] = value
    with pytest.raises(ValueError, match=message):
        model.fit(pd.DataFrame(A, index=labels), pd.Series(y, index=labels))
    with pytest.raises(ValueError, match=message.replace("'P2'", "2")):
        model.fit(A, y)


def test_masked_targets_weights_and_matrices():
    with pytest.raises(ValueError, match="y is masked at 2"):
        MKLClassifier().fit(A, masked(Y, 2))
    with pytest.raises(ValueError, match="y is masked at 2"):
        stack_views({"a": A}, y=masked(Y, 2))
    with pytest.raises(ValueError, match="sample_weight is masked at 2"):
        MKLClassifier().fit(A, Y, sample_weight=masked(np.ones(N), 2))
    with pytest.raises(ValueError, match="posterior is masked at 2"):
        MKLClassifier().fit(A, Y, posterior=masked(np.where(Y, 0.9, 0.1), 2))
    with pytest.raises(ValueError, match=r"K of the precomputed kernel of view 'id' is masked at \(0, 1\)"):
        Precomputed(masked(np.eye(3), (0, 1)), "id")
    with pytest.raises(ValueError, match=r"the metric's distance matrix is masked at \(0, 1\)"):
        Distance(masked(np.zeros((3, 3)), (0, 1)))
    with pytest.raises(ValueError, match=r"rows of extend is masked at \(0, 1\)"):
        Precomputed(np.eye(3)).extend(masked(np.ones((1, 3)), (0, 1)), [1.0])


def test_masked_answers_of_fetch_are_missing():
    views = FetchedViews(Views(np.full((2, 1), np.nan)), lambda view, rows: masked(np.ones((2, 1)), 0))
    with pytest.raises(ValueError, match="returned missing values"):
        views.complete(np.array([0]), "a")


DATES = {
    "array of dates": np.c_[DAYS, DAYS],
    "array of spans": np.c_[SPANS, SPANS],
    "one unit in a frame": pd.DataFrame({"a": DAYS}),
    "beside numbers": pd.DataFrame({"number": A[:, 0], "a": DAYS}),
    "with a time zone": pd.DataFrame({"a": DAYS.tz_localize("UTC"), "number": A[:, 0]}),
    "spans": pd.DataFrame({"a": SPANS, "number": A[:, 0]}),
    "objects": np.array([[day, 1.0] for day in DAYS], dtype=object),
    "NumPy's spans as objects": pd.DataFrame({"a": pd.Series(list(SPANS.to_numpy()), dtype=object)}),
    "periods": pd.DataFrame({"a": pd.period_range("2020", periods=N, freq="D")}),
    "lists": [[date(2020, 1, 1) + timedelta(days=i)] for i in range(N)],
    "lists of NumPy's": [[day] for day in DAYS.to_numpy()],
}


@pytest.mark.parametrize("X", DATES.values(), ids=DATES)
def test_dates_are_refused_by_column(X):
    message = r"view '.*' holds values that are not numbers \(column ('a'|0) has '.*': turn dates into numbers"
    with pytest.raises(ValueError, match=message):
        MKLClassifier().fit(X, Y)


def test_a_callable_kernel_may_compare_dates():
    def same_day(first, second):
        return (first[:, None, 0] == second[None, :, 0]).astype(float)

    for X in (pd.DataFrame({"a": DAYS[Y]}), DAYS[Y].to_numpy()[:, None]):
        np.testing.assert_array_equal(MKLClassifier([Function(same_day)]).fit(X, Y).predict(X[::-1]), Y[::-1])


def test_dates_as_targets_and_weights():
    for y in (DAYS.to_numpy(), pd.Series(DAYS), SPANS.to_numpy(), pd.Series(DAYS.tz_localize("UTC")), list(DAYS)):
        with pytest.raises(ValueError, match="y of a regression holds dates or time spans"):
            MKLRegressor().fit(A, y)
    with pytest.raises(ValueError, match="sample_weight holds dates or time spans"):
        MKLClassifier().fit(A, Y, sample_weight=SPANS.to_numpy())
    model = MKLClassifier().fit(A, DAYS[Y].to_numpy())  # dates are labels like others
    assert set(model.predict(A)) == set(DAYS[:2].to_numpy())


DOCUMENTS = ["tall oak", "small fir", "tall fir", "small oak"]


@pytest.mark.parametrize(
    "X", [DOCUMENTS, np.array(DOCUMENTS), np.array(DOCUMENTS, dtype=object), pd.Series(DOCUMENTS)], ids=repr
)
def test_documents_that_are_no_column(X):
    model = MKLClassifier([Linear(transformer=CountVectorizer())])
    column = np.array(DOCUMENTS, dtype=object)[:, None]
    with pytest.raises(ValueError, match=r"1D array of text.*or ids, are one column, (X.to_frame|np.array)\("):
        model.fit(X, [0, 1, 0, 1])
    model.fit(column, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="1D array of text"):
        model.predict(X)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="a type of NumPy 2")
def test_text_of_variable_width():
    column = np.array(DOCUMENTS, dtype=object)[:, None]
    model = MKLClassifier([Linear(transformer=CountVectorizer())]).fit(column, [0, 1, 0, 1])
    wide = column.astype(np.dtypes.StringDType())
    np.testing.assert_array_equal(model.decision_function(wide), model.decision_function(column))

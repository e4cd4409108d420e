"""Each kind of bad input ends in one clear error that names the culprit and the remedy."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import FixedWeights, Mean
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed, Spectrum

rng = np.random.default_rng(0)
X = stack_views({"a": rng.normal(size=(12, 3)), "b": rng.normal(size=(12, 2))})
Y = np.tile([0, 1], 6)
KERNELS = [Linear("a"), Linear("b")]


def changed(frame, row, column, value):
    frame = frame.copy()
    frame.loc[row, column] = value
    return frame


ALL_NAN = X.copy()
ALL_NAN.loc[4] = np.nan
TEXT = X.assign(c="word")

FIT = [
    (
        MKLClassifier(KERNELS),
        changed(X, 2, "b__1", np.nan),
        Y,
        "view 'b' of sample 2 is NaN in some of its columns",
    ),
    (MKLClassifier(KERNELS), changed(X, 2, "b__1", np.inf), Y, "view 'b' contains infinity .sample 2"),
    (MKLClassifier(KERNELS), ALL_NAN, Y, "sample 4 has no view at all.*remove such samples"),
    (MKLClassifier(), np.where(np.eye(12, 5) > 0, np.nan, 1.0), Y, "sample 0 is NaN in some"),
    (MKLClassifier(KERNELS), X, np.zeros(12), "at least two classes, but y has only one class: .*0"),
    (MKLClassifier(KERNELS), X.iloc[:1], Y[:1], "1 sample.s.*at least 2 samples"),
    (MKLClassifier(), X.to_numpy()[:1], Y[:1], "1 sample"),
    (MKLClassifier(), X.iloc[:0], Y[:0], "0 sample"),
    (MKLOneClass(), X.iloc[:1], None, "1 sample"),
    (MKLClassifier([Linear("c")]), X, Y, "view 'c' matches no column of X; the views of X are: a, b"),
    (MKLClassifier([Linear([5])]), X, Y, "columns that X .5. does not have"),
    (MKLClassifier([]), X, Y, "kernels is empty"),
    (MKLClassifier(Linear("a")), X, Y, "wrap a single kernel"),
    (MKLClassifier([Linear("a"), "c"]), X, Y, "view 'c' matches no column of X; the views of X are: a, b"),
    (MKLClassifier([Linear("c")]), TEXT, Y, "view 'c' holds values that are not numbers"),
    (MKLClassifier([Gaussian("a", scale=-1)]), X, Y, "scale of the kernel 'a' must be a positive finite number"),
    (MKLClassifier([Polynomial("a", degree=-1)]), X, Y, "degree of the kernel 'a'"),
    (MKLClassifier(C=0), X, Y, 'C of MKLClassifier must be a positive finite number or "gcv", not 0'),
    (MKLClassifier(C=np.inf), X, Y, "C of MKLClassifier must be a positive finite number"),
    (MKLClassifier(C="1"), X, Y, "C of MKLClassifier must be a positive finite number"),
    (MKLRegressor(C=-1.0), X, Y, 'C of MKLRegressor must be a positive finite number or "gcv", not -1'),
    (MKLRegressor(epsilon=-0.1), X, Y, "epsilon of MKLRegressor must be a finite number of at least 0, not -0.1"),
    (MKLRegressor(), X, ["x"] * 12, "y of a regression must be numbers"),
    (MKLOneClass(C=0.01), X, None, "C must be at least 1/n = 0.08333"),
    (MKLOneClass(nu=0.0), X, None, "nu of MKLOneClass must be a number above 0 and at most 1"),
    (MKLOneClass(nu=1.5), X, None, "nu of MKLOneClass must be"),
    (MKLClassifier(tol=0), X, Y, "tol of MKLClassifier must be"),
    (MKLClassifier(max_iter=0), X, Y, "max_iter of MKLClassifier must be a positive whole number or -1 for no limit"),
    (MKLClassifier(normalize="cosine"), X, Y, "normalize must be "),
    (MKLClassifier(multiclass="all"), X, Y, "multiclass of MKLClassifier must be"),
    (MKLClassifier(dtype="int8"), X, Y, "dtype of MKLClassifier must be"),
    (MKLClassifier(combiner="meen"), X, Y, "combiner of MKLClassifier must be a combiner such as Mean"),
    (MKLClassifier(combiner=Mean), X, Y, "combiner of MKLClassifier must be a combiner such as Mean"),
    (MKLClassifier(n_jobs=0), X, np.arange(12) % 3, "n_jobs"),
    (MKLClassifier(KERNELS, FixedWeights({"c": 1.0})), X, Y, r"not there: \['c'\]; there are \['a', 'b'\]"),
    (MKLClassifier(KERNELS, FixedWeights([1.0])), X, Y, "one entry for each of the 2 kernels"),
    (MKLClassifier(KERNELS, FixedWeights([1.0, -1.0])), X, Y, "weights must be finite and at least 0"),
    (MKLClassifier(KERNELS, FixedWeights([0.0, 0.0])), X, Y, "one of the weights must be positive"),
    (MKLClassifier(KERNELS), X, Y[:-1], "inconsistent numbers of samples: 12 and 11"),
    (MKLClassifier(KERNELS), X, None, "requires y to be passed, but the target y is None"),
    (MKLClassifier(KERNELS), X, np.where(Y, np.nan, 1.0), "y contains NaN"),
    (MKLRegressor(KERNELS), X, np.where(Y, np.inf, 1.0), "y contains infinity"),
    (MKLClassifier(KERNELS), X, Y + 0.5, "Unknown label type"),
    (MKLClassifier(KERNELS), X, np.array(["a", 1] * 6, dtype=object), "y mixes labels of types"),
    (
        MKLClassifier(KERNELS),
        X.assign(a__0=np.nan, a__1=np.nan, a__2=np.nan),
        Y,
        "no training sample has the view .*'a'",
    ),
    (MKLClassifier([Linear()]), [["x", "y"]] * 12, Y, "view 'linear' holds values that are not numbers"),
    (MKLClassifier(class_weight={2: 1.0}), X, Y, "class"),
    (MKLClassifier(class_weight={0: 0.0, 1: 1.0}), X, Y, "positive finite cost"),
    (
        MKLClassifier([Precomputed(np.eye(12)), Precomputed(np.eye(9))]),
        np.arange(12)[:, None],
        Y,
        "'precomputed-2'.*0 to 8",
    ),
    (MKLClassifier([Precomputed(np.eye(12), view="a")]), X, Y, "kernel 'a' needs one column of ids"),
    (MKLClassifier([Linear("a")]), sp.csr_matrix(X), Y, "'a' is a name, but X has no column names"),
    (MKLClassifier(), [[1, 2], [3]] * 6, Y, "inhomogeneous"),
    (MKLClassifier(), np.zeros((12, 0)), Y, "0 feature"),
    (
        MKLClassifier([Linear()], normalize=None),
        X * 1e200,
        Y,
        "kernel 'linear' gives NaN, infinite or overflowing",
    ),
    (MKLClassifier([Precomputed(-np.eye(12))]), np.arange(12)[:, None], Y, "negative diagonal"),
]


@pytest.mark.parametrize(("model", "data", "y", "message"), FIT, ids=range(len(FIT)))
def test_fit_names_the_culprit_and_changes_nothing(model, data, y, message):
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(data, y)
    assert model.__dict__ == before


NEW = X.iloc[:3]
PREDICT = [
    (changed(NEW, 1, "a__0", np.nan), "view 'a' of sample 1 is NaN in some"),
    (changed(NEW, 1, "a__0", np.inf), "view 'a' contains infinity"),
    (ALL_NAN.iloc[3:5], "sample 4 has no view at all"),
    (NEW.drop(columns="b__0"), "X lacks 1 of 2 columns of the view 'b': 'b__0'"),
    (NEW.rename(columns={"a__0": "A__0"}), "did you mean 'A__0' for 'a__0'?"),
    (NEW.rename(columns=str.upper), "no column of the views 'a', 'b'"),
    (NEW.iloc[:0], "0 sample"),
    (NEW.to_numpy()[:, :4], "has 4 features, but MKLClassifier is expecting 5"),
    (NEW.to_numpy()[0], "Reshape your data|1D array"),
    (NEW.assign(a__0="text"), "view 'a' holds values that are not numbers"),
]


@pytest.mark.parametrize(("data", "message"), PREDICT, ids=range(len(PREDICT)))
@pytest.mark.parametrize("method", ["predict", "decision_function", "kernel_weights"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_predict_names_the_culprit(data, message, method):
    model = MKLClassifier(KERNELS).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(data)


def test_views_that_the_model_does_not_use_may_be_absent():
    model = MKLClassifier(KERNELS, FixedWeights({"b": 1.0})).fit(X, Y)
    only_b = NEW[["b__0", "b__1"]]
    np.testing.assert_array_equal(model.decision_function(only_b), model.decision_function(NEW))
    np.testing.assert_array_equal(model.kernel_weights(only_b), [[0.0, 1.0]] * 3)
    with pytest.raises(ValueError, match="1 of 2 columns of the view 'b': 'b__1'"):
        model.predict(NEW[["b__0"]])
    unused_column = MKLClassifier([Linear("b")]).fit(X, Y)
    np.testing.assert_array_equal(unused_column.predict(only_b), unused_column.predict(NEW))


def test_string_view_for_a_callable_kernel():
    words = ["aab", "abb", "bbb", "aaa"] * 3

    def same_positions(A, B):
        return np.array([[sum(u == v for u, v in zip(a, b, strict=True)) for (b,) in B] for (a,) in A])

    frame = stack_views({"a": X.filter(like="a__").to_numpy(), "seq": words})
    model = MKLClassifier([Linear("a"), ("seq", lambda A, B: same_positions(A[:, -1:], B[:, -1:]))]).fit(frame, Y)
    assert model.predict(frame.iloc[:2]).shape == (2,)
    assert isinstance(frame, pd.DataFrame)


@pytest.mark.filterwarnings("ignore:the kernel")
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(), Polynomial()])
@pytest.mark.parametrize(
    "data",
    [
        np.ones((6, 2)),
        np.zeros((6, 2)),
        np.repeat(rng.normal(size=(2, 2)), 3, axis=0),
        1e12 * rng.normal(size=(6, 2)),
    ],
    ids=["constant", "zero", "duplicated", "huge"],
)
def test_degenerate_data_give_finite_models(kernel, data):
    y = np.array([0, 1, 0, 1, 0, 1])
    models = [MKLClassifier([kernel]), MKLRegressor([kernel]), MKLOneClass([kernel])]
    models += [MKLClassifier([kernel], machine="least-squares"), MKLRegressor([kernel], machine="least-squares")]
    for model in models:
        values = model.fit(data, y)._values(data)
        assert np.isfinite(values).all() and model.duality_gap_ >= 0


def test_posteriors_must_speak_for_both_classes():
    model = MKLClassifier(KERNELS)
    for posterior in (0.5, 0.9):
        with pytest.raises(ValueError, match="posteriors are on the side of one class only"):
            model.fit(X, Y, posterior=np.full(12, posterior))


def test_one_sample_of_positive_weight_is_too_few():
    for model in (MKLRegressor(), MKLOneClass()):
        with pytest.raises(ValueError, match="only one sample has a positive sample_weight"):
            model.fit(X, Y, sample_weight=np.eye(12)[0])


def test_text_in_arrays_and_lists_reaches_kernels_that_take_it():
    words = [["ab"], ["ba"], ["aa"], ["bb"]]
    for data in (words, np.array(words), np.array(words, dtype=object)):
        assert MKLClassifier([Spectrum(k=1)]).fit(data, [0, 0, 1, 1]).predict(data).shape == (4,)

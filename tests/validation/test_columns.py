"""New data frames are read by name where columns are named by view: other orders, other columns, absent views."""

import warnings

import numpy as np
import pandas as pd
import pytest

from kernelweave import KernelVoting, MKLClassifier, MKLOneClass, MKLRegressor, load, save, stack_views
from kernelweave.combiners import FixedWeights, Product
from kernelweave.kernels import Gaussian, Linear, Spectrum
from kernelweave.recipes import CohortModel
from kernelweave.reduction import MKLDR, LocalFisher
from kernelweave.validation.columns import by_name

N = 30
RNG = np.random.default_rng(0)
Y = np.tile([0, 1], N // 2)
RNA, CLINIC = RNG.normal(size=(N, 4)) + Y[:, None], RNG.normal(size=(N, 2)) - Y[:, None]
WORDS = ["abab" if label else "bcbc" for label in Y]
X = stack_views({"rna": RNA, "clinic": CLINIC, "word": WORDS})
KERNELS = [Linear("rna"), Gaussian("clinic"), Spectrum(k=2, view="word")]


@pytest.fixture(scope="module")
def model():
    return MKLClassifier(KERNELS).fit(X, Y)


def without(view):
    """X in which a view is there and missing for all samples."""
    lacking = X.copy()
    for column in X.columns:
        if column.partition("__")[0] == view:
            lacking[column] = None if view == "word" else np.nan
    return lacking


def quietly(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*arguments)


def test_any_order_and_other_columns(model):
    wanted = model.decision_function(X)
    shuffled = X.sample(frac=1, axis=1, random_state=0)
    assert list(shuffled.columns) != list(X.columns)
    np.testing.assert_array_equal(quietly(model.decision_function, shuffled), wanted)
    more = shuffled.assign(methyl__0="x", rna__extra=1.0, patient=3)
    np.testing.assert_array_equal(quietly(model.decision_function, more), wanted)
    np.testing.assert_array_equal(model.kernel_weights(more), model.kernel_weights(X))
    again = more.set_axis([*more.columns[:-1], "methyl__0"], axis=1)  # a column twice that no kernel reads
    np.testing.assert_array_equal(quietly(model.decision_function, again), wanted)


@pytest.mark.parametrize("view", ["rna", "clinic", "word"])
def test_a_view_that_is_not_there_is_missing_for_all_samples(model, view):
    absent = X[[c for c in X.columns if c.partition("__")[0] != view]].iloc[:, ::-1]
    lacking = without(view)
    np.testing.assert_array_equal(quietly(model.decision_function, absent), model.decision_function(lacking))
    assert (model.kernel_weights(absent)[view] == 0).all()


def test_all_estimators_and_saved_models(tmp_path):
    kernels = [Linear("rna"), Gaussian("clinic")]
    shuffled, absent = X.iloc[:, ::-1], X.drop(columns=["clinic__0", "clinic__1"])
    for model in (MKLRegressor(kernels), MKLOneClass(kernels), MKLDR(kernels)):
        model.fit(X, Y)
        save(model, tmp_path / "model")
        for each in (model, load(tmp_path / "model")):
            call = each.transform if isinstance(model, MKLDR) else each.predict
            np.testing.assert_array_equal(quietly(call, shuffled), call(X))
            np.testing.assert_array_equal(quietly(call, absent), call(without("clinic")))


def test_missing_columns_are_named_once_for_all_views(model):
    wrong = X.rename(columns={"rna__2": "RNA__2"}).drop(columns=["rna__3", "clinic__1"])
    message = (
        r"X lacks 2 of 4 columns of the view 'rna': 'rna__2', 'rna__3' \(did you mean 'RNA__2' for 'rna__2'\?\); "
        r"1 of 2 columns of the view 'clinic': 'clinic__1'\. Add or rename them"
    )
    for call in (model.predict, model.kernel_weights):
        with pytest.raises(ValueError, match=message):
            call(wrong)
    # Columns of that view under other names only: not a missing view.
    with pytest.raises(ValueError, match="4 of 4 columns of the view 'rna'"):
        model.predict(X.rename(columns={f"rna__{j}": f"rna__gene{j}" for j in range(4)}))
    with pytest.raises(ValueError, match="the column 'rna__0' occurs more than once in X"):
        model.predict(X.rename(columns={"rna__1": "rna__0"}))


def test_long_lists_are_cut():
    wide = stack_views({"a": RNG.normal(size=(N, 40)), "b": RNA})
    model = MKLClassifier().fit(wide, Y)
    with pytest.raises(ValueError, match=r"39 of 40 columns of the view 'a': 'a__1', .*, 'a__5', \.\.\. \(39 in all\)"):
        model.predict(wide[["a__0", *wide.columns[40:]]])


def test_a_view_under_another_name_is_pointed_at(model):
    renamed = X.rename(columns={f"rna__{j}": f"RNA__{j}" for j in range(4)})
    message = r"X lacks the view 'rna' of the fit, now missing .* has the view 'RNA' .* read_views\({'rna': FILE}\)"
    with pytest.warns(UserWarning, match=message) as caught:
        values = model.decision_function(renamed)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(values, model.decision_function(without("rna")))
    with pytest.warns(UserWarning, match="and has the view 'Word'"):
        model.predict(X.rename(columns={"word": "Word"}))
    quietly(model.predict, X.drop(columns="word").assign(patient=1))  # nothing like a word


def test_no_view_at_all(model):
    with pytest.raises(
        ValueError, match=r"no column of the views 'rna', 'clinic', 'word' .* 'rna__0'.*'a', 'b' .*read_v"
    ):
        model.predict(pd.DataFrame({"a": [1.0], "b": 2.0}))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X.iloc[:0, ::-1])


def test_what_is_not_read_may_be_absent_and_combiners_that_need_a_view_name_it():
    kernels = [Linear("rna"), Gaussian("clinic")]
    model = MKLClassifier(kernels, FixedWeights({"rna": 1.0})).fit(X, Y)
    part = X[["clinic__1", "rna__3", "rna__2", "rna__1", "rna__0"]]
    np.testing.assert_array_equal(model.predict(part), model.predict(X))
    with pytest.raises(ValueError, match="no column of the view 'rna'"):
        model.predict(X[["clinic__0", "clinic__1"]])
    with pytest.raises(ValueError, match="sample 0 lacks the view of the kernel 'clinic'"):
        MKLClassifier(kernels, Product()).fit(X, Y).predict(X.drop(columns=["clinic__0", "clinic__1"]))


def test_columns_without_a_prefix_that_a_kernel_reads_together():
    frame = X[["rna__0", "rna__1"]].assign(age=CLINIC[:, 0], sex=CLINIC[:, 1])
    model = MKLClassifier().fit(frame, Y)
    assert model.kernel_names_ == ["rna", "rest"]
    with pytest.raises(ValueError, match="1 of 2 columns of the view 'age, sex': 'sex' .did you mean 'Sex' for 'sex'?"):
        model.predict(frame.rename(columns={"sex": "Sex"}))
    np.testing.assert_array_equal(
        model.predict(frame[["rna__1", "rna__0"]]), model.predict(frame.assign(age=np.nan, sex=np.nan))
    )


def test_views_of_one_column_that_kernels_name():
    frame = stack_views({"age": CLINIC[:, 0], "word": X["word"].tolist(), "size": CLINIC[:, 1]})
    model = MKLClassifier([Gaussian("age"), Spectrum("word", 1), Linear("size")]).fit(frame, Y)
    values = model.decision_function(frame)
    np.testing.assert_array_equal(model.decision_function(frame.iloc[:, ::-1].assign(more=1)), values)
    lacking = model.decision_function(frame.drop(columns="age"))
    np.testing.assert_array_equal(lacking, model.decision_function(frame.assign(age=np.nan)))
    with pytest.raises(ValueError, match="no column of the views 'age', 'word', 'size'"):
        model.predict(frame.add_prefix("x"))


def test_types_of_columns_do_not_matter(model):
    mixed = X.iloc[:, ::-1].astype({"rna__0": object, "clinic__1": "Float64", "rna__1": np.float32})
    np.testing.assert_allclose(model.decision_function(mixed), model.decision_function(X), atol=1e-6)


def test_arrays_and_frames_in_order_are_not_copied(model):
    assert by_name(model, X, model.feature_names_in_, np.arange(7)) is X
    numbers = stack_views({"a": RNA, "b": CLINIC})
    fitted = MKLClassifier().fit(numbers, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(fitted.predict(numbers.to_numpy()), fitted.predict(numbers))


def test_names_without_views_follow_scikit_learn():
    frame = pd.DataFrame(RNA, columns=list("abcd"))
    model = MKLClassifier([Linear(["a", "b"])]).fit(frame, Y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame.iloc[:, ::-1])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame.assign(e=1.0))
    np.testing.assert_array_equal(model.predict(frame[["a", "b"]]), model.predict(frame))


TWICE = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 4)), columns=["a__x", "a__x", "b__y", "b__y"])


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(),
        MKLClassifier([Linear("a")]),
        MKLClassifier(approximation="nystroem"),
        MKLRegressor(),
        MKLOneClass(),
        KernelVoting(),
        MKLDR(),
        LocalFisher(),
        CohortModel("forest"),
    ],
    ids=str,
)
def test_columns_of_one_name_are_refused_in_one_line(model):
    y = np.arange(20) % 2
    message = r"^the columns 'a__x', 'b__y' occur more than once in X; rename or remove the others$"
    with pytest.raises(ValueError, match=message):
        model.fit(TWICE, y)
    with pytest.raises(ValueError, match="^the column '0' occurs more than once in X"):
        model.fit(TWICE.set_axis([0, 0, 1, 2], axis=1), y)


def test_new_columns_of_one_name_are_refused_in_one_line():
    named = MKLClassifier([Linear("a")]).fit(
        TWICE.set_axis(["a__x", "a__w", "b__y", "b__z"], axis=1), np.arange(20) % 2
    )
    with pytest.raises(ValueError, match="^the column 'a__x' occurs more than once in X"):
        named.predict(TWICE)
    plain = MKLClassifier([Linear([0])]).fit(TWICE.set_axis(list("abcd"), axis=1), np.arange(20) % 2)
    with pytest.raises(ValueError, match="^the column 'a' occurs more than once in X"):
        plain.predict(TWICE.set_axis(list("aabc"), axis=1))


def test_a_view_with_columns_of_one_name():
    with pytest.raises(ValueError, match="^the column 'x' occurs more than once in the view 'a'"):
        stack_views({"a": TWICE.set_axis(list("xxyz"), axis=1), "b": TWICE})

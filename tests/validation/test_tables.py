"""Tables of polars and pyarrow give what pandas gives; several tables, and arrays of other libraries, are refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import KernelVoting, MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.kernels import Gaussian, Linear, Spectrum
from kernelweave.reduction import MKLDR, LocalFisher
from kernelweave.validation.inputs import as_pandas, spelled_number
from kernelweave.views import Views

N = 30
RNG = np.random.default_rng(0)
NO_NUMBERS = ["1_000", "\u0661\u0662", "\uff11\uff12", "0x10", "1 000", "", "-", "1,5"]  # Arabic and wide digits
Y = np.tile(["ill", "well"], N // 2)
RNA = RNG.normal(size=(N, 3)) + (Y == "ill")[:, None]
AGE = RNG.integers(20, 80, N)
WORDS = ["abab" if label == "ill" else "bcbc" for label in Y]
X = stack_views({"rna": RNA, "age": AGE, "word": WORDS})
KERNELS = [Linear("rna"), Gaussian("age"), Spectrum(k=2, view="word")]


def of_polars(frame):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].tolist() for name in frame.columns})


def of_arrow(frame):
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: frame[name].tolist() for name in frame.columns})


@pytest.fixture(params=[of_polars, of_arrow], ids=["polars", "pyarrow"])
def library(request):
    return request.param


def test_models_fit_and_predict(library):
    table = library(X)
    wanted = MKLClassifier(KERNELS).fit(X, Y)
    model = MKLClassifier(KERNELS).fit(table, library(pd.DataFrame({"y": Y}))["y"])
    assert list(model.feature_names_in_) == list(X.columns) and list(model.classes_) == ["ill", "well"]
    for new in (table, X, library(X[X.columns[::-1]])):
        np.testing.assert_array_equal(model.decision_function(new), wanted.decision_function(X))
    pd.testing.assert_frame_equal(model.kernel_weights(table), wanted.kernel_weights(X))
    lacking = library(X[["word", "age"]])
    np.testing.assert_array_equal(model.predict(lacking), wanted.predict(X[["word", "age"]]))


def test_other_models(library):
    numbers = X[["rna__0", "rna__1", "rna__2", "age"]]
    table, values = library(numbers), library(pd.DataFrame({"y": AGE.astype(float)}))["y"]
    weight = library(pd.DataFrame({"w": np.ones(N)}))["w"]
    fits = [
        (MKLRegressor().fit(table, values, sample_weight=weight), MKLRegressor().fit(numbers, AGE.astype(float))),
        (MKLOneClass().fit(table), MKLOneClass().fit(numbers)),
        (KernelVoting().fit(table, Y), KernelVoting().fit(numbers, Y)),
    ]
    for model, wanted in fits:
        np.testing.assert_array_equal(model.predict(table), wanted.predict(numbers))
    for transformer in (MKLDR(), LocalFisher()):
        wanted = transformer.fit(numbers, Y).transform(numbers)
        np.testing.assert_array_equal(transformer.fit(table, Y).transform(table), wanted)
    posterior = pd.DataFrame({"well": np.where(Y == "ill", 0.1, 0.9), "ill": np.where(Y == "ill", 0.9, 0.1)})
    model = MKLClassifier().fit(table, Y, posterior=library(posterior))  # columns by the names of classes
    np.testing.assert_array_equal(model.dual_coef_, MKLClassifier().fit(numbers, Y, posterior=posterior).dual_coef_)


def test_nothing_is_missing_or_everything(library):
    holes = X.astype({"age": object, "word": object})
    holes.loc[2, ["rna__0", "rna__1", "rna__2"]] = np.nan
    holes.loc[3, "age"] = None
    holes.loc[4, "word"] = None
    table = library(holes.replace({np.nan: None}))
    views = Views(table)
    for view, row in (("rna", 2), ("age", 3)):
        assert list(np.flatnonzero(~views.read(views.columns(view), view)[1])) == [row]
    assert list(np.flatnonzero(~views.read(views.columns("word"), "word", text=True)[1])) == [4]
    np.testing.assert_array_equal(
        MKLClassifier(KERNELS).fit(table, Y).dual_coef_, MKLClassifier(KERNELS).fit(holes, Y).dual_coef_
    )


def test_stack_views_takes_them(library):
    rna = library(pd.DataFrame(RNA, columns=["a", "b", "c"]))
    words = library(pd.DataFrame({"w": WORDS}))["w"]
    frame, y = stack_views({"rna": rna, "word": words}, y=library(pd.DataFrame({"y": Y}))["y"])
    assert list(frame.columns) == ["rna__a", "rna__b", "rna__c", "word"]
    np.testing.assert_array_equal(frame.iloc[:, :3], RNA)
    assert list(frame["word"]) == WORDS and list(y) == list(Y)
    assert isinstance(frame.index, pd.RangeIndex)
    labelled = pd.DataFrame({"age": AGE}, index=[f"p{i}" for i in range(N)])
    assert list(stack_views({"rna": rna, "age": labelled}).index) == list(labelled.index)  # as an array, by position


def test_searches_of_polars_frames():
    table = of_polars(X)
    scores = cross_val_score(MKLClassifier(KERNELS), table, Y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(MKLClassifier(KERNELS), X, Y, cv=3))
    target = of_polars(pd.DataFrame({"y": Y}))["y"]
    search = GridSearchCV(MKLClassifier(KERNELS), {"C": [0.1, 1.0]}, cv=3).fit(table, target)
    np.testing.assert_array_equal(search.predict(table), search.predict(X))


def test_types_of_columns():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(
        {
            "kind": polars.Series(["u", None, "u"], dtype=polars.Categorical),
            "there": [True, None, False],
            "count": polars.Series([1, None, 3], dtype=polars.Int8),
            "day": polars.Series([1, 2, 3]).cast(polars.Date),
        }
    )
    frame = as_pandas(table)
    assert list(frame["kind"].isna()) == [False, True, False] and frame["kind"][0] == "u"
    np.testing.assert_array_equal(Views(frame).read(np.array([1]), "there")[0], [[1.0], [0.0], [0.0]])
    np.testing.assert_array_equal(frame["count"], [1.0, np.nan, 3.0])
    with pytest.raises(ValueError, match="turn dates into numbers"):
        Views(table).read(np.array([3]), "day")
    with pytest.raises(ValueError, match="LazyFrame is a table that is not computed yet.*collect"):
        MKLClassifier().fit(table.lazy(), [0, 1, 0])


SEVERAL = [
    ({"rna": RNA, "age": AGE}, r"X is a dict, .*stack_views\({'rna': ..., 'age': ...}\)"),
    ([RNA, RNA], r'X is a list of tables, .*stack_views\({"view0": ..., "view1": ...}\)'),
    ((RNA, sp.csr_matrix(RNA)), "X is a tuple of tables"),
    ([X], "X is a list of tables"),
    ([RNA] * 5, r'"view2": ..., ...}\)'),
]


@pytest.mark.parametrize(("several", "message"), SEVERAL, ids=range(len(SEVERAL)))
def test_several_tables_are_refused(several, message):
    for model in (MKLClassifier(), MKLRegressor(), MKLOneClass(), KernelVoting(), MKLDR(), LocalFisher()):
        with pytest.raises(ValueError, match=message):
            model.fit(several, AGE if isinstance(model, MKLRegressor) else Y)
    model = MKLClassifier().fit(RNA, Y)
    for method in (model.predict, model.decision_function, model.kernel_weights):
        with pytest.raises(ValueError, match=message):
            method(several)
    with pytest.raises(ValueError, match=message):
        Linear().fit(several)


def test_lists_of_rows_are_one_table():
    wanted = MKLClassifier().fit(RNA, Y).dual_coef_
    for rows in (RNA.tolist(), list(RNA), tuple(map(tuple, RNA)), [list(row) for row in RNA]):
        np.testing.assert_array_equal(MKLClassifier().fit(rows, Y).dual_coef_, wanted)


class Tensor:
    """An array of a library that need not be installed; NumPy could read it."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return Tensor(self.values[index])

    def __dlpack__(self):
        raise AssertionError("nothing is converted")


def tensor(values, library):
    kind = type("Tensor", (Tensor,), {"__module__": library})
    return kind(values)


LIBRARIES = {"torch": r"{}\.cpu\(\)\.numpy\(\)", "cupy": r"cupy\.asnumpy\({}\)", "unheard_of": r"numpy\.asarray\({}\)"}


@pytest.mark.parametrize("library", LIBRARIES)
class TestArraysOfOtherLibraries:
    @pytest.mark.parametrize("model", [MKLClassifier(), MKLRegressor(), MKLOneClass(), MKLDR(), LocalFisher()])
    def test_x(self, library, model):
        advice = LIBRARIES[library].format("X")
        target = AGE if isinstance(model, MKLRegressor) else Y
        before = dict(vars(model))
        with pytest.raises(ValueError, match=rf"X is of the type {library}\.Tensor.* pass {advice}; .*device=\"cuda\""):
            model.fit(tensor(RNA, library), target)
        assert vars(model) == before
        with pytest.raises(ValueError, match=rf"X is a list of {library}\.Tensor"):
            model.fit([tensor(row, library) for row in RNA], target)
        model.fit(RNA, target)
        with pytest.raises(ValueError, match=advice):
            (model.predict if hasattr(model, "predict") else model.transform)(tensor(RNA, library))

    def test_targets_weights_and_posteriors(self, library):
        def refused(name):
            return pytest.raises(
                ValueError, match=rf"^{name} is of the type {library}.*{LIBRARIES[library].format(name)}"
            )

        codes = (Y == "ill").astype(float)
        for model in (MKLClassifier(), MKLRegressor()):
            with refused("y"):
                model.fit(RNA, tensor(codes, library))
            with refused("sample_weight"):
                model.fit(RNA, codes, sample_weight=tensor(codes + 1, library))
        with refused("y"):
            MKLRegressor().fit(RNA, tensor(RNA, library))
        with refused("posterior"):
            MKLClassifier().fit(RNA, codes, posterior=tensor(codes, library))

    def test_views(self, library):
        with pytest.raises(ValueError, match=rf"views\['rna'\] is of the type {library}\.Tensor"):
            stack_views({"rna": tensor(RNA, library)})


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"X is of the type torch\.Tensor.*X\.cpu\(\)\.numpy\(\)"):
        MKLClassifier().fit(torch.from_numpy(RNA), Y)


def test_arrays_of_the_array_api_standard():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ValueError, match=r"X is of the type array_api_strict\.Array.*numpy\.asarray\(X\)"):
        MKLClassifier().fit(strict.asarray(RNA), Y)


def test_what_spells_a_number():
    """Cells are numbers to us where they are numbers to pandas, which reads them first."""
    texts = ["1", "-1.5", " 2e3 ", "+.5", "7.", *NO_NUMBERS]
    expected = pd.to_numeric(pd.Series(texts), errors="coerce").tolist()
    assert [spelled_number(text) for text in texts[:5]] == expected[:5] == [1.0, -1.5, 2000.0, 0.5, 7.0]
    assert [spelled_number(text) for text in NO_NUMBERS] == [None] * len(NO_NUMBERS)
    assert np.isnan(expected[5:]).all()
    assert spelled_number("1,5", ",") == 1.5


@pytest.mark.parametrize("text", NO_NUMBERS[:3])
def test_targets_that_spell_no_number(text):
    y = np.array(["1", "2", *[text] * (N - 2)], dtype=object)
    with pytest.raises(ValueError, match="y of a regression must be numbers"):
        MKLRegressor().fit(RNA, y)

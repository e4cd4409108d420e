"""A loaded model is the saved one: every kind of model, parameter, container and label."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import kernelweave
from forging import SavedModel
from kernelweave import MKLClassifier, combiners, kernels, load, machines, save
from kernelweave.arrays import HOST, Place
from kernelweave.combiners import FixedWeights, Localized, Projected, Sigmoid, Softmax
from kernelweave.kernels import Function, Gaussian, Kernel, Linear, Precomputed
from kernelweave.kernels.preparation import Preparation
from kernelweave.recipes.design import Design
from kernelweave.saving.operations import Operation
from kernelweave.saving.registry import CLASSES, class_named
from saved_builders import FRAME, GRAM, NEW, TWO, A, N
from saved_models import MODELS, callables_of

_METHODS = ("decision_function", "predict", "transform", "kernel_weights")


def decisions(model, X):
    return next(getattr(model, name) for name in _METHODS if hasattr(model, name))(X)


def parameters(model):
    """All but the matrices of precomputed kernels, of which only support columns are saved."""
    left_out = ("K", "matrices")
    return {name: value for name, value in model.get_params().items() if name.rpartition("__")[2] not in left_out}


def assert_same(first, second, path="model"):
    """Equal values of equal types, all the way down."""
    if callable(first) and not isinstance(first, Kernel):
        return
    assert type(first) is type(second), path
    if isinstance(first, Precomputed):
        assert len(first.self_similarity) == len(second.self_similarity) and first.view == second.view, path
    elif isinstance(first, Place):
        assert first is HOST and second is HOST, path
    elif isinstance(first, Preparation):
        assert isinstance(second.transformer, Operation), path
        assert (first.n_features, first.documents) == (second.n_features, second.documents), path
        assert (first.kind.is_frame, first.kind.names) == (second.kind.is_frame, second.kind.names), path
    elif isinstance(first, Design):
        assert isinstance(second.transformer, Operation) and first.kind.names == second.kind.names, path
        for name in ("n_in", "read", "documents", "width"):
            assert_same(getattr(first, name), getattr(second, name), f"{path}.{name}")
    elif isinstance(first, np.ndarray):
        np.testing.assert_array_equal(first, second, err_msg=path)
        assert first.dtype == second.dtype and first.flags.writeable == second.flags.writeable, path
        assert first.flags.c_contiguous == second.flags.c_contiguous, path
    elif isinstance(first, pd.Series):
        pd.testing.assert_series_equal(first, second)
    elif isinstance(first, pd.DataFrame):
        pd.testing.assert_frame_equal(first, second)
    elif isinstance(first, pd.Index):
        pd.testing.assert_index_equal(first, second)
    elif sp.issparse(first):
        assert (first != second).nnz == 0, path
    elif isinstance(first, dict):
        assert list(first) == list(second), path
        for key in first:
            assert_same(first[key], second[key], f"{path}[{key!r}]")
    elif isinstance(first, list | tuple):
        assert len(first) == len(second), path
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            assert_same(one, other, f"{path}[{place}]")
    elif hasattr(first, "__dict__"):
        hidden = {"_read", "_prepared", "_matrices", "source", "labels", "holds_points", "matrices"}
        assert_same(
            {name: value for name, value in sorted(vars(first).items()) if name not in hidden},
            {name: value for name, value in sorted(vars(second).items()) if name not in hidden},
            path,
        )
    else:
        assert first == second or first != first, path


def test_predictions_and_state_are_the_same(saved, loaded):
    model, new, _, _ = saved
    again = loaded
    for method in _METHODS:
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(new), getattr(model, method)(new))
    assert any(hasattr(model, method) for method in _METHODS)
    assert_same(model, again)
    assert_same(parameters(model), parameters(again))
    assert_same(parameters(clone(model)), parameters(clone(again)))


def test_a_loaded_model_is_saved_and_pickled_again(saved, loaded, tmp_path):
    model, new, path, _ = saved
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    again = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(decisions(again, new), decisions(model, new))


def test_a_parameter_that_is_newer_than_the_file_has_its_default(tmp_path):
    save(MKLClassifier([Gaussian()], C=3.0).fit(A, TWO), tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    *rows, model = file.document["rows"]
    fields = {name: value for name, value in model["fields"].items() if name != "multiclass"}
    file.written(tmp_path / "older", rows=[*rows, {**model, "fields": fields}])
    again = load(tmp_path / "older")
    assert again.get_params()["multiclass"] == MKLClassifier().multiclass and again.C == 3.0


@pytest.mark.parametrize("name", ["binary", "frame", "text", "sparse array", "best single", "sums and products"])
def test_a_loaded_model_fits_again(name, tmp_path):
    model, new = MODELS[name]()
    save(model, tmp_path / "model")
    again = load(tmp_path / "model", callables_of(name))
    y = np.where(np.arange(11) % 2, "yes", "no")
    np.testing.assert_array_equal(
        clone(again).fit(new, y).decision_function(new), model.fit(new, y).decision_function(new)
    )
    np.testing.assert_array_equal(again.fit(new, y).decision_function(new), model.decision_function(new))


def test_only_what_prediction_needs_is_kept(tmp_path):
    X = np.hstack([A, np.random.default_rng(1).normal(size=(N, 1000))])
    model = MKLClassifier([Linear([0, 1]), Linear(slice(5, None))], FixedWeights([1.0, 0.0])).fit(X, TWO)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 40_000 < X.nbytes
    ((columns, values),) = again._kernel.stack.reference.X.blocks
    assert columns.tolist() == [0, 1] and values.shape == (len(model.support_), 2)
    assert again.n_features_in_ == 1005
    with pytest.raises(ValueError, match="features"):
        again.predict(X[:, :5])


def test_projected_models_keep_no_features_of_training_samples(tmp_path):
    X = np.random.default_rng(1).normal(size=(40, 1005))
    y = np.where(X[:, 0] > 0, "yes", "no")
    for combiner in (Projected(1), Projected(1, Softmax(), gating_components=1)):
        model = MKLClassifier([Linear(), Gaussian(scale=30.0)], combiner, random_state=0).fit(X, y)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        assert again._kernel.stack.reference.n_samples == 0
        assert [Z.shape for Z in again._kernel.points] == [(len(model.support_), 1)] * 2
        assert (tmp_path / "model").stat().st_size < 0.8 * X.nbytes  # projections, with names, of few components
        np.testing.assert_array_equal(again.project(X), model.project(X))


def test_columns_that_are_not_used_may_be_absent(tmp_path):
    model = MKLClassifier([Linear("u"), Linear("v")], FixedWeights({"v": 1.0})).fit(FRAME.iloc[:N], TWO)
    save(model, tmp_path / "model")
    new = FRAME.iloc[N:].drop(columns=["u__0", "u__1", "word"])
    np.testing.assert_array_equal(load(tmp_path / "model").predict(new), model.predict(FRAME.iloc[N:]))


class TestPrecomputed:
    @pytest.fixture
    def again(self, tmp_path):
        self.kernel = Precomputed(GRAM[:N, :N], view="id")
        self.model = MKLClassifier([self.kernel, Linear("v")], C=10.0).fit(FRAME.iloc[:N], TWO)
        save(self.model, tmp_path / "model")
        return load(tmp_path / "model")

    def test_only_support_columns_and_the_diagonal_are_kept(self, again):
        fitted = again.kernels_[0]
        assert 0 < len(self.model.support_) < N
        assert fitted.K.shape == (N, len(self.model.support_))
        np.testing.assert_array_equal(fitted.columns_kept, self.model.support_)
        np.testing.assert_array_equal(fitted.self_similarity, np.diagonal(GRAM)[:N])
        assert again.kernels[0].K is fitted.K
        assert f"<{N} x {len(self.model.support_)} matrix>" in repr(fitted)
        with pytest.raises(ValueError, match="read-only"):
            fitted.K[0, 0] = 1.0

    @pytest.mark.parametrize("columns", ["all", "kept"])
    def test_new_samples_come_by_extend_and_replace_kernel(self, again, columns):
        rows, diagonal, new = GRAM[N:, :N], np.diagonal(GRAM)[N:], FRAME.iloc[N:]
        self.model.replace_kernel("id", self.kernel.extend(rows, diagonal))
        for loaded in (again.kernels[0], again.kernels_[0]):
            again.replace_kernel(
                "id", loaded.extend(rows if columns == "all" else rows[:, loaded.columns_kept], diagonal)
            )
            np.testing.assert_array_equal(again.decision_function(new), self.model.decision_function(new))
        assert again.kernels_[0] is again._kernel.stack.kernels[0]

    def test_the_whole_kernel_can_replace_it(self, again):
        again.replace_kernel("id", self.kernel.extend(GRAM[N:, :N], np.diagonal(GRAM)[N:]))
        assert again.predict(FRAME.iloc[N:]).shape == (11,)

    def test_fitting_again_needs_the_whole_matrix(self, again):
        with pytest.raises(ValueError, match="'id' keeps the similarities to the .* support vectors of a saved model"):
            again.fit(FRAME.iloc[:N], TWO)
        again.set_params(kernels=[self.kernel, Linear("v")]).fit(FRAME.iloc[:N], TWO)
        np.testing.assert_array_equal(again.dual_coef_, self.model.dual_coef_)
        rows = self.model.support_
        assert again.fit(FRAME.iloc[rows], TWO[rows]).predict(FRAME.iloc[:N]).shape == (N,)

    def test_extend_still_checks_its_input(self, again):
        with pytest.raises(ValueError, match="rows of extend must be of shape"):
            again.kernels_[0].extend(np.zeros((1, N + 1)), [1.0])


def test_shared_things_are_shared_again(tmp_path):
    kernel = Precomputed(GRAM)
    model = MKLClassifier([kernel, ("other", kernel)]).fit(np.arange(N)[:, None], TWO)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.kernels[0] is again.kernels[1][1]
    assert again._kernel.stack.kernels is again.kernels_
    assert again.kernels_[0].K is again.kernels[0].K


def test_every_public_class_is_registered():
    bases = {kernels.Kernel, kernels.ViewKernel, combiners.Combiner, combiners.FitControl}
    bases |= {machines.BinaryLoss, machines.DualTerms, machines.Loss, machines.RegressionLoss}
    for package in (kernelweave, kernels, combiners, machines):
        for name in package.__all__:
            cls = getattr(package, name)
            if not inspect.isclass(cls) or inspect.isabstract(cls) or cls in bases:
                continue
            if issubclass(cls, (Exception, machines.Solution, combiners.CombinedKernel, combiners.KernelFamily)):
                continue
            assert name in CLASSES and class_named(name) is cls, f"{name} needs a line in saving/registry.py"


def test_machines_decide_without_their_samples():
    fitted = MKLClassifier().fit(A, np.arange(N) % 3)
    assert vars(fitted._rule) == {"n_classes": 3}


def test_unusual_parameters(tmp_path):
    model = MKLClassifier().fit(A, TWO)
    series = pd.Series([1.0], index=["a"], name="s")
    days = np.array(["2020-01-01"], dtype="M8[D]")
    objects = np.array(["a", None, 1.5, b"x"], dtype=object).reshape(2, 2)
    values = [float("nan"), -0.0, 1e-320, float("inf"), 2**70, b"\0a", "\ud800 nul\0", {(1, "a"): [None, ({},)]}]
    values += [np.str_(""), np.float32(0.1), np.datetime64("2020-01-01"), np.True_, slice(None), range(3)]
    values += [objects, np.array(5), np.zeros((0, 3)), np.array(["x\0y", ""]), np.arange(3, dtype=">i4"), days, series]
    values += [np.arange(6.0).reshape(2, 3).T]
    model.class_weight = values
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").class_weight
    assert_same(values, again)
    assert np.signbit(again[1]) and again[-1].flags.f_contiguous
    model.class_weight = [np.arange(9)[::2], np.arange(24).reshape(2, 3, 4)[:, ::2]]
    save(model, tmp_path / "model")
    for first, second in zip(model.class_weight, load(tmp_path / "model").class_weight, strict=True):
        np.testing.assert_array_equal(first, second)


def test_missing_callables_are_named(tmp_path):
    model, _ = MODELS["text"]()
    save(model, tmp_path / "model")
    for given in (None, {}, {"other": len}):
        with pytest.raises(ValueError, match="needs the callable 'common_letters'"):
            load(tmp_path / "model", given)
    with pytest.raises(ValueError, match="cannot be called"):
        load(tmp_path / "model", {"common_letters": 3})


def test_callables_of_one_name_are_refused(tmp_path):
    model = MKLClassifier([Function(lambda P, Q: P @ Q.T), ("b", Function(lambda P, Q: 2 * P @ Q.T))]).fit(A, TWO)
    with pytest.raises(ValueError, match=r"kernels.*function is a callable named '<lambda>', and so is another"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_predictions_stay_the_same_when_all_samples_are_asked_one_by_one(tmp_path):
    model = MKLClassifier([Linear()]).fit(A, TWO)
    save(model, str(tmp_path / "model"))
    again = load(str(tmp_path / "model"))
    for i in range(len(NEW)):
        np.testing.assert_array_equal(again.decision_function(NEW[i : i + 1]), model.decision_function(NEW[i : i + 1]))


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_words_of_numpy_are_read_back(tmp_path, approximation):
    """Grids over arrays of words give parameters of NumPy's own type of string."""
    word = np.str_
    combiner = Localized(Sigmoid(word("unit")), scaling=word("unit-mean"), quadratic=np.bool_(True), l2=0.1)
    settings = {"normalize": word("unit-trace"), "storage": word("lazy"), "approximation": approximation}
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = MKLClassifier([Linear([0, 1]), Linear([1, 2])], combiner, **settings, random_state=0).fit(X, X[:, 0] > 0.0)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))

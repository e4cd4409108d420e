"""`predict_views`: what is written is what the methods return, whole or not at all."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLRegressor, open_views, predict_views
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear
from kernelweave.views import Views

pytest.importorskip("pyarrow")


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    a = random.normal(size=(90, 3))
    frame = pd.DataFrame(a, columns=list("xyz"), index=pd.Index([f"p{k}" for k in range(90)], name="who"))
    frame = frame.assign(label=random.choice(["long label", "b", "c"], 90), number=a[:, 0] + a[:, 1])
    frame.to_parquet(tmp_path / "a.parquet")
    return tmp_path, open_views([tmp_path / "a.parquet"], "label", block_size=25).without("number")


@pytest.mark.parametrize("approximation", [None, NystroemFeatures(10)])
def test_results_in_parquet_and_npy_are_those_in_memory(files, approximation):
    folder, table = files
    model = MKLClassifier([Gaussian("a")], approximation=approximation, random_state=0).fit(table)
    X = table.rows(0, 90)
    path = predict_views(model, table, folder / "all.parquet", what=("predict", "decision_function", "kernel_weights"))
    found = pd.read_parquet(path)
    values = model.decision_function(X)
    names = [f"decision_{label}" for label in model.classes_]
    assert list(found.columns) == ["who", "prediction", *names, "kernel_weights_a"]
    assert list(found["who"]) == list(X.index) and list(found["prediction"]) == list(model.predict(X))
    assert found[names].to_numpy() == pytest.approx(values, abs=1e-9)
    assert found["kernel_weights_a"].to_numpy() == pytest.approx(model.kernel_weights(X)["a"].to_numpy())
    labels = np.load(predict_views(model, table, folder / "one.npy", progress=False))
    assert labels.dtype.kind == "U" and labels.tolist() == model.predict(X).tolist()
    array = np.load(predict_views(model, table, folder / "one.npy", what="decision_function"))
    assert array == pytest.approx(values, abs=1e-9)


def test_numbers_and_tables_without_ids(tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", random.normal(size=(40, 3)))
    table = open_views([tmp_path / "a.npy"], random.normal(size=(40, 2)), block_size=17)
    model = MKLRegressor([Linear("a")], approximation=NystroemFeatures(10), random_state=0).fit(table)
    predict_views(model, table, tmp_path / "p.parquet")
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert list(found.columns) == ["prediction_0", "prediction_1"]
    assert found.to_numpy() == pytest.approx(model.predict(table))
    predict_views(model, table, tmp_path / "p.npy")
    assert np.load(tmp_path / "p.npy") == pytest.approx(model.predict(table))


class Failing:
    """A model that fails, or is interrupted, at the third block."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def predict(self, X):
        self.calls += 1
        if self.calls == 3:
            raise self.error
        return np.zeros(len(X))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no")])
@pytest.mark.parametrize("name", ["p.npy", "p.parquet"])
def test_nothing_is_left_of_a_run_that_does_not_end(files, error, name):
    folder, table = files
    before = sorted(file.name for file in folder.iterdir())
    with pytest.raises(type(error)):
        predict_views(Failing(error), table, folder / name)
    assert sorted(file.name for file in folder.iterdir()) == before
    (folder / name).write_text("old")
    with pytest.raises(type(error)):
        predict_views(Failing(error), table, folder / name)
    assert (folder / name).read_text() == "old"


def test_wrong_calls(files):
    folder, table = files
    model = MKLClassifier([Gaussian("a")]).fit(table)
    for call, message in (
        ({"what": "predictions"}, "what must be one of predict, decision_function"),
        ({"what": ()}, "what must be one of predict"),
        ({"path": folder / "p.csv"}, "path must end with .npy or .parquet"),
        ({"path": folder / "p.npy", "what": ("predict", "decision_function")}, "an NPY file holds one result, not 2"),
        ({"path": folder / "a.parquet"}, "is one of the files of the table"),
        ({"table": table.head()}, "table must be what open_views returns"),
    ):
        call = {"table": table, "path": folder / "p.parquet", **call}
        with pytest.raises(ValueError, match=message):
            predict_views(model, call.pop("table"), call.pop("path"), **call)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        predict_views(model, table, folder / "none" / "p.npy")
    with pytest.raises(AttributeError):
        predict_views(model, table, folder / "p.parquet", what="predict_proba")


def test_blocks_only(files, monkeypatch):
    folder, table = files
    model = MKLClassifier([Gaussian("a")]).fit(table)
    sizes = []
    real = Views.__init__
    monkeypatch.setattr(Views, "__init__", lambda self, X, names=None: sizes.append(X.shape[0]) or real(self, X, names))
    predict_views(model, table, folder / "p.npy")
    assert max(sizes) <= 25

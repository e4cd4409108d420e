"""Estimators on samples in files: the same answer as in memory, whatever the blocks, in bounded memory.

Most of the time goes to a process of its own that fits a file of 29 MB, whose peak of memory is measured.
"""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from kernelweave import KernelVoting, MKLClassifier, MKLOneClass, MKLRegressor, open_views
from kernelweave.combiners import Localized, Mean
from kernelweave.engines import files as from_files
from kernelweave.engines.memory import Block
from kernelweave.estimators import samples
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Spectrum

pytest.importorskip("pyarrow")
KERNELS = [Gaussian("a"), Linear("b")]
# Answers differ by about sqrt(2 tol J): tol bounds the gap, relative to the objective J.
SETTING = {"approximation": NystroemFeatures(20), "dtype": "float64", "random_state": 0, "tol": 1e-12}
N = 300


@pytest.fixture
def files(tmp_path):
    """Two views, one of which some samples lack, with labels and numbers to predict; and the same in memory."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(N, 4)), random.normal(size=(N, 2))
    b[random.random(N) < 0.2] = np.nan
    y = np.where(a[:, 0] + np.nan_to_num(b[:, 0]) > 0.3, "up", "down")
    np.save(tmp_path / "a.npy", a)
    frame = pd.DataFrame(b, columns=["x", "y"]).assign(label=y, number=a[:, 1] ** 2, weight=random.integers(0, 3, N))
    frame.to_parquet(tmp_path / "b.parquet", row_group_size=80)
    X = pd.DataFrame(np.hstack([a, b]), columns=[*(f"a__{j}" for j in range(4)), "b__x", "b__y"])
    return tmp_path, X, frame


def opened(folder, target, *, without=(), **options):
    table = open_views([folder / "a.npy", folder / "b.parquet"], target, **options)
    for name in without:
        table = table.without(name)
    return table


@pytest.mark.parametrize(("block_size", "held"), [(97, 0.0), (31, 0.6), (1000, 0.6)])
def test_labels_as_in_memory(files, monkeypatch, block_size, held):
    folder, X, frame = files
    monkeypatch.setattr(from_files, "HELD_SHARE", held)
    table = opened(folder, "label", without=["number", "weight"], block_size=block_size)
    expected = MKLClassifier(KERNELS, Mean(), **SETTING).fit(X, frame["label"])
    model = MKLClassifier(KERNELS, Mean(), **SETTING).fit(table)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert list(model.classes_) == ["down", "up"] and list(model.feature_names_in_) == list(X.columns)
    assert model.decision_function(table) == pytest.approx(expected.decision_function(X), abs=1e-5)
    assert (model.predict(table) == model.predict(X)).all()
    pd.testing.assert_frame_equal(model.kernel_weights(table), model.kernel_weights(X))
    assert model.decision_function(table) == pytest.approx(model.decision_function(X), abs=1e-9)


def test_numbers_and_several_targets_as_in_memory(files):
    folder, X, frame = files
    one = opened(folder, "number", without=["label", "weight"], block_size=130)
    expected = MKLRegressor(KERNELS, Mean(), **SETTING).fit(X, frame["number"])
    model = MKLRegressor(KERNELS, Mean(), **SETTING).fit(one)
    assert model.predict(one) == pytest.approx(expected.predict(X), abs=1e-5)
    y = np.column_stack([frame["number"], X["a__0"]])
    np.save(folder / "y.npy", y)
    several = opened(folder, folder / "y.npy", without=["number", "label", "weight"], block_size=130)
    model = MKLRegressor(KERNELS, Mean(), **SETTING).fit(several)
    expected = MKLRegressor(KERNELS, Mean(), **SETTING).fit(X, y)
    assert model.predict(several) == pytest.approx(expected.predict(X), abs=1e-5)
    assert model.predict(several).shape == (N, 2) and model.target_names_ == expected.target_names_ == [0, 1]


@pytest.mark.parametrize("approximation", [NystroemFeatures(20), None])
def test_targets_by_their_names(files, approximation):
    folder, X, frame = files
    y = frame[["number", "weight"]]
    table = opened(folder, ["number", "weight"], without=["label"], block_size=130)
    options = SETTING | {"approximation": approximation, "tol": 1e-3, "machine": "least-squares"}
    expected = MKLRegressor(KERNELS, Mean(), **options).fit(X, y)
    model = MKLRegressor(KERNELS, Mean(), **options).fit(table)
    assert model.target_names_ == expected.target_names_ == ["number", "weight"]
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.predict(table) == pytest.approx(expected.predict(X), abs=1e-2)
    assert model.score(table) == pytest.approx(model.score(X, y))


def test_scores_by_the_targets_of_the_table(files):
    folder, X, frame = files
    table = opened(folder, "label", without=["number"], block_size=97)
    plain = opened(folder, None, without=["number", "label"], block_size=97)
    model = MKLClassifier(KERNELS, **SETTING | {"tol": 1e-3}).fit(table, sample_weight="weight")
    expected = model.score(X, frame["label"])
    assert 0.7 < expected < 1.0
    assert model.score(table) == model.score(table, frame["label"]) == model.score(plain, frame["label"]) == expected
    weighted = model.score(X, frame["label"], sample_weight=frame["weight"])
    assert model.score(table, sample_weight="weight") == pytest.approx(weighted)
    assert model.score(table, sample_weight=frame["weight"].to_numpy()) == pytest.approx(weighted) != expected
    for data in (plain, X):
        with pytest.raises(ValueError, match="MKLClassifier requires y to be passed, but the target y is None"):
            model.score(data)


def test_explanations_of_samples_in_files(files):
    folder, X, _ = files
    table = opened(folder, "label", without=["number", "weight"], block_size=97)
    options = SETTING | {"tol": 1e-2, "approximation": NystroemFeatures(10)}
    model = MKLClassifier([Gaussian("a"), Linear("a")], Localized(inputs=["a"], l2=0.01), **options).fit(table)
    for method in ("contributions", "gates"):
        pd.testing.assert_frame_equal(getattr(model, method)(table), getattr(model, method)(X))
    assert (model.region(table) == model.region(X)).all()


def test_one_class_and_text(tmp_path):
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("ACGT"), 9)) for _ in range(150)]
    frame = pd.DataFrame({"who": [f"s{k}" for k in range(150)], "word": words})
    frame.loc[::7, "word"] = None
    frame.to_parquet(tmp_path / "dna.parquet", row_group_size=40)
    np.save(tmp_path / "a.npy", random.normal(size=(150, 2)))
    table = open_views([tmp_path / "dna.parquet", tmp_path / "a.npy"], id="who", block_size=37)
    kernels, X = [Spectrum("dna"), Gaussian("a")], table.rows(0, 150)
    model, expected = (MKLOneClass(kernels, **SETTING).fit(data) for data in (table, X))
    assert model.score_samples(table) == pytest.approx(expected.score_samples(X), abs=1e-5)
    assert model.offset_ == pytest.approx(expected.offset_, abs=1e-5)
    assert (model.predict(table) == model.predict(X)).all()
    assert list(model.kernel_weights(table).index) == list(X.index) == list(frame["who"])


def test_a_file_that_changes_between_passes_ends_the_fit(files, monkeypatch):
    folder, _, _ = files
    monkeypatch.setattr(from_files, "HELD_SHARE", 0.0)
    table = opened(folder, "label", without=["number", "weight"], block_size=97)
    real, passes = from_files.FromFiles.results, []

    def results(self, *args):
        passes.append(0)
        if len(passes) == 5:
            np.save(folder / "a.npy", np.zeros((N, 4)))
            os.utime(folder / "a.npy", (0, 0))
        return real(self, *args)

    monkeypatch.setattr(from_files.FromFiles, "results", results)
    with pytest.raises(ValueError, match="a.npy has changed since it was opened; open it again"):
        MKLClassifier(KERNELS, **SETTING).fit(table)


def test_sample_weights_by_array_and_by_column(files):
    folder, X, frame = files
    weight = frame["weight"].to_numpy(dtype=float)
    expected = MKLClassifier(KERNELS, Mean(), **SETTING).fit(X, frame["label"], sample_weight=weight)
    by_array = opened(folder, "label", without=["number", "weight"], block_size=97)
    by_column = opened(folder, "label", without=["number"], block_size=97)
    for table, given in ((by_array, weight), (by_column, "weight"), (by_column, "b__weight")):
        model = MKLClassifier(KERNELS, Mean(), **SETTING).fit(table, sample_weight=given)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        assert list(model.feature_names_in_) == list(X.columns)
        assert len(model.predict(table)) == N
    for table, given, message in (
        (by_array, weight[1:], "sample_weight has 299 entries"),
        (by_array, "weight", "sample_weight: the table has no column 'weight'"),
        (by_array, -weight, "sample_weight must be finite and at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            MKLClassifier(KERNELS, **SETTING).fit(table, sample_weight=given)


def test_y_beside_the_table(files):
    folder, X, frame = files
    table = opened(folder, None, without=["label", "number", "weight"])
    model = MKLClassifier(KERNELS, **SETTING).fit(table, frame["label"])
    assert model.objective_ == pytest.approx(MKLClassifier(KERNELS, **SETTING).fit(X, frame["label"]).objective_)
    for data, y, message in (
        (opened(folder, "label"), frame["label"], "the table has the target 'label', and y is given as well"),
        (table, None, "requires y to be passed, but the target y is None: name it when the files are opened"),
        (table, frame["label"][:5], "inconsistent numbers of samples"),
    ):
        for approximation in (None, "nystroem"):
            with pytest.raises(ValueError, match=message):
                MKLClassifier(KERNELS, approximation=approximation).fit(data, y)


def test_exact_kernels_read_the_table_whole(files, monkeypatch):
    folder, X, frame = files
    table = opened(folder, "label", without=["number"])
    expected = MKLClassifier(KERNELS).fit(X, frame["label"], sample_weight=frame["weight"])
    model = MKLClassifier(KERNELS).fit(table, sample_weight="weight")
    assert model.objective_ == pytest.approx(expected.objective_)
    small = opened(folder, "label", block_size=64)
    assert model.decision_function(small) == pytest.approx(expected.decision_function(X))
    monkeypatch.setattr(samples, "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match='does not fit into memory, .*approximation="nystroem"'):
        MKLClassifier(KERNELS).fit(table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "one"}, "only one class: 'one'"),
        ({"x": np.inf}, r"view 'b' contains infinity \(sample 200\)"),
        ({"x": np.nan}, "view 'b' of sample 200 is NaN in some of its columns"),
    ],
)
def test_data_that_no_model_takes(files, change, message):
    folder, _, frame = files
    row = slice(None) if "label" in change else slice(200, 201)
    for name, value in change.items():
        frame.loc[frame.index[row], name] = value
    frame.loc[200, "y"] = 1.0
    frame.to_parquet(folder / "b.parquet")
    table = opened(folder, "label", without=["number", "weight"], block_size=100)
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, **SETTING).fit(table)


def test_fetch_is_for_data_in_memory(files):
    folder, X, frame = files
    table = opened(folder, "label", without=["number", "weight"])
    model = MKLClassifier(KERNELS, **SETTING).fit(table)
    with pytest.raises(ValueError, match="fetch is for X in memory"):
        model.predict(table, fetch=lambda view, rows: None)


def test_words_are_no_targets_of_a_regression(files):
    folder, _, _ = files
    with pytest.raises(ValueError, match="y of a regression must be numbers.*'label'"):
        MKLRegressor(KERNELS, **SETTING).fit(opened(folder, "label"))


def test_samples_are_held_only_where_gates_read_them(files, monkeypatch):
    folder, _, _ = files
    table = opened(folder, "label", without=["number", "weight"], block_size=200)
    real, seen = from_files.bytes_of, []

    def size_of(part, *seen_before):
        if isinstance(part, Block):
            seen.append(part.views)
        return real(part, *seen_before)

    monkeypatch.setattr(from_files, "bytes_of", size_of)
    options = {"approximation": NystroemFeatures(10), "random_state": 0, "tol": 0.1}
    MKLClassifier([Gaussian("a")], **options).fit(table)
    assert len(seen) > 1 and all(views is None for views in seen)
    seen.clear()
    MKLClassifier([Gaussian("a"), Linear("a")], Localized(inputs=["a"], l2=0.1), **options).fit(table)
    assert any(views is not None for views in seen)


def test_estimators_that_need_samples_in_memory(files):
    folder, X, frame = files
    table = opened(folder, "label", without=["number", "weight"])
    with pytest.raises(ValueError, match="X is an OpenViews, which MKLClassifier.*pass X.rows"):
        KernelVoting([Gaussian("a")]).fit(table, frame["label"])


MEMORY = """
import resource, sys
import numpy as np
from kernelweave import MKLClassifier, open_views, predict_views
from kernelweave.engines import files as from_files
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian

from_files.HELD_SHARE = 0.0
def fit(path, y):
    table = open_views([path], target=y, block_size=500)
    model = MKLClassifier([Gaussian("a")], approximation=NystroemFeatures(5), random_state=0, tol=0.1, max_iter=2)
    model.fit(table)
    predict_views(model, table, sys.argv[3], what="decision_function")
import warnings
warnings.simplefilter("ignore")
fit(sys.argv[1], np.arange(4500) % 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fit(sys.argv[2], np.arange(12_000) % 2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is in other units elsewhere")
def test_memory_stays_bounded(tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", random.normal(size=(4500, 300)))
    (tmp_path / "large").mkdir()
    large = np.lib.format.open_memmap(tmp_path / "large" / "a.npy", "w+", "f8", (12_000, 300))
    for first in range(0, len(large), 4000):
        large[first : first + 4000] = random.normal(size=(4000, 300))
    del large
    paths = [str(tmp_path / name) for name in ("a.npy", "large/a.npy", "out.npy")]
    run = subprocess.run([sys.executable, "-c", MEMORY, *paths], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 12_000  # kB; the file has 29 MB
    assert np.load(paths[2]).shape == (12_000,)

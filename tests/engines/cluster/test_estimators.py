"""Estimators on Dask collections: the answer in memory, for any chunks; prediction is lazy."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd

from dask_problem import N, frame_model, frame_of, model, samples
from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ConvexMKL, EasyMKL, Localized, Mean
from kernelweave.engines import dask_collections
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear

pytestmark = pytest.mark.dask
X, Y = samples()
CHUNKS = {"one": N, "even": 60, "uneven": (1, 130, 7, 101, 1), "single samples": 1}
COMBINERS = [ConvexMKL(), EasyMKL(), Localized(l2=0.1)]


def agree(found, whole, tol=1e-6, atol=1e-6):
    """To the tolerance of the optimiser, which certifies the objective; decision values differ by its square root."""
    assert found.objective_ == pytest.approx(whole.objective_, rel=tol)
    np.testing.assert_allclose(found.decision_function(X), whole.decision_function(X), atol=atol)


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    monkeypatch.setattr(dask_collections, "UNIT_ROWS", 32)


def chunked(combiner, chunks, **parameters):
    return model(combiner, **parameters).fit(da.from_array(X, chunks=(chunks, 2)), da.from_array(Y, chunks=50))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_answers_do_not_depend_on_chunks(chunks):
    """Without a cluster: the blocks are the same there."""
    agree(chunked(Mean(), CHUNKS[chunks]), model(Mean()).fit(X, Y))


@pytest.mark.parametrize("combiner", COMBINERS, ids=lambda combiner: type(combiner).__name__)
def test_weights_and_gates_do_not_depend_on_chunks(combiner):
    agree(chunked(combiner, CHUNKS["uneven"], tol=1e-5), model(combiner, tol=1e-5).fit(X, Y), 1e-4, 1e-2)


def test_views_are_completed_in_chunks():
    lacking = X.copy()
    lacking[::5, :3], lacking[1::5, 3:] = np.nan, np.nan
    whole = model(Mean(), missing="complete").fit(lacking, Y)
    found = model(Mean(), missing="complete").fit(da.from_array(lacking, chunks=(50, 2)), da.from_array(Y, chunks=50))
    np.testing.assert_allclose(found.decision_function(lacking), whole.decision_function(lacking), atol=1e-6)


@pytest.mark.parametrize("combiner", [Mean(), Localized(l2=0.1)], ids=lambda combiner: type(combiner).__name__)
def test_answers_on_a_cluster(client, combiner, no_futures):
    whole = model(combiner, tol=1e-5).fit(X, Y)
    found = chunked(combiner, CHUNKS["uneven"], tol=1e-5)
    agree(found, whole, 1e-4, 1e-2)
    assert found.n_features_in_ == 6 and not hasattr(found, "feature_names_in_")
    assert no_futures(client)


def test_collections_that_are_persisted(client, no_futures):
    lazy, targets = da.from_array(X, chunks=(40, 6)).persist(), da.from_array(Y, chunks=40).persist()
    agree(model().fit(lazy, targets), model().fit(X, Y))
    assert no_futures(client, but=12)  # the caller's


def test_weights_of_samples():
    weight = np.where(np.arange(N) % 3 == 0, 0.0, 1.0 + np.arange(N) % 2)
    whole = model().fit(X, Y, sample_weight=weight)
    lazy = da.from_array(X, chunks=(50, 6))
    agree(model().fit(lazy, Y, sample_weight=da.from_array(weight, chunks=70)), whole)
    agree(model().fit(lazy, Y, sample_weight=weight), whole)


@pytest.mark.parametrize(
    "targets",
    [
        lambda: dd.from_pandas(pd.Series(Y), npartitions=5),
        lambda: dd.from_pandas(pd.Series(Y), npartitions=3),
        lambda: dd.from_pandas(pd.Series(Y), npartitions=3, sort=False).clear_divisions(),
        lambda: da.from_array(Y, chunks=100),
        lambda: Y,
        lambda: pd.Series(Y),
    ],
    ids=["alike", "divided otherwise", "unknown divisions", "array", "numpy", "pandas"],
)
def test_data_frames(targets):
    whole = frame_model().fit(frame_of(X), Y)
    lazy = dd.from_pandas(frame_of(X), npartitions=5)
    found = frame_model().fit(lazy, targets())
    assert list(found.feature_names_in_) == list(whole.feature_names_in_)
    np.testing.assert_allclose(found.decision_function(frame_of(X)), whole.decision_function(frame_of(X)), atol=1e-6)


def test_columns_of_files(tmp_path):
    """Dask would join the partitions of which it reads one column."""
    dd.from_pandas(frame_of(X).assign(target=Y), npartitions=4).to_parquet(tmp_path)
    lazy = dd.read_parquet(tmp_path)
    found = frame_model().fit(lazy.drop(columns="target"), lazy["target"])
    whole = frame_model().fit(frame_of(X), Y)
    np.testing.assert_allclose(found.decision_function(frame_of(X)), whole.decision_function(frame_of(X)), atol=1e-6)
    few = lazy[list(frame_of(X).columns)]
    assert found.predict(few).compute().shape == (N,)
    assert len(found.kernel_weights(few).compute()) == N


def test_a_target_in_the_frame_and_an_empty_partition():
    frame = frame_of(X).assign(target=Y)
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = lazy[(lazy["first__0"] < 9.0) & (lazy.index >= 50)]  # the first partition has no sample
    found = frame_model().fit(lazy.drop(columns="target"), lazy["target"])
    whole = frame_model().fit(frame_of(X)[50:], Y[50:])
    np.testing.assert_allclose(found.decision_function(frame_of(X)), whole.decision_function(frame_of(X)), atol=1e-6)
    assert (found.predict(lazy.drop(columns="target")).compute() == whole.predict(frame_of(X)[50:])).all()


def test_several_targets():
    Z = np.column_stack([X[:, 0], X[:, 3] ** 2])
    parameters = {"approximation": NystroemFeatures(40), "dtype": "float64", "random_state": 0}
    estimator = MKLRegressor([Gaussian([0, 1, 2]), Gaussian([3, 4, 5])], **parameters)
    whole = clone(estimator).fit(X, Z)
    found = clone(estimator).fit(da.from_array(X, chunks=(50, 6)), da.from_array(Z, chunks=(70, 1)))
    np.testing.assert_allclose(found.predict(X), whole.predict(X), atol=1e-3)
    lazy = found.predict(da.from_array(X, chunks=(50, 6)))
    assert lazy.shape == (N, 2) and lazy.dtype == float and lazy.chunks == ((50, 50, 50, 50, 40), (2,))
    np.testing.assert_allclose(lazy.compute(), found.predict(X), rtol=1e-9)


def never(block):
    raise AssertionError("computed early")


def test_prediction_is_lazy():
    early = da.from_array(X, chunks=(50, 6)).map_blocks(never, dtype=float, meta=np.empty((0, 6)))
    frame = dd.from_pandas(frame_of(X), npartitions=3).map_partitions(never, meta=frame_of(X).iloc[:0])
    for found, X_early in ((model().fit(X, Y), early), (frame_model().fit(frame_of(X), Y), frame)):
        for method in ("predict", "decision_function", "kernel_weights"):
            lazy = getattr(found, method)(X_early)
            assert dask.is_dask_collection(lazy)
            with pytest.raises(AssertionError, match="computed early"):
                lazy.compute()


def test_types_and_chunks_of_predictions():
    found = model().fit(X, Y)
    lazy = da.from_array(X, chunks=((100, 140), 3))
    labels, values, weights = found.predict(lazy), found.decision_function(lazy), found.kernel_weights(lazy)
    assert labels.chunks == values.chunks == ((100, 140),)
    assert labels.dtype == found.classes_.dtype and values.dtype == float
    np.testing.assert_array_equal(labels.compute(), found.predict(X))
    np.testing.assert_allclose(values.compute(), found.decision_function(X), rtol=1e-12)
    assert list(weights.columns) == list(found.kernel_names_) and weights.npartitions == 2
    np.testing.assert_allclose(weights.compute(), found.kernel_weights(X))
    np.testing.assert_array_equal(labels[100:].compute(), found.predict(X[100:]))


def test_predictions_of_frames():
    found = frame_model().fit(frame_of(X), Y)
    lazy = dd.from_pandas(frame_of(X).set_axis(np.arange(N) * 2), npartitions=3)
    assert np.isnan(found.predict(lazy).chunks[0]).all()
    np.testing.assert_array_equal(found.predict(lazy).compute(), found.predict(frame_of(X)))
    weights = found.kernel_weights(lazy)
    assert weights.divisions == lazy.divisions
    assert weights.compute().index.equals(pd.RangeIndex(0, 2 * N, 2))


def test_exact_models_predict_and_are_not_fitted():
    lazy = da.from_array(X, chunks=(50, 6))
    with pytest.raises(ValueError, match='all pairs of samples.*approximation="nystroem"'):
        MKLClassifier([Linear()]).fit(lazy, Y)
    exact = MKLClassifier([Linear()], machine="least-squares").fit(X, Y)
    np.testing.assert_array_equal(exact.predict(lazy).compute(), exact.predict(X))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"y": Y[:-1]}, "inconsistent numbers of samples: 240 and 239"),
        ({"y": da.from_array(Y[:-1], chunks=50)}, "inconsistent numbers of samples: 240 and 239"),
        ({"y": None}, "requires y to be passed"),
        ({"sample_weight": np.ones(3)}, "sample_weight has 3 entries"),
        ({"sample_weight": da.from_array(-np.ones(N), chunks=50)}, "at least 0; it is not in chunk"),
        ({"y": np.full(N, "same")}, "one class"),
        ({"X": da.from_array(X[:, 0], chunks=50)}, "two dimensions"),
    ],
)
def test_bad_input(arguments, message):
    given = {"X": da.from_array(X, chunks=(50, 6)), "y": Y} | arguments
    with pytest.raises(ValueError, match=message):
        model().fit(**given)


def test_bad_new_samples():
    found = model().fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but MKLClassifier is expecting 6"):
        found.predict(da.from_array(X[:, :5], chunks=50))
    with pytest.raises(ValueError, match="fetch is for samples in memory"):
        found.predict(da.from_array(X, chunks=50), fetch=lambda view, rows: None)


def test_the_example_of_the_page(client, tmp_path, monkeypatch):
    """As it is printed in docs/dask.md, but for the address."""
    page = (Path(__file__).parents[3] / "docs" / "dask.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    assert '"tcp://10.0.0.1:8786"' in example
    monkeypatch.chdir(tmp_path)
    cohort = frame_of(X).set_axis([f"{view}__{j}" for view in ("rna", "protein") for j in range(3)], axis=1)
    dd.from_pandas(cohort.assign(label=Y), npartitions=4).to_parquet("cohort/")
    names = {}
    exec(example.replace("tcp://10.0.0.1:8786", client.scheduler.address), names)
    with names["client"]:
        stored = pd.read_parquet("labels/")["label"].to_numpy()
        np.testing.assert_array_equal(stored, names["model"].predict(cohort))
        assert (stored == Y).mean() > 0.8

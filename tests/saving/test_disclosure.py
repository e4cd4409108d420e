"""What a saved model holds of the training data: the rows of which samples, and what else docs/saving.md says."""

import io
import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import KNNImputer
from sklearn.preprocessing import StandardScaler

from kernelweave import (
    BayesianMKLClassifier,
    ColumnBoostingClassifier,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    MKLSurvival,
    save,
)
from kernelweave.cluster import KernelKMeans
from kernelweave.combiners import ConvexLocalized, FixedWeights, Localized, Projected
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.recipes import CohortModel
from kernelweave.reduction import AKDAQR, MKLDR, KernelFisher, KernelPLS, LocalFisher
from kernelweave.survival import outcome

rng = np.random.default_rng(0)
N = 80
IDS = [f"patient-{row:03d}" for row in range(N)]
X = pd.DataFrame(rng.normal(size=(N, 5)), IDS, ["a__0", "a__1", "b__0", "b__1", "b__2"])
SIDE = np.arange(N) % 2
X["a__0"] += 2.0 * SIDE
VALUE = X["a__0"].to_numpy() + rng.normal(size=N)
TIME, HAPPENED = np.exp(VALUE), np.arange(N) % 3 > 0
LACKING = X.mask(np.add.outer(np.arange(N) < 20, [False, False, True, True, True]) == 2)
LACKING.iloc[:20, 2:] = np.nan
KERNELS = [Linear("a"), Gaussian("b")]
SMOOTH = [Gaussian("a"), Gaussian("b")]
FOURIER = FourierFeatures(20)


def content_of(model, folder):
    """The text of a file, and its arrays of numbers."""
    save(model, folder / "model.kw")
    with zipfile.ZipFile(folder / "model.kw") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = members.pop("model.json").decode()
    arrays = [np.load(io.BytesIO(member), allow_pickle=False) for member in members.values()]
    texts = [str(one) for array in arrays if array.dtype.kind in "US" for one in array.ravel()]
    numbers = [np.array([float(found) for found in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", text)])]
    return "\n".join([text, *texts]), numbers + [array.ravel() for array in arrays if array.dtype.kind == "f"]


def is_in(table, numbers):
    """Of each cell of a table whether it is among the numbers of a file, even if only as float32."""
    values = np.asarray(table, dtype=float)
    return np.any([np.isin(values.astype(array.dtype), array) for array in numbers], axis=0)


def rows_in(model, folder, table=X):
    """Positions of the samples of which every cell is in the file."""
    return np.flatnonzero(is_in(table, content_of(model, folder)[1]).all(axis=1))


def cells_in(model, folder, table=X):
    """The share of cells that are in the file."""
    return is_in(table, content_of(model, folder)[1]).mean()


OF_SUPPORT_VECTORS = {
    "linear kernels": lambda: MKLClassifier([Linear("a"), Linear("b")]).fit(X, SIDE),
    "scaled": lambda: MKLClassifier([Gaussian(v, transformer=StandardScaler()) for v in "ab"]).fit(X, SIDE),
    "numbers": lambda: MKLRegressor(KERNELS, epsilon=0.5).fit(X, VALUE),
    "novelty": lambda: MKLOneClass(KERNELS).fit(X),
    "gates": lambda: MKLClassifier(KERNELS, Localized(l2=0.1)).fit(X, SIDE),
}
OF_ALL = {
    "least squares": lambda: MKLClassifier(KERNELS, machine="least-squares").fit(X, SIDE),
    "centred": lambda: MKLClassifier(KERNELS, normalize="center").fit(X, SIDE),
    "survival": lambda: MKLSurvival(KERNELS).fit(X, outcome(TIME, HAPPENED)),
    "posterior": lambda: BayesianMKLClassifier(KERNELS).fit(X, SIDE),
    "clusters": lambda: KernelKMeans(KERNELS).fit(X),
    "reduction": lambda: MKLDR([Gaussian()]).fit(X.to_numpy(), SIDE),
    "discriminant": lambda: KernelFisher(Gaussian()).fit(X.to_numpy(), SIDE),
    "least squares of views": lambda: KernelPLS(Gaussian()).fit(X.to_numpy(), SIDE),
    "kernel PCA": lambda: MKLClassifier(SMOOTH, Projected(features="kpca"), random_state=0).fit(X, SIDE),
    "neighbours": lambda: MKLClassifier(
        [Gaussian(view, transformer=KNNImputer()) for view in "ab"], approximation=FOURIER, random_state=0
    ).fit(X, SIDE),
}
OF_NONE = {
    "random features": lambda: MKLClassifier(SMOOTH, approximation=FOURIER, random_state=0).fit(X, SIDE),
    "random features of numbers": lambda: MKLRegressor(
        SMOOTH, machine="least-squares", approximation=FOURIER, random_state=0
    ).fit(X, VALUE),
    "exact features": lambda: MKLClassifier([Linear("a"), Linear("b")], approximation=ExactFeatures()).fit(X, SIDE),
    "few columns": lambda: MKLClassifier([Linear("a"), Linear("b")], approximation="nystroem").fit(X, SIDE),
    "survival": lambda: MKLSurvival([Linear("a"), Linear("b")], approximation=ExactFeatures()).fit(
        X, outcome(TIME, HAPPENED)
    ),
    "gates": lambda: MKLClassifier(SMOOTH, Localized(l2=0.1), approximation=FOURIER, random_state=0).fit(X, SIDE),
    "regions": lambda: MKLClassifier(SMOOTH, ConvexLocalized(3), approximation=FOURIER, random_state=0).fit(X, SIDE),
    "completed": lambda: MKLClassifier(SMOOTH, missing="complete", approximation=FOURIER, random_state=0).fit(
        LACKING, SIDE
    ),
    "expansion": lambda: SparseLargeMarginClassifier(5, random_state=0).fit(X.to_numpy(), SIDE),
    "centroids": lambda: AKDAQR(Gaussian()).fit(X.to_numpy(), SIDE),
    "local discriminant": lambda: LocalFisher().fit(X.to_numpy(), SIDE),
}


@pytest.mark.parametrize("name", OF_SUPPORT_VECTORS)
def test_rows_of_support_vectors_are_in_the_file_and_no_others(name, tmp_path):
    model = OF_SUPPORT_VECTORS[name]()
    assert 0 < len(model.support_) < N
    assert rows_in(model, tmp_path).tolist() == model.support_.tolist()
    assert cells_in(model, tmp_path) == pytest.approx(len(model.support_) / N)


@pytest.mark.parametrize("name", OF_ALL)
def test_all_rows_are_in_the_file(name, tmp_path):
    assert len(rows_in(OF_ALL[name](), tmp_path)) == N


@pytest.mark.parametrize("name", OF_NONE)
def test_no_cell_is_in_the_file(name, tmp_path):
    model = OF_NONE[name]()
    assert cells_in(model, tmp_path, LACKING.iloc[20:] if name == "completed" else X) == 0.0
    assert not any(sample in content_of(model, tmp_path)[0] for sample in IDS)


def test_views_without_a_weight_are_not_in_the_file(tmp_path):
    model = MKLClassifier(KERNELS, FixedWeights([1.0, 0.0])).fit(X, SIDE)
    assert cells_in(model, tmp_path, X[["b__0", "b__1", "b__2"]]) == 0.0


def test_completion_keeps_the_samples_that_it_predicts_from(tmp_path):
    model = MKLClassifier(KERNELS, missing="complete").fit(LACKING, SIDE)
    assert rows_in(model, tmp_path, LACKING.iloc[20:]).tolist() == list(range(N - 20))


def test_landmarks_are_rows_of_training_samples(tmp_path):
    model = MKLClassifier([Gaussian()], approximation=NystroemFeatures(10), random_state=0)
    model.fit(X.to_numpy(), SIDE)
    assert len(rows_in(model, tmp_path)) == 10


def test_columns_are_rows_of_few_samples(tmp_path):
    model = ColumnBoostingClassifier(KERNELS).fit(X, SIDE)
    assert 0 < cells_in(model, tmp_path) < 0.3


def test_projections_with_as_many_components_as_columns_give_the_rows_back(tmp_path):
    model = MKLClassifier([Gaussian("b")], Projected(n_components=3), random_state=0).fit(X, SIDE)
    rows = X.filter(like="b__").to_numpy()[model.support_]
    assert cells_in(model, tmp_path) == 0.0
    (projected,) = (array.reshape(rows.shape) for array in content_of(model, tmp_path)[1] if array.size == rows.size)
    back = np.linalg.lstsq(np.c_[projected, np.ones(len(rows))], rows, rcond=None)[0]
    np.testing.assert_allclose(np.c_[projected, np.ones(len(rows))] @ back, rows, atol=1e-10)


def test_coefficients_of_least_squares_give_the_targets_back():
    model = MKLRegressor(KERNELS, machine="least-squares", C=2.0).fit(X, VALUE)
    np.testing.assert_allclose(model.predict(X)[model.support_] + model.dual_coef_[0] / 2.0, VALUE, atol=1e-10)


def test_times_of_events_are_in_the_file_and_other_times_are_not(tmp_path):
    _, numbers = content_of(OF_NONE["survival"](), tmp_path)
    assert is_in(TIME, numbers).tolist() == HAPPENED.tolist()


def test_of_precomputed_kernels_all_rows_of_the_columns_of_support_vectors(tmp_path):
    K = pd.DataFrame(np.exp(-np.square(X.to_numpy()[:, None] - X.to_numpy()).sum(axis=2)), IDS, IDS)
    model = MKLClassifier([Precomputed(K)]).fit(pd.DataFrame({"id": IDS}, IDS), SIDE)
    text, numbers = content_of(model, tmp_path)
    kept = is_in(K, numbers).all(axis=0)
    assert np.flatnonzero(kept).tolist() == model.support_.tolist() and not kept.all()
    assert all(sample in text for sample in IDS)  # the labels of the matrix are the ids by which samples are found


def test_documents_of_support_vectors_and_all_words(tmp_path):
    documents = [f"{'good' if side else 'bad'} outcome of case{row}x" for row, side in enumerate(SIDE)]
    kernel = Linear("t", transformer=TfidfVectorizer())
    model = MKLClassifier([kernel], C=100.0).fit(pd.DataFrame({"t__0": documents}), SIDE)
    text, _ = content_of(model, tmp_path)
    kept = [json.dumps(document)[1:-1] in text for document in documents]
    assert np.flatnonzero(kept).tolist() == model.support_.tolist()
    assert all(f"case{row}x" in text for row in range(N))


class TestCohortModel:
    table = X.assign(b__group=[f"group{row % 3}" for row in range(N - 1)] + ["alone"])

    def fitted(self, method):
        return CohortModel(method, effort="quick", random_state=0).fit(self.table, SIDE)

    @pytest.mark.parametrize("method", ["linear", "forest"])
    def test_models_of_columns_hold_quantiles_extremes_and_categories_but_no_row(self, method, tmp_path):
        model = self.fitted(method)
        text, numbers = content_of(model, tmp_path)
        assert is_in(X.agg(["min", "max"]), numbers).all() and is_in(X, numbers).mean() < 0.05
        assert len(rows_in(model, tmp_path)) == 0
        assert all(group in text for group in ("group0", "group1", "group2", "alone"))
        assert not any(sample in text for sample in IDS)

    def test_boosted_trees_hold_cells_but_no_row(self, tmp_path):
        model = self.fitted("boosting")
        assert len(rows_in(model, tmp_path)) == 0 and 0 < cells_in(model, tmp_path) < 0.5

    def test_a_kernel_machine_holds_rows_of_support_vectors(self, tmp_path):
        assert len(rows_in(self.fitted("mean"), tmp_path)) > 10

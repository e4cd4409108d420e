"""`load_dataset`: declarations, files of a data home, and what is said where something is wrong."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave.datasets import list_datasets, load_dataset, load_multifeat
from kernelweave.datasets.catalogue import CATALOGUE, find_spec
from kernelweave.datasets.loading import ENVIRONMENT
from kernelweave.views.table import resolve_columns

HOME = os.environ.get(ENVIRONMENT)
rng = np.random.default_rng(0)


def present(name):
    return bool(list_datasets().loc[name, "available"])


def save(folder, name, n_samples, **changes):
    """A small file in the form of a registered data set."""
    spec = CATALOGUE[name]
    arrays = {view: rng.integers(0, 100, (n_samples, size)).astype(np.uint8) for view, size in spec.views.items()}
    if spec.is_text:
        X = sp.random(n_samples, 30, 0.2, format="csr", random_state=0)
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    if spec.sparse:
        arrays = {}
        for view, size in spec.views.items():
            X = sp.random(n_samples, size, 0.02, format="csr", random_state=len(arrays))
            parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
            arrays |= {f"{view}_{part}": values for part, values in parts.items()}
    labels = np.arange(n_samples) % max(1, len(spec.classes)) + spec.first_label
    arrays |= {"y": labels if spec.classes else rng.normal(size=n_samples)}
    arrays |= {extra: np.arange(n_samples) % 2 == 0 for extra in spec.extras}
    arrays |= changes
    np.savez(folder / f"{name}.npz", **{key: values for key, values in arrays.items() if values is not None})
    return arrays


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_set_and_variant_loads_from_a_small_file(name, tmp_path):
    spec = CATALOGUE[name]
    if spec.origin == "home":
        save(tmp_path, name, max(60, len(spec.classes)))
    for variant in [None, *spec.variants]:
        bunch = load_dataset(name, variant, data_home=tmp_path)
        n_samples = bunch.data.shape[0]
        assert len(bunch.target) == len(bunch.original_target) == n_samples
        assert spec.licence in bunch.DESCR
        if spec.classes:
            np.testing.assert_array_equal(np.unique(bunch.target), np.arange(len(bunch.target_names)))
            members = [(label,) for label in np.arange(len(spec.classes)) + spec.first_label]
            for label, sources in enumerate(spec.variants[variant].values() if variant else members):
                assert set(bunch.original_target[bunch.target == label]) <= set(sources)
        X, y = load_dataset(name, variant, return_X_y=True, data_home=tmp_path)
        assert X.shape == bunch.data.shape and len(y) == n_samples


@pytest.mark.parametrize("name", CATALOGUE)
def test_real_file_has_the_published_size(name):
    if not present(name):
        pytest.skip(f"{name} is not in the data home")
    spec = CATALOGUE[name]
    bunch = load_dataset(name)
    assert bunch.data.shape[0] == spec.n_samples
    if spec.classes:
        assert (np.bincount(bunch.target, minlength=len(spec.classes)) > 0).all()


@pytest.mark.parametrize(
    ("name", "variant", "counts"),
    [
        ("optdigits", "1vs8", [571, 554]),
        ("pendigits", "5vs9", [1055, 1055]),
        ("olivetti", "gender", [360, 40]),
        ("iris", "merged", [100, 50]),
        ("thyroid", "merged", [150, 65]),
        ("letter", "merged", [1525, 766]),
        ("segmentation", "merged", [660, 330]),
        ("protein", "superclass", [115, 226, 258, 95]),
        ("protein", "merged", [341, 353]),
    ],
)
def test_sizes_of_the_papers_problems(name, variant, counts):
    if not present(find_spec(name)[0]):
        pytest.skip(f"{name} is not in the data home")
    assert np.bincount(load_dataset(name, variant).target).tolist() == counts


def test_real_segments_are_what_their_names_say():
    if not present("segment"):
        pytest.skip("segment is not in the data home")
    bunch = load_dataset("segment")
    means = bunch.data.groupby(np.array(bunch.target_names)[bunch.target]).mean()
    assert means["x__9"].idxmax() == "sky"  # mean intensity
    assert means["x__15"].idxmax() == "grass"  # excess green
    assert means["x__6"].idxmax() == "foliage"  # spread of vertical edges


def test_multifeat_is_embedded(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    bunch = load_dataset("MULTIFEAT", "small-vs-large")
    X, y = load_multifeat("small-vs-large", return_X_y=True)
    assert bunch.data.equals(X)
    np.testing.assert_array_equal(bunch.target, y)
    assert bunch.view_names == ["fac", "fou", "kar", "mor", "pix", "zer"]
    np.testing.assert_array_equal(bunch.original_target >= 5, y)


@pytest.mark.parametrize("name", ["ngs", "tr23", "protein_fold", "pendigits"])
def test_views_select_their_columns(name, tmp_path):
    arrays = save(tmp_path, name, 60)
    bunch = load_dataset(name, data_home=tmp_path)
    assert list(bunch.views) == bunch.view_names
    positions = [resolve_columns(view, column_names(bunch.data), bunch.data.shape[1]) for view in bunch.views.values()]
    np.testing.assert_array_equal(np.concatenate(positions), np.arange(bunch.data.shape[1]))
    if name == "ngs":
        parts = [arrays[f"v2_{part}"] for part in ("data", "indices", "indptr")]
        view = sp.csr_matrix(tuple(parts), shape=arrays["v2_shape"])
        assert (bunch.data[:, bunch.views["v2"]] != view).nnz == 0


def column_names(data):
    return None if sp.issparse(data) else data.columns.to_numpy(dtype=str)


def test_data_home_comes_from_the_argument_before_the_environment(tmp_path, monkeypatch):
    for folder, value in (("a", 1.0), ("b", 2.0)):
        (tmp_path / folder).mkdir()
        save(tmp_path / folder, "mcycle", 3, X=np.full((3, 1), value))
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "a"))
    assert load_dataset("motorcycle").data.iloc[0, 0] == 1.0
    assert load_dataset("motorcycle", data_home=tmp_path / "b").data.iloc[0, 0] == 2.0
    assert list_datasets().loc["mcycle", "available"] and not list_datasets().loc["usps", "available"]


def test_absent_set_names_archive_licence_and_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with pytest.raises(FileNotFoundError, match="no data home is set") as caught:
        load_dataset("concrete")
    for part in ("UCI Machine Learning Repository, I-C. Yeh", "CC BY 4.0", "concrete.npz", ENVIRONMENT, "X (1030, 8)"):
        assert part in str(caught.value)
    with pytest.raises(FileNotFoundError, match="there is no file .*tr11.npz.*indptr part of a CSR matrix"):
        load_dataset("tr11", data_home=tmp_path)


def test_unknown_names():
    with pytest.raises(ValueError, match="no data set named 'mnist'; the data sets are multifeat"):
        load_dataset("mnist")
    with pytest.raises(ValueError, match="variant of 'iris' must be None or \"merged\", not '1vs8'"):
        load_dataset("iris", "1vs8")


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("banana", {"X": None}, "banana.npz .* lacks the array.s. X"),
        ("banana", {"X": np.ones((9, 3))}, r"'X' must be of shape \(9, 2\), not \(9, 3\)"),
        ("banana", {"X": np.full((9, 2), np.nan)}, "'X' must hold finite numbers"),
        ("banana", {"X": np.full((9, 2), "a")}, "'X' must hold finite numbers"),
        ("banana", {"X": np.full((9, 2), None)}, "banana.npz is not a data file .*allow_pickle"),
        ("banana", {"y": np.zeros(8)}, "'y' must have one entry for each of 9 samples"),
        ("banana", {"y": np.full(9, 7)}, r"labels of 'banana' must be 0 ... 1, but some are \[7\]"),
        ("protein_fold", {"volume": np.ones((8, 21))}, r"'volume' must be of shape \(9, 21\)"),
        ("ngs", {"v2_data": None}, "ngs.npz .* lacks the array.s. v2_data"),
        ("ngs", {"v2_shape": np.array([9, 2001])}, r"'v2' must be of shape \(9, 2000\), not \(9, 2001\)"),
        ("tr23", {"indices": np.full(54, 99)}, "tr23.npz does not hold the parts of a CSR matrix"),
    ],
)
def test_wrong_files_are_named(name, changes, message, tmp_path):
    save(tmp_path, name, 9, **changes)
    with pytest.raises(ValueError, match=message):
        load_dataset(name, data_home=tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x80\x04K\x01."])
def test_files_that_are_no_archives(content, tmp_path):
    (tmp_path / "pima.npz").write_bytes(content)
    with pytest.raises(ValueError, match="pima.npz is not a data file that load_dataset can read"):
        load_dataset("pima", data_home=tmp_path)


def test_splits_and_groups_are_kept_with_their_samples(tmp_path):
    arrays = save(tmp_path, "protein_fold", 54)
    bunch = load_dataset("protein", "superclass", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.is_train, arrays["is_train"])
    assert bunch.target_names == ["all-alpha", "all-beta", "alpha/beta", "alpha+beta"]
    assert len(bunch.view_names) == 12


def test_multifeat_has_views_and_digits():
    data = load_multifeat()
    assert data.data.shape == (2000, 649)
    sizes = {view: sum(c.startswith(view + "__") for c in data.data.columns) for view in data.view_names}
    assert sizes == {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}
    assert np.bincount(data.target).tolist() == [200] * 10
    assert np.isfinite(data.data.to_numpy()).all()
    assert "CC BY 4.0" in data.DESCR


@pytest.mark.parametrize(("target", "rule"), [("small-vs-large", lambda d: d >= 5), ("even-vs-odd", lambda d: d % 2)])
def test_multifeat_has_binary_targets(target, rule):
    X, y = load_multifeat(target=target, return_X_y=True)
    digits = load_multifeat().target
    np.testing.assert_array_equal(y, rule(digits))
    assert len(load_multifeat(target=target).target_names) == 2


def test_multifeat_refuses_an_unknown_target():
    with pytest.raises(ValueError, match='target must be None, "'):
        load_multifeat(target="odd")

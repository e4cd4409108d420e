"""What `save` refuses, and that a failed save changes nothing."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelweave import MKLClassifier, save
from kernelweave.kernels import Linear
from kernelweave.persistence import archive, files
from saved_models import TWO, A

MODEL = MKLClassifier().fit(A, TWO)


def test_unfitted_models_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(MKLClassifier(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [None, Linear(), SVC(), make_pipeline(MODEL), {"a": 1}, MKLClassifier])
def test_only_models_are_saved(tmp_path, model):
    with pytest.raises(ValueError, match="save takes a fitted model"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class OwnKernel(Linear):
    pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"random_state": np.random.RandomState(0)},
            r"MKLClassifier.random_state is a random number generator.*set_params",
        ),
        (
            {"kernels": [OwnKernel()]},
            r"MKLClassifier.kernels\[0\] is of the class OwnKernel, which kernelweave does not",
        ),
        ({"verbose": object}, r"verbose is of the class type"),
        ({"class_weight": {1, 2}}, r"class_weight is of the class set"),
        ({"n_jobs": np.zeros(2, dtype="i4,f4")}, r"n_jobs holds values of type"),
        ({"n_jobs": 1j}, r"n_jobs is of the class complex"),
    ],
)
def test_parameters_that_cannot_be_saved_are_named(tmp_path, options, message):
    (tmp_path / "model").write_bytes(b"before")
    model = MKLClassifier().fit(A, TWO)
    model.__dict__.update(options)
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"before"


def test_values_that_contain_themselves_are_refused(tmp_path):
    model = MKLClassifier().fit(A, TWO)
    model.class_weight = []
    model.class_weight.append(model.class_weight)
    with pytest.raises(ValueError, match=r"class_weight\[0\] contains itself"):
        save(model, tmp_path / "model")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(MODEL, path)
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(archive.npy, "write_array", full)
    with pytest.raises(OSError, match="no space left"):
        save(MKLClassifier().fit(A, TWO), path)
    monkeypatch.undo()
    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        save(MKLClassifier().fit(A, TWO), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    with pytest.raises(OSError):
        save(MODEL, tmp_path / "no folder" / "model")


def test_links_and_permissions(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "model")
    save(MODEL, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder" / "model").is_file()
    (tmp_path / "plain").touch()
    assert (tmp_path / "link").stat().st_mode == (tmp_path / "plain").stat().st_mode

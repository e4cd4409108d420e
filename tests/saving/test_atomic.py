"""A file that cannot be written: the error names it, and nothing half-written stays."""

import errno
import os

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, save
from kernelweave.cli import main
from kernelweave.cli.explanation import write_table
from kernelweave.recipes import CohortModel
from kernelweave.saving import atomic
from kernelweave.saving.atomic import naming, replace_file


@pytest.fixture
def full(monkeypatch):
    """A disk without space: nothing is written to it."""

    def fsync(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", fsync)


@pytest.fixture
def unnamed(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(atomic, "_open_unnamed", lambda folder, mode: None)


def check(path, call):
    before = sorted(path.parent.iterdir())
    with pytest.raises(OSError, match="No space left on device") as caught:
        call()
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.parametrize("unnamed", [True, False], indirect=True)
def test_a_full_disk(full, unnamed, tmp_path):
    check(tmp_path / "new", lambda: replace_file(tmp_path / "new", lambda file: file.write(b"x")))
    (tmp_path / "old").write_text("old")
    check(tmp_path / "old", lambda: replace_file(tmp_path / "old", lambda file: file.write(b"x")))
    assert (tmp_path / "old").read_text() == "old"


def test_all_that_is_written(full, tmp_path):
    X = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0)[::-1]})
    model = MKLClassifier().fit(X, np.arange(8) % 2)
    check(tmp_path / "model.kw", lambda: save(model, tmp_path / "model.kw"))
    check(tmp_path / "table.csv", lambda: write_table(tmp_path / "table.csv", X))


def test_the_command_line_names_the_file(monkeypatch, tmp_path, capsys):
    X = pd.DataFrame({"rna__a": np.arange(20.0), "rna__b": np.tile([0.0, 1.0], 10)})
    model = CohortModel("mean", effort="quick", random_state=0).fit(X, np.tile(["p", "q"], 10))
    save(model, tmp_path / "model.kw")
    X.set_axis(["a", "b"], axis=1).to_csv(tmp_path / "rna.csv", index_label="id")
    out = tmp_path / "out.csv"

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = ["predict", str(tmp_path / "model.kw"), str(tmp_path / "rna.csv"), "--out", str(out)]
    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, "fsync", full)
        assert main(words) == 2
    assert f"{str(out)!r}: No space left on device" in capsys.readouterr().err and not out.exists()
    with monkeypatch.context() as patched:
        patched.setattr("kernelweave.cli.prediction.as_csv", full)  # of the temporary file
        patched.setattr("tempfile.tempdir", str(tmp_path))
        assert main(words) == 2
    assert f"{str(tmp_path)!r}: No space left on device" in capsys.readouterr().err
    out.mkdir()
    assert main(words) == 2
    assert str(out) in capsys.readouterr().err
    assert main([*words[:-1], str(tmp_path / "rna.csv" / "out.csv")]) == 2
    assert "rna.csv" in capsys.readouterr().err


def test_other_errors_are_as_they_were(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, naming(tmp_path / "out"):
        (tmp_path / "absent").read_text()
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(OSError, match="^in words$") as caught, naming(tmp_path / "out"):
        raise OSError("in words")
    with pytest.raises(PermissionError, match="out"), naming(tmp_path / "out"):
        raise PermissionError(errno.EACCES, "no", str(tmp_path / f".out.{'0' * 16}.part"))

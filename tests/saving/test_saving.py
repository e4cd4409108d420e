"""What `save` refuses, and what it leaves where it fails or is killed."""

import os
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelweave import MKLClassifier, load, save
from kernelweave.kernels import Linear
from kernelweave.saving import archive, atomic, models
from saved_builders import TWO, A

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
    def __init__(self, view=None):
        self.view = view
        self.helper = SVC()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"random_state": np.random.RandomState(0)},
            r"MKLClassifier.random_state is a random number generator.*set_params",
        ),
        (
            {"kernels": [OwnKernel()]},
            r"MKLClassifier.kernels\[0\].helper is of the class SVC, which kernelweave does not",
        ),
        ({"verbose": dict}, r"verbose is of the class type"),
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
    monkeypatch.setattr(models.os, "replace", full)
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


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=["unnamed", "named", "no link"])
def system(request, monkeypatch):
    """Systems with and without files that have no name, and one that does not let them be linked."""
    if request.param == "named":
        monkeypatch.setattr(atomic, "_open_unnamed", lambda folder, mode: None)
    elif request.param == "no link":

        def refused(*arguments, **options):
            raise PermissionError("links are not allowed")

        monkeypatch.setattr(atomic.os, "link", refused)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_permissions(tmp_path, mode, system):
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    save(MODEL, path)
    assert mode_of(path) == mode and list(tmp_path.iterdir()) == [path]
    load(path)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path, umask, mode, system):
    before = os.umask(umask)
    try:
        save(MODEL, tmp_path / "model")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "model") == mode and len(list(tmp_path.iterdir())) == 1


def test_a_file_is_never_more_open_than_it_was(tmp_path, monkeypatch, system):
    path, seen = tmp_path / "model", []
    path.touch()
    path.chmod(0o600)

    def write(file):
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        file.write(b"content")

    atomic.replace_file(path, write)
    assert set(seen) == {0o600} and path.read_bytes() == b"content"


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_owner_and_group_stay(tmp_path, monkeypatch, system):
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o640)
    os.chown(path, 12345, 54321)
    save(MODEL, path)
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (12345, 54321, 0o640)

    def refused(*arguments):
        raise PermissionError("not the owner")

    monkeypatch.setattr(atomic.os, "fchown", refused)
    save(MODEL, path)
    assert mode_of(path) == 0o600  # another group must not read what the old one could


def test_write_protected_files_stay(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"before")
    monkeypatch.setattr(atomic.os, "access", lambda path, mode: mode != os.W_OK)  # root may write anything
    with pytest.raises(PermissionError, match="write-protected"):
        save(MODEL, path)
    assert path.read_bytes() == b"before"


def test_only_regular_files_are_replaced(tmp_path, system):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name, kind in [("pipe", "device, pipe or socket"), ("folder", "directory"), ("link", "device, pipe")]:
        before = (tmp_path / name).lstat()
        with pytest.raises(OSError, match=f"cannot write to .*{kind}.*not a file; choose another path") as caught:
            save(MODEL, tmp_path / name)
        assert "\n" not in str(caught.value)
        assert (tmp_path / name).lstat().st_ino == before.st_ino
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "pipe"]


# The module alone, which needs nothing of the package: the import of the package takes seconds.
_ENDLESS = f"""
import sys, time
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("atomic", {atomic.__file__!r})
atomic = module_from_spec(spec)
spec.loader.exec_module(atomic)

def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)

if sys.argv[2] == "named":
    atomic._open_unnamed = lambda folder, mode: None
atomic.replace_file(sys.argv[1], write)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that never ends writing to ``tmp_path / "model"``."""
    started = []

    def start(how):
        command = [sys.executable, "-c", _ENDLESS, str(tmp_path / "model"), how]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "writing\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_save_leaves_nothing(tmp_path, writer):
    (tmp_path / "model").write_bytes(b"before")
    process = writer("unnamed")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == b"before"


def test_the_next_save_removes_what_a_killed_one_left_but_nothing_that_is_in_use(tmp_path, writer):
    killed = writer("named")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (left,) = tmp_path.iterdir()
    others = [tmp_path / ".model.part", tmp_path / ".model.0123456789abcdef.keep", tmp_path / f".other{left.name[6:]}"]
    for other in others:
        other.touch()
    writer("named")
    (used,) = set(tmp_path.iterdir()) - {left, *others}
    save(MODEL, tmp_path / "model")
    assert set(tmp_path.iterdir()) == {tmp_path / "model", used, *others}


def test_saves_at_the_same_time(tmp_path, system):
    """Whoever is last wins, and the file is whole at any time."""
    path, stop, seen = tmp_path / "model", threading.Event(), []
    contents = [bytes([k]) * 5000 for k in range(4)]

    def look():
        while not stop.is_set():
            if path.exists():
                seen.append(path.read_bytes())

    def work(content):
        for _ in range(20):
            atomic.replace_file(path, lambda file: file.write(content))

    reader = threading.Thread(target=look)
    writers = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert set(seen) <= set(contents) and list(tmp_path.iterdir()) == [path]

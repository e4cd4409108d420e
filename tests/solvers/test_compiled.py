"""Compiled functions are defined in one way: cached where a cache can be written, announced before the wait."""

import ast
import logging
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

import kernelweave
from kernelweave.solvers import compiled as module
from kernelweave.solvers.compiled import compiled

ROOT = Path(kernelweave.__file__).parent
RUN = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
import kernelweave
from kernelweave.solvers.sums import centred_square
import numpy as np
print(kernelweave.__file__)
for dtype in (np.float64, np.float32):
    print(centred_square(np.eye(2, dtype=dtype), np.full(2, 0.5), 0.5, np.ones(2)))
"""


def compile_elsewhere(path, home, **environment):
    """Lines printed by a process that compiles one function twice, the package being found in `path`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHON"))}
    environment = kept | {"PYTHONPATH": str(path), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, cwd=home.anchor)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def nowhere(tmp_path):
    """A folder that nobody can make, not even the superuser: its parent is a file."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "home"


def copy_package(folder):
    shutil.copytree(ROOT, folder / "kernelweave", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.long
def test_without_a_folder_for_a_cache_each_process_compiles(tmp_path, nowhere):
    place = copy_package(tmp_path / "site")
    (place / "kernelweave" / "solvers" / "__pycache__").touch()  # a file: no folder can be made here
    file, said, first, second = compile_elsewhere(place, nowhere, NUMBA_CACHE_DIR=str(nowhere))
    assert file.startswith(str(place))
    assert [float(first), float(second)] == [1.0, 1.0]
    assert said.startswith("INFO kernelweave.solvers compiling the solvers")
    assert "for this process only" in said and "set NUMBA_CACHE_DIR" in said


@pytest.mark.long
def test_from_a_zip_file_without_a_home(tmp_path, nowhere):
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in ROOT.rglob("*.py"):
            target.write(path, path.relative_to(ROOT.parent))
    lines = compile_elsewhere(archive, nowhere)
    assert [float(line) for line in lines[-2:]] == [1.0, 1.0] and any(str(archive) in line for line in lines)


@pytest.mark.long
def test_the_first_compilation_is_announced_once_and_later_processes_load(tmp_path):
    cache = tmp_path / "cache"
    path = ROOT.parent
    file, said, *results = compile_elsewhere(path, tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert said.startswith("INFO kernelweave.solvers compiling the solvers") and f"kept in {cache}" in said
    assert len(results) == 2 and list(cache.rglob("*.nbc"))
    later = compile_elsewhere(path, tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert later == [file, *results]  # nothing compiled, nothing said
    for index in cache.rglob("*.nbi"):
        index.write_bytes(b"")  # what a crash may leave
    mended = compile_elsewhere(path, tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert [mended[0], *mended[-2:]] == later and any("could not be kept" in line for line in mended)


def test_a_full_disk_is_no_failure(monkeypatch, caplog):
    def fail(self, sig, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.FunctionCache, "save_overload", fail)

    @compiled
    def twice(x):
        return 2 * x

    with caplog.at_level(logging.WARNING, "kernelweave.solvers"):
        assert twice(2) == 4 and twice(1.5) == 3.0
    assert "No space left" in caplog.text and "NUMBA_CACHE_DIR" in caplog.text


def test_options_reach_the_compiler():
    @compiled(error_model="numpy")
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == np.inf
    assert inverse.targetoptions["nogil"] and compiled(lambda x: x).targetoptions["nogil"]


def test_only_a_function_that_says_so_makes_arrays():
    @compiled(allocates=True)
    def zeros(n):
        return np.zeros(n)

    @compiled
    def ones(n):
        return np.ones(n)

    assert zeros(2).tolist() == [0.0, 0.0]
    with pytest.raises(TypingError):
        ones(2)


def test_an_inner_function_serves_compiled_code_and_keeps_no_file():
    @compiled(inner=True)
    def twice(x):
        return 2 * x

    @compiled
    def four_times(x):
        return twice(twice(x))

    assert four_times(2) == 8 and twice.py_func(3) == 6
    assert isinstance(four_times._cache, module._Cache) and not isinstance(twice._cache, module._Cache)


def compiled_functions():
    """(module, definition) of everything decorated with `compiled`."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = {ast.unparse(getattr(mark, "func", mark)) for mark in node.decorator_list}
                if "compiled" in names:
                    yield path, node


def test_every_compiled_function_goes_through_the_decorator():
    users = [path.name for path in ROOT.rglob("*.py") if "njit" in path.read_text()]
    assert users == ["compiled.py"]
    importers = {path for path in ROOT.rglob("*.py") if re.search(r"import compiled\b", path.read_text())}
    assert {path for path, _ in compiled_functions()} == importers


# What takes seconds to compile: sorts, LAPACK behind checks that format errors, allocation with a formatted error.
SLOW = {"linalg", "sort", "argsort", "unique", "partition", "argpartition", "median", "take", "dot"}
LEAN = {"cycles.py"}


@pytest.mark.long
def test_the_joint_machine_compiles_nothing_slow():
    found = [(path, node) for path, node in compiled_functions() if path.name in LEAN]
    assert {path.name for path, _ in found} == LEAN
    for path, node in found:
        inner = list(ast.walk(node))
        used = {part.attr for part in inner if isinstance(part, ast.Attribute)}
        assert not used & (SLOW | {"empty", "zeros", "ones", "full", "copy"}), (path.name, node.name)
        assert not any(isinstance(part, ast.Raise | ast.JoinedStr) for part in inner), (path.name, node.name)

"""The rooms of the solvers: what is in them, what they use of each other, and how many modules a solve passes."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelweave import solvers
from kernelweave.solvers import Sphere, minimize_lbfgs, solve_box_qp
from kernelweave.solvers.box_qp import solve_in_working_set
from kernelweave.solvers.sums import GatedKernel

ROOT = Path(solvers.__file__).parent
ROOMS = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
MODULES = sorted(ROOT.rglob("*.py"))


def test_folders_and_modules_are_small():
    assert len(ROOMS) == 5
    for room in (ROOT, *ROOMS):
        assert len(list(room.glob("*.py"))) <= 15, room
    for path in MODULES:
        assert len(path.read_text().splitlines()) < 450, path


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_lists_its_public_modules(room):
    said = importlib.import_module(f"kernelweave.solvers.{room.name}").__doc__
    for path in room.glob("[a-z]*.py"):
        assert f"`{path.stem}`" in said, path


def borrowed(path):
    """(folder, names) of everything that a module of the solvers imports of another folder of them."""
    own = path.parent
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = own if node.level == 1 else own.parents[node.level - 2]
            *folders, module = (node.module or "").split(".")
            source = folder.joinpath(*folders)
            if source != own:
                yield source, [module, *(alias.name for alias in node.names)]


def test_no_room_uses_a_private_name_of_another():
    found = [(path, names) for path in MODULES for _, names in borrowed(path)]
    assert len(found) > 20
    for path, names in found:
        assert not [name for name in names if name.startswith("_")], path


def passed(function):
    """Modules of the solvers that a call passes. numba reports calls of compiled code from Python as well."""
    function()  # compiles what is not compiled yet
    files = set()

    def note(frame, event, argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return {path.relative_to(ROOT).as_posix() for path in map(Path, files) if ROOT in path.parents}


def binary_problem(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
    return K, (y, np.minimum(y, 0.0), np.maximum(y, 0.0), 0.0, 0.0)


@pytest.mark.parametrize("n", [80, 200, 400])
def test_a_box_solve_passes_three_modules(n):
    K, problem = binary_problem(n)
    assert passed(lambda: solve_box_qp(K, *problem)) == {"qp/box.py", "qp/_rounds.py", "qp/_block.py"}


def test_a_solve_in_a_working_set_passes_two_more():
    K, problem = binary_problem(400)
    kernel = GatedKernel(np.array([K]), np.ones((400, 1)))
    start = solve_box_qp(0.9 * K, *problem).solution
    files = passed(lambda: solve_in_working_set(kernel, *problem, start, 1e-6))
    assert files <= {"qp/working_set.py", "stacks/sums.py", "qp/box.py", "qp/_rounds.py", "qp/_block.py"}


def test_a_descent_in_space_passes_two_modules():
    def bowl(x):
        return float(np.sum((x - 2.0) ** 4)), 4.0 * (x - 2.0) ** 3, None

    files = passed(lambda: minimize_lbfgs(bowl, np.zeros(3)))
    assert files == {"descent/smooth.py", "descent/_line_search.py"}
    assert "descent/domains.py" in passed(lambda: minimize_lbfgs(bowl, np.ones(3), Sphere()))

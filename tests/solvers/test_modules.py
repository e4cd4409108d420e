"""The modules of the solvers: what is said of them, what they use of each other, how many of them a solve passes."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelweave import solvers
from kernelweave.solvers import Sphere, minimize_lbfgs, solve_box_qp, weights
from kernelweave.solvers.box_qp import solve_in_working_set
from kernelweave.solvers.sums import GatedKernel

ROOT = Path(solvers.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def test_folders_and_modules_are_small():
    for folder in {path.parent for path in MODULES}:
        assert len(list(folder.glob("[a-z]*.py"))) <= 20, folder
    for path in MODULES:
        assert len(path.read_text().splitlines()) <= 800, path


@pytest.mark.parametrize("package", [solvers, weights], ids=["solvers", "weights"])
def test_a_package_lists_its_modules(package):
    for path in Path(package.__file__).parent.glob("[a-z]*.py"):
        assert f"`{path.stem}`" in package.__doc__, path


def borrowed(path):
    """Names that a module of the solvers imports of others of them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from (alias.name for alias in node.names)


def test_no_module_uses_a_private_name_of_another():
    found = [(path, name) for path in MODULES for name in borrowed(path)]
    assert len(found) > 50
    for path, name in found:
        assert not name.startswith("_"), (path, name)


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
def test_a_box_solve_passes_two_modules(n):
    K, problem = binary_problem(n)
    assert passed(lambda: solve_box_qp(K, *problem)) <= {"box_qp.py", "compiled.py", "pairs.py"}


def test_a_solve_in_a_working_set_passes_one_more():
    K, problem = binary_problem(400)
    kernel = GatedKernel(np.array([K]), np.ones((400, 1)))
    start = solve_box_qp(0.9 * K, *problem).solution
    files = passed(lambda: solve_in_working_set(kernel, *problem, start, 1e-6))
    assert files <= {"sums.py", "box_qp.py", "compiled.py", "pairs.py"}


def test_a_descent_passes_two_modules():
    def bowl(x):
        return float(np.sum((x - 2.0) ** 4)), 4.0 * (x - 2.0) ** 3, None

    files = passed(lambda: minimize_lbfgs(bowl, np.zeros(3)))
    assert files <= {"descent.py", "domains.py"}
    assert "domains.py" in passed(lambda: minimize_lbfgs(bowl, np.ones(3), Sphere()))

"""The packages import only what the architecture allows (data flows one way)."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import kernelweave

ROOT = Path(kernelweave.__file__).parent
NUMERICS = {"numpy", "scipy"}
FRAMES = {"sklearn", "pandas"}
EXACT = ["arrays", "views", "kernels", "solvers", "machines"]
BELOW = [*EXACT, "features", "engines", "stacks", "combiners", "estimators", "reduction"]
WORK = ["recipes", "saving", "model_selection", "reporting", "files", "datasets"]
ALLOWED = {
    "validation": FRAMES,
    "views": FRAMES,
    "arrays": {"array_api_compat", "torch"},
    "kernels": FRAMES | {"arrays", "solvers", "threadpoolctl", "torch", "triton", "views"},
    "solvers": {"numba", "llvmlite", "clarabel"},
    "machines": {"sklearn", "arrays", "solvers"},  # losses are cloned as estimators are
    "survival": FRAMES | {"solvers"},
    "features": FRAMES | {"arrays", "views", "kernels", "solvers"},
    "engines": FRAMES | {*EXACT, "features", "torch", "triton", "dask", "distributed"},
    "stacks": FRAMES | {*EXACT, "features", "engines"},
    "combiners": FRAMES | {*EXACT, "stacks"},
    "estimators": FRAMES | {"rich", "_config", *EXACT, "features", "engines", "stacks", "combiners", "survival"},
    "reduction": FRAMES | {"views", "kernels", "solvers", "machines", "combiners", "estimators"},
    "cluster": FRAMES | {"views", "kernels", "solvers", "combiners", "estimators"},
    "recipes": FRAMES | {"survival", "views", "kernels", "solvers", "machines", "combiners", "estimators"},
    "model_selection": FRAMES | {"joblib", "views", "estimators", "reduction"},
    "reporting": FRAMES
    | {"jinja2", "markupsafe", "_version", "saving", "model_selection"}
    | {"survival", "views", "kernels", "combiners", "estimators", "reduction", "recipes"},
    "files": FRAMES | {"views"},
    "datasets": FRAMES | {"views"},
    "saving": FRAMES | {"_version", "views", "kernels", "machines", "features", "engines", "combiners", "estimators"},
    "display": FRAMES | {"matplotlib", "estimators", "reduction", "views"},
    "persistence": {"saving"},
    "experiments": set(),
    "compare": FRAMES | {"joblib", "threadpoolctl", "_version", "survival", *BELOW, *WORK},
    "cli": FRAMES | {"rich", "joblib", "threadpoolctl", "compare", "_version", "survival", *BELOW, *WORK},
}
EXPERIMENTS = Path(__file__).parents[2] / "experiments"  # beside the library, which never imports it
BY_EXPERIMENTS = FRAMES | {"rich", "__version__", "stack_views", "experiments", "compare", "cli"}
BY_EXPERIMENTS |= {"survival", "cluster", *BELOW, *WORK}
STANDARD = sys.stdlib_module_names
FOR_ALL = {"_extras", "_warnings", "validation"}


@cache
def tree_of(text: str) -> ast.Module:
    """Several tests read the same files."""
    return ast.parse(text)


def target_of(node: ast.ImportFrom, folder: tuple[str, ...]) -> tuple[str, ...]:
    """Where a `from` import looks, for a file in a folder below the root (empty for the root itself).

    Names outside kernelweave stay as they are; those inside begin with it.
    """
    module = tuple(node.module.split(".")) if node.module else ()
    here = ("kernelweave", *folder)
    return here[: len(here) - node.level + 1] + module if node.level else module


def imported_names(path: Path, *folder: str) -> set[str]:
    """Top-level modules that a file of a folder imports; names below kernelweave are given without it."""
    names = set()
    for node in ast.walk(tree_of(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            target = target_of(node, folder)
            names |= {(*target, alias.name) for alias in node.names} if target == ("kernelweave",) else {target}
    return {name[1] if name[0] == "kernelweave" and len(name) > 1 else name[0] for name in names}


def folder_of(path: Path) -> tuple[str, ...]:
    return path.parent.relative_to(ROOT).parts


def packages() -> list[str]:
    """The folders, and the modules at the top that are no helpers of all."""
    folders = [path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    return sorted(folders + [path.stem for path in ROOT.glob("[a-z]*.py")])


def files_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py")) or [ROOT / f"{package}.py"]


def test_every_package_has_a_rule():
    assert packages() == sorted(ALLOWED)


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_package_imports_only_what_its_rule_names(package):
    for path in files_of(package):
        allowed = STANDARD | NUMERICS | FOR_ALL | ALLOWED[package] | {package}
        assert imported_names(path, *folder_of(path)) <= allowed, path


def test_the_library_never_imports_the_experiments():
    for path in ROOT.rglob("*.py"):
        assert "experiments" not in imported_names(path, *folder_of(path)), path


def test_the_experiments_import_only_what_their_rule_names():
    for path in EXPERIMENTS.rglob("*.py"):
        assert imported_names(path) <= STANDARD | NUMERICS | {"_extras", "validation"} | BY_EXPERIMENTS, path


def test_the_rule_sees_a_forbidden_import(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("from ..estimators import MKLClassifier\nfrom . import base\nimport sklearn.svm\n")
    assert imported_names(file, "kernels") == {"estimators", "kernels", "sklearn"}
    file.write_text("from ...views import Views\nfrom ..base import Kernel\nfrom ... import solvers\n")
    assert imported_names(file, "kernels", "stacking") == {"views", "kernels", "solvers"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def defined_names(path: Path) -> set[str]:
    """Every name that a file defines or gives a value, attributes included."""
    names = set()
    for node in ast.walk(tree_of(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def owner_of(name: tuple[str, ...]) -> tuple[str, ...]:
    """The folder that a private part of a dotted name belongs to; the part is the last one."""
    return name[:-1] if ROOT.parent.joinpath(*name[:-1]).is_dir() else name[:-2]


def foreign_private_names(path: Path, foreign: set[str], *folder: str) -> list[str]:
    """The private names of other packages of the library that a file of a folder uses, with line numbers.

    A private module or name belongs to the folder in which it stands and to the folders below it. A private attribute
    of an object (``model._name``; not of ``self``, ``cls`` or ``super()``) must not be one of `foreign`, the names
    that only files of other packages define.
    """
    here = ("kernelweave", *folder)
    found = []
    for node in ast.walk(tree_of(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            target = target_of(node, folder)
            if target[:1] != ("kernelweave",):
                continue
            for name in [(*target, alias.name) for alias in node.names]:
                owners = [owner_of(name[: place + 1]) for place, part in enumerate(name) if is_private(part)]
                if any(here[: len(owner)] != owner for owner in owners):
                    found.append(f"line {node.lineno}: {'.'.join(name)}")
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr in foreign:
            owner = node.value
            is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            is_own |= isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
            if not is_own:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


@pytest.fixture(scope="module")
def defined() -> dict[Path, set[str]]:
    return {path: defined_names(path) for path in sorted(ROOT.rglob("*.py"))}


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_no_package_uses_a_private_name_of_another(package, defined):
    files = files_of(package)
    own = set().union(*(defined[path] for path in files))
    foreign = set().union(*defined.values()) - own
    found = {str(path.relative_to(ROOT)): foreign_private_names(path, foreign, *folder_of(path)) for path in files}
    assert not {path: names for path, names in found.items() if names}


def test_the_experiments_use_no_private_name_of_the_library(defined):
    files = sorted(EXPERIMENTS.rglob("*.py"))
    foreign = set().union(*defined.values()) - set().union(*map(defined_names, files))
    found = {str(path): foreign_private_names(path, foreign, "experiments") for path in files}
    assert not {path: names for path, names in found.items() if names}


def test_the_rule_sees_private_names_of_other_packages(tmp_path, monkeypatch):
    file = tmp_path / "module.py"
    file.write_text(
        "from ._own import a\nfrom .own import _b\nfrom .._warnings import warn\nfrom ..solvers._box import c\n"
        "from ..solvers.box import _d\nmodel._foreign\nmodel._own\nself._foreign\nsuper()._foreign\n"
    )
    assert foreign_private_names(file, {"_foreign"}, "kernels") == [
        "line 4: kernelweave.solvers._box.c",
        "line 5: kernelweave.solvers.box._d",
        "line 6: model._foreign",
    ]
    (tmp_path / "kernelweave" / "reduction" / "graphs").mkdir(parents=True)
    monkeypatch.setitem(globals(), "ROOT", tmp_path / "kernelweave")
    file.write_text("from .._inside import a\nfrom ..base import _b\nfrom ..graphs._inside import c\n")
    found = foreign_private_names(file, set(), "reduction", "extraction")
    assert found == ["line 3: kernelweave.reduction.graphs._inside.c"]


STATEMENTS = {
    "package": "import kernelweave",
    "estimator": "from kernelweave import MKLClassifier",
    "every name": "for name in [*kernelweave.__all__, 'display', 'estimators']:\n    getattr(kernelweave, name)",
    "fit": "kernelweave.MKLClassifier().fit([[0.0], [1.0]], [0, 1])",
}


@pytest.fixture(scope="module")
def loaded_after() -> dict[str, set[str]]:
    """Names of the modules that one fresh process has after each of the statements, in their order."""
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    code = "import sys\n" + "".join(f"{statement}\nprint(*sys.modules)\n" for statement in STATEMENTS.values())
    lines = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).splitlines()
    return {name: set(line.split()) for name, line in zip(STATEMENTS, lines, strict=True)}


def test_the_package_alone_loads_nothing_heavy(loaded_after):
    loaded = loaded_after["package"]
    assert "kernelweave._version" in loaded
    assert not loaded & {
        "numpy",
        "scipy",
        "pandas",
        "sklearn",
        "numba",
        "clarabel",
        "matplotlib",
        "rich",
        "joblib",
        "jinja2",
    }


def test_an_estimator_loads_only_what_its_fit_needs(loaded_after):
    loaded = loaded_after["estimator"]
    assert {"sklearn.base", "pandas", "numba", "kernelweave.combiners.mkl"} <= loaded
    heavy = {
        "cluster",
        "metrics",
        "model_selection",
        "neighbors",
        "pipeline",
        "preprocessing",
        "decomposition",
        "datasets",
    }
    assert not loaded & {f"sklearn.{name}" for name in heavy}
    assert not loaded & {"matplotlib", "rich", "rich.progress"}
    unused = {
        "cluster",
        "reduction",
        "recipes",
        "model_selection",
        "files",
        "datasets",
        "display",
        "saving",
        "compare",
        "cli",
        "reporting",
    }
    assert not loaded & {f"kernelweave.{name}" for name in unused}


def test_every_public_name_is_there_at_its_first_use(loaded_after):
    loaded = loaded_after["fit"]
    assert {"kernelweave.display.weights", "kernelweave.saving.models"} <= loaded
    assert not loaded & {"matplotlib", "polars"}  # imported only to draw, and where X is a table of polars
    assert dir(kernelweave) == sorted(kernelweave.__all__)
    assert kernelweave.MKLClassifier.__module__ == "kernelweave.estimators.classifier"
    with pytest.raises(AttributeError, match="no attribute 'estimator'"):
        kernelweave.estimator  # noqa: B018

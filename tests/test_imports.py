"""The packages import only what the architecture allows (data flows one way)."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernelweave

ROOT = Path(kernelweave.__file__).parent
NUMERICS = {"numpy", "scipy"}
FRAMES = {"sklearn", "pandas"}
BELOW = ["views", "kernels", "solvers", "machines", "combiners", "estimators", "reduction"]
ALLOWED = {
    "validation": FRAMES,
    "views": FRAMES,
    "kernels": FRAMES | {"views"},
    "solvers": {"numba", "llvmlite", "clarabel"},
    "machines": {"solvers"},
    "combiners": FRAMES | {"views", "kernels", "solvers", "machines"},
    "estimators": FRAMES | {"rich", "views", "kernels", "solvers", "machines", "combiners"},
    "reduction": FRAMES | {"views", "kernels", "solvers", "machines", "combiners", "estimators"},
    "model_selection": FRAMES | {"joblib", "estimators", "reduction"},
    "datasets": FRAMES | {"views"},
    "persistence": FRAMES | {"_version", *BELOW},
    "display": FRAMES | {"matplotlib", "estimators", "reduction", "views"},
    "experiments": FRAMES
    | {"joblib", "threadpoolctl", "model_selection", "datasets", "persistence", "_version", *BELOW},
    "cli": FRAMES
    | {
        "rich",
        "joblib",
        "matplotlib",
        "threadpoolctl",
        "model_selection",
        "datasets",
        "experiments",
        "_version",
        *BELOW,
    },
}
STANDARD = sys.stdlib_module_names
FOR_ALL = {"_parameters", "_warnings", "validation"}


def imported_names(path: Path, package: str) -> set[str]:
    """Top-level modules that a file of a package ("kernels", "kernels.stacking") imports.

    Names below kernelweave are given without it.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = ["kernelweave", *package.split(".")]
            prefix = parents[: len(parents) + 1 - node.level] if node.level else []
            module = node.module.split(".") if node.module else []
            targets = [module] if module else [[alias.name] for alias in node.names]
            names |= {".".join(prefix + target) for target in targets}
    parts = [name.split(".") for name in names]
    return {part[1] if part[0] == "kernelweave" and len(part) > 1 else part[0] for part in parts}


def packages() -> list[str]:
    return sorted(path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists())


def test_every_package_has_a_rule():
    assert packages() == sorted(ALLOWED)


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_package_imports_only_what_its_rule_names(package):
    for path in (ROOT / package).rglob("*.py"):
        allowed = STANDARD | NUMERICS | FOR_ALL | ALLOWED[package] | {package}
        folder = ".".join(path.parent.relative_to(ROOT).parts)
        assert imported_names(path, folder) <= allowed, path


def test_the_rule_sees_a_forbidden_import(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("from ..estimators import MKLClassifier\nfrom . import base\nimport sklearn.svm\n")
    assert imported_names(file, "kernels") == {"estimators", "kernels", "sklearn"}
    file.write_text("from ..base import Kernel\nfrom ...estimators import MKLClassifier\n")
    assert imported_names(file, "kernels.stacking") == {"estimators", "kernels"}


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh process has after a statement."""
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split())


def test_the_package_alone_loads_nothing_heavy():
    loaded = loaded_by("import kernelweave")
    assert "kernelweave._version" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "sklearn", "numba", "clarabel", "matplotlib", "rich", "joblib"}


def test_an_estimator_loads_only_what_its_fit_needs():
    loaded = loaded_by("from kernelweave import MKLClassifier")
    assert {"sklearn.base", "pandas", "numba", "kernelweave.combiners.mkl.convex"} <= loaded
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
    unused = {"reduction", "model_selection", "datasets", "display", "persistence", "experiments", "cli"}
    assert not loaded & {f"kernelweave.{name}" for name in unused}


def test_every_public_name_is_there_at_its_first_use():
    code = "import kernelweave\nfor name in [*kernelweave.__all__, 'estimators']:\n    getattr(kernelweave, name)"
    assert {"kernelweave.display.gating", "kernelweave.persistence.files"} <= loaded_by(code)
    assert set(kernelweave.__all__) <= set(dir(kernelweave))
    assert kernelweave.MKLClassifier.__module__ == "kernelweave.estimators.classifier"
    with pytest.raises(AttributeError, match="no attribute 'estimator'"):
        kernelweave.estimator  # noqa: B018

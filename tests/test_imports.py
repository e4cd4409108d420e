"""The packages import only what the architecture allows (data flows one way)."""

import ast
import sys
from pathlib import Path

import pytest

import kernelweave

ROOT = Path(kernelweave.__file__).parent
NUMERICS = {"numpy", "scipy"}
FRAMES = {"sklearn", "pandas"}
BELOW = ["views", "kernels", "solvers", "machines", "combiners", "estimators", "reduction"]
ALLOWED = {
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
    "experiments": FRAMES | {"joblib", "threadpoolctl", "model_selection", "datasets", "_version", *BELOW},
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
FOR_ALL = {"_parameters", "_warnings"}


def imported_names(path: Path, package: str) -> set[str]:
    """Top-level modules that a file imports; names below kernelweave are given without it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = [package] if node.level == 1 else []
            prefix = ["kernelweave", *parents] if node.level else []
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
        assert imported_names(path, package) <= allowed, path


def test_the_rule_sees_a_forbidden_import(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("from ..estimators import MKLClassifier\nfrom . import base\nimport sklearn.svm\n")
    assert imported_names(file, "kernels") == {"estimators", "kernels", "sklearn"}

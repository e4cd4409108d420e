"""What docs/deprecation.md promises of warnings: one form, a release in between, and an end."""

import ast
import re
from pathlib import Path

import pytest

import kernelweave

SOURCE = Path(kernelweave.__file__).parent
CATEGORIES = {"FutureWarning", "DeprecationWarning", "PendingDeprecationWarning"}
FORM = re.compile(r"deprecated since (\d+)\.(\d+) and goes in (\d+)\.(\d+); use .+")


def faults(code: str, version: str) -> list[str]:
    """What is wrong with the warnings of deprecation in a module, in a version of the library."""
    found = []
    for call in ast.walk(ast.parse(code)):
        if not isinstance(call, ast.Call) or not CATEGORIES & {getattr(part, "id", "") for part in call.args}:
            continue
        form = FORM.search("".join(piece.value for piece in ast.walk(call) if is_text(piece)))
        if form is None:
            found.append(f"line {call.lineno}: not of the form 'deprecated since 0.3 and goes in 0.4; use ...'")
            continue
        since, until = (int(form[1]), int(form[2])), (int(form[3]), int(form[4]))
        if until <= since:
            found.append(f"line {call.lineno}: goes without a release in between")
        if until <= tuple(map(int, version.split(".")[:2])):
            found.append(f"line {call.lineno}: was to go in {form[3]}.{form[4]}")
    return found


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def warning(words: str, category: str = "FutureWarning") -> str:
    return f'warn(f"`lam` of {{name}} is {words}", {category})'


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("deprecated since 0.3 and goes in 0.4; use `l2`", None),
        ("deprecated since 0.3 and goes in 1.0; use `l2`", None),
        ("deprecated", "not of the form"),
        ("deprecated since 0.3 and goes in 0.4", "not of the form"),
        ("deprecated since 0.4 and goes in 0.4; use `l2`", "without a release in between"),
        ("deprecated since 0.2 and goes in 0.3; use `l2`", "was to go in 0.3"),
    ],
)
def test_faults_are_found(words, fault):
    found = faults(warning(words), version="0.3.1")
    assert [fault in line for line in found] == ([] if fault is None else [True])


def test_other_warnings_are_not_looked_at():
    assert faults(warning("deprecated", "UserWarning"), version="0.3.1") == []


def test_deprecations_have_the_form_and_an_end():
    found = {}
    for path in SOURCE.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        if any(category in code for category in CATEGORIES):
            found[path.relative_to(SOURCE).as_posix()] = faults(code, kernelweave.__version__)
    assert found, "the command line hides such warnings by name"
    assert not any(found.values()), found

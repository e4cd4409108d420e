"""What CONTRIBUTING.md tells of the packages, modules and files is true."""

import re
from pathlib import Path

import pytest
from test_imports import packages

import kernelweave

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOT = Path(kernelweave.__file__).parent
LONGEST = 26
TREE = TEXT.split("`tests/house/test_imports.py`.\n\n")[1].split("\n\n")[0].splitlines()


def named() -> dict[str, str]:
    """For each package or module of the tree what is said of it."""
    found: dict[str, str] = {}
    last = ""
    for line in TREE:
        name, text = line[4:22].strip(), line[22:]
        last = name or last  # a line without a name goes on
        found[last] = f"{found.get(last, '')} {text}"
    return found


def test_the_tree_is_short():
    assert len(TREE) <= LONGEST


def test_the_tree_names_every_package_and_no_other():
    assert sorted(name.rstrip("/") for name in named()) == packages()
    assert [name for name in named() if (ROOT / name).is_dir() != name.endswith("/")] == []


@pytest.mark.parametrize("package", [name for name in named() if name.endswith("/")])
def test_folders_of_a_package_are_named(package):
    folders = [path.name for path in (ROOT / package).iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert sorted(re.findall(r"(\w+)/", named()[package])) == sorted(folders)


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`((?:[a-z_*]+/)+[a-z_*]+\.(?:py|cff))`", TEXT))))
def test_files_are_there(file):
    assert any(next(root.glob(file), None) for root in (REPOSITORY, ROOT))

"""What CONTRIBUTING.md tells of the folders and their imports is true."""

import re
from pathlib import Path

import pytest

import kernelweave
from test_imports import ALLOWED

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
ROOT = Path(kernelweave.__file__).parent
LONGEST = 24


def tree_lines() -> list[str]:
    """The indented lines of the tree, without their first indent."""
    after = TEXT.split("packages and below them their rooms:\n\n")[1]
    return [line[4:] for line in after.split("\n\n")[0].splitlines()]


def named_folders() -> dict[str, list[str]]:
    """For each package of the tree its rooms, in the order of the text."""
    folders: dict[str, list[str]] = {}
    package = ""
    for line in tree_lines():
        names = re.findall(r"([a-z_]+)/", line)
        if not line.startswith(" "):
            package, *names = names
            folders[package] = []
        folders[package] += names
    return folders


def folders_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_dir() and path.name != "__pycache__"]


def test_the_tree_is_short():
    assert len(tree_lines()) <= LONGEST


def test_the_tree_names_every_package_and_no_other():
    there = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert sorted(named_folders()) == sorted(there)


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_the_tree_names_every_room_of_a_package_and_no_other(package):
    assert sorted(named_folders()[package]) == sorted(path.name for path in folders_below(ROOT / package))


def imports_by_row() -> dict[str, set[str]]:
    """What the table allows each package to import, as `test_imports` writes it."""
    rows: dict[str, set[str]] = {}
    table = TEXT.split("| package | may import |")[1]
    for package, column in re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE):
        listed, _, exceptions = column.replace("\\_", "_").partition("and all packages above except ")
        names = {name.strip().replace("scikit-learn", "sklearn") for name in listed.split(",") if name.strip()}
        above = set(rows) - set(exceptions.split(", ")) - {"validation"} if exceptions else set()
        rows[package] = names | above
    return rows


def test_the_table_of_imports_is_that_of_the_import_test():
    assert imports_by_row() == ALLOWED

"""The closed table of classes: each is where it says, and what is renamed keeps its name in files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernelweave
from forging import SavedModel
from kernelweave import MKLClassifier, kernels, load, reduction, save
from kernelweave.reduction import LDEGraph
from kernelweave.saving import registry
from kernelweave.saving.registry import CLASSES, ESTIMATORS, RENAMED, class_named, fields_of, name_in_files, name_now
from saved_builders import TWO, A


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_where_the_table_says(name):
    cls = class_named(name)
    assert isinstance(cls, type) and name_in_files(cls) == name
    assert registry.is_registered(cls) and not registry.is_registered(type(cls.__name__, (), {}))


def test_what_is_saved_is_in_the_table():
    assert set(ESTIMATORS) | set(RENAMED) <= set(CLASSES)
    assert set(registry.RENAMED_CLASSES) <= set(CLASSES)


@pytest.fixture
def renamed(monkeypatch):
    """A function that gives a class of a package another name."""

    def rename(package, old, new):
        cls = type(new, (class_named(old),), {"__module__": package.__name__})
        monkeypatch.setattr(package, new, cls, raising=False)
        monkeypatch.setitem(registry.RENAMED_CLASSES, old, new)
        class_named.cache_clear()
        return cls

    yield rename
    monkeypatch.undo()
    class_named.cache_clear()


def test_renamed_classes_keep_their_names_in_files(tmp_path, renamed):
    Bell = renamed(kernels, "Gaussian", "Bell")
    save(MKLClassifier([Bell()]).fit(A, TWO), tmp_path / "model")
    rows = SavedModel((tmp_path / "model").read_bytes()).document["rows"]
    assert {"Gaussian", "MKLClassifier"} <= {row["class"] for row in rows if "class" in row}
    assert not any(row.get("class") == "Bell" for row in rows)
    assert type(load(tmp_path / "model").kernels_[0]) is Bell


def test_renamed_attributes_go_by_the_name_of_the_class_in_files(renamed):
    Near = renamed(reduction, "LDEGraph", "Near")
    assert fields_of(Near(3, 4)) == {"k": 3, "k_between": 4, "among": "class"}
    assert vars(registry.instance_of("LDEGraph", {"n_neighbors": 3}, {}))["n_neighbors"] == 3


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_files_keep_the_names_of_parameters(name):
    value = class_named(name)()
    now, saved = vars(value), fields_of(value)
    assert set(RENAMED[name].values()) & set(saved) and not set(RENAMED[name]) & set(saved)
    assert {name_now(name, field): part for field, part in saved.items()} == now


def test_the_names_in_files_are_those_of_the_first_version():
    assert fields_of(LDEGraph(3, 4)) == {"k": 3, "k_between": 4, "among": "class"}


def test_importing_a_class_registers_nothing():
    script = """
import sys
import kernelweave.kernels, kernelweave.combiners, kernelweave.estimators, kernelweave.recipes, kernelweave.reduction
assert not any(name.startswith("kernelweave.saving") for name in sys.modules)
from kernelweave.saving import registry
table = dict(registry.CLASSES)
import kernelweave.recipes.baselines
class Bell(kernelweave.kernels.Gaussian):
    pass
print(table == registry.CLASSES and not registry.is_registered(Bell))
"""
    environment = os.environ | {"PYTHONPATH": str(Path(kernelweave.__file__).parents[1])}
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert told.stdout == "True\n"


def test_the_former_package_warns_and_works():
    from kernelweave import persistence

    assert kernelweave.persistence is persistence

    for name in persistence.__all__:
        with pytest.warns(FutureWarning, match=f"persistence.{name} is deprecated since 0.3 and goes in 0.4; use"):
            assert getattr(persistence, name) is getattr(kernelweave, name)
    with pytest.raises(AttributeError, match="no attribute 'files'"):
        persistence.files  # noqa: B018

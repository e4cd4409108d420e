"""Files that were saved by an earlier version load, and their models give what they gave then."""

import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest

import kernelweave
import saved_files
from forging import SavedModel
from kernelweave import load, save
from kernelweave.kernels import Gaussian, Linear
from kernelweave.reduction import MKLDR, LDEGraph
from kernelweave.saving.registry import CLASSES, RENAMED, class_named
from kernelweave.saving.transformers import TRANSFORMERS
from saved_builders import TWO, A
from saved_models import MODELS

EXPECTED = {version: saved_files.expected_of(version) for version in saved_files.versions()}


@pytest.fixture(scope="module", params=[pytest.param(version, marks=pytest.mark.long) for version in EXPECTED])
def fresh(request, tmp_path_factory):
    """A version, and what its models give, each in a process that has imported `kernelweave.load` only."""
    if not hasattr(os, "fork"):
        pytest.skip("forks a process for each file")
    source, tests = Path(kernelweave.__file__).parents[1], Path(saved_files.__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(tests)])}
    folder = tmp_path_factory.mktemp("versions")
    command = [sys.executable, str(tests / "saving" / "try_fresh.py"), request.param, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return request.param, {found["name"]: found for found in map(json.loads, done.stdout.splitlines())}, folder


def test_models_give_what_they_gave(fresh):
    version, told, _ = fresh
    expected = EXPECTED[version]["models"]
    assert set(told) == set(expected)
    for kind, one in told.items():
        assert set(expected[kind]["numbers"]) <= set(one["numbers"]), kind
        for name, numbers in expected[kind]["numbers"].items():
            saved_files.assert_close(one["numbers"][name], numbers, f"{kind}: {name}")


def test_load_imports_only_what_a_file_names(fresh):
    _, told, folder = fresh
    for kind, one in told.items():
        document = saved_files.document_of(folder / saved_files.file_name(kind))
        if not document["callables"]:
            assert packages(one["imported"]) <= needed(document["rows"]), kind


@pytest.mark.skipif(
    int(pd.__version__.partition(".")[0]) < 3,
    reason="the files hold tables of pandas 3, whose text has a type of its own",
)
def test_saving_again_gives_the_same_document(fresh):
    _, told, folder = fresh
    for kind in told:
        path = folder / saved_files.file_name(kind)
        again = path.with_name(f"{path.name}-again")
        saved_files.assert_same_document(SavedModel(again.read_bytes()), SavedModel(path.read_bytes()))


# What `load` imports only for files that have such classes; scikit-learn's modules import some of each other.
ON_DEMAND = {
    *("kernelweave.recipes", "kernelweave.reduction", "sklearn.compose", "sklearn.decomposition", "sklearn.impute"),
    *("sklearn.feature_extraction", "sklearn.model_selection"),
}


def packages(modules):
    return {".".join(name.split(".")[:2]) for name in modules} & ON_DEMAND


def needed(rows):
    """The packages that a file names; one that is of scikit-learn may need all of scikit-learn's, as our recipes do."""
    named = {CLASSES[row["class"]] for row in rows if row["kind"] == "object"}
    named |= {TRANSFORMERS[row["class"]][0] for row in rows if row["kind"] == "transformer"}
    ours = {f"kernelweave.{name.removeprefix('kernelweave.').split('.')[0]}" for name in named} & ON_DEMAND
    others = {name for name in ON_DEMAND if name.startswith("sklearn")}
    return ours | (others if ours or any(name.startswith("sklearn") for name in named) else set())


def test_there_is_a_file_for_every_kind_of_model():
    assert set(MODELS) <= set().union(*(each["models"] for each in EXPECTED.values())), "run tests/saving/make_files.py"


def test_renamed_parameters_keep_their_names_in_files(tmp_path):
    model = MKLDR([Linear(), Gaussian()], LDEGraph(3, 4), ridge=0.3, weights_ridge=5.0).fit(A, TWO)
    save(model, tmp_path / "model")
    rows = SavedModel((tmp_path / "model").read_bytes()).document["rows"]
    fields = {row["class"]: set(row["fields"]) for row in rows if "class" in row}
    assert {"eps", "eps_", "weights_eps"} <= fields["MKLDR"] and {"k", "k_between"} <= fields["LDEGraph"]
    again = load(tmp_path / "model")
    assert (again.ridge, again.weights_ridge, again.ridge_) == (0.3, 5.0, model.ridge_)
    assert (again.graph.n_neighbors, again.graph.n_neighbors_between) == (3, 4)
    assert set(vars(again)) == set(vars(model))


@pytest.mark.parametrize("cls", RENAMED)
def test_the_table_of_renamed_parameters_is_true(cls):
    """No parameter of today has a name that files use for another."""
    parameters = set(signature(class_named(cls).__init__).parameters)
    assert parameters & set(RENAMED[cls]) and not parameters & set(RENAMED[cls].values())

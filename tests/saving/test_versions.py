"""Files that were saved by an earlier version load, and their models give what they gave then."""

from inspect import signature

import pandas as pd
import pytest

import saved_files
from forging import SavedModel
from kernelweave import load, save
from kernelweave.kernels import Gaussian, Linear
from kernelweave.reduction import MKLDR, LDEGraph
from kernelweave.saving.registry import RENAMED, class_named
from saved_builders import TWO, A
from saved_models import MODELS, callables_of

EXPECTED = {version: saved_files.expected_of(version) for version in saved_files.versions()}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((version, name), id=f"{version}-{name}")
        for version, expected in EXPECTED.items()
        for name in expected["models"]
    ],
)
def kept(request, tmp_path_factory):
    """A file of a version, its model, new samples and what is expected of it."""
    version, name = request.param
    path = tmp_path_factory.mktemp("versions") / "kept"
    saved_files.unpack(version, name, path)
    expected = EXPECTED[version]["models"][name]
    new = saved_files.samples_from_json(EXPECTED[version]["samples"][expected["samples"]])
    return path, load(path, callables_of(name)), new, expected["numbers"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_give_what_they_gave(kept):
    _, model, new, expected = kept
    found = saved_files.numbers_of(model, new)
    assert set(expected) <= set(found)
    for name, numbers in expected.items():
        saved_files.assert_close(found[name], numbers, name)


@pytest.mark.skipif(
    int(pd.__version__.partition(".")[0]) < 3,
    reason="the files hold tables of pandas 3, whose text has a type of its own",
)
def test_saving_again_gives_the_same_document(kept, tmp_path):
    path, model, *_ = kept
    save(model, tmp_path / "again")
    saved_files.assert_same_document(SavedModel((tmp_path / "again").read_bytes()), SavedModel(path.read_bytes()))


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

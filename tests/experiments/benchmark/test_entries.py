"""Entries: files of methods, what is wrong with them in words, and the methods that come with the library."""

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.benchmark import choose_methods, list_methods, load_entry
from experiments.benchmark.entries import find_method, is_there
from experiments.benchmark.measures import log_loss
from experiments.benchmark.selection import BUDGET
from kernelweave import stack_views
from kernelweave.compare import Problem

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
MASK = np.arange(40)[:, None] % 5 == 0
A = RNG.normal(size=(40, 3)) + Y[:, None]
B = RNG.normal(size=(40, 2)) - Y[:, None]
PROBLEMS = {
    "views": Problem(stack_views({"a": A, "b": B}), Y, views={"a": "a", "b": "b"}),
    "masked": Problem(stack_views({"a": np.where(MASK, np.nan, A), "b": B}), Y, views={"a": "a", "b": "b"}),
    "kernels": Problem(stack_views({"a": A}), Y, views={"a": "a"}),
}
GOOD = "from sklearn.svm import SVC\nNAME = 'mine'\n\ndef candidates(problem):\n    return {'C=1': SVC()}\n"


def written(tmp_path, text, name="entry.py"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("entry", [entry for entry in list_methods() if is_there(entry)], ids=lambda entry: entry.name)
def test_every_method_can_be_fitted_to_every_kind_of_problem(entry, kind):
    problem = PROBLEMS[kind]
    selection = entry(problem)[entry.name]
    assert 1 <= len(selection.candidates) <= BUDGET
    first = next(iter(selection.candidates.values()))
    if kind == "masked" and entry.name in ("product of kernels",):
        with pytest.raises(ValueError, match="every view"):
            first.fit(problem.X, problem.y)
        return
    assert np.mean(first.fit(problem.X, problem.y).predict(problem.X) == problem.y) > 0.6


def test_auto_chooses_by_itself_with_classes_that_folds_lack():
    """One class has one sample, which some folds lack, and one class of the test is new."""
    y = Y.copy()
    y[1] = 2
    problem = Problem(PROBLEMS["masked"].X, y, views=PROBLEMS["masked"].views)
    (selection,) = find_method("auto")(problem).values()
    assert list(selection.candidates) == [""]
    model = selection.fit(problem.X, y)
    assert model.scores_.keys() == {""} and np.isnan(model.scores_[""])  # fitted once, without folds
    chosen = model.best_estimator_
    assert model.setting_.startswith(f"method={chosen.method_}") and model.n_stored_ == chosen.n_stored_
    assert model.predict_proba(problem.X).shape == (40, 3)
    assert 0.0 < log_loss(model, problem.X, np.where(y == 2, 3, y)) < 3.0


def test_all_families_and_rivals_are_there():
    names = {
        entry.family: [other.name for other in list_methods() if other.family == entry.family]
        for entry in list_methods()
    }
    assert len(names["kernelweave"]) >= 12 and len(names["rival"]) >= 6
    everything = [name for family in names.values() for name in family]
    assert len(set(everything)) == len(everything)


def test_methods_by_name_and_family():
    assert find_method("easymkl").name == "EasyMKL"
    assert {entry.family for entry in choose_methods(["rival"])} == {"rival"}
    assert [entry.name for entry in choose_methods(["LpMKL", "lpmkl"])] == ["LpMKL"]
    with pytest.raises(ValueError, match="no method 'LpMLK'.*did you mean 'LpMKL'"):
        choose_methods(["LpMLK"])


def test_a_method_without_its_package(monkeypatch):
    from experiments.benchmark.methods import himalaya_ridge

    monkeypatch.setattr(himalaya_ridge, "REQUIRES", "surely_not_there")
    assert "himalaya ridge" not in {entry.name for entry in choose_methods(None)}
    with pytest.raises(ValueError, match="package of 'himalaya ridge' is not installed"):
        choose_methods(["himalaya ridge"])


def test_an_entry_is_loaded_and_its_version_is_that_of_the_file(tmp_path):
    first = load_entry(written(tmp_path, GOOD))
    assert (first.name, first.family) == ("mine", "entry")
    selection = first(PROBLEMS["views"])["mine"]
    assert isinstance(selection.candidates["C=1"], SVC) and selection.version == first.version
    assert load_entry(written(tmp_path, GOOD + "# changed\n", "other.py")).version != first.version


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NAME = 3\n", "entry.py: NAME must be the name of the method"),
        ("NAME = 'mine'\n", r"entry.py: there is no function candidates\(problem\)"),
        ("import surely_not_there\n", "entry.py cannot be loaded: ModuleNotFoundError.*surely_not_there"),
        ("def :\n", "entry.py cannot be loaded: SyntaxError"),
        (GOOD.replace("mine", "LpMKL"), "entry.py: the benchmark has a method 'LpMKL' already"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_entry(written(tmp_path, text))


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*nowhere.py"):
        load_entry(tmp_path / "nowhere.py")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("[SVC()]", "entry.py: candidates.* must return a dict .* not list"),
        ("{}", "entry.py: candidates.* returned 0 settings"),
        ("{k: SVC(C=k) for k in range(1, 10)}", "returned 9 settings; every method may try 1 to 8"),
        ("{'a': 'SVC'}", "the setting 'a' is no classifier .* but str"),
        ("{'a': SVC}", r"the setting 'a' is a class; make an object of it, SVC\(...\)"),
    ],
)
def test_what_is_wrong_with_candidates(tmp_path, found, message):
    entry = load_entry(written(tmp_path, GOOD.replace("{'C=1': SVC()}", found)))
    with pytest.raises(ValueError, match=message):
        entry(PROBLEMS["views"])


def test_candidates_that_raise_are_a_failure_of_this_data_set(tmp_path):
    text = GOOD.replace("return", "raise KeyError('no view c')\n    return")
    selection = load_entry(written(tmp_path, text))(PROBLEMS["views"])["mine"]
    with pytest.raises(ValueError, match="candidates.* raised KeyError: 'no view c'"):
        selection.fit(PROBLEMS["views"].X, Y)

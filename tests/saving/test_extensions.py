"""Models with kernels, gates, combiners and machines of a user's own are saved, and loaded with the classes given."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from forging import SavedModel
from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import Localized, Mean
from kernelweave.kernels import Function, Gaussian, Linear, ViewKernel
from own_classes import (
    CALLS,
    CLASSES,
    MODELS,
    Bump,
    Cauchy,
    Doubled,
    Largest,
    LargestKernel,
    Rising,
    Squared,
)
from saved_builders import NEW, THREE, TWO, VALUE, A


@pytest.fixture(params=list(MODELS))
def own(request, tmp_path):
    """A fitted model, its file and the classes it needs."""
    model = MODELS[request.param]()
    save(model, tmp_path / "model")
    return model, tmp_path / "model", CLASSES[request.param]


def values(model):
    return model.predict(NEW) if isinstance(model, MKLRegressor) else model.decision_function(NEW)


def test_round_trip(own, tmp_path):
    model, path, classes = own
    CALLS.clear()
    again = load(path, classes=[*classes, Unneeded])
    assert CALLS == []  # attributes are set, nothing is called
    np.testing.assert_array_equal(values(again), values(model))
    np.testing.assert_array_equal(again.kernel_weights(NEW), model.kernel_weights(NEW))
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert sorted(SavedModel(path.read_bytes()).document["classes"]) == sorted(cls.__name__ for cls in classes)


class Unneeded(Linear):
    pass


def test_attributes_come_back(tmp_path):
    model = MKLClassifier([Cauchy([0, 1], factor=np.float32(2.0))]).fit(A, TWO)
    save(model, tmp_path / "model")
    kernel, before = load(tmp_path / "model", classes=[Cauchy]).kernels_[0], model.kernels_[0]
    assert type(kernel) is Cauchy and kernel.spread_ == before.spread_ and type(kernel.factor) is np.float32
    assert kernel.seen_["shape"] == before.seen_["shape"]
    np.testing.assert_array_equal(kernel.seen_["mean"], before.seen_["mean"])


def test_a_loaded_model_fits_again(own):
    model, path, classes = own
    if Doubled in classes:
        return  # its rule was put there after the fit
    again = load(path, classes=classes)
    y = {True: VALUE, False: THREE if len(getattr(model, "classes_", ())) == 3 else TWO}[
        isinstance(model, MKLRegressor)
    ]
    np.testing.assert_array_equal(values(clone(again).fit(A, y)), values(model))


def test_missing_classes_are_named(own):
    _, path, classes = own
    names = SavedModel(path.read_bytes()).document["classes"]
    for given in (None, [], [Unneeded]):
        with pytest.raises(ValueError, match="cannot load .* it needs the class") as caught:
            load(path, classes=given)
        assert f"load(path, classes=[{', '.join(names)}])" in str(caught.value)
        assert all(repr(cls.__name__) in str(caught.value) for cls in classes)


def test_only_what_is_missing_is_named(tmp_path):
    save(MODELS["several"](), tmp_path / "model")
    with pytest.raises(ValueError, match="it needs the class 'Rising', not"):
        load(tmp_path / "model", classes=[Cauchy])


def test_classes_are_given_for_one_call_only(tmp_path):
    save(MODELS["kernel"](), tmp_path / "model")
    load(tmp_path / "model", classes=[Cauchy])
    with pytest.raises(ValueError, match="it needs the class 'Cauchy'"):
        load(tmp_path / "model")


def renamed(name, base=ViewKernel):
    return type(name, (base,), {"__module__": __name__})


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (Cauchy, "classes must be a list .* not <class"),
        (["Cauchy"], "'Cauchy' is no class"),
        ([Cauchy()], "is no class"),
        ([dict], "dict is derived from none of Kernel, Gate, Combiner, CombinedKernel, Loss, Machine"),
        ([MKLClassifier], "MKLClassifier is part of kernelweave"),
        ([type("Mine", (MKLClassifier,), {})], "Mine is derived from none of"),
        ([Gaussian], "Gaussian is part of kernelweave and need not be given"),
        ([renamed("Gaussian")], "Gaussian has the name of a class of kernelweave, Gaussian; give it another name"),
        ([Cauchy, renamed("Cauchy")], "Cauchy has the name of another class, Cauchy"),
    ],
)
def test_classes_that_cannot_be(tmp_path, classes, message):
    save(MODELS["kernel"](), tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model", classes=classes)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([renamed("Linear", Gaussian)()], "is of a class that has the name of a class of kernelweave, Linear"),
        ([Cauchy([0]), ("b", renamed("Cauchy", Cauchy)([1]))], "is of a class that has the name of another class"),
    ],
)
def test_names_that_clash_are_not_saved(tmp_path, kernels, message):
    model = MKLClassifier(kernels).fit(A, TWO)
    with pytest.raises(ValueError, match=rf"MKLClassifier.kernels\[.*{message}"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("helper_", np.random.default_rng(0), "helper_ is a random number generator"),
        ("helper_", object(), "helper_ is of the class object, which kernelweave does not save"),
        ("helper_", {"a": [{1}]}, r"helper_\[1\]\[0\] is of the class set"),
        ("cross", np.dot, "has the attribute cross, which its class Cauchy has as a method"),
    ],
)
def test_attributes_that_cannot_be_saved_are_named(tmp_path, name, value, message):
    model = MKLClassifier([Cauchy()]).fit(A, TWO)
    vars(model.kernels_[0])[name] = value
    with pytest.raises(ValueError, match=rf"MKLClassifier.*\[0\].*{message}"):
        save(model, tmp_path / "model")


def test_a_parameter_that_is_newer_than_the_file_has_its_default(tmp_path):
    save(MODELS["kernel"](), tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    rows = [
        {**row, "fields": {name: part for name, part in row["fields"].items() if name != "factor"}}
        if row.get("class") == "Cauchy"
        else row
        for row in file.document["rows"]
    ]
    file.written(tmp_path / "older", rows=rows)
    assert load(tmp_path / "older", classes=[Cauchy]).kernels_[0].factor == 1.0


class TestForged:
    """Files with right checksums that no `save` wrote."""

    def forged(self, path, model, change):
        save(model, path)
        file = SavedModel(path.read_bytes())
        rows = change(file) or file.document["rows"]
        file.written(path, rows=rows)

    def test_a_class_that_the_file_does_not_list(self, tmp_path):
        def change(file):
            file.document["classes"] = []

        self.forged(tmp_path / "model", MODELS["kernel"](), change)
        with pytest.raises(ValueError, match="unknown class 'Cauchy'"):
            load(tmp_path / "model", classes=[Cauchy])

    @pytest.mark.parametrize("classes", [None, "Cauchy", 3, [3], [None], {"Cauchy": 1}, ["Gaussian", "Cauchy"]])
    def test_a_list_of_classes_that_is_none(self, tmp_path, classes):
        def change(file):
            file.document["classes"] = classes

        self.forged(tmp_path / "model", MODELS["kernel"](), change)
        with pytest.raises(ValueError, match="^cannot load .* it(s list of classes is not valid| lists 'Gaussian')"):
            load(tmp_path / "model", classes=[Cauchy])

    @pytest.mark.parametrize("name", ["os", "SVC", "Unneeded", "__class__", "object"])
    def test_other_classes_are_never_made(self, tmp_path, name):
        def change(file):
            return [{**row, "class": name} if row.get("class") == "Cauchy" else row for row in file.document["rows"]]

        self.forged(tmp_path / "model", MODELS["kernel"](), change)
        with pytest.raises(ValueError, match=f"unknown class {name!r}"):
            load(tmp_path / "model", classes=[Cauchy, Unneeded])

    @pytest.mark.parametrize("field", ["cross", "__class__", "__dict__", "name", "not a name"])
    def test_attributes_that_are_not_data(self, tmp_path, field):
        def change(file):
            return [
                {**row, "fields": {**row["fields"], field: 1}} if row.get("class") == "Cauchy" else row
                for row in file.document["rows"]
            ]

        self.forged(tmp_path / "model", MODELS["kernel"](), change)
        with pytest.raises(ValueError, match=f"gives a Cauchy the attribute {field!r}, which is not data"):
            load(tmp_path / "model", classes=[Cauchy])

    @pytest.mark.parametrize(
        ("name", "path", "value", "message"),
        [
            ("kernel", "kernels_.0.columns_", np.array([0, 9]), "columns_ holds 9 where numbers below 5"),
            ("kernel", "kernels_.0.label_", 3, "label_ is 3 where text is expected"),
            ("kernel of a kernel", "kernels_.1.inner_.0.scale_", -1.0, r"inner_\[0\].scale_ is -1.0"),
            ("kernel of a kernel", "kernels_.0.inner_.0.columns_", np.array([]), r"inner_\[0\].columns_ is an array"),
            ("combiner", "combiner_", Localized(), "combiner_ lacks the attribute gating_"),
            ("combiner", "_rule", Cauchy(), "_rule is a Cauchy, which it never is"),
            ("gate", "combiner_.gating_", Cauchy(), "gating_ is a Cauchy, which it never is"),
            ("gate", "combiner_.gating_.norm", "odd", "norm is 'odd'"),
            ("combined kernel", "_kernel.stack.rows", np.array([-1]), "_state.stack.rows "),
            ("combined kernel", "combiner_", Mean(), "_state is a LargestKernel, which Mean never has"),
            ("machine", "classes_", np.array(["a", "b", "c"]), "_rule has the length 2 where 3"),
        ],
    )
    def test_parts_of_kernelweave_are_checked(self, tmp_path, name, path, value, message):
        model = MODELS[name]()
        save(model, tmp_path / "model")
        model = load(tmp_path / "model", classes=CLASSES[name])
        *owners, last = path.split(".")
        owner = model
        for step in owners:
            owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
        vars(owner)[last] = value
        save(model, tmp_path / "model")
        with pytest.raises(ValueError, match=f"^cannot load .*: its .*{message}"):
            load(tmp_path / "model", classes=[Cauchy, Squared, Bump, Rising, Largest, LargestKernel, Doubled])


def test_functions_among_the_attributes_are_saved_by_name(tmp_path):
    def product(P, Q):
        return P @ Q.T

    model = MKLClassifier([Squared(Function(product))]).fit(A, TWO)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="needs the callable 'product'"):
        load(tmp_path / "model", classes=[Squared])
    again = load(tmp_path / "model", {"product": product}, classes=[Squared])
    np.testing.assert_array_equal(values(again), values(model))


def test_files_without_own_classes_say_nothing_of_classes(tmp_path):
    save(MKLClassifier([Linear()], Mean()).fit(A, TWO), tmp_path / "model")
    assert not re.search(b'"classes":', (tmp_path / "model").read_bytes())

"""Forged files with right checksums: `load` refuses them, or what it returns predicts without surprises.

Takes about 20 seconds: of each attribute one array is changed in two models, written, loaded and predicted with.
"""

import hashlib
import io
import json
import os
import re
import signal
import tracemalloc
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import pytest

import saved_files
from forging import SECONDS, SavedModel, changed_arrays, changed_values, holders, try_out
from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import FixedWeights, KernelDifference, Localized, Projected
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.saving import models
from kernelweave.saving.archive import checksum, seal_of
from saved_builders import NEW, TWO, VALUE, A
from saved_models import MODELS

pytestmark = pytest.mark.long

# Changed values in the document of each model, twice the changed arrays of those that nearly every model holds, and
# models in which each other attribute's array is changed; raise it to look longer.
N_FORGERIES = int(os.environ.get("KERNELWEAVE_FORGERIES", "2"))
_MODELS = ("MKLClassifier", "MKLRegressor")
EVERYWHERE = {
    ("KeptColumns", "blocks"),
    ("Views", "positions"),
    *(("KernelStack", field) for field in ("active", "present", "rows", "weight")),
    *(("Normalizer", field) for field in ("factor_", "present_")),
    *((kernel, "columns_") for kernel in ("Linear", "Gaussian", "Polynomial")),
    *((model, field) for model in _MODELS for field in ("_theta", "dual_coef_", "history_", "intercept_", "support_")),
    *((model, field) for model in _MODELS for field in ("kernel_weights_", "gating_summary_", "projections_")),
    ("MKLClassifier", "classes_"),
}


@pytest.fixture(autouse=True)
def _no_hang():
    """End a test that hangs."""

    def stop(number, frame):
        raise AssertionError(f"took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@cache
def forged_in():
    """For each (class, attribute) that holds an array, the models in which it is changed: a few, far from each other.

    Which models hold it is read from the kept files, of which there is one for each model.
    """
    found = {}
    for name in MODELS:
        file = SavedModel(saved_files.unpacked(saved_files.newest(name), name))
        for holder in dict.fromkeys(holders(file.document["rows"]).values()):
            found.setdefault(holder, []).append(name)
    return {holder: names[:: -(-len(names) // N_FORGERIES)] for holder, names in found.items()}


def forged_arrays(file, name, rng):
    """Files with one changed array: (what was changed, what is written); the planned ones, then all others."""
    holder, planned, others = holders(file.document["rows"]), [], []
    members = list(file.arrays)
    members = [members[k] for k in rng.permutation(len(members))]
    common = [member for member in members if holder[member] in EVERYWHERE][: max(1, N_FORGERIES // 2)]
    chosen = {holder[member]: member for member in members if name in forged_in().get(holder[member], [name])}
    chosen = [member for owner, member in chosen.items() if owner not in EVERYWHERE]  # one for each holder
    for member in members:
        variations = list(changed_arrays(file.arrays[member], rng))
        variations = [(member, *variations[k]) for k in rng.permutation(len(variations))]
        n_planned = max(1, N_FORGERIES // 8) if member in (*common, *chosen) else 0
        planned += variations[:n_planned]
        others += variations[n_planned:]
    return planned, others


def test_forged_arrays_and_numbers(saved, tmp_path, request):
    model, new, path, callables = saved
    file, rng = SavedModel(path.read_bytes()), np.random.default_rng(len(path.read_bytes()))
    forged = tmp_path / "forged"

    def refuses_array(member, what, other):
        file.written(forged, arrays={**file.arrays, member: other})
        return try_out(forged, callables, new, (member, what))

    file.written(forged)
    assert type(load(forged, callables)) is type(model)  # what is written without a change loads
    planned, others = forged_arrays(file, request.node.callspec.params["saved"], rng)
    refused = sum([refuses_array(*forgery) for forgery in planned])
    places = file.places()
    for k in rng.permutation(len(places))[:N_FORGERIES]:
        values = list(changed_values(file.at(places[k]), len(file.document["rows"]), rng))
        other = values[rng.integers(len(values))]
        file.written(forged, rows=file.changed_rows(places[k], other))
        refused += try_out(forged, callables, new, (places[k], file.at(places[k]), other))
    assert refused or any(refuses_array(*forgery) for forgery in others)


def test_every_attribute_is_forged_somewhere():
    assert len(forged_in()) > 150 and all(names for names in forged_in().values())


@pytest.fixture
def forge(tmp_path, monkeypatch):
    """Save a model, change one attribute inside it, and say what `load` says."""

    def attempt(model, change):
        save(model, tmp_path / "model")
        with monkeypatch.context() as patch:
            patch.setattr(models.Decoder, "unpack", lambda decoder: None)  # the fields of the file, as they are
            loaded = load(tmp_path / "model")
        change(loaded)
        with monkeypatch.context() as patch:
            patch.setattr(models, "_SupportColumns", lambda model: lambda value: value)  # it looks into the model
            save(loaded, tmp_path / "model")
        with pytest.raises(ValueError, match="^cannot load .*: its ") as caught:
            load(tmp_path / "model")
        assert "\n" not in str(caught.value)
        return str(caught.value).partition(": its ")[2]

    return attempt


def put(path, value):
    """A change of one attribute: ``put("_state.rows", ...)``; a function is applied to what is there."""

    def change(model):
        *owners, name = path.split(".")
        for owner in owners:
            model = model[int(owner)] if owner.isdigit() else getattr(model, owner)
        old = vars(model).get(name)
        vars(model)[name] = value(old) if callable(value) else value

    return change


KERNELS = [Linear([0, 1]), Gaussian(), Polynomial()]
BINARY = MKLClassifier(KERNELS).fit(A, TWO)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("dual_coef_", lambda old: old[:, :-1], r"support_ has the length \d+ where \d+ .support. is expected"),
        ("dual_coef_", lambda old: old.astype(complex), "dual_coef_ is an array of complex128, which it never is"),
        ("dual_coef_", lambda old: old * np.nan, "dual_coef_ holds NaN or infinity"),
        ("dual_coef_", lambda old: old[0], "dual_coef_ has 1 dimension"),
        ("intercept_", lambda old: np.zeros(2), "intercept_ has the length 2 where 1 .outputs. is expected"),
        ("classes_", lambda old: old[:1], "classes_ are no classes"),
        ("classes_", lambda old: np.array(["a", "b", "c"]), "_rule has the length 2 where 3 .classes. is expected"),
        ("_theta", lambda old: old[:-1], "_theta has the length 2 where 3 .kernels. is expected"),
        ("_theta", lambda old: 0.0 * old, "_theta uses no kernel"),
        ("_state", None, "_state is a NoneType, which it never is"),
        ("_rule", Linear(), "_rule is a Linear, which it never is"),
        ("combiner_", Localized(), "combiner_ lacks the attribute gating_"),
        ("combiner_", KernelDifference(), "_state is a KernelStack, which KernelDifference never has"),
        ("kernels_", lambda old: old[:2], "kernel_names_ has the length 3 where 2 .kernels. is expected"),
        ("kernels_", lambda old: [Linear(), *old[1:]], r"kernels_\[0\] lacks the attribute columns_"),
        ("kernels_.0.columns_", np.array([0, 5]), r"columns_ holds 5 where numbers below 5 .columns. are expected"),
        ("kernels_.1.scale_", 0.0, r"kernels_\[1\].scale_ is 0.0 where a positive number"),
        ("_state.kernels.1.sparse_", True, r"kernels\[1\].sparse_ is True where the training samples are not sparse"),
        ("kernels_.2.degree", 10**12, r"kernels_\[2\].degree is 1000000000000"),
        ("n_features_in_", 2**40, "n_features_in_ is 1099511627776"),
        ("n_features_in_", 4, "has the length 5 where 4 .columns. is expected|below 4 .columns."),
        ("_state.rows", lambda old: old + 1, "_state.rows holds .* where numbers below"),
        ("_state.rows", lambda old: old - 1, "_state.rows holds -1, which is less than 0"),
        ("_state.present", lambda old: old[:, :2], "_state.present has the length 2 where 3"),
        ("_state.active", lambda old: np.array([True, True, False]), "_theta uses no kernel, or one of which nothing"),
        ("_state.dtype", np.dtype("<U3"), "_state.dtype is "),
        ("_state.normalizers.1.factor_", lambda old: old[1:], "factor_ has the length"),
        ("_state.normalizers.1.method", "center", r"normalizers\[1\].weight_ is a NoneType"),
        ("_state.repairs.0.method", "mend", r"repairs\[0\].method is 'mend', which is none of"),
        ("_state.reference.X.blocks", lambda old: [], "_state.reference lacks columns of the kernel 'linear'"),
        ("_state.reference.positions", lambda old: old[1:], "positions has the length"),
        ("random_state_of_mine", 1, "has the attribute random_state_of_mine, which a MKLClassifier never has"),
    ],
)
def test_attributes_that_do_not_fit(forge, path, value, message):
    assert re.search(message, forge(BINARY, put(path, value)))


def test_sparse_views_that_do_not_fit(forge):
    model, _ = MODELS["sparse view, missing"]()
    kept = "_state.reference.X.sparse"

    def change(place, new):
        return put(kept, lambda old: [tuple(new(part) if i == place else part for i, part in enumerate(old[0]))])

    assert "sparse_ is True where the training samples are not sparse" in forge(model, put(kept, None))
    assert "is a NoneType where a sparse matrix" in forge(model, change(1, lambda old: None))
    assert "has the length 2 where 3 (block) is expected" in forge(model, change(1, lambda old: old[:, :2]))
    assert "holds NaN or infinity" in forge(model, change(1, lambda old: old * np.nan))
    assert "has the length" in forge(model, change(2, lambda old: old[1:]))
    assert "is an array of float64" in forge(model, change(2, lambda old: old * 1.0))
    assert "has entries of samples that lack the view" in forge(model, change(2, lambda old: np.zeros_like(old)))
    assert "hold columns twice" in forge(model, change(0, lambda old: old + 1))
    assert "holds 5 where numbers below 5" in forge(model, change(0, lambda old: old + 3))
    assert "sparse_ is True where" in forge(model, put("_state.kernels.1.sparse_", True))


def test_states_of_learned_kernels_that_do_not_fit(forge):
    localized = MKLClassifier(KERNELS, Localized(), random_state=0).fit(A, TWO)
    assert "_theta has the length" in forge(localized, put("_theta", lambda old: old[:-3]))
    assert "gates has the length" in forge(localized, put("_state.gates", lambda old: old[:, :2]))
    assert "mean_ has the length" in forge(localized, put("_state.inputs.mean_", lambda old: old[1:]))
    projected = MKLRegressor(KERNELS, Projected(2), random_state=0).fit(A, VALUE)
    assert "_theta has the length" in forge(projected, put("_theta", lambda old: old[1:]))
    assert "directions[0] has the length" in forge(
        projected, put("_state.directions", lambda old: [old[0][1:], *old[1:]])
    )
    assert "points[1] has the length" in forge(
        projected, put("_state.points", lambda old: [old[0], old[1][1:], old[2]])
    )


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("labels", lambda old: old[:-1], "labels has the length"),
        ("labels", lambda old: old.where(old != "s3", "s4"), "labels holds a label twice"),
        ("labels", lambda old: pd.RangeIndex(len(old)), "labels is no pandas index of text"),
        ("labels", lambda old: old.tolist(), "labels is no pandas index of text"),
        ("absent", lambda old: old[1:], "absent has the length"),
        ("absent", lambda old: old * 1.0, "absent is an array of float64"),
    ],
)
def test_labels_that_do_not_fit(forge, name, change, message):
    model, _ = MODELS["precomputed, labels, blocks"]()
    assert message in forge(model, put(f"kernels_.2.{name}", change))


def test_a_clinical_kernel_that_does_not_fit(forge):
    model, _ = MODELS["clinical"]()
    assert "spread_ holds -1.0" in forge(model, put("kernels_.0.spread_", lambda old: old - 1.0 - old))
    assert "low_ has the length" in forge(model, put("kernels_.0.low_", lambda old: old[1:]))
    assert "levels_[0] is a str" in forge(model, put("kernels_.0.levels_", lambda old: ["ab", *old[1:]]))


def peak_of_loading(path):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="cannot load"):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["series", "frame", "empty frame", "text of no bytes", "empty array"])
def test_small_files_never_ask_for_much(tmp_path, kind):
    """Each makes much out of nothing: a number repeated along an index, or an array of entries without bytes."""
    save(MKLClassifier([Linear(), Gaussian()], FixedWeights([1.0, 0.0])).fit(A, TWO), tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    arrays, rows = dict(file.arrays), list(file.document["rows"])
    member, n = f"arrays/{len(arrays)}.npy", 10**7
    arrays[member] = np.zeros((0, 10**12)) if kind == "empty array" else np.array(1.0)
    first = len(rows) - 1
    rows[first:first] = [
        {"kind": "array", "member": member, "writeable": True},
        {"kind": "range index", "parts": [0, n, 1, None]},
        {"kind": "range index", "parts": [0, 1, 1, None]},
        {"kind": "series", "parts": [{"ref": first}, {"ref": first + 1}, None]}
        if kind == "series"
        else {"kind": "frame", "parts": [{"ref": first + 1}, {"ref": first + 2}, {"ref": first}]}
        if kind == "frame"
        else {"kind": "frame", "parts": [{"ref": first + 1}, {"ref": first + 1}]}
        if kind == "empty frame"
        else {"kind": "list", "parts": [{"ref": first}]},
    ]
    file.written(tmp_path / "forged", arrays=arrays, rows=rows)
    if kind == "text of no bytes":
        forge_text_of_no_bytes(file, tmp_path / "forged", n)
    assert (tmp_path / "forged").stat().st_size < 60_000
    assert peak_of_loading(tmp_path / "forged") < 2 * 10**6


def forge_text_of_no_bytes(file, path, n):
    """An npy member of n entries of the type ``<U0``, which has no bytes behind its header."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<U0", "fortran_order": False, "shape": (n,)})
    document, name, data = file.document, "arrays/0.npy", header.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    document["members"][name].update(dtype="<U0", shape=[n], fortran_order=False, size=len(data), sha256=digest)
    document["sha256"] = checksum(document)
    with open(path, "w+b") as target:
        with zipfile.ZipFile(target, "w") as archive:
            archive.comment = b"0" * 64
            archive.writestr("model.json", json.dumps(document))
            for member, array in file.arrays.items():
                content = io.BytesIO()
                np.save(content, array)
                archive.writestr(member, data if member == name else content.getvalue())
        target.flush()
        target.write(seal_of(target))


def test_values_that_multiply(tmp_path):
    """Sixty sums, each of the sum before and itself, would be 2^60 kernels."""
    save(MKLClassifier([Linear() + Gaussian()]).fit(A, TWO), tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    rows = list(file.document["rows"])
    (place,) = (k for k, row in enumerate(rows) if row.get("class") == "KernelSum" and "first_" in row["fields"])
    deep = [rows[place]]
    for k in range(60):
        fields = {name: {"ref": place + k} for name in ("first", "second", "first_", "second_")}
        deep.append({"kind": "object", "class": "KernelSum", "fields": fields})

    def moved(value):
        if isinstance(value, dict):
            if "ref" in value:
                return {"ref": value["ref"] + 60 * (value["ref"] >= place)}
            return {key: moved(part) for key, part in value.items()}
        return [moved(part) for part in value] if isinstance(value, list) else value

    file.written(tmp_path / "forged", rows=[*rows[:place], *deep, *(moved(row) for row in rows[place + 1 :])])
    signal.alarm(SECONDS)
    with pytest.raises(ValueError, match="contain each other more often"):
        load(tmp_path / "forged")


def test_random_bytes_under_a_right_seal(tmp_path):
    save(BINARY, tmp_path / "model")
    content, rng = (tmp_path / "model").read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(content)
        for place in rng.integers(len(content) - 64, size=rng.integers(1, 5)):
            changed[place] = rng.integers(256)
        with open(tmp_path / "forged", "w+b") as file:
            file.write(changed)
            file.flush()
            file.write(seal_of(file))
        if bytes(changed) != content:
            try_out(tmp_path / "forged", None, NEW, "random bytes")

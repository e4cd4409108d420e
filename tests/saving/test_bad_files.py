"""Damaged, foreign and hostile files end in one clear error, never in a wrong model."""

import hashlib
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import MKLClassifier, load, save
from kernelweave.kernels import Function, Gaussian, Linear
from kernelweave.saving.archive import checksum, seal_of
from saved_builders import CALLABLES, FRAME, NEW, TWO, A, N

MODEL = MKLClassifier([Linear([0, 1]), Gaussian()]).fit(A, TWO)


def saved_bytes(folder, model=MODEL):
    save(model, folder / "model")
    return (folder / "model").read_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return saved_bytes(tmp_path_factory.mktemp("content"))


@pytest.fixture
def refused(tmp_path):
    """Check that bytes are refused with a message."""

    def check(data, message, callables=None):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match=message) as caught:
            load(tmp_path / "bad", callables)
        assert str(caught.value).startswith("cannot load")

    return check


def rewritten(content, change=lambda document, members: None, seal=True, compression=zipfile.ZIP_STORED):
    """The archive after a change of its document and members, with checksums that fit again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members.pop("model.json"))
    members = change(document, members) or members
    if seal:
        document["sha256"] = checksum(document)
    members["model.json"] = json.dumps(document).encode()
    return zipped(members, compression)


def zipped(members, compression=zipfile.ZIP_STORED):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.comment = b"0" * 64
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, data)
    target.write(seal_of(target))
    return target.getvalue()


def npy(array, allow_pickle=False):
    target = io.BytesIO()
    np.save(target, array, allow_pickle=allow_pickle)
    return target.getvalue()


def put(document, members, name, data, **claims):
    """Replace a member, with its checksum and size in the document."""
    members[name] = data
    document["members"][name].update({"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), **claims})


def first_of(document, kind):
    return next(row for row in document["rows"] if row["kind"] == kind)


def test_rewriting_without_a_change_loads(content, tmp_path):
    (tmp_path / "same").write_bytes(rewritten(content))
    np.testing.assert_array_equal(load(tmp_path / "same").decision_function(NEW), MODEL.decision_function(NEW))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("data", [b"", b"PK", b"kernelweave", pickle.dumps({"a": 1}), bytes(5000), npy(np.arange(3))])
def test_not_a_zip(refused, data):
    refused(data, "no zip archive, so it is no saved model or it was cut short")


@pytest.mark.parametrize("members", [{}, {"a.txt": b"x"}, {"arrays/0.npy": npy(np.arange(3))}])
def test_a_foreign_zip(refused, members):
    refused(zipped(members), "zip archive without model.json")


@pytest.mark.parametrize("document", ["[]", "{}", "3", '{"format": "another"}'])
def test_a_foreign_document(refused, document):
    refused(zipped({"model.json": document}), "does not describe a kernelweave model")


@pytest.mark.parametrize("document", ["", "{", "\ufffd", "[" * 100_000, '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_a_broken_document(refused, document):
    refused(zipped({"model.json": document.encode()}), "cannot load")


def test_a_truncated_file(refused, content):
    for length in [*range(0, len(content), 97), *range(len(content) - 60, len(content))]:
        refused(content[:length], "cannot load")


def test_a_newer_version(refused, content):
    refused(rewritten(content, lambda d, m: d.update(version=2)), "format version 2, but .* up to 1; install the newer")
    refused(rewritten(content, lambda d, m: d.update(version=2), seal=False), "format version 2")
    for version in (0, "1", None, True, 1.0):
        refused(rewritten(content, lambda d, m, version=version: d.update(version=version)), "does not exist")


def test_a_changed_document(refused, content):
    refused(
        rewritten(content, lambda d, m: d.update(callables=["f"]), seal=False), "checksum of its model.json is wrong"
    )


def test_an_unknown_class(refused, content):
    for name in ("Popen", "os.system", "SVC", "Kernel", ""):
        refused(
            rewritten(content, lambda d, m, name=name: first_of(d, "object").update({"class": name})), "unknown class"
        )


@pytest.mark.parametrize("field", ["predict", "__class__", "__dict__", "__reduce__", "offset_ x", "gram"])
def test_attributes_that_are_not_data(refused, content, field):
    def change(document, members):
        row = next(
            row
            for row in document["rows"]
            if row.get("class") == ("KernelStack" if field == "gram" else "MKLClassifier")
        )
        row["fields"][field] = 1

    refused(rewritten(content, change), "which is not data")


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [([10**15], "<f8"), ([10**9, 10**9], "<f8"), ([2**62, 4], "<f8"), ([10**30], "|u1"), ([3], f"<U{10**8}")],
)
def test_an_absurd_size(refused, content, shape, dtype):
    header = npy(np.arange(3.0))[:10] + str({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).encode()
    data = header.ljust(127) + b"\n" + bytes(24)

    def change(document, members):
        put(document, members, "arrays/0.npy", data, shape=shape, dtype=dtype)

    refused(rewritten(content, change), "claims an array of shape .* but has 24 bytes")


@pytest.mark.parametrize("dtype", ["|O", "O", "<f8,<i4", "object", [["a", "<f8"]], None, "V8", "<f99"])
def test_object_and_other_types(refused, content, dtype):
    refused(rewritten(content, lambda d, m: d["members"]["arrays/0.npy"].update(dtype=dtype)), "cannot load")


class Malicious:
    def __reduce__(self):
        return os.abort, ()


def test_pickled_members_are_never_read(refused, content):
    data = npy(np.array([Malicious()], dtype=object), allow_pickle=True)
    refused(
        rewritten(content, lambda d, m: put(d, m, "arrays/0.npy", data)), "pickled Python objects, which are never read"
    )
    data = pickle.dumps(Malicious())
    refused(rewritten(content, lambda d, m: put(d, m, "arrays/0.npy", data)), "cannot load")


@pytest.mark.parametrize(
    "array", [np.arange(4), np.zeros((2, 2)), np.arange(3.0).astype(">f8"), np.asfortranarray(np.zeros((7, 3)))]
)
def test_arrays_other_than_the_document_says(refused, content, array):
    refused(rewritten(content, lambda d, m: put(d, m, "arrays/0.npy", npy(array))), "another shape, type or order")


def test_a_member_of_another_checksum(refused, content):
    def change(document, members):
        members["arrays/0.npy"] = members["arrays/0.npy"][:-1] + b"\x01"

    refused(rewritten(content, change), "checksum of its member 'arrays/0.npy' is wrong")


def test_missing_and_further_members(refused, content):
    refused(rewritten(content, lambda d, m: m.pop("arrays/0.npy") and None), r"differ in \['arrays/0.npy'\]")
    refused(rewritten(content, lambda d, m: m.update({"arrays/99.npy": npy(A)})), r"differ in \['arrays/99.npy'\]")
    refused(rewritten(content, lambda d, m: d["members"].pop("arrays/0.npy") and None), "differ in")

    def unused(document, members):
        document["members"]["arrays/99.npy"] = {"shape": [3], "dtype": "<i8", "fortran_order": False}
        put(document, members, "arrays/99.npy", npy(np.arange(3)))

    refused(rewritten(content, unused), "arrays that belong to nothing")


@pytest.mark.parametrize(
    "name", ["../escape.npy", "/etc/passwd", "arrays/../0.npy", "arrays/x.npy", "arrays\\0.npy", "arrays/"]
)
def test_members_with_strange_names(refused, content, name):
    refused(rewritten(content, lambda d, m: m.update({name: b""})), "a member .*, which no saved model has")


def test_members_of_the_same_name(refused, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped([*members, members[0]])
    refused(data, "two members of the same name")


def test_compressed_members_are_refused(refused, content):
    refused(rewritten(content, compression=zipfile.ZIP_DEFLATED), "compressed or encrypted")
    bomb = zipped({"model.json": b" " * 10**7}, zipfile.ZIP_DEFLATED)
    refused(bomb, "compressed or encrypted")


def test_members_that_overlap_are_refused(refused):
    """Several entries of the directory that mean the same bytes would multiply the file's size."""
    data = zipped({"model.json": b" " * 1000, "arrays/0.npy": b""})
    first, second = data.index(b"PK\x01\x02"), data.rindex(b"PK\x01\x02")
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    copies = []
    for k in range(1, 4):
        entry = bytearray(data[first:second].replace(b"model.json", b"arrays/%d.npy" % k))
        entry[28] = len("arrays/1.npy")
        copies.append(bytes(entry))
    directory = data[first : -len(end)] + b"".join(copies)
    end[8] = end[10] = 5
    end[12:16] = len(directory).to_bytes(4, "little")
    refused(data[:first] + directory + bytes(end), "claim more bytes than the")


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "list", "parts": [{"ref": 10**6}]},
        {"kind": "list", "parts": [{"ref": -1}]},
        {"kind": "list", "parts": [[1]]},
        {"kind": "list", "parts": [{"eval": "1"}]},
        {"kind": "list", "parts": [{"scalar": ["|O8", "00" * 8]}]},
        {"kind": "list", "parts": [{"scalar": ["<f8", "00"]}]},
        {"kind": "list", "parts": [{"callable": "print"}]},
        {"kind": "list"},
        {"kind": "lambda", "parts": []},
        {"kind": "dict", "parts": [1]},
        {"kind": "objects", "parts": [10**12]},
        {"kind": "csr_matrix", "parts": [[1, 2], 3, 4, 5]},
        {"kind": "index", "parts": ["datetime64[ns]", None, 1]},
        {"kind": "array", "member": "arrays/12345.npy", "writeable": True},
        {"kind": "object", "class": "Linear", "fields": []},
        [],
        None,
    ],
)
def test_rows_that_make_no_sense(refused, content, row):
    refused(rewritten(content, lambda d, m: d["rows"].insert(len(d["rows"]) - 1, row)), "cannot load")


def test_sparse_indices_outside_the_matrix(refused, tmp_path):
    data = saved_bytes(tmp_path, MKLClassifier([Linear()]).fit(sp.csr_matrix(A), TWO))

    def change(document, members):
        row = first_of(document, "csr_matrix")
        name = document["rows"][row["parts"][2]["ref"]]["member"]
        array = np.load(io.BytesIO(members[name]))
        array[0] = 2**30
        put(document, members, name, npy(array))

    refused(rewritten(data, change), "cannot load")


def test_what_is_no_model_or_not_fitted(refused, content):
    refused(rewritten(content, lambda d, m: d["rows"].append({"kind": "list", "parts": []})), "no model")

    def unfitted(document, members):
        del document["rows"][-1]["fields"]["dual_coef_"]

    refused(rewritten(content, unfitted), "cannot load")


@pytest.mark.parametrize("kind", ["features", "text"])
def test_a_changed_byte_is_an_error_wherever_it_is(tmp_path, kind):
    model = MODEL
    if kind == "text":
        model = MKLClassifier([Function(CALLABLES["common_letters"], "word")]).fit(FRAME.iloc[:N], TWO)
    data = saved_bytes(tmp_path, model)

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.integers(0, len(data) - 1), st.integers(1, 255))
    def check(place, change):
        changed = bytearray(data)
        changed[place] ^= change
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(ValueError, match="cannot load"):
            load(tmp_path / "changed", CALLABLES)

    check()


@pytest.mark.parametrize(("before", "after"), [(b"junk", b""), (b"", b"junk")])
def test_bytes_around_the_archive(content, refused, before, after):
    refused(before + content + after, "changed or damaged|no zip archive|members claim")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_random_cuts_and_inserted_bytes(tmp_path_factory, content, data):
    folder = tmp_path_factory.getbasetemp()
    first, second = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
    changed = content[:first] + data.draw(st.binary(max_size=20)) + content[second:]
    (folder / "cut").write_bytes(changed)
    try:
        again = load(folder / "cut")
    except ValueError as error:
        assert "cannot load" in str(error)
    else:
        np.testing.assert_array_equal(again.decision_function(NEW), MODEL.decision_function(NEW))

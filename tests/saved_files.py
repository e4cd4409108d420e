"""Files that an earlier version saved, with what their models gave then; see `saving/make_files.py`."""

import gzip
import json
import zipfile
from collections import Counter
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

FOLDER = Path(__file__).parent / "saving" / "files"
_METHODS = (
    "decision_function",
    "predict",
    "predict_proba",
    "transform",
    "kernel_weights",
    "project",
    "gating_space",
    "region",
    "gates",
)
_ATTRIBUTES = (
    *("kernel_weights_", "objective_", "duality_gap_", "intercept_", "active_kernels_", "removable_kernels_"),
    *("gating_coef_", "gating_intercept_", "gating_projection_", "gating_summary_", "region_weights_"),
    *("projections_", "feature_importance_"),
)


def versions():
    """Folders of files: one as versions came (``version-1``, the first of the format), one for each release since."""
    return sorted((folder.name for folder in FOLDER.iterdir()), key=_age)


def _age(version):
    kind, _, numbers = version.partition("-")
    return kind == "release", [int(number) for number in numbers.split(".")]


def newest(name):
    """The last version that has a file for a kind of model."""
    return [version for version in versions() if (folder_of(version) / file_name(name)).exists()][-1]


def folder_of(version):
    return FOLDER / version


def file_name(name):
    """The file for a kind of model: ``localized, softmax`` is in ``localized-softmax.kw.gz``."""
    return "-".join(name.replace(",", " ").replace("/", " ").split()) + ".kw.gz"


def expected_of(version):
    """What the models of a version gave: ``samples``, and ``models`` with the place of their samples and numbers."""
    return json.loads((folder_of(version) / "expected.json").read_text(encoding="utf-8"))


def unpacked(version, name):
    """A file of a version, as it was saved."""
    return gzip.decompress((folder_of(version) / file_name(name)).read_bytes())


def unpack(version, name, path):
    """Write a file of a version, as it was saved, to a path."""
    path.write_bytes(unpacked(version, name))


def document_of(path):
    """The document in a file."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def numbers_of(model, new):
    """What a model gives for new samples and shows of itself, as plain JSON."""
    methods = {f"{name}(new)": getattr(model, name)(new) for name in _METHODS if hasattr(model, name)}
    attributes = {name: getattr(model, name) for name in _ATTRIBUTES if hasattr(model, name)}
    return {name: _plain(value) for name, value in {**methods, **attributes}.items()}


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    return np.asarray(value).tolist()


def assert_close(found, expected, path):
    """Equal text and flags, and numbers that are equal but for the last digits, which depend on the machine."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), path
        for key in expected:
            assert_close(found[key], expected[key], f"{path}[{key!r}]")
    elif (wanted := np.asarray(expected)).dtype.kind in "fi":
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-8, atol=1e-10, err_msg=path)
    else:
        assert found == expected, path


def samples_as_json(X):
    """New samples, whatever container they come in."""
    if isinstance(X, pd.DataFrame):
        columns = [[str(X.dtypes.iloc[j]), X.iloc[:, j].tolist()] for j in range(X.shape[1])]
        return {"kind": "frame", "index": X.index.tolist(), "names": X.columns.tolist(), "columns": columns}
    if sp.issparse(X):
        return {"kind": type(X).__name__, "values": X.toarray().tolist()}
    return {"kind": "array", "values": X.tolist()}


def samples_from_json(told):
    if told["kind"] == "frame":
        columns = [pd.Series(values, dtype=dtype, index=told["index"]) for dtype, values in told["columns"]]
        return pd.concat(columns, axis=1).set_axis(told["names"], axis=1)
    values = np.array(told["values"])
    return values if told["kind"] == "array" else getattr(sp, told["kind"])(values)


def assert_same_document(found, expected):
    """The documents of two saved models: the same classes, fields, values and arrays, and as much shared.

    Small arrays may be shared or not.

    Parameters
    ----------
    found, expected : forging.SavedModel
    """
    assert found.document["callables"] == expected.document["callables"]
    assert _objects(found) == _objects(expected)
    assert _n_bytes(found) <= 1.01 * _n_bytes(expected)
    done = set()
    pending = [("model", len(found.document["rows"]) - 1, len(expected.document["rows"]) - 1)]
    while pending:
        path, *places = pending.pop()
        if tuple(places) in done:
            continue
        done.add(tuple(places))
        first, second = found.document["rows"][places[0]], expected.document["rows"][places[1]]
        assert first["kind"] == second["kind"] and first.get("class") == second.get("class"), path
        if first["kind"] == "array":
            one, other = found.arrays[first["member"]], expected.arrays[second["member"]]
            assert one.dtype == other.dtype and first["writeable"] == second["writeable"], path
            np.testing.assert_array_equal(one, other, err_msg=path)
            continue
        ours, theirs = _parts(first), _parts(second)
        newer = set(ours) - set(theirs)  # parameters that the class did not have yet
        assert set(theirs) <= set(ours) and (not newer or newer <= _parameters(first["class"])), path
        for key, part in theirs.items():
            if isinstance(part, dict) and "ref" in part:
                assert isinstance(ours[key], dict) and "ref" in ours[key], f"{path}.{key}"
                pending.append((f"{path}.{key}", ours[key]["ref"], part["ref"]))
            else:
                assert _text(ours[key]) == _text(part), f"{path}.{key}"


def _text(part):
    """NumPy's text as Python's: which of them the labels of an index are depends on what is installed."""
    if isinstance(part, dict) and "scalar" in part and part["scalar"][0].startswith("<U"):
        return bytes.fromhex(part["scalar"][1]).decode("utf-32-le")
    return part


def _parameters(name):
    from kernelweave.saving.registry import class_named  # not above: some use this file before kernelweave is imported

    return set(signature(class_named(name)).parameters)


def _parts(row):
    return row["fields"] if "fields" in row else dict(enumerate(row["parts"]))


def _objects(file):
    return Counter((row["kind"], row.get("class")) for row in file.document["rows"] if row["kind"] != "array")


def _n_bytes(file):
    return sum(array.nbytes for array in file.arrays.values())

"""Saved models taken apart, changed in one place and sealed again: what a forger of files would do."""

import copy
import io
import json
import zipfile

import numpy as np

from kernelweave.persistence.archive import write_archive

_SCALARS = [None, True, -1, 0, 1, 7, 10**9, 10**30, 1.5, -0.5, 1e300, "x", "", {"float": "nan"}, {"float": "inf"}]


class SavedModel:
    """The arrays and the document of a saved model.

    Parameters
    ----------
    data : bytes
        The file.
    """

    def __init__(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.document = json.loads(archive.read("model.json"))
            self.arrays = {
                name: np.load(io.BytesIO(archive.read(name))) for name in archive.namelist() if name != "model.json"
            }

    def written(self, path, arrays=None, rows=None):
        """Write the file with other arrays or rows, and checksums that fit."""
        content = {name: self.document[name] for name in ("kernelweave", "callables", "rows")}
        content["rows"] = self.document["rows"] if rows is None else rows
        content |= {"classes": self.document["classes"]} if "classes" in self.document else {}
        with open(path, "w+b") as file:
            write_archive(file, self.arrays if arrays is None else arrays, content)

    def places(self):
        """Every value in the rows that is no list or object: pairs of a row's number and where in it."""
        return [
            (number, where)
            for number, row in enumerate(self.document["rows"])
            for where in _leaves(row)
            if where not in (("kind",), ("member",))
        ]

    def at(self, place):
        """The value in a place."""
        number, where = place
        value = self.document["rows"][number]
        for step in where:
            value = value[step]
        return value

    def changed_rows(self, place, value):
        """The rows with another value in one place."""
        number, where = place
        rows = copy.copy(self.document["rows"])
        rows[number] = copy.deepcopy(rows[number])
        target = rows[number]
        for step in where[:-1]:
            target = target[step]
        target[where[-1]] = value
        return rows


def changed_arrays(array, rng):
    """Variations of an array: other shapes, other types, numbers that it cannot hold."""
    flat = array.ravel()
    yield "flat", flat if array.ndim != 1 else flat[:, None]
    yield "one number", flat[:1].reshape(()) if flat.size else np.zeros(())
    yield "empty", array[:0]
    yield "one more", np.concatenate([array, array[:1]]) if len(array) else np.zeros((3, *array.shape[1:]), array.dtype)
    yield "one less", array[:-1]
    if array.ndim > 1:
        yield "transposed", np.ascontiguousarray(array.T)
        yield "column less", np.ascontiguousarray(array[:, :-1])
        yield "column more", np.concatenate([array, array[:, :1]], axis=1)
    if array.dtype.kind in "fiub":
        for dtype in ("<f8", "<f4", "<f2", ">f8", "<i8", "<i2", "<u8", "|b1", "<c16", "<U3", "|S2"):
            yield dtype, array.astype(dtype)
        yield "times", np.zeros(array.shape, "<M8[s]")
    else:
        yield "numbers", np.zeros(array.shape)
    if flat.size and array.dtype.kind in "fi":
        whole = [-1, len(flat), 0, *(2**62, -(2**62)) * (array.dtype.itemsize == 8)]
        values = whole + [np.nan, np.inf, 1e30, 1e-40] * (array.dtype.kind == "f")
        for value in values:
            other = flat.copy()
            other[rng.integers(len(flat))] = value
            yield f"holds {value}", other.reshape(array.shape)
    if flat.size and array.dtype.kind == "b":
        yield "flipped", ~array


def changed_values(value, n_rows, rng):
    """Other values for a place in the document."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield from (value + 1, value - 1, int(rng.integers(n_rows)))
    yield from (other for other in _SCALARS if other != value or type(other) is not type(value))
    yield {"ref": int(rng.integers(n_rows))}
    yield {"scalar": ["<f8", "000000000000f87f"]}


def _leaves(value, path=()):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _leaves(part, (*path, place))
    else:
        yield path

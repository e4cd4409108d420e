"""Saved models taken apart, changed in one place and sealed again: what a forger of files would do."""

import copy
import io
import json
import signal
import traceback
import zipfile
from pathlib import Path

import numpy as np

import kernelweave
from kernelweave import load
from kernelweave.saving.archive import write_archive

SECONDS = 60  # that a file may take before the alarm
_OURS = (str(Path(kernelweave.__file__).parent), "validation.py")
_METHODS = ("decision_function", "predict", "transform", "kernel_weights")
_SCALARS = [None, True, -1, 0, 1, 7, 10**9, 10**30, 1.5, -0.5, 1e300, "x", "", {"float": "nan"}, {"float": "inf"}]
_SCALARS += [2**31 - 1, 2**63 - 1, *({"scalar": [f"<i{size}", "ff" * (size - 1) + "7f"]} for size in (2, 4, 8))]


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


def extreme_integers(array, rng):
    """Variations of an array of whole numbers: the largest and smallest of its type, and those next to its own size.

    One entry is changed, all are, or two that stand together: their difference wraps, and so may a sum.
    """
    low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
    values = {low, -1, array.size, array.size + 1, 2**31 - 1, 2**31, high - 1, high}
    values = [value for value in sorted(values) if low <= value <= high]
    place = int(rng.integers(array.size))
    for value in values:
        yield f"{value} in place {place}", _with(array, slice(place, place + 1), value)
    for value in (low, array.size, high):
        yield f"{value} everywhere", _with(array, slice(None), value)
    if array.size > 1:
        start = int(rng.integers(array.size - 1))
        for pair in ((high, low), (high, -2 if low else 2), (low, high), (high, high)):
            yield f"{pair} from place {start} on", _with(array, slice(start, start + 2), pair)


def _with(array, where, values):
    other = array.ravel().copy()
    other[where] = values
    return other.reshape(array.shape)


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


def try_out(path, callables, new, what):
    """Load and predict; returns whether the file was refused."""
    signal.alarm(SECONDS)
    try:
        model = load(path, callables)
    except ValueError as error:
        assert str(error).startswith("cannot load"), what
        return True
    try:
        for method in _METHODS:
            if hasattr(model, method):
                getattr(model, method)(new)
    except ValueError as error:  # numbers that are possible and wrong may still end in a clear message of ours
        origin = traceback.extract_tb(error.__traceback__)[-1].filename
        assert any(name in origin for name in _OURS), f"{what}: {error!r} in {origin}"
    except Exception as error:
        # A user's own kernel may fail on a value of another type among objects, which may be of any type.
        if not traceback.extract_tb(error.__traceback__)[-1].filename.endswith("saved_builders.py"):
            raise AssertionError(f"{what}: {error!r}") from error
    return False


def references(value):
    """The rows that a value of the document refers to."""
    if isinstance(value, dict):
        value = (
            [value["ref"]] if list(value) == ["ref"] else [each for part in value.values() for each in references(part)]
        )
        return value
    return [each for part in value for each in references(part)] if isinstance(value, list) else []


def holders(rows):
    """(class, attribute) of the object that holds each array; an object is written after what it holds."""
    above, found = {}, {}
    for number, row in reversed(list(enumerate(rows))):
        if row["kind"] == "array":
            found[row["member"]] = above[number]
        for name, part in row["fields"].items() if row["kind"] == "object" else [(None, row)]:
            for reference in references(part):
                above.setdefault(reference, above.get(number) if name is None else (row["class"], name))
    return found

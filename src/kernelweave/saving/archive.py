"""The file: a zip of ``.npy`` members, uncompressed, and the document ``model.json``.

The document holds the format's version and names each array with its type, shape, order, size and SHA-256 checksum; a
checksum of the document itself is inside it. The archive's comment, the last bytes of the file, is the checksum of all
bytes before it. Reading compares everything that a member claims with what the document and the file's own size allow
before memory is taken for it, so that a small file can never take much memory.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from .codecs import plain_dtype

FORMAT = "kernelweave model"
VERSION = 1
DOCUMENT = "model.json"
_MEMBER = re.compile(r"arrays/\d{1,9}\.npy", re.ASCII)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # equal models make equal files
_LARGE = 2**31 - 2**20
_CHUNK = 2**20
_SEAL = 64  # hexadecimal digits of the checksum in the archive's comment


def write_archive(file: BinaryIO, arrays: Mapping[str, np.ndarray], content: dict[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"0" * _SEAL
        members = {name: _write_array(archive, name, array) for name, array in arrays.items()}
        document = {"format": FORMAT, "version": VERSION, **content, "members": members}
        document["sha256"] = checksum(document)
        with archive.open(_entry(DOCUMENT), "w", force_zip64=True) as member:
            member.write(_text(document).encode("ascii"))
    file.flush()
    digest = seal_of(file)  # leaves the file just before the comment
    file.write(digest)


def read_archive(file: BinaryIO) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    size = os.fstat(file.fileno()).st_size
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise ValueError("it is no zip archive, so it is no saved model or it was cut short") from None
    with archive:
        entries = _checked_entries(archive, size)
        document = _read_document(archive, entries.pop(DOCUMENT))
        members = document["members"]
        if set(members) != set(entries):
            differing = sorted(set(members) ^ set(entries))
            raise ValueError(f"its members are not those that it should have; they differ in {differing[:3]}")
        arrays = {name: _read_array(archive, entries[name], members[name], size) for name in members}
        if seal_of(file) != file.read():
            raise ValueError("the checksum at its end is wrong: the file was changed or damaged")
        return arrays, document


def seal_of(file: BinaryIO) -> bytes:
    """Checksum of an open file without its last bytes, which hold it; the file is left just before them."""
    left = file.seek(0, os.SEEK_END) - _SEAL
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0:
        data = file.read(min(_CHUNK, left))
        digest.update(data)
        left -= len(data)
    return digest.hexdigest().encode("ascii")


def checksum(document: dict[str, Any]) -> str:
    """SHA-256 of a document, leaving out the checksum itself."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(_text(rest).encode("ascii")).hexdigest()


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


class _Hashed:
    """A file to write to that also computes size and checksum."""

    def __init__(self, file: Any):
        self._file, self._sum, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        self._sum.update(data)
        self.size += len(data)
        return self._file.write(data)

    def hexdigest(self) -> str:
        return self._sum.hexdigest()


def _write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> dict[str, Any]:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    with archive.open(_entry(name), "w", force_zip64=array.nbytes > _LARGE) as member:
        hashed = _Hashed(member)
        npy.write_array(hashed, array, version=(1, 0), allow_pickle=False)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "fortran_order": bool(array.flags.f_contiguous and not array.flags.c_contiguous),
        "size": hashed.size,
        "sha256": hashed.hexdigest(),
    }


def _checked_entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The entries by name, which must be those of a saved model and claim no more bytes than the file has."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if DOCUMENT not in names:
        raise ValueError(f"it is a zip archive without {DOCUMENT}, so it is no saved model")
    if len(set(names)) < len(names):
        raise ValueError("it has two members of the same name")
    for entry in entries:
        if entry.filename != DOCUMENT and not _MEMBER.fullmatch(entry.filename):
            raise ValueError(f"it has a member {entry.filename!r}, which no saved model has")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            raise ValueError(f"its member {entry.filename!r} is compressed or encrypted, which saved models never are")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError(f"its members claim more bytes than the {size} of the file")
    return {entry.filename: entry for entry in entries}


def _read_document(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> dict[str, Any]:
    document = json.loads(archive.read(entry), object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"its {DOCUMENT} does not describe a kernelweave model")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise ValueError(f"its format version is {version!r}, which does not exist")
    if version > VERSION:
        raise ValueError(
            f"it has format version {version}, but this kernelweave reads versions up to {VERSION}; "
            "install the newer release that wrote it"
        )
    if document.get("sha256") != checksum(document):
        raise ValueError(f"the checksum of its {DOCUMENT} is wrong: the file was changed or damaged")
    return document


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError(f"its {DOCUMENT} repeats a key")
    return dict(pairs)


def _no_constant(text: str) -> float:
    raise ValueError(f"its {DOCUMENT} holds {text}, which is not JSON")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, told: dict[str, Any], largest: int) -> np.ndarray:
    """One array, read only where its header, the document and the member's size agree.

    No dimension may be longer than `largest`, the file's size in bytes: an array without entries may have any shape,
    and what is computed from it then has many.
    """
    name = entry.filename
    shape, dtype, fortran = tuple(told["shape"]), plain_dtype(told["dtype"]), told["fortran_order"]
    if not all(type(length) is int and length >= 0 for length in shape) or type(fortran) is not bool:
        raise ValueError(f"its member {name!r} is described by a shape that is not valid")
    with archive.open(entry) as member:
        sums = hashlib.sha256()
        header, length = _read_header(member, sums, name)
        if header != (shape, fortran, dtype):
            raise ValueError(f"its member {name!r} is an array of another shape, type or order than {DOCUMENT} states")
        n_bytes = math.prod(shape) * dtype.itemsize
        if told["size"] != entry.file_size or n_bytes != entry.file_size - length:
            raise ValueError(
                f"its member {name!r} claims an array of shape {shape} and type {dtype} ({n_bytes} bytes), "
                f"but has {entry.file_size - length} bytes"
            )
        if max(shape, default=0) > largest:
            raise ValueError(f"its member {name!r} claims an array of shape {shape}, which is longer than the file")
        array = np.empty(shape, dtype, order="F" if fortran else "C")
        _read_into(member, array.reshape(-1, order="A").view(np.uint8), sums)
    if sums.hexdigest() != told["sha256"]:
        raise ValueError(f"the checksum of its member {name!r} is wrong: the file was changed or damaged")
    return array


def _read_header(member: Any, sums: Any, name: str) -> tuple[tuple, int]:
    """Shape, order and type from an npy header (no more than 10,000 characters), and the header's length."""
    start = member.tell()
    if npy.read_magic(member) != (1, 0):
        raise ValueError(f"its member {name!r} is an npy file of another version than (1, 0)")
    header = npy.read_array_header_1_0(member)
    length = member.tell() - start
    if header[2].hasobject:
        raise ValueError(f"its member {name!r} holds pickled Python objects, which are never read")
    member.seek(start)
    sums.update(member.read(length))
    return header, length


def _read_into(member: Any, target: np.ndarray, sums: Any) -> None:
    done = 0
    while done < target.size:
        data = member.read(min(_CHUNK, target.size - done))
        if not data:
            raise ValueError("it ends in the middle of an array")
        sums.update(data)
        target[done : done + len(data)] = np.frombuffer(data, np.uint8)
        done += len(data)
    if member.read(1):
        raise ValueError("it has bytes behind an array")

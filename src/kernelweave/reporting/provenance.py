"""How a report was made: date, versions, seed, command, and a checksum of each input (`content.Provenance`).

It is recorded when the results are computed and written with them, so that a report that is drawn again states what was
read then. Files are read once more for their checksums, a piece at a time: right after they were read, the system
mostly has them in memory. A model that the command line saves has such a record of its fit, `record_`; it is shown, and
nothing else depends on it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any

from .._version import __version__
from ..views.digests import digest
from .content import (
    Block,
    Cell,
    Code,
    Column,
    Contents,
    Input,
    ModelRecord,
    Provenance,
    Section,
    Table,
    Text,
    from_plain,
    to_plain,
)

SECTION = "how-it-was-made"


def versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "numba")
    return {
        "kernelweave": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line(words: Sequence[str]) -> str:
    """A call of ``kernelweave``, quoted so that a shell takes it as it was.

    >>> command_line(["compare", "my data.csv", "--target", "y"])
    "kernelweave compare 'my data.csv' --target y"
    """
    quoted = subprocess.list2cmdline if os.name == "nt" else shlex.join
    return quoted(["kernelweave", *words])


def file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_input(path: Path, what: str, rows: int | None = None) -> Input:
    return Input(name=path.name, what=what, sha256=file_checksum(path), bytes=path.stat().st_size, rows=rows)


def folder_input(path: Path, parts: Iterable[Path], what: str, rows: int | None = None) -> Input:
    """A folder of parts: the checksum is that of the lines that ``sha256sum`` prints for them, in their order."""
    parts, lines = list(parts), hashlib.sha256()
    for part in parts:
        lines.update(f"{file_checksum(part)}  {part.name}\n".encode("utf-8", "surrogateescape"))
    size = sum(part.stat().st_size for part in parts)
    name = path.name or str(path)
    return Input(name=name, what=what, kind="folder", sha256=lines.hexdigest(), bytes=size, rows=rows)


def data_input(name: str, what: str, values: Any) -> Input:
    shape = getattr(values, "shape", None)
    rows = int(shape[0]) if shape else len(values)
    return Input(name=name, what=what, kind="data", sha256=digest(values), rows=rows)


def made_in_python(X: Any, y: Any, random_state: Any, model: ModelRecord | None = None) -> Provenance:
    inputs = [data_input("X", "samples", X)]
    inputs += [] if y is None else [data_input("y", "target", y)]
    return Provenance(date=now(), seed=seed_of(random_state), inputs=inputs, model=model)


def seed_of(random_state: Any) -> int | str | None:
    if isinstance(random_state, Integral):
        return int(random_state)
    return None if random_state is None else f"a {type(random_state).__name__}"


def keep_record(model: Any, seed: int, inputs: list[Input]) -> None:
    """Note in a fitted model how it was made; `save` writes the attribute as it does others.

    Date and command are no part of it: equal models make equal files.
    """
    model.record_ = to_plain(ModelRecord(version=__version__, seed=seed, inputs=inputs))


def record_of(model: Any) -> ModelRecord:
    """What a model says of its fit; one of a file may say anything, and what is no record is as none."""
    try:
        return from_plain(ModelRecord, getattr(model, "record_", None), {}, "record_")
    except ValueError:
        return ModelRecord(seed=seed_of(getattr(model, "random_state", None)))


def how_it_was_made(contents: Contents) -> Section | None:
    """The last section of a page, drawn from versions and provenance; None where there is neither."""
    made = contents.provenance
    named = ", ".join(f"{name} {number}" for name, number in contents.versions.items())
    using = f" with {named}" if named else ""
    if made is None:
        text = f"Made{using}. Command, seed and inputs were not recorded."
        return Section(id=SECTION, title="How this was made", blocks=[Text(text=text)]) if named else None
    blocks: list[Block] = [Text(text=f"Made on {_day(made.date)}{using}. {_seed('Random seed', made.seed)}")]
    if made.command is None:
        blocks.append(Text(text="Command: none; it was made from Python."))
    else:
        blocks.append(Code(text=made.command, title="Command"))
    blocks += _inputs("Inputs", made.inputs)
    if made.model is not None:
        by = f"The model was fitted by kernelweave {made.model.version}. " if made.model.version else ""
        blocks.append(Text(text=f"{by}{_seed('Random seed of the model', made.model.seed)}"))
        blocks += _inputs("Inputs of the model", made.model.inputs)
    return Section(id=SECTION, title="How this was made", blocks=blocks)


def _day(date: str) -> str:
    try:
        return f"{datetime.fromisoformat(date).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError):  # of a report that something else wrote
        return date


def _seed(what: str, seed: int | str | None) -> str:
    return f"{what}: {'none was set' if seed is None else seed}."


_OF = {
    "file": "of the bytes of a file when it was read, as sha256sum prints it",
    "folder": "of a folder of parts, that of the lines that sha256sum prints for them in their order",
    "data": "of data in memory, of their values, types, names, and the order of rows and columns",
}


def _inputs(title: str, inputs: list[Input]) -> list[Block]:
    if not inputs:
        return []
    kinds = dict.fromkeys(one.kind for one in inputs)
    note = "; ".join(_OF.get(kind, kind) for kind in kinds)
    columns = [
        Column("input"),
        Column("read as"),
        Column("rows", "count"),
        Column("bytes", "count"),
        Column("SHA-256", note=note),
    ]
    rows: list[list[Cell]] = [[one.name, one.what, one.rows, one.bytes, one.sha256] for one in inputs]
    return [Table(title=title, columns=columns, rows=rows)]

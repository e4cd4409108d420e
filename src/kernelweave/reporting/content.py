"""What a report contains, as plain data: a headline, and sections of text, tables and charts.

A report is made once from a model or a comparison and written as ``report.json``; the page and the Markdown file are
drawn from these data and from nothing else. Each chart can give the table of its numbers, which stands below it.

`to_plain` makes of dataclasses what JSON can hold, and `from_plain` reads it back, every value checked by the
annotation of its field. A number that is not finite becomes None, because JSON has none; where a field must be a number
None becomes NaN again.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Cell = str | float | int | bool | None  # of a table; None, and a number that is not finite, is shown as a dash

KINDS = ("text", "number", "count", "percent", "seconds", "p-value")


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and how its cells are written."""

    name: str
    # {"text", "number", "count", "percent", "seconds", "p-value"}: cells of kind "percent" are shares, 0.953 for 95.3 %
    kind: str = "text"
    note: str = ""  # what the column means, where the heading is too short to say it

    def __post_init__(self) -> None:
        _check_kind(self.kind)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a section; `type` names the class in JSON."""

    type: ClassVar[str]

    def table(self) -> Table | None:
        """The numbers behind a chart; None for text and for a table itself."""
        return None


@dataclass(frozen=True, kw_only=True)
class Text(Block):
    """A paragraph; `strong` for the sentence to be read first."""

    type: ClassVar[str] = "text"
    text: str
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Code(Block):
    """Text with line breaks that is to be copied, such as a citation."""

    type: ClassVar[str] = "code"
    text: str
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Table(Block):
    """A table, sortable by any column."""

    type: ClassVar[str] = "table"
    title: str
    columns: list[Column]
    rows: list[list[Cell]]  # numbers as numbers, not as text
    marked: list[int] = field(default_factory=list)  # rows to stand out, such as the recommended method
    note: str = ""  # below the table

    def __post_init__(self) -> None:
        _check_rows(self.title, self.rows, len(self.columns), "columns")
        if any(not 0 <= row < len(self.rows) for row in self.marked):
            raise ValueError(f"{self.title!r} marks a row that it does not have: {self.marked}")


@dataclass(frozen=True, kw_only=True)
class Chart(Block):
    title: str
    description: str  # what is to be seen, in a sentence or two, also for those who cannot see it
    note: str = ""  # such as how many of the points are drawn


@dataclass(frozen=True)
class Dot:
    label: str
    value: float
    low: float | None = None
    high: float | None = None
    series: str = ""


@dataclass(frozen=True, kw_only=True)
class Dots(Chart):
    """Numbers with spreads, one line for each label, one symbol and colour for each series."""

    type: ClassVar[str] = "dots"
    axis: str  # what the numbers are
    dots: list[Dot]
    kind: str = "number"  # how numbers are written, as in `Column`
    reference: float | None = None  # where to draw a line, such as the score of all views together
    reference_label: str = ""
    marked: list[str] = field(default_factory=list)  # labels to stand out

    def __post_init__(self) -> None:
        _check_kind(self.kind)

    def table(self) -> Table:
        with_series = any(dot.series for dot in self.dots)
        columns = [Column("name"), *([Column("series")] if with_series else [])]
        columns += [Column(name, self.kind) for name in (self.axis, "from", "to")]
        rows: list[list[Cell]] = [
            [dot.label, *([dot.series] if with_series else []), dot.value, dot.low, dot.high] for dot in self.dots
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Bars(Chart):
    """Horizontal bars that may be negative, the parts of each stacked from 0, or its start, to either side."""

    type: ClassVar[str] = "bars"
    axis: str
    labels: list[str]  # one bar for each
    parts: list[str]  # names of the parts, each with a colour
    values: list[list[float]]  # a row for each label, a number for each part
    totals: list[float] | None = None  # marks on the bars, such as decision values; None for none
    total_label: str = ""
    truths: list[float] | None = None  # further marks, such as true values
    truth_label: str = ""
    starts: list[float] | None = None  # where each bar begins; None for 0
    start_label: str = ""
    # what is shown with a label on hover, such as true and predicted class; empty for none
    notes: list[str] = field(default_factory=list)
    kind: str = "number"

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        _check_lengths(self.title, len(self.labels), "labels", values=self.values)
        _check_rows(self.title, self.values, len(self.parts), "parts")
        for name, numbers in (("totals", self.totals), ("truths", self.truths), ("starts", self.starts)):
            if numbers is not None:
                _check_lengths(self.title, len(self.labels), "labels", **{name: numbers})
        if self.notes:
            _check_lengths(self.title, len(self.labels), "labels", notes=self.notes)

    def table(self) -> Table:
        """Bars in rows: where each begins, its parts, which add up to its total from there, and the truth."""
        numbers: list[tuple[str, Sequence[float]]] = [] if self.starts is None else [(self.start_label, self.starts)]
        numbers += [(part, [row[place] for row in self.values]) for place, part in enumerate(self.parts)]
        numbers += [] if self.totals is None else [(self.total_label or "total", self.totals)]
        numbers += [] if self.truths is None else [(self.truth_label, self.truths)]
        columns = [Column("name"), *([Column("about")] if self.notes else [])]
        columns += [Column(name, self.kind) for name, _ in numbers]
        rows: list[list[Cell]] = []
        for place, label in enumerate(self.labels):
            about: list[Cell] = [self.notes[place]] if self.notes else []
            rows.append([label, *about, *(column[place] for _, column in numbers)])
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Scatter(Chart):
    """Points in a plane, coloured (and shaped) by group, with a text for each on hover."""

    type: ClassVar[str] = "scatter"
    x: list[float]
    y: list[float]
    group: list[int]  # position in `groups` of each point
    groups: list[str]
    label: list[str]  # the sample of each point
    # further text for each point on hover, such as class and gates; empty for none
    about: list[str] = field(default_factory=list)
    x_axis: str = ""
    y_axis: str = ""

    def __post_init__(self) -> None:
        _check_lengths(self.title, len(self.x), "x", y=self.y, group=self.group, label=self.label)
        if self.about:
            _check_lengths(self.title, len(self.x), "x", about=self.about)
        if any(not 0 <= group < len(self.groups) for group in self.group):
            raise ValueError(f"a point of {self.title!r} has a group that is not in groups")

    def table(self) -> Table:
        columns = [Column("sample"), Column("group"), Column(self.x_axis or "x", "number")]
        columns += [Column(self.y_axis or "y", "number"), *([Column("about")] if self.about else [])]
        rows: list[list[Cell]] = [
            [self.label[i], self.groups[self.group[i]], self.x[i], self.y[i], *([self.about[i]] if self.about else [])]
            for i in range(len(self.x))
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True)
class Line:
    label: str
    x: list[float]
    y: list[float]

    def __post_init__(self) -> None:
        _check_lengths(self.label, len(self.x), "x", y=self.y)


@dataclass(frozen=True, kw_only=True)
class Lines(Chart):
    """Lines over a common axis; `log` for a logarithmic y axis (numbers that are not positive are left out)."""

    type: ClassVar[str] = "lines"
    x_axis: str
    y_axis: str
    lines: list[Line]
    log: bool = False

    def table(self) -> Table:
        columns = [Column("line"), Column(self.x_axis, "number"), Column(self.y_axis, "number")]
        rows: list[list[Cell]] = [
            [line.label, x, y] for line in self.lines for x, y in zip(line.x, line.y, strict=True)
        ]
        return Table(title=self.title, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Heatmap(Chart):
    """A matrix of numbers as shades, the number written in each cell where there is room."""

    type: ClassVar[str] = "heatmap"
    rows: list[str]
    columns: list[str]
    values: list[list[float | None]]  # None, or a number that is not finite, for an empty cell
    signed: bool = False  # whether 0 is the middle of the colours; otherwise it is their start
    row_axis: str = ""
    column_axis: str = ""
    kind: str = "number"

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        _check_lengths(self.title, len(self.rows), "rows", values=self.values)
        _check_rows(self.title, self.values, len(self.columns), "columns")

    def table(self) -> Table:
        columns = [Column(self.row_axis or "row"), *(Column(name, self.kind) for name in self.columns)]
        rows: list[list[Cell]] = [[name, *values] for name, values in zip(self.rows, self.values, strict=True)]
        return Table(title=self.title, columns=columns, rows=rows)


BLOCKS: dict[str, type[Block]] = {
    block.type: block for block in (Text, Code, Table, Dots, Bars, Scatter, Lines, Heatmap)
}


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, not one of {', '.join(KINDS)}")


def _check_rows(title: str, rows: Sequence[Sequence[Any]], width: int, names: str) -> None:
    for place, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"row {place} of {title!r} has {len(row)} entries for {width} {names}")


def _check_lengths(title: str, length: int, name: str, **lists: Sequence[Any]) -> None:
    for other, values in lists.items():
        if len(values) != length:
            raise ValueError(f"{title!r} has {len(values)} entries of {other} for {length} of {name}")


FORMAT = 1  # of report.json


@dataclass(frozen=True, kw_only=True)
class Section:
    id: str  # such as "methods", "views" or "data"
    title: str
    blocks: list[Block]


_LARGEST = 2**63  # bytes and rows are below


@dataclass(frozen=True, kw_only=True)
class Input:
    """What a report or a model was made from: a file, a folder of parts, or data in memory."""

    name: str  # of the file, without its folder
    what: str  # what it was read as, such as "view rna, target"
    kind: str = "file"  # what the checksum is of: "file", "folder" or "data"
    sha256: str
    bytes: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        for name, number in (("bytes", self.bytes), ("rows", self.rows)):
            if number is not None and not 0 <= number < _LARGEST:
                raise ValueError(f"{name} cannot be {_shortened(number)}")


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """How a model was fitted: by which version (empty if not known), with which seed, to which inputs."""

    version: str = ""
    seed: int | str | None = None
    inputs: list[Input] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a report was made; its versions are `Contents.versions`."""

    date: str  # and time, as in ISO 8601
    command: str | None = None  # as it can be pasted; None: from Python
    seed: int | str | None = None
    inputs: list[Input] = field(default_factory=list)
    model: ModelRecord | None = None  # of a report on a model that was there before


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A report as data: headline, sections and machine-readable results."""

    title: str
    headline: list[str]  # sentences in plain words that say what was found; the first is the most important
    sections: list[Section]
    data: dict[str, Any] = field(default_factory=dict)  # results for programs, such as those of a comparison
    versions: dict[str, str] = field(default_factory=dict)
    provenance: Provenance | None = None  # None: not recorded

    def __post_init__(self) -> None:
        ids = [section.id for section in self.sections]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two sections have the same id: {ids}")

    def to_plain(self) -> dict[str, Any]:
        """The report as JSON can hold it; numbers that are not finite become None."""
        return to_plain({"format": FORMAT, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}})

    @classmethod
    def from_plain(cls, document: Any) -> Contents:
        """The report that `to_plain` gave; None becomes NaN where there has to be a number."""
        if not isinstance(document, dict) or "format" not in document:
            raise ValueError("this is no report of kernelweave: it has no field 'format'")
        document = dict(document)
        number = document.pop("format")
        if type(number) is not int or number != FORMAT:
            raise ValueError(f"the report has the format {number!r}; this version of kernelweave reads {FORMAT}")
        return from_plain(cls, document, {Block: BLOCKS})


_WORDS = {str: "text", float: "a number", int: "a whole number", bool: "true or false", type(None): "null"}


def to_plain(value: Any) -> Any:
    """Dataclasses, mappings, sequences and numbers as dicts, lists and numbers of Python."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"type": value.type} if hasattr(value, "type") else {}
        return kind | {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_plain(form: Any, value: Any, kinds: Mapping[type, Mapping[str, type]], where: str = "report") -> Any:
    """An object of a dataclass from what `to_plain` gave, or an error that names the first field at fault.

    `kinds` maps base classes to subclasses by name in JSON, ``{Block: {"text": Text}}``; `where` is for errors.
    """
    origin, parts = typing.get_origin(form), typing.get_args(form)
    if form is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        others = [part for part in parts if typing.get_origin(part) is not None or dataclasses.is_dataclass(part)]
        if not others:
            return _read_scalar(parts, value, where)
        return None if value is None and type(None) in parts else from_plain(others[0], value, kinds, where)
    if origin is list:
        _demand(isinstance(value, list), where, "a list", value)
        return [from_plain(parts[0], part, kinds, f"{where}[{place}]") for place, part in enumerate(value)]
    if origin is dict:
        _demand(isinstance(value, dict), where, "an object", value)
        return {str(key): from_plain(parts[1], part, kinds, f"{where}.{key}") for key, part in value.items()}
    if dataclasses.is_dataclass(form):
        return _read_object(form, value, kinds, where)
    if form is float and value is None:
        return math.nan
    return _read_scalar((form,), value, where)


def _read_scalar(forms: tuple[type, ...], value: Any, where: str) -> Any:
    allowed = {*forms, int} if float in forms else set(forms)
    _demand(type(value) in allowed, where, " or ".join(_WORDS[form] for form in forms), value)
    return float(value) if float in forms and int not in forms and type(value) is int else value


def _read_object(form: Any, value: Any, kinds: Mapping[type, Mapping[str, type]], where: str) -> Any:
    _demand(isinstance(value, dict), where, "an object", value)
    value = dict(value)
    if form in kinds:
        name = value.pop("type", None)
        if not isinstance(name, str) or name not in kinds[form]:
            raise ValueError(f"{where}.type is {name!r}, not one of {', '.join(kinds[form])}")
        form = kinds[form][name]
    fields = {own.name: own for own in dataclasses.fields(form)}
    unknown = sorted(set(value) - set(fields))
    if unknown:
        raise ValueError(f"{where} has the unknown field {unknown[0]!r}")
    for name, own in fields.items():
        optional = own.default is not dataclasses.MISSING or own.default_factory is not dataclasses.MISSING
        if name not in value and not optional:
            raise ValueError(f"{where} lacks the field {name!r}")
    hints = typing.get_type_hints(form)
    given = {name: from_plain(hints[name], part, kinds, f"{where}.{name}") for name, part in value.items()}
    try:
        return form(**given)
    except ValueError as error:  # parts that do not fit together
        raise ValueError(f"{where}: {error}") from None


def _demand(is_right: bool, where: str, wanted: str, value: Any) -> None:
    if not is_right:
        raise ValueError(f"{where} is {_shortened(value)}, not {wanted}")


def _shortened(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

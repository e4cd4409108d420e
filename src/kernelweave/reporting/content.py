"""What a report contains, as plain data: a headline, and sections of text, tables and charts (`blocks.py`).

A report is made once from a model or a comparison and written as ``report.json``; the page and the Markdown file are
drawn from these data and from nothing else.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from .blocks import (
    BLOCKS,
    KINDS,
    Bars,
    Block,
    Cell,
    Chart,
    Code,
    Column,
    Dot,
    Dots,
    Heatmap,
    Line,
    Lines,
    Scatter,
    Table,
    Text,
)
from .plain import from_plain, to_plain

__all__ = [
    "BLOCKS",
    "KINDS",
    "Bars",
    "Block",
    "Cell",
    "Chart",
    "Code",
    "Column",
    "Contents",
    "Dot",
    "Dots",
    "Heatmap",
    "Line",
    "Lines",
    "Scatter",
    "Section",
    "Table",
    "Text",
]

FORMAT = 1  # of report.json


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    id : str
        "methods", "views", "weights", "gates", "projections", "contributions", "certificates", "data" or "cite".
    title : str
    blocks : list of Block
    """

    id: str
    title: str
    blocks: list[Block]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A report as data: headline, sections and machine-readable results.

    Attributes
    ----------
    title : str
    headline : list of str
        Sentences in plain words that say what was found; the first is the most important.
    sections : list of Section
    data : dict
        Results for programs, such as those of a comparison.
    versions : dict from package to version
    """

    title: str
    headline: list[str]
    sections: list[Section]
    data: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = [section.id for section in self.sections]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two sections have the same id: {ids}")

    def to_plain(self) -> dict[str, Any]:
        """The report as JSON can hold it; numbers that are not finite become None.

        >>> Contents(title="Digits", headline=["Use the mean."], sections=[]).to_plain()["headline"]
        ['Use the mean.']
        """
        return to_plain({"format": FORMAT, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}})

    @classmethod
    def from_plain(cls, document: Any) -> Contents:
        """The report that `to_plain` gave; None becomes NaN where there has to be a number.

        Parameters
        ----------
        document : dict

        Raises
        ------
        ValueError
            Where the document is no report, or a damaged one; the message names the first field at fault.

        Examples
        --------
        >>> contents = Contents(title="Digits", headline=["Use the mean."], sections=[])
        >>> Contents.from_plain(contents.to_plain()) == contents
        True
        """
        if not isinstance(document, dict) or "format" not in document:
            raise ValueError("this is no report of kernelweave: it has no field 'format'")
        document = dict(document)
        number = document.pop("format")
        if type(number) is not int or number != FORMAT:
            raise ValueError(f"the report has the format {number!r}; this version of kernelweave reads {FORMAT}")
        return from_plain(cls, document, {Block: BLOCKS})

"""`Report`: the page of a report, in a notebook or as a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..saving.atomic import replace_file
from .content import Contents
from .markdown import write_markdown
from .rendering import render_document, render_fragment

__all__ = ["Report"]


class Report:
    """What a model or a comparison found, as a page to look at, to save and to send.

    A notebook shows the page where a cell ends with the report.

    Parameters
    ----------
    contents : Contents
        Headline and sections, as plain data.

    Attributes
    ----------
    contents : Contents

    Examples
    --------
    >>> from kernelweave.reporting.content import Contents, Section, Text
    >>> text = Text(text="The mean of all kernels is right for 97.1 % of the digits.")
    >>> section = Section(id="methods", title="Methods", blocks=[text])
    >>> report = Report(Contents(title="Digits", headline=["Use the mean."], sections=[section]))
    >>> print(report.to_markdown())
    # Digits
    <BLANKLINE>
    **Use the mean.**
    <BLANKLINE>
    ## Methods
    <BLANKLINE>
    The mean of all kernels is right for 97.1 % of the digits.
    <BLANKLINE>
    """

    def __init__(self, contents: Contents):
        self.contents = contents

    @property
    def data(self) -> dict[str, Any]:
        """Results for programs, such as those of a comparison."""
        return self.contents.data

    def save(self, path: str | os.PathLike) -> None:
        """Write the report to a file, which is replaced as a whole.

        Parameters
        ----------
        path : str or path
            The suffix decides what is written: ``.html`` the page, ``.md`` Markdown, ``.json`` all numbers.

        Raises
        ------
        ValueError
            Where the suffix is another one.
        """
        writers = {".html": self.to_html, ".htm": self.to_html, ".json": self.to_json, ".md": self.to_markdown}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise ValueError(f"a report is saved as .html, .json or .md, not as {Path(path).name!r}")
        data = writers[suffix]().encode("utf-8")
        replace_file(path, lambda file: file.write(data))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Report:
        """The report in a file that `save` wrote as ``.json``.

        Raises
        ------
        ValueError
            Where the file is no report, or a damaged one.
        """
        try:
            return cls(Contents.from_plain(json.loads(Path(path).read_text(encoding="utf-8"))))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as a report: {error}") from None

    def to_html(self) -> str:
        """The page as one self-contained file, below one megabyte."""
        return render_document(self.contents)

    def to_markdown(self) -> str:
        """Headline, text and tables; of charts, the tables of their numbers where they are short."""
        return write_markdown(self.contents)

    def to_json(self) -> str:
        """All numbers of the report, and ``data``."""
        return json.dumps(self.contents.to_plain(), indent=1, allow_nan=False) + "\n"

    def _repr_html_(self) -> str:
        return render_fragment(self.contents)

    def __repr__(self) -> str:
        return f"Report({self.contents.title!r}, {len(self.contents.sections)} sections)"

"""Which view of a model a file of new samples is, by its name."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ..checking import without_suffix

_SEVERAL = (".npz", ".h5mu")  # files that may hold several views, with names of their own


def named_views(words: Sequence[str], views: Sequence[str]) -> list[str]:
    """Files of new samples as ``"view=path"``, with the views' names in the model.

    A file that is given as ``view=path`` is that view. One without a name is the view that it is called by, or whose
    name its own begins or ends with: ``rna-new.csv``, ``rna_2024.csv`` and ``new.rna.csv`` are the view ``rna``. Where
    a model has one view, one file is that view, whatever its name.

    Parameters
    ----------
    words : sequence of str
        Paths or ``"view=path"``.
    views : sequence of str
        The views of the model.

    Raises
    ------
    ValueError
        Where it cannot be decided which view a file is, and where two files are one view.

    Examples
    --------
    >>> from kernelweave.cli.new.naming import named_views
    >>> named_views(["data/rna-new.csv", "protein=today.csv"], ["rna", "protein"])
    ['rna=data/rna-new.csv', 'protein=today.csv']
    """
    entries = [_entry(word, views, is_only=len(words) == 1) for word in words]
    taken: dict[str, str] = {}
    for name, path in entries:
        if name is not None and name in taken:
            raise ValueError(
                f"both {taken[name]} and {path} would be the view {name!r}; write VIEW={path} for one of them"
            )
        if name is not None:
            taken[name] = path
    return [path if name is None else f"{name}={path}" for name, path in entries]


def _entry(word: str, views: Sequence[str], *, is_only: bool) -> tuple[str | None, str]:
    """Name and path of a file; no name where the file holds several views with names of their own."""
    before, equals, after = word.partition("=")
    if equals and before and not set(before) & set("/\\") and not Path(os.path.expanduser(word)).exists():
        if before not in views:
            raise ValueError(f"the model has no view {before!r}; its views are {', '.join(views)}")
        return before, after
    stem = without_suffix(Path(word).name)
    if stem in views:
        return None if _holds_several(word) else stem, word
    if _holds_several(word):
        return None, word
    found = [view for view in views if _is_version(stem, view)]
    longest = [view for view in found if len(view) == max(map(len, found))]
    if len(longest) == 1:
        return longest[0], word
    if is_only and len(views) == 1:
        return views[0], word
    raise ValueError(
        f"it is not clear which view {word} is; write VIEW={word}, where the model's views are {', '.join(views)}"
    )


def _is_version(stem: str, view: str) -> bool:
    """Whether a name is that of a view with a word in front or behind."""
    view, stem = re.escape(view.casefold()), stem.casefold()
    return re.fullmatch(rf"{view}[\W_].*|.*[\W_]{view}|{view}", stem, re.DOTALL) is not None


def _holds_several(path: str) -> bool:
    file = Path(os.path.expanduser(path))
    if file.suffix.lower() not in _SEVERAL:
        return False
    if file.suffix.lower() == ".h5mu":
        return True
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):  # the reader has a message for it
        return False
    return len([name for name in arrays if not name.endswith("ids")]) > 1

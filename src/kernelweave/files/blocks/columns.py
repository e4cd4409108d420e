"""`column_names`: what the columns of a file are called, without its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import frames, text
from ..separators import SEPARATORS, format_suffix
from ..sources import sources
from ..table import Options


def column_names(path: Any, options: Options) -> list[str]:
    """The names above the columns of a text or Parquet file; none for files of other formats.

    Parameters
    ----------
    path : path
    options : Options
        How text is read; `id` is not looked at.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave.files.blocks.columns import column_names
    >>> from kernelweave.files.table import Options
    >>> file = Path(tempfile.mkdtemp()) / "rna.csv"
    >>> _ = file.write_text("sample;TP53;MYC\\np1;0.5;1.5\\n")
    >>> column_names(file, Options())
    ['sample', 'TP53', 'MYC']
    """
    (source,) = sources([path])
    suffix = format_suffix(source.path.name)
    options = replace(options, id=None)
    if suffix in SEPARATORS:
        with text.opened(source, options) as handle:
            header, _ = text.started(handle, source, options, None)
            return [name for name in header.names if name]
    return frames.names(source) if suffix in frames.SUFFIXES else []

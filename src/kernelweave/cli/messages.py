"""What users see: plain lines, progress on a terminal, and for an error one line and exit status 2.

With ``KERNELWEAVE_TRACEBACK=1`` in the environment the traceback is printed above that line. Messages of the library
are put in the words of the command line: ``id=False`` is ``--id none`` there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

TRACEBACK = "KERNELWEAVE_TRACEBACK"
INTERRUPTED = 130  # as shells do: 128 + SIGINT
GOES_ON = "Interrupted; the same command goes on where it stopped."
_EXPECTED = (ValueError, OSError, ImportError, MemoryError)
_OF_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
_WRONG, _PIPE = 2, 141  # the last 128 + SIGPIPE
_MOST_LISTED = 12
_NARROWEST = 40
_TEXT = r"(?:'([^']*)'|\"([^\"]*)\")"
_PAIR = re.compile(rf"{_TEXT}: {_TEXT}")


def in_options(message: str) -> str:
    """A message with options of the command line in place of parameters of `read_views`."""
    for pattern, replacement in _RULES:
        message = pattern.sub(replacement, message)
    return message


def _pairs(match: re.Match) -> str:
    found = [(a or b, c or d) for a, b, c, d in _PAIR.findall(match[1])]
    return " ".join(f"--id {_quoted(f'{file}={column}')}" for file, column in found)


def _option(name: str) -> Callable[[re.Match], str]:
    return lambda match: f"--{name} {_quoted(match[1] or match[2] or '')}"


def _quoted(word: str) -> str:
    return f'"{word}"' if re.search(r"\s", word) else word


_RULES: list[tuple[re.Pattern, str | Callable[[re.Match], str]]] = [
    (re.compile(r"\bid=False\b"), "--id none"),
    (re.compile(r"\bid=(\{[^{}]*\})"), _pairs),
    (re.compile(rf"pass id as a mapping, such as \{{FILE: {_TEXT}\}}"), lambda m: f"write --id FILE={m[1] or m[2]}"),
    (re.compile(r"pass id as a mapping from views or files to their own columns"), "write --id FILE=COLUMN"),
    (re.compile(r"pass (groups|event) as FILE:COLUMN"), r"pass --\1 FILE:COLUMN"),
    (re.compile(r"\bX lacks (?=\d)"), "the files lack "),
    (re.compile(r"where X has no column of a view at all, the view"), "where a view has no file at all, it"),
    (re.compile(rf"\btarget={_TEXT}"), _option("target")),
    (re.compile(rf"\bkeep_columns=\[{_TEXT}\]"), _option("keep-column")),
    (re.compile(r"^keep_columns has "), "--keep-column has "),
    (re.compile(rf"\bencoding={_TEXT}"), _option("encoding")),
    (re.compile(rf"\bdecimal={_TEXT}"), _option("decimal")),
    (re.compile(r"\b(id|sep|log)=(?=[,;.]?(?: |$))"), r"--\1"),
    (
        re.compile(rf"or pass na_values=\[{_TEXT}\] if it means"),
        lambda match: f"or write --na-values {_quoted(match[1] or match[2] or '')} if it means",
    ),
    (re.compile(rf"\bpositive={_TEXT}"), _option("positive")),
    (re.compile(r"^log names the view"), "--log names the view"),
    (re.compile(r"\bpaths=(\{.*\}|sorted\(.*\))"), "NAME=FILE"),
]


def guarded(prog: str, command: Callable[[], int]) -> int:
    """Run a command; what it raises becomes one line on standard error, behind `prog`, and an exit status."""
    _escape_what_the_terminal_lacks()
    try:
        with _short_warnings():
            status = command()
            sys.stdout.flush()  # here, where a broken pipe is caught
        return status
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has enough
        _drop_output()
        return _PIPE
    except Exception as error:
        if os.environ.get(TRACEBACK, "") not in ("", "0"):
            traceback.print_exc()
        print(f"{prog}: error: {_message(error)}", file=sys.stderr)
        return _WRONG


def one_line(text: str) -> str:
    """A text without line breaks and without what a terminal would take for a command."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def _message(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{os.fsdecode(error.filename)!r}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory; {text}" if text else "not enough memory; give fewer samples or columns"
    elif not isinstance(error, _EXPECTED):
        text = f"unexpected {type(error).__name__}: {text}; {TRACEBACK}=1 shows where"
    return one_line(in_options(text)) or type(error).__name__


@contextmanager
def _short_warnings() -> Iterator[None]:
    shown = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        line = f"warning: {one_line(in_options(str(message)))}"
        if line not in shown:
            shown.add(line)
            print(line, file=sys.stderr)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always")
            for category in _OF_DEVELOPERS:
                warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


def _escape_what_the_terminal_lacks() -> None:
    """Print letters that the terminal's encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard output not yet printed: the interpreter would print it at its end, and fail again."""
    with suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(lines: Iterable[str]) -> None:
    """Print lines; sentences are wrapped, and what does not end with a full stop, such as a path, is printed whole."""
    width = max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    for line in map(one_line, lines):
        wrapper.subsequent_indent = "  " if line.startswith("- ") else ""
        print(wrapper.fill(line) if line.endswith(".") else line)


def print_table(table: Any, told: TextIO) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..reporting.formatting import write_column

    shown = Table(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        shown.add_column(Text(one_line(column.name)), justify="left" if column.kind == "text" else "right")
    cells = [write_column([row[k] for row in table.rows], column.kind) for k, column in enumerate(table.columns)]
    for row in zip(*cells, strict=True):
        shown.add_row(*(Text(one_line(cell)) for cell in row))
    Console(file=told).print(shown, highlight=False)
    for note in filter(None, [table.note]):
        print(one_line(note), file=told)


@contextmanager
def working(description: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is going on, and for how long; yields a function that replaces the description."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:  # rich prints an empty line there, even for a display that is disabled
        yield lambda text: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(one_line(description), total=None)
        yield lambda text: progress.update(task, description=one_line(text))


@contextmanager
def counting(description: str, width: int) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar on a terminal; yields a function of the numbers of finished and of all cells, and what is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total, what: None
        return
    text = TextColumn(f"{{task.description:<{width}}}", markup=False)
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task(description, total=None)

        def show(done: int, total: int, what: str) -> None:
            bars.update(bar, completed=done, total=total, description=one_line(what)[:width])

        yield show


def listed(parts: list[str]) -> str:
    more = f" and {len(parts) - _MOST_LISTED} more" if len(parts) > _MOST_LISTED else ""
    return ", ".join(parts[:_MOST_LISTED]) + more


def counted_samples(count: int) -> str:
    return f"{count} sample" if count == 1 else f"{count} samples"

"""What people see where something goes wrong: one line on standard error and exit status 2, no traceback.

With ``KERNELWEAVE_TRACEBACK=1`` in the environment the traceback is printed above that line.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .wording import in_options

TRACEBACK = "KERNELWEAVE_TRACEBACK"
EXPECTED = (ValueError, OSError, ImportError, MemoryError)
_OF_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
_WRONG, _INTERRUPTED, _PIPE = 2, 130, 141  # the last two as shells do: 128 + SIGINT, 128 + SIGPIPE


def guarded(prog: str, command: Callable[[], int]) -> int:
    """Run a command; what it raises becomes one line on standard error and an exit status.

    Parameters
    ----------
    prog : str
        What the line begins with, such as "kernelweave fit".
    command : callable
        Returns an exit status.
    """
    _escape_what_the_terminal_lacks()
    try:
        with _short_warnings():
            status = command()
            sys.stdout.flush()  # here, where a broken pipe is caught
        return status
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return _INTERRUPTED
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
    elif not isinstance(error, EXPECTED):
        text = f"unexpected {type(error).__name__}: {text}; {TRACEBACK}=1 shows where"
    return one_line(in_options(text)) or type(error).__name__


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Warnings as lines ``warning: ...``, each once."""
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
    """Letters that the terminal's encoding lacks are printed as escapes; they are no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Send what is still to be printed nowhere: the interpreter prints it at its end, and would fail again."""
    with suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

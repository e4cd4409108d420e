"""What the words behind options may be: functions from the word to its value, which `argparse` calls.

Each raises `argparse.ArgumentTypeError` with what the word must be.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from pathlib import Path
from typing import Any

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def whole(least: int, largest: float = math.inf) -> Any:
    """A type of options: whole numbers from `least` on."""

    def number(text: str) -> int:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else None
        if value is None or not least <= value <= largest:
            upper = "" if largest == math.inf else f" and at most {largest:.0f}"
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}{upper}, not {text!r}")
        return value

    return number


def duration(text: str) -> float:
    """Seconds of "90", "90s", "30m", "2h" or "1h30m"."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    whole = "".join(number + unit for number, unit in parts) == text.strip().lower()
    if not whole or not 0 < seconds < math.inf or any(not unit for _, unit in parts[:-1]):
        raise argparse.ArgumentTypeError(f"must be a time such as 90s, 30m or 2h, not {text!r}")
    return seconds


def id_column(text: str) -> str | bool:
    """The name of a column; False for "none"."""
    if not text:
        raise argparse.ArgumentTypeError('must be the name of a column, or "none", not an empty text')
    return False if text == "none" else text


def separator(text: str) -> str:
    """One character; the tab also in words."""
    text = {r"\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(rf"must be one character, such as ; or \t (tab), not {text!r}")
    return text


def encoding(text: str) -> str:
    """The name of an encoding that Python has."""
    try:
        "".encode(text)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"must be the name of an encoding, such as cp1252, not {text!r}") from None
    return text


def path(text: str) -> Path:
    """A path, that of a user's home folder written out."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be a path, not {text!r}")
    return Path(os.path.expanduser(text))  # that of pathlib fails where there is no such user

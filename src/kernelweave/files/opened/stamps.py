"""`Stamp`: whether a file is still the one that was opened."""

from __future__ import annotations

from pathlib import Path

from .rows import ReadingError


class Stamp:
    """Size and time of a file.

    Parameters
    ----------
    path : Path
    shown : str
        What messages call it.
    """

    def __init__(self, path: Path, shown: str):
        self.path, self.shown = path, shown
        self._seen = self._now()

    def check(self) -> None:
        """Raise a `ReadingError` where the file has changed, or is not there any more."""
        try:
            now = self._now()
        except OSError as error:
            raise ReadingError(f"{self.shown} cannot be read any more: {error.strerror}; open it again") from error
        if now != self._seen:
            raise ReadingError(f"{self.shown} has changed since it was opened; open it again")

    def _now(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns

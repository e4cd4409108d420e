"""`replace_file`: put a complete file in the place of another, or leave the old one as it is.

The new file has no name while it is written (``O_TMPFILE``, on Linux), so that a killed process leaves nothing behind.
Replacing a file takes a name for the moment between linking and renaming, and systems without unnamed files need one
all the while: ``.NAME.<16 hexadecimal digits>.part`` beside the file. The writing process holds a lock on it, and the
next `replace_file` removes such files without a lock.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # without locks a file in use cannot be distinguished from one that was left
    fcntl = None  # type: ignore[assignment]  # a module that some systems lack

_LONGEST = 200  # characters of the file's name in the temporary one


def replace_file(path: str | os.PathLike, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file and put it in the place of `path`, which is the old file or the whole new one at any time.

    An existing file keeps its permissions, and owner and group where the system lets it; a new one has those that the
    process gives (umask). A symbolic link stays and the file that it leads to is replaced. An `OSError` names `path`
    where it is something else than a regular file, is write-protected or cannot be written.
    """
    path = Path(os.path.realpath(path))
    with naming(path):
        _replace(path, write)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make system errors name `path` that name no file (such as a full disk) or our own temporary file."""
    try:
        yield
    except OSError as error:
        named = "" if error.filename is None else os.path.basename(os.fsdecode(error.filename))
        if error.errno is None or (named and not _temporary_of(path).fullmatch(named)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    old = _replaceable(path)
    mode = 0o666 if old is None else 0o600  # while it is written
    _remove_left_over(path)

    def fill(descriptor: int) -> None:
        with os.fdopen(descriptor, "w+b", closefd=False) as file:
            write(file)
            file.flush()
        if old is not None:
            _take_over(descriptor, old)
        os.fsync(descriptor)

    if not _by_unnamed_file(path, old is None, mode, fill):
        _by_named_file(path, mode, fill)


def _replaceable(path: Path) -> os.stat_result | None:
    """The status of the file to replace, None where there is none."""
    try:
        old = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(old.st_mode):
        kind = "a directory" if stat.S_ISDIR(old.st_mode) else "a device, pipe or socket"
        raise OSError(f"cannot write to {str(path)!r}: it is {kind}, not a file; choose another path")
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", str(path))
    return old


def _by_unnamed_file(path: Path, is_new: bool, mode: int, fill: Callable[[int], None]) -> bool:
    """Write a file without a name, then give it one; False where the system or the file system has no such thing."""
    descriptor = _open_unnamed(path.parent, mode)
    if descriptor is None:
        return False
    try:
        _lock(descriptor)
        fill(descriptor)
        if is_new:
            with suppress(FileExistsError):  # another process was first
                _link(descriptor, path)
                return True
        beside = _temporary_name(path)
        _link(descriptor, beside)
        _rename(beside, path)
        return True
    except _NoLinkError:
        return False
    finally:
        os.close(descriptor)


def _by_named_file(path: Path, mode: int, fill: Callable[[int], None]) -> None:
    beside, descriptor = _open_named(path, mode)
    try:
        fill(descriptor)
        _rename(beside, path)
    finally:
        beside.unlink(missing_ok=True)
        os.close(descriptor)


def _open_unnamed(folder: Path, mode: int) -> int | None:
    """A file without a name, None where the system or the file system has no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_RDWR | os.O_TMPFILE, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _open_named(path: Path, mode: int) -> tuple[Path, int]:
    while True:
        beside = _temporary_name(path)
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        _lock(descriptor, wait=True)
        if beside.exists():
            return beside, descriptor
        os.close(descriptor)  # taken for left over, and removed, before it was locked


class _NoLinkError(Exception):
    """A file without a name cannot be given one here."""


def _link(descriptor: int, name: Path) -> None:
    try:
        # Only with a directory's descriptor does Python follow the symbolic link, which is what gives the file a name.
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=0, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise _NoLinkError from error


def _rename(beside: Path, path: Path) -> None:
    try:
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _take_over(descriptor: int, old: os.stat_result) -> None:
    """Give a file owner, group and permissions of another; a group that cannot be kept loses its permissions."""
    new, mode = os.fstat(descriptor), stat.S_IMODE(old.st_mode)
    if not hasattr(os, "fchown"):
        return
    if new.st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except PermissionError:
            mode &= ~(stat.S_IRWXG | stat.S_ISGID)
    if new.st_uid != old.st_uid:
        try:
            os.fchown(descriptor, old.st_uid, -1)
        except PermissionError:
            mode &= ~stat.S_ISUID
    os.fchmod(descriptor, mode)


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:_LONGEST]}.{secrets.token_hex(8)}.part")


def _temporary_of(path: Path) -> re.Pattern[str]:
    return re.compile(re.escape(f".{path.name[:_LONGEST]}.") + r"[0-9a-f]{16}\.part")


def _lock(descriptor: int, wait: bool = False) -> bool:
    """Lock a file; False where it is locked, or where there are no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_left_over(path: Path) -> None:
    """Remove the temporary files of killed processes: those without a lock."""
    pattern = _temporary_of(path)
    with suppress(OSError):  # a folder that cannot be listed has nothing to remove
        for name in [entry.name for entry in os.scandir(path.parent) if pattern.fullmatch(entry.name)]:
            _remove_unlocked(path.with_name(name))


def _remove_unlocked(name: Path) -> None:
    with suppress(OSError):  # removed meanwhile, or of another user
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor):
                name.unlink()
        finally:
            os.close(descriptor)

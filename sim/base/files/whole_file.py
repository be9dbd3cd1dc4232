"""Files that are there whole or as they were before: written beside, synced, and moved into place in one step."""

import errno
import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from sim.errors import InputError, Message

IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)
"""Why a folder takes no new file though one in it can be written: it is somebody else's, or that file is a mount."""
_UNFINISHED = ".writing"
_LONGEST_NAME = 200
"""Bytes of a file's name that its unfinished copy may be called by; systems take 255."""


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Put a content into a file. Raises InputError where that cannot be done; the file is then what it was before.

    A link stays one, and what it points at is written; a device or a pipe simply gets the content.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        put_whole(path, data)
    except (OSError, ValueError) as error:
        raise refused(path, error) from None


def put_whole(path: str | Path, data: bytes) -> None:
    """What `write_whole` does. Raises OSError, and ValueError for what is no path."""
    target = _target(path)
    if _is_special(target):
        with target.open("wb", buffering=0) as file:
            write_all(file.fileno(), data)
        return
    descriptor, beside = _beside(target)
    try:
        try:
            write_all(descriptor, data)
            if beside is None:
                os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if beside is not None:
            os.replace(beside, target)
            sync_folder(target.parent)
    except BaseException:
        if beside is not None:
            beside.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path) -> None:
    """Raise InputError where `write_whole` could not write, before the work that is to be written."""
    try:
        target = _target(path)
        with suppress(FileNotFoundError):
            os.stat(target)  # it raises for a name that is too long, which pathlib no longer does everywhere
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if _is_special(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        descriptor, beside = _beside(target)
        os.close(descriptor)
        if beside is not None:
            beside.unlink()
    except (OSError, ValueError) as error:
        raise refused(path, error) from None


def refused(path: str | Path, error: Exception, mend: str = "file.other_path") -> InputError:
    """What to tell of a file that cannot be written."""
    why = getattr(error, "strerror", None) or error
    return InputError("file.unwritable", file=path, why=why, remedy=Message(mend))


def write_all(descriptor: int, data: bytes) -> None:
    """Every byte, however few the system takes at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Let a folder's entries survive a power cut, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def clear_unfinished(path: Path) -> None:
    """Remove what was left beside a file by whoever was killed while writing it; for its only writer."""
    left = re.compile(rf"{re.escape(_hidden(path.name))}[0-9a-f]{{8}}{re.escape(_UNFINISHED)}")
    for name in filter(left.fullmatch, os.listdir(path.parent)):
        with suppress(OSError):
            (path.parent / name).unlink()


def unfinished(path: Path) -> Path:
    """A new name beside a file, for what shall take its place."""
    return path.with_name(f"{_hidden(path.name)}{secrets.token_hex(4)}{_UNFINISHED}")


def _target(path: str | Path) -> Path:
    """What a path leads to; what the system makes up, like /dev/stdout, is written as it is called."""
    return Path(path) if str(path).startswith(("/dev/", "/proc/")) else Path(os.path.realpath(path))


def _is_special(target: Path) -> bool:
    """Whether it takes bytes as they come and cannot be replaced: a device or a pipe."""
    return str(target).startswith(("/dev/", "/proc/")) or (target.exists() and not target.is_file())


def _hidden(name: str) -> str:
    """What the unfinished copies of a file begin with."""
    data = os.fsencode(name)
    return f".{name}." if len(data) <= _LONGEST_NAME else f".{name[:40]}{hashlib.sha256(data).hexdigest()[:16]}."


def _beside(target: Path) -> tuple[int, Path | None]:
    """A new file next to the one that is to be written; that one itself, and None, where its folder takes no other."""
    beside = unfinished(target)
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(beside, flags | os.O_EXCL, 0o666)
    except OSError as error:
        if error.errno not in IN_PLACE or not target.is_file():
            raise
        return os.open(target, flags), None
    with suppress(OSError):
        os.chmod(beside, target.stat().st_mode & 0o7777)  # as the file it takes the place of
    return descriptor, beside

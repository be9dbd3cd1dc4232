"""A lock on an open file, which the system takes back when the process ends, however it ends."""

import errno
import os
import sys
from contextlib import suppress
from typing import IO, Any, Literal

HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""What the system says of a lock that another process has. Any other error says that it has no locks here."""


def lock(file: IO[Any], *, waits: bool = False) -> Literal["ours", "theirs", "none"]:
    """Lock a file and return who has it: "none" where the file system, or the system, has no locks.

    With `waits` it returns when nobody else has it.
    """
    try:
        import fcntl
    except ImportError:
        return "none"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError as error:
        return "theirs" if error.errno in HELD and not waits else "none"
    return "ours"


def is_at(path: str | os.PathLike[str], file: IO[Any]) -> bool:
    """Whether an open file is the one that a path leads to; it may have been removed or replaced since."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def notice(sentence: str) -> None:
    """Write a line to standard error, where there is one."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()

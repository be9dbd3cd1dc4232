"""A text that a person gives, as a file or as bytes: bounded, decoded, and refused in one sentence; names in it."""

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from sim.errors import InputError, Message
from sim.units import MiB, fmt_size

LARGEST = 16 * MiB
"""Characters of a text where nothing else is said."""

STANDARD_INPUT = "-"
"""What standard input is called."""
_STANDARD = re.compile(r"-|/dev/stdin|(?:/dev|/proc/self)/fd/\d+")

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""What a UTF-16 text begins with; PowerShell writes such files."""

NAME_SHOWN = 40
"""Characters of a name that a message has."""
_UNNAMEABLE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters, marks of direction, line separators, halves of characters, and what XML cannot hold."""


class Expected(NamedTuple):
    """What a text should be, for refusals: `file` as in "a topology file", `mend` for a text that is too large.

    `largest` is in characters. `kinds` names what may be given; it is called for a refusal only.
    """

    file: str = "a text file"
    mend: str = "give a smaller file"
    kinds: Callable[[], Message] = lambda: Message("one that is")
    largest: int = LARGEST


def read_text(path: str | Path, expected: Expected = Expected()) -> str:  # noqa: B008  a tuple never changes
    """What a file says. Raises InputError when it cannot be opened, is too large or is not text."""
    return decoded(read_bytes(path, expected), str(path), expected)


def read_bytes(path: str | Path, expected: Expected = Expected()) -> bytes:  # noqa: B008
    """What a file or standard input holds, and no more than `expected` has room for.

    Raises InputError when it cannot be opened.
    """
    if not str(path):
        raise InputError("file.no_name", kind=Message(expected.file))
    most = 4 * expected.largest + 4
    try:
        with open_regular(path) as file:
            data = file.read(most)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError("file.unreadable", file=path, why=Message(str(why)), kind=Message(expected.file)) from None
    if len(data) == most:
        raise InputError("file.too_large", file=path, largest=fmt_size(expected.largest), remedy=Message(expected.mend))
    return data


def is_standard_input(path: str | Path) -> bool:
    """Whether a path is standard input, `-`, or what a shell calls the output of another command.

    >>> is_standard_input("-"), is_standard_input("/dev/fd/63"), is_standard_input("a-b")
    (True, True, False)
    """
    return _STANDARD.fullmatch(str(path)) is not None


def is_file(text: str) -> bool:
    """Whether a text is the path of a file; no text that is too long for one is, or has a zero in it."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def open_regular(path: str | Path) -> AbstractContextManager[IO[bytes]]:
    """Open a regular file, or standard input, to be read.

    Raises OSError for any other: a pipe or a device may never say anything, and never end.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        return nullcontext(sys.stdin.buffer)
    if is_standard_input(path):
        return Path(path).open("rb")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags)
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(file, "rb")
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is a named pipe" if stat.S_ISFIFO(mode) else "it is a device")


def decoded(data: bytes, name: str, expected: Expected = Expected()) -> str:  # noqa: B008
    """The text of bytes: UTF-16 where they are marked so, else UTF-8 with strays replaced; `name` is for messages.

    Raises InputError for bytes that are no text, and for more of it than `expected` has room for.
    """
    if data[:2] in UTF_16:
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data[:4096]:
        raise InputError("file.not_text", file=name, titles=expected.kinds())
    else:
        text = data.decode("utf-8-sig", errors="replace")
    return bounded(text, name, expected)


def bounded(text: str, name: str | Message, expected: Expected) -> str:
    """The text itself. Raises InputError where it is too long."""
    if len(text) > expected.largest:
        raise InputError("file.too_large", file=name, largest=fmt_size(expected.largest), remedy=Message(expected.mend))
    return text


def check_names(names: Iterable[str], what: str | Message) -> None:
    r"""Raise InputError for a name with a character that nobody can see; `what` says what has it.

    >>> check_names(["GPU0", "GPU\x1b[31m"], "device")
    Traceback (most recent call last):
    sim.errors.InputError: device 'GPU\x1b[31m' has the invisible character U+001B in its name: leave it out
    """
    several = list(names)
    if not _UNNAMEABLE.search("".join(several)):
        return
    name, match = next((name, match) for name in several if (match := _UNNAMEABLE.search(name)))
    begin = max(0, match.start() - NAME_SHOWN // 2)
    shown = name[begin : begin + NAME_SHOWN]
    owner = Message(what) if isinstance(what, str) else what
    raise InputError("name.invisible", what=owner, name=shown, code=ord(match[0]))


def check_lines(text: str, what: str) -> None:
    """Raise InputError for a text of several lines with a character, beside tabs and line ends, that nobody can see."""
    check_names(re.split(r"[\t\r\n]", text), what)

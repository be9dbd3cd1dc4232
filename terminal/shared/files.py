"""Files that commands write."""

from pathlib import Path

from sim.base.files.whole_file import check_writable
from sim.errors import InputError
from terminal.shared.types import TypedWord


def _writable(path: str, flag: str) -> str:
    check_writable(path)
    return path


TO_WRITE = TypedWord("file", _writable)
"""A file that a command writes in the end: it finds out before its work that it can."""


def ending_of(path: str, endings: list[str]) -> str:
    """The longest known ending of a file's name. Raises InputError where there is none."""
    name = Path(path).name.lower()
    fitting = [ending for ending in endings if name.endswith("." + ending)]
    if not fitting:
        raise InputError("file.ending", file=path, endings=endings)
    return max(fitting, key=len)

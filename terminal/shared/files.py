"""Files that commands write."""

from pathlib import Path

from sim.errors import InputError


def write(path: str, content: str | bytes) -> None:
    """Put an answer into a file. Raises InputError where that cannot be done."""
    try:
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None


def ending_of(path: str, endings: list[str]) -> str:
    """The longest known ending of a file's name. Raises InputError where there is none."""
    name = Path(path).name.lower()
    fitting = [ending for ending in endings if name.endswith("." + ending)]
    if not fitting:
        raise InputError(f"{path[:80]} has no ending that says what it should be: choose from .{', .'.join(endings)}")
    return max(fitting, key=len)

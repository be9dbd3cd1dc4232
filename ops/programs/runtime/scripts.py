"""Scripts: their text, and whether it is Python."""

import os
from pathlib import Path
from types import CodeType

from sim.base.files.textfile import Expected, read_bytes
from sim.errors import InputError


def read_script(path: str | Path) -> bytes:
    """Return the text of a script. Raises InputError where it cannot be read."""
    return read_bytes(path, Expected("a Python script"))


def compiled(source: bytes, file: str) -> CodeType:
    """Return the code of a script. Raises InputError that names the line where it is no Python."""
    name = os.path.basename(file)
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        at = f", line {error.lineno}" if error.lineno else ""
        raise InputError(f"{name}{at}: {error.msg}: correct the script") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{name} is no Python script ({error}): give a file of Python source") from None

"""Scripts: their text, and whether it is Python."""

import os
from pathlib import Path
from types import CodeType

from sim.base.files.textfile import Expected, read_bytes
from sim.errors import InputError, Message


def read_script(path: str | Path) -> bytes:
    """Return the text of a script. Raises InputError where it cannot be read."""
    return read_bytes(path, Expected("a Python script"))


def compiled(source: bytes, file: str) -> CodeType:
    """Return the code of a script. Raises InputError that names the line where it is no Python."""
    name = os.path.basename(file)
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = Message("place.line", file=name, line=error.lineno) if error.lineno else name
        raise InputError("program.syntax", place=place, error=error.msg) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError("program.no_script", name=name, error=error) from None

"""`python -m tests.attack.repro FOLDER`: inputs that once broke something; each in a process of its own, measured.

A file's name begins with what reads it, up to the first `_`, `-` or `.`: `simgrid_…`, `trace_…`, `journal_…`; one that
has `link` in its name is a packed schedule, and opened on the page. Printed are seconds, the most memory, and what was
said; an input that takes more than a second or 300 MB, ends its process or is refused in no sentence is wrong.
"""

import argparse
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sim.errors import LONGEST, InputError
from tests.attack import links
from tests.attack.files import Reader, readers

SECONDS, BYTES = 1.0, 300_000_000
CALLED = {"trace": "a kept run", "table": "a sweep's table"}
"""Readers that go by another name in a file's."""


class Measured(NamedTuple):
    """One input: seconds of the clock and of the processor, bytes, whether it ended well, and what was said."""

    seconds: float
    busy: float
    memory: int
    ended: bool
    said: str

    def is_right(self, seconds: float = SECONDS, memory: int = BYTES) -> bool:
        """Whether it was answered or refused in a sentence, within so much."""
        return self.ended and self.seconds <= seconds and self.memory <= memory


def reader_of(name: str) -> Callable[[bytes], object]:
    """What a file of this name is given to. Raises InputError where its name tells nothing."""
    if "link" in Path(name).stem.split("_"):
        return lambda data: links.run({"schedule": data.decode("utf-8", "replace").strip()})
    word = re.split(r"[_.-]", name)[0]
    wanted = _letters(CALLED.get(word, word))
    for reader in readers():
        if wanted and wanted in _letters(reader.name):
            return lambda data, reader=reader: _use(reader, data)
    raise InputError(f"{name} begins with the name of no reader: call it like simgrid_1.xml")


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _use(reader: Reader, data: bytes) -> object:
    from sim.base.files.textfile import decoded

    return reader.use(decoded(data, "it") if reader.is_text else data.decode("latin-1"))


def measured(use: Callable[[bytes], object], data: bytes) -> Measured:
    """Give it to its reader in a copy of this process."""
    out, into = os.pipe()
    begun = time.perf_counter()
    process = os.fork()
    if not process:
        os.close(out)
        ended, said = _said(use, data)
        os.write(into, said.encode("utf-8", "replace")[:4000])
        os._exit(0 if ended else 1)
    os.close(into)
    with open(out, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    _, status, usage = os.wait4(process, 0)
    seconds, busy = time.perf_counter() - begun, usage.ru_utime + usage.ru_stime
    how = "" if os.WIFEXITED(status) else f"ended by signal {os.WTERMSIG(status)}"
    return Measured(seconds, busy, usage.ru_maxrss << 10, status == 0, said or how)


def _said(use: Callable[[bytes], object], data: bytes) -> tuple[bool, str]:
    try:
        use(data)
    except InputError as error:
        return len(str(error)) <= LONGEST, str(error)
    except BaseException as error:  # noqa: BLE001  whatever is let through is what is looked for
        return False, "".join(traceback.format_exception_only(error)).strip()[-600:]
    return True, "read"


def main() -> int:
    """Every file of a folder; 1 where one was wrong."""
    parser = argparse.ArgumentParser(prog="tests.attack.repro", description=__doc__)
    parser.add_argument("folder", type=Path)
    words = parser.parse_args()
    os.environ["RINGSIDE_NO_WORKERS"] = "1"
    files = sorted(path for path in words.folder.iterdir() if path.is_file())
    if any("link" in path.stem.split("_") for path in files):
        links.run({})  # everything is loaded once, as on a server
    wrong = 0
    for path in files:
        seen = measured(reader_of(path.name), path.read_bytes())
        wrong += not seen.is_right()
        mark = "  " if seen.is_right() else "! "
        figures = f"{seen.seconds:6.3f} s {seen.busy:6.3f} s of CPU {seen.memory / 1e6:4.0f} MB"
        print(f"{mark}{figures}  {path.name}: {seen.said[:200]}", flush=True)
    print(f"{len(files)} inputs, {wrong} wrong; load {os.getloadavg()[0]:.1f}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

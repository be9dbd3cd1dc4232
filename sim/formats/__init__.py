"""One file per topology format; `@reader` and `@writer` put it on the only list.

A reader is a function from text to a Topology, with keyword options read from its signature. `read_topology`
finds the reader whose `matches` knows the text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.parameters import Parameter, bind, parameters
from sim.registry import Registry
from sim.topology import Topology
from sim.units import MiB, fmt_size

LARGEST_TEXT = 1 * MiB
"""Beyond any real machine's description; keeps a mistaken file from being searched for hours."""

OTHER_THINGS = (
    (r"<algo\s", "an MSCCL schedule, not a machine: give it as --schedule"),
    (r"#\s+out-of-place", "a table of nccl-tests, which measures a machine: give it to `validate`"),
    (r"<!DOCTYPE html|<html", "a web page: paste only the text of the topology"),
    (r"command not found|NVIDIA-SMI has failed|is not recognized", "an error message: run the command where it works"),
)
"""Patterns of what people paste by mistake, what it is and what to do."""

Read = Callable[..., Topology]
Write = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing a machine down: `read(text, name=…, **options)` for texts that `matches` knows.

    `explain` says, for a text no format matches, what it is instead and what to do, or nothing.
    `write(topology, **options)` is absent where a format is only read.
    """

    name: str
    title: str
    matches: Callable[[str], bool]
    read: Read
    explain: Callable[[str], str]
    write: Write | None = None

    @property
    def options(self) -> dict[str, Parameter]:
        """The keyword options of the reader, for help texts and widgets."""
        return parameters(self.read, skip=("text", "name"))


FORMATS = Registry[Format](__name__, "topology format")


def reader(
    name: str, title: str, *, matches: Callable[[str], bool], explain: Callable[[str], str] = lambda text: ""
) -> Callable[[Read], Read]:
    """Register a reader under a format's name; the function is returned unchanged."""

    def register(read: Read) -> Read:
        FORMATS.add(name, Format(name, title, matches, read, explain))
        return read

    return register


def writer(name: str) -> Callable[[Write], Write]:
    """Register the writer of a format that has a reader; the function is returned unchanged."""

    def register(write: Write) -> Write:
        FORMATS.change(name, replace(FORMATS[name], write=write))
        return write

    return register


def recognise(text: str, name: str) -> Format:
    """The format of a text; `name` is what messages call it. Raises InputError saying what it is instead."""
    if len(text) > LARGEST_TEXT:
        raise InputError(f"{name} is larger than {fmt_size(LARGEST_TEXT)}: give the topology alone")
    if not text.strip():
        raise InputError(f"{name} is empty: give {_titles()}")
    known = next((known for known in FORMATS.values() if known.matches(text)), None)
    if known is not None:
        return known
    told = next(filter(None, (known.explain(text) for known in FORMATS.values())), "")
    told = told or next((what for pattern, what in OTHER_THINGS if re.search(pattern, text, re.IGNORECASE)), "")
    raise InputError(f"{name} is {told}" if told else f"{name} is no topology known here: give {_titles()}")


def read_topology(text: str, name: str, **overrides: Any) -> Topology:
    """The machine a text describes, whatever its format; `overrides` are the reader's options, parsed when texts.

    Raises InputError naming the place and the mend.
    """
    known = recognise(text, name)
    options = bind(known.read, overrides, known.name, skip=("text", "name"))
    return replace(known.read(text, name=name, **options), format=known.name)


def write_topology(topology: Topology, format: str, **options: Any) -> str:
    """A machine in another format. Raises InputError for a format that is only read, or cannot hold it."""
    known = FORMATS[format]
    if known.write is None:
        able = ", ".join(known.name for known in FORMATS.values() if known.write)
        raise InputError(f"machines are not written as {format}: choose from {able}")
    return known.write(topology, **bind(known.write, options, format, skip=("topology",)))


def read_topology_file(path: str | Path, **overrides: Any) -> Topology:
    """`read_topology` of a file. Raises InputError when it cannot be opened or is not text."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(4 * LARGEST_TEXT + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the path of a topology file") from None
    return read_topology(_decoded(data, str(path)), str(path), **overrides)


def _decoded(data: bytes, name: str) -> str:
    """Text from bytes: UTF-16 when marked so (PowerShell writes it), else UTF-8 with strays replaced."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise InputError(f"{name} is not a text file: give {_titles()}")
    return data.decode("utf-8-sig", errors="replace")


def _titles() -> str:
    *others, last = (known.title for known in FORMATS.values())
    return f"{', '.join(others)} or {last}"

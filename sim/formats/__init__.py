"""One file per topology format; `@reader` and `@writer` put it on the only list.

A reader is a function from text to a Topology, with keyword options read from its signature. `read_topology`
finds the reader whose `matches` knows the text.
"""

from pathlib import Path
from typing import Any

from sim.base.formats import Formats, ReadingError, Words, lines, rows
from sim.errors import expect_kind
from sim.topology import Topology
from sim.units import MiB

__all__ = [
    "FORMATS",
    "LARGEST_TEXT",
    "ReadingError",
    "lines",
    "read_topology",
    "read_topology_file",
    "reader",
    "recognise",
    "rows",
    "write_topology",
    "writer",
]

LARGEST_TEXT = 1 * MiB
"""Beyond any real machine's description; keeps a mistaken file from being searched for hours."""

OTHER_THINGS = (
    (r"<algo\s", "instead.msccl_schedule"),
    (r"#\s+out-of-place", "instead.nccl_tests"),
    (r"<!DOCTYPE html|<html", "instead.web_page_machine"),
    (r"<graphs\b", "instead.graphs_machine"),
    (r"\bNCCL INFO\b", "instead.nccl_log"),
    (r"(?m)^Machine \(.{1,40}\)|^ +Package L#0", "instead.lstopo_text"),
    (
        r"(?m)^\s{0,8}\d{1,7}\s+\d{1,7}\s+[\d.]{1,9}[GMT]bps\s+[\d.]{1,12}[mun]?s\s+[\d.]{1,9}\s*$",
        "instead.ns3",
    ),
    (r"command not found|NVIDIA-SMI has failed|is not recognized", "instead.error_message"),
)
"""Patterns of what people paste by mistake, and the ids of what it is and what to do."""

WORDS = Words("topology", "machines", "a topology file", "give the topology alone")
FORMATS: Formats[Topology] = Formats(__name__, WORDS, largest=LARGEST_TEXT, other_things=OTHER_THINGS)

reader, writer, recognise = FORMATS.reader, FORMATS.writer, FORMATS.recognise


def read_topology(text: str, name: str, **overrides: Any) -> Topology:
    """Read a machine from a text in any format.

    Parameters
    ----------
    text : str
        Output of a tool, or content of a file.
    name : str
        Name of the machine, also in error messages.
    **overrides : Any
        Options of the reader, like rates missing from the text; parsed when they are texts.

    Returns
    -------
    Topology
        The machine; `assumed` lists values missing from the text.

    Raises
    ------
    InputError
        If the format is unknown or the text is damaged; the error names the line.
    """
    expect_kind(text, str, "the machine", "give the text itself; `read_topology_file` takes a path")
    format = recognise(text, name)
    topology: Topology = FORMATS.call(format, format.read, text, name, overrides)
    return topology.but(format=format.name)


def write_topology(topology: Topology, format: str, **options: Any) -> str:
    """A machine in another format. Raises InputError for a format that is only read, or cannot hold it."""
    return FORMATS.write(topology, format, **options)


def read_topology_file(path: str | Path, **overrides: Any) -> Topology:
    """`read_topology` of a file. Raises InputError when it cannot be opened or is not text."""
    return read_topology(FORMATS.text(path), str(path), **overrides)

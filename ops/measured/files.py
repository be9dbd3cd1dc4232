"""Files of measurements, whatever tool wrote them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ops.measured import named, nccl_tests, osu
from ops.measured.machine import find_machine
from ops.measured.rows import Table
from sim.errors import InputError
from sim.machines import build, machine_parameters
from sim.parameters import parse_spec
from sim.topology import Topology
from sim.units import MiB, fmt_size

LARGEST_FILE = 16 * MiB
READERS: tuple[tuple[Callable[[str], bool], Callable[[str, str], list[Table]]], ...] = (
    (named.matches, named.read),
    (osu.matches, osu.read),
    (nccl_tests.matches, nccl_tests.read),
)


def read_tables(text: str, name: str) -> list[Table]:
    """The tables in a text. Raises InputError where it holds none that are known."""
    for matches, read in READERS:
        if matches(text):
            return read(text, name)
    raise InputError(
        f"{name} is no output of nccl-tests, no OSU table and no list of named algorithms: give one of them"
    )


def read_file(path: str | Path) -> list[Table]:
    """`read_tables` of a file. Raises InputError when it cannot be read or is too large."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): give the path of a file with measurements"
        ) from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} is larger than {fmt_size(LARGEST_FILE)}: give the tables alone")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return read_tables(data.decode(encoding, errors="replace"), str(path))


def place(table: Table, spec: str = "", ranks: int = 0, collective: str = "") -> tuple[Topology, Table, str]:
    """The machine a table is from, the table with what a caller adds to it, and what told the machine.

    `spec` is a caller's own machine; where it is too small and takes hosts, it gets as many as the ranks need.
    Raises InputError where the file does not tell and the caller does not either.
    """
    rows = table.rows
    if ranks or collective:
        rows = tuple(replace(r, ranks=ranks or r.ranks, collective=collective or r.collective) for r in rows)
    table = replace(table, rows=rows, ranks=ranks or table.ranks)
    if not spec:
        found, why = find_machine(table)
        return build(found), table, why
    topology = build(spec)
    name, given = parse_spec(spec)
    if 0 < topology.n < table.ranks and "hosts" in machine_parameters(name) and "hosts" not in given:
        topology = build(f"{spec}{',' if given else ':'}hosts={-(-table.ranks // topology.n)}")
    if not table.ranks:
        table = replace(table, ranks=topology.n, rows=tuple(replace(r, ranks=r.ranks or topology.n) for r in rows))
    return topology, table, "given"

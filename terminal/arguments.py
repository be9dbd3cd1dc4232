"""Arguments that several commands take, and what they stand for."""

import argparse
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import argument

if TYPE_CHECKING:
    from ops.registry import Algorithm
    from sim.schedule import Schedule
    from sim.topology import Topology

ALGORITHM = (
    argument("algorithm", metavar="COLLECTIVE.ALGORITHM", help="see `list algorithms`"),
    argument("--root", default="0", help="the rank a rooted collective starts from or ends at"),
    argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the algorithm"),
)
MACHINE = (
    argument("--machine", metavar="SPEC", help="NAME[:key=value,…], see `list machines`"),
    argument("--assume", action="append", default=[], metavar="KEY=VALUE", help="what a file does not say"),
)


def machine(given: argparse.Namespace, file: str | None) -> "Topology":
    """The machine that `--machine` or a file describes. Raises InputError unless it is exactly one of them."""
    from sim.formats import read_topology_file
    from sim.machines import build
    from sim.parameters import parse_assignments

    if (file is None) == (given.machine is None):
        raise InputError("a machine must be given once: add either --machine NAME or the file of a topology")
    if file is not None:
        return read_topology_file(file, **parse_assignments(given.assume, "--assume"))
    if given.assume:
        raise InputError("--assume fills in what a file does not say: give --machine NAME:key=value,… instead")
    return build(given.machine)


def schedule(given: argparse.Namespace, entry: "Algorithm", ranks: int) -> "Schedule":
    """The algorithm unrolled with `--root` and `--set`. Raises InputError for what it cannot do."""
    from sim.parameters import parse_assignments

    settings = parse_assignments(given.set, f"{entry.name}, --set")
    return entry.schedule(ranks, root=whole(given.root, "--root"), **settings)


def whole(text: str, flag: str) -> int:
    """A whole number. Raises InputError naming the flag."""
    from sim.parameters import Parameter

    value: int = Parameter(flag, "int", None).parse(text, "the command line")
    return value

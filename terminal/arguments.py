"""Arguments that several commands take, and what they stand for."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import argument

if TYPE_CHECKING:
    from ops.registry import Algorithm
    from ops.work import Work
    from sim.topology import Topology

ALGORITHM = (
    argument(
        "algorithm",
        nargs="?",
        metavar="COLLECTIVE.ALGORITHM",
        help="see `list algorithms`; nccl.COLLECTIVE is what NCCL would run",
    ),
    argument("--schedule", metavar="FILE", help="instead: a schedule in a known format, or file.py:function"),
    argument("--library", help="with a collective and --id: the algorithm this library calls so"),
    argument("--id", help="a library's own number or name, see `list algorithms --library`"),
    argument("--root", help="the rank a rooted collective starts from or ends at; 0 if left out"),
    argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the algorithm or format"),
)
MACHINE = (
    argument("--machine", metavar="SPEC", help="NAME[:key=value,…], see `list machines`"),
    argument("--assume", action="append", default=[], metavar="KEY=VALUE", help="what a file does not say"),
)
RANKS = argument("--ranks", help="how many ranks take part; the whole machine if left out")


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


def work(given: argparse.Namespace, topology: "Topology | None" = None) -> "Work":
    """The schedule that is asked for, on this machine where there is one. Raises InputError for what cannot be."""
    from sim.parameters import parse_assignments

    if given.schedule is None and given.algorithm is not None and given.algorithm.startswith("nccl."):
        return _as_nccl_chooses(given, topology)
    if given.schedule is None:
        entry = algorithm(given)
        settings = parse_assignments(given.set, f"{entry.name}, --set")
        return _registered(given, entry, topology, settings)
    if given.library is not None or given.id is not None:
        raise InputError("--schedule brings its own algorithm: leave out --library and --id")
    settings = parse_assignments(given.set, f"{given.schedule}, --set")
    own = python_file(given.schedule)
    if own is None:
        return _imported(given, settings)
    from terminal.own import algorithm_of_file

    return _registered(given, algorithm_of_file(*own, given.algorithm), topology, settings)


def python_file(text: str) -> tuple[str, str] | None:
    """File and function of `file.py` or `file.py:function`; None for any other file."""
    file, _, function = text.rpartition(":")
    if text.endswith(".py"):
        return text, ""
    return (file, function) if file.endswith(".py") else None


def algorithm(given: argparse.Namespace) -> "Algorithm":
    """The registered algorithm that is asked for, by its name or by a library's."""
    from ops import ALGORITHMS

    if given.algorithm is None:
        raise InputError("nothing to run is given: name a COLLECTIVE.ALGORITHM, or add --schedule FILE")
    if (given.library is None) != (given.id is None):
        raise InputError("a library's algorithm needs both: write --library kucg --id 4")
    if given.library is None:
        return ALGORITHMS[given.algorithm]
    return ALGORITHMS.known_as(given.algorithm, given.library, given.id)


def _as_nccl_chooses(given: argparse.Namespace, topology: "Topology | None") -> "Work":
    """`nccl.allreduce`: the algorithm, protocol and orders of ranks that NCCL takes here for this size."""
    from ops.libraries.nccl.choice import NcclOptions, choose, work_of
    from sim.parameters import bind, parse_assignments
    from sim.units import parse_size

    if topology is None:
        raise InputError(f"{given.algorithm} depends on the machine: add --machine NAME or --topology FILE")
    if getattr(given, "size", None) is None:
        raise InputError(f"{given.algorithm} depends on the size: add --size 64MiB")
    options = bind(NcclOptions, parse_assignments(given.set, f"{given.algorithm}, --set"), given.algorithm)
    ranks = topology.n if given.ranks is None else whole(given.ranks, "--ranks")
    root = 0 if given.root is None else whole(given.root, "--root")
    collective = given.algorithm.removeprefix("nccl.")
    size = parse_size(given.size, "--size")
    return work_of(topology, choose(topology, collective, size, ranks, options=NcclOptions(**options)), root=root)


def _registered(
    given: argparse.Namespace, entry: "Algorithm", topology: "Topology | None", settings: dict[str, str]
) -> "Work":
    from ops.work import registered

    if given.ranks is None and topology is None:
        raise InputError(f"{entry.name} can be made for many numbers of ranks: add --ranks 8")
    ranks = whole(given.ranks, "--ranks") if given.ranks is not None else topology.n if topology else 0
    if topology is not None and ranks > topology.n:
        raise InputError(f"{topology.name} holds {topology.n} ranks, not {ranks}: ask for {topology.n} or fewer")
    root = 0 if given.root is None else whole(given.root, "--root")
    return registered(entry, ranks, root=root, topology=topology, given=settings)


def _imported(given: argparse.Namespace, settings: dict[str, str]) -> "Work":
    from ops.formats import read_schedule_file
    from ops.work import imported

    found = imported(read_schedule_file(given.schedule, **settings))
    if given.algorithm is not None:
        raise InputError(f"{given.schedule} says itself what it does: leave out {given.algorithm}")
    if given.root is not None:
        raise InputError(f"{given.schedule} has its own root: leave out --root")
    if given.ranks is not None and whole(given.ranks, "--ranks") != found.schedule.n:
        raise InputError(f"{given.schedule} is for {found.schedule.n} ranks: leave out --ranks {given.ranks}")
    return found


def whole(text: str, flag: str) -> int:
    """A whole number. Raises InputError naming the flag."""
    from sim.parameters import Parameter

    value: int = Parameter(flag, "int", None).parse(text, "the command line")
    return value


def write(path: str, content: str | bytes) -> None:
    """Put an answer into a file. Raises InputError where that cannot be done."""
    try:
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None

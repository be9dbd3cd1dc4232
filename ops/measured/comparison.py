"""Measured against simulated: the same collective on the machine it ran on, row by row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from ops.libraries.nccl.choice import choose, pace_of, work_of
from ops.libraries.nccl.closed_form import closed_form
from ops.libraries.nccl.constants import LAUNCH
from ops.libraries.nccl.layers import LARGE
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.variables import Variables
from ops.measured.rows import Measured, Table
from ops.measured.run_words import forced
from ops.registry import ALGORITHMS, Algorithm
from ops.run import execute
from ops.run.work import registered
from sim.engine import simulate
from sim.errors import InputError, first_few
from sim.schedule import copy, unroll
from sim.topology import Topology

MOST_RANKS = 256
"""More make schedules of millions of messages for one row of a table."""
LIBRARIES = ("ompi", "mpich", "over")
"""What labels of the PICO suite end with: the library's own algorithm, or the suite's over sends and receives."""
OWN = "default-"
"""What labels of that suite begin with on Fugaku: its library's own algorithm, an Open MPI's."""
LABELS = {
    "binary": "binary_tree", "modified_bruck": "bruck", "brucks": "bruck", "neighbor": "neighbor_exchange",
    "scatter_allgather": "scatter_doubling_allgather", "scatter_allgather_ring": "scatter_ring_allgather",
    "split_binary": "split_binary_tree", "in_order": "in_order_binary_tree", "basic_linear": "linear",
    "in_order_binary": "in_order_binary_tree",
}  # fmt: skip
"""What such labels call algorithms that go by another name here."""
HONOURED = {"nccl_ring": "Ring", "nccl_tree": "Tree"}
"""What files with named algorithms call those that NCCL ran as told."""


class Compared(NamedTuple):
    """One row; `error` is simulated over measured, less one. `way` is what was simulated."""

    machine: str
    collective: str
    algorithm: str
    ranks: int
    size: int
    measured: float
    simulated: float
    way: str
    source: str
    line: int

    @property
    def error(self) -> float:
        """How much longer the simulation takes, as a share of what was measured."""
        return self.simulated / self.measured - 1


@dataclass(frozen=True)
class Outside:
    """What was not compared, and why."""

    source: str
    rows: int
    why: str


def compare_table(
    topology: Topology,
    table: Table,
    *,
    in_place: bool = False,
    pace: Pace | None = None,
    options: Variables | None = None,
    quick: bool = False,
) -> tuple[list[Compared], list[Outside]]:
    """Every row that can be simulated, and what is left out. Raises InputError where nothing can.

    `quick` leaves out the simulation where a sum is known to come to the same, as fits do.
    """
    compared: list[Compared] = []
    left: dict[str, int] = {}
    for row in table.rows:
        try:
            simulated, way = _simulated(topology, table, row, pace, options or forced(table), quick=quick)
        except InputError as error:
            left[str(error)] = left.get(str(error), 0) + 1
            continue
        measured = row.in_place if in_place and row.in_place else row.seconds
        compared.append(
            Compared(
                topology.name,
                row.collective,
                row.algorithm,
                row.ranks,
                row.size,
                measured,
                simulated,
                way,
                table.source,
                row.line,
            )
        )
    outside = [Outside(table.source, count, why) for why, count in left.items()]
    return compared, outside + [
        Outside(table.source, len(lines), f"{why}, {_lines(lines)}") for why, lines in table.unread
    ]


def _lines(lines: tuple[int, ...]) -> str:
    """Numbers of lines, the first few of many."""
    return f"line{'s' * (len(lines) > 1)} {first_few(lines, 8)}"


def is_own(label: str) -> bool:
    """Whether it is a library's own algorithm as Fugaku's labels tell it."""
    return label.startswith(OWN)


def algorithm_of(collective: str, label: str) -> Algorithm | None:
    """The registered algorithm that a label like `rabenseifner_ompi` means, if there is one.

    >>> algorithm_of("broadcast", "binary_ompi").name, algorithm_of("allreduce", "nccl_nvls")
    ('broadcast.binary_tree', None)
    """
    plain, _, library = label.rpartition("_")
    if is_own(label):
        plain, library = label.removeprefix(OWN).replace("-", "_"), LIBRARIES[0]
    name = f"{collective}.{LABELS.get(plain, plain)}"
    return ALGORITHMS[name] if library in LIBRARIES and name in ALGORITHMS else None


def _simulated(
    topology: Topology, table: Table, row: Measured, pace: Pace | None, options: Variables, *, quick: bool = False
) -> tuple[float, str]:
    """Seconds, and what ran; `quick` where a sum comes to the same."""
    if not row.collective:
        raise InputError("compare.collective")
    if table.kind == "osu":
        return _pair(topology, table, row)
    topology.taking_part(row.ranks)
    if table.kind == "named":
        if row.algorithm not in HONOURED:
            return _plain(topology, row)
        options = replace(options, algorithm=HONOURED[row.algorithm])
    choice = choose(topology, row.collective, row.size, row.ranks, options=options)
    one = choice.chosen
    launched = LAUNCH * int(table.forced.get("launches", 0))
    summed = closed_form(topology, choice, pace or pace_of(topology)) if quick else None
    if summed is not None:
        return max(summed, launched), f"{one.algorithm} {one.protocol}"
    work = work_of(topology, choice, pace=pace)
    least = work.schedule.promise.blocks if work.schedule.promise else 1  # fewer bytes are padded to one a block
    return max(execute(topology, work, max(row.size, least)).time, launched), f"{one.algorithm} {one.protocol}"


def _plain(topology: Topology, row: Measured) -> tuple[float, str]:
    """An algorithm of an MPI library, as the machine alone carries it: nothing is calibrated for those."""
    entry = algorithm_of(row.collective, row.algorithm)
    if entry is None:
        raise InputError("compare.algorithm", algorithm=row.algorithm)
    if row.ranks > MOST_RANKS:
        raise InputError("compare.ranks", ranks=row.ranks, most=MOST_RANKS)
    work = registered(entry, row.ranks, topology=topology)
    least = work.schedule.promise.blocks if work.schedule.promise else 1
    return execute(topology, work, max(row.size, least)).time, entry.name


def _pair(topology: Topology, table: Table, row: Measured) -> tuple[float, str]:
    """One message of several under way from a rank to another, as the links alone carry it."""
    if row.collective not in ("bandwidth", "latency"):
        raise InputError("compare.osu", collective=row.collective)
    pair = [int(word) for word in table.forced.get("pair", "0,1").split(",")]
    if max(pair) >= topology.n or pair[0] == pair[1]:
        raise InputError("compare.pair", topology=topology.name, src=pair[0], dst=pair[1])
    message = unroll(iter([copy(0, 1, slot=0)]), name="message", n=2, promise=None)
    ordered = replace(topology, ranks=tuple(topology.ranks[rank] for rank in pair), router=topology.routes)
    return simulate(ordered, message, row.size * table.messages).time / table.messages, f"{pair[0]} to {pair[1]}"


class Agreement(NamedTuple):
    """The medians of absolute errors, below 1 MiB and from there on; None without rows."""

    small: float | None
    large: float | None
    rows: int


def verdict(rows: Sequence[Compared]) -> Agreement:
    """How far off a list of rows is."""
    small, large = ([abs(row.error) for row in half] for half in halves(rows))
    return Agreement(median(small) if small else None, median(large) if large else None, len(rows))


def by_ranks(rows: Sequence[Compared]) -> dict[int, Agreement]:
    """How far off rows are by how many ranks took part, fewest first."""
    return {
        ranks: verdict([row for row in rows if row.ranks == ranks]) for ranks in sorted({row.ranks for row in rows})
    }


def halves(rows: Sequence[Compared]) -> tuple[list[Compared], list[Compared]]:
    """The rows below 1 MiB, and those from there on."""
    return [row for row in rows if row.size < LARGE], [row for row in rows if row.size >= LARGE]


class Winner(NamedTuple):
    """Two algorithms at one size, more than 25% apart when measured: who won, and who wins here."""

    ranks: int
    size: int
    measured: str
    simulated: str


def winners(rows: list[Compared], gap: float = 0.25) -> Iterator[Winner]:
    """Every pair of named algorithms whose measured times differ by more than `gap`."""
    by_run: dict[tuple[str, str, int, int], dict[str, Compared]] = {}
    for row in rows:
        if row.algorithm:
            by_run.setdefault((row.source, row.collective, row.ranks, row.size), {})[row.algorithm] = row
    for (_, _, ranks, size), runs in by_run.items():
        ordered = sorted(runs.values(), key=lambda row: row.measured)
        for i, first in enumerate(ordered):
            for second in ordered[i + 1 :]:
                if second.measured > (1 + gap) * first.measured:
                    better = min((first, second), key=lambda row: row.simulated)
                    yield Winner(ranks, size, first.algorithm, better.algorithm)

"""Blocks of unequal size: MPI_Allgatherv with counts and displacements against a padded MPI_Allgather."""

from dataclasses import replace
from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.options import Ranks
from ops.training.step import TrainingStep
from ops.training.world import Process, World
from ops.workloads import workload
from sim.errors import InputError
from sim.parameters import Choice
from sim.schedule.displacements import check_displs, extent
from sim.topology import Topology
from sim.units import MiB, Size, parse_size

DRAWN = 64
"""Letters in which a receive buffer is drawn."""


@workload
@communicates("mpi")
def allgatherv(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    counts: str = "",
    displacements: str = "",
    size: Size = 8 * MiB,
    show: Annotated[str, Choice(("allgatherv", "allgather"))] = "allgatherv",
    transport: BackendChoice,
) -> TrainingStep:
    """Blocks of unequal size: `MPI_Allgatherv` against `MPI_Allgather` with every block as long as the longest.

    `counts` are the ranks' blocks in bytes, like `1MiB+3MiB+0`; left out, they grow evenly with the rank and are
    `size` on average. `displacements` are where the blocks stand in every rank's receive buffer, one after the
    other if left out. The timeline is that of `show`.
    """
    n = World(topology, ranks).ranks
    blocks = _sizes(counts, n, "counts") if counts else [2 * size * (r + 1) // (n + 1) for r in range(n)]
    places = _sizes(displacements, n, "displacements") if displacements else _one_after_another(blocks)
    check_displs(blocks, places, "allgatherv: displacements")
    longest = max(blocks)
    even = [longest] * n
    runs = {
        "allgatherv": _run(topology, n, transport, "allgatherv", blocks, extent(blocks, places)),
        "allgather": _run(topology, n, transport, "allgather", even, n * longest),
    }
    step = runs[show]
    shown = (blocks, places) if show == "allgatherv" else (even, _one_after_another(even))
    return replace(
        step,
        facts={
            "allgatherv_s": runs["allgatherv"].time,
            "allgather_padded_s": runs["allgather"].time,
            "data_bytes": sum(blocks),
            "padding_bytes": n * longest - sum(blocks),
            "receive_buffer": _drawn(*shown),
            "blocks": [
                {"rank": r, "count_bytes": count, "displacement_bytes": place}
                for r, (count, place) in enumerate(zip(*shown, strict=True))
            ],
        },
    )


def _run(
    topology: Topology, n: int, transport: BackendChoice, collective: str, blocks: list[int], buffer: float
) -> TrainingStep:
    world = world_of(topology, n, transport)

    def rank(rank: int) -> Process:
        world.hold(rank, "send buffer", float(blocks[rank]))
        world.hold(rank, "receive buffer", float(buffer))
        if sum(blocks):
            yield world.everyone.post(rank, collective, [float(b) for b in blocks])

    return world.step(world.run(rank))


def _one_after_another(blocks: list[int]) -> list[int]:
    return [sum(blocks[:r]) for r in range(len(blocks))]


def _sizes(text: str, n: int, what: str) -> list[int]:
    """One size per rank, `0` allowed. Raises InputError naming the one that is wrong."""
    parts = text.replace(",", "+").replace(" ", "+").split("+")
    parts = [part for part in parts if part]
    if len(parts) != n:
        raise InputError("allgatherv.sizes", what=what, count=len(parts), n=n)
    return [parse_size(part, f"allgatherv: {what}, rank {r}", least=0) for r, part in enumerate(parts)]


def _drawn(blocks: list[int], places: list[int]) -> str:
    """The receive buffer in letters, each block as wide as it is; a digit is the rank's last one, `.` is a gap."""
    length = extent(blocks, places)
    row = ["."] * DRAWN
    for rank, (count, place) in enumerate(zip(blocks, places, strict=True)):
        first, stop = (round(at / length * DRAWN) if length else 0 for at in (place, place + count))
        row[first:stop] = str(rank % 10) * (stop - first)
    return "".join(row)

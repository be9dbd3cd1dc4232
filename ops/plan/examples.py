"""Texts that come with the project: captures and schedules of other tools, which links call by name, and programs."""

from functools import cache
from pathlib import Path

from ops.formats import write_schedule
from ops.registry import ALGORITHMS
from sim.units import MiB

ASSETS = Path(__file__).parents[2] / "assets"
CAPTURES = ASSETS / "captures"
PROGRAMS = ASSETS / "programs"
"""Scripts that lessons show, for `mpi` and `torchrun`."""


@cache
def example_captures() -> dict[str, str]:
    """The captures that come with the project, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(CAPTURES.glob("*.txt"))}


@cache
def example_schedules() -> dict[str, str]:
    """Schedules as other tools write them, made from algorithms that are proved."""
    ring, bruck = ALGORITHMS["allreduce.ring"].schedule(8), ALGORITHMS["allgather.bruck"].schedule(8)
    counts = [[0 if a == b else 64 << 10 << (a + b) % 4 for b in range(8)] for a in range(8)]
    return {
        "allreduce-ring-8 (MSCCL XML)": write_schedule(ring, "msccl_xml"),
        "allgather-bruck-8 (GOAL)": write_schedule(bruck, "goal", size=8 * MiB),
        "alltoallv-8 (matrix)": "".join(" ".join(map(str, row)) + "\n" for row in counts),
    }

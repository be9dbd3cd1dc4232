"""Completion times of SimGrid 4.1 for schedules that Ringside also has; of 3.32 for the ring of ranks that block.

Fluid model with every correction off (CM02, factors 1): pure latency plus max-min fair sharing. A rank that blocks
waits for what it sends and for what it receives before its next step, as in MPI_Sendrecv.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ops import ALGORITHMS
from sim.machines import build

DATA = Path(__file__).parents[1] / "data" / "simgrid-times" / "times.json"
ALGORITHM = {
    "ring": "allreduce.ring",
    "rd": "allreduce.recursive_doubling",
    "rab": "allreduce.rabenseifner",
    "hier": "allreduce.hierarchical_2d",
    "blocking": "allreduce.segmented_ring",
    "a2a": "alltoall.linear",
    "a2av": "alltoallv.linear",
    "agv": "allgatherv.linear",
}


@dataclass(frozen=True)
class Case:
    """One row of the table, in Ringside's words."""

    name: str
    ranks: int
    size: int
    transfers: int
    seconds: float

    def machine(self):
        kind, _, where = self.name.partition("@")
        if where == "ring":
            return build(f"ring:ranks={self.ranks},directions={1 if kind == 'ring' else 2}")
        return build(f"nodes:nodes={self.ranks // 8},gpus=8" if where else f"switch:ranks={self.ranks}")

    def schedule(self):
        kind = self.name.partition("@")[0]
        extra = {"hier": {"group": 8}, "blocking": {"phases": 1}}.get(kind, {})
        return ALGORITHMS[ALGORITHM[kind]].schedule(self.ranks, **extra)

    def load(self):
        i = np.arange(self.ranks)
        match self.name:
            case "a2av":
                return {"blocks": (self.size * (1 + (31 * i[:, None] + 17 * i[None, :]) % 16)).reshape(-1)}
            case "agv":
                return {"blocks": self.size * (1 + i % 16)}
            case "a2a":
                return {"size": self.size * self.ranks}
        return {"size": self.size}


TIMES = [
    Case(row["case"], row["ranks"], row["size_bytes"], row["transfers"], float(row["time_s"]))
    for row in json.loads(DATA.read_text())
]

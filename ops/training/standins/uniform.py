"""Ranks that all do the same and call collectives of all: one is simulated, each collective is a run of its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ops.libraries import CollectiveCall, Decision
from ops.training.options import slowness
from ops.training.step import AlikeRanks
from ops.training.world import Stream, StreamedCall, World, WorldOptions, check_group, ranks_at_work
from sim.errors import InputError
from sim.topology import Topology
from sim.trace import Timing, Trace

if TYPE_CHECKING:
    from ops.run import Run
    from sim.engine import Event

MOST_RANKS = 16
"""More ranks than these are simulated as one where all do the same."""


class UniformWorld(World):
    """A world in which rank 0 stands for all, as their collectives follow each other and meet no other traffic.

    Each is run alone on the machine by `ops.run`, once for every size.
    """

    def __init__(self, topology: Topology, ranks: int, options: WorldOptions) -> None:
        from sim.engine import Cluster

        ranks = ranks_at_work(topology, ranks)
        super().__init__(topology, ranks, cluster=Cluster(topology), players=(0,), **options._asdict())
        self.slowness = {0: slowness(ranks - 1, ranks, options.variation)}  # all wait for the slowest
        self._options = options
        self._runs: dict[tuple[str, float], tuple[Decision, Run]] = {}

    def group(self, ranks: Sequence[int]) -> Stream:
        """All ranks, or some that are simulated."""
        return UniformStream(self) if len(ranks) == self.ranks else super().group(ranks)

    def run_of(self, collective: str, size: float) -> "tuple[Decision, Run]":
        """What all ranks' collective of so many bytes takes, alone on the machine."""
        if (collective, size) not in self._runs:
            from ops.run import execute

            call = CollectiveCall.counted(collective, World.group(self, range(self.ranks)), size, size / 4)
            if self._options.library == "nccl" and collective not in self._options.forced:
                check_group(self.ranks)  # its search looks at every pair of ranks
            decision = self.launcher.choose(call)
            if decision.size is not None:
                raise InputError("training.no_run", collective=collective, n=self.ranks)
            work = self.launcher.work(decision, self.ranks)
            if work.folded is None:
                check_group(self.ranks)
            run = execute(self.topology, work, size)
            self._runs[collective, size] = decision, run
        return self._runs[collective, size]

    def count(self, trace: "Trace | Timing") -> str:
        """Add a run's bytes to the links'; return their kinds."""
        self.link_bytes += trace.link_bytes
        links = self.topology.links
        return "+".join(sorted({links[i].kind for i in np.flatnonzero(trace.link_bytes).tolist()}))

    @property
    def copies(self) -> int:
        """How many ranks the one that is simulated stands for."""
        return self.ranks

    @property
    def alike(self) -> AlikeRanks:
        """All ranks are as rank 0; links that carried as many bytes are of one class."""
        classes = np.unique(self.link_bytes, return_inverse=True)[1]
        return AlikeRanks(np.zeros(self.ranks, np.int32), classes.astype(np.int32))


class UniformStream(Stream):
    """All ranks, of which one calls for all."""

    world: UniformWorld

    def __init__(self, world: UniformWorld) -> None:
        super().__init__(world, (0,))

    @property
    def everyone(self) -> tuple[int, ...]:
        """All ranks."""
        return tuple(range(self.world.ranks))

    @property
    def groups(self) -> int:
        """There is one communicator of all."""
        return 1

    def begin(self, call: StreamedCall) -> "tuple[Decision, Event]":
        """Start a collective; its event's value is its timing."""
        decision, run = self.world.run_of(call.collective, call.size)
        return decision, self.world.env.timeout(run.time, run.timing)

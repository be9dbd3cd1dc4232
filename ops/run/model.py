"""How a work went on a machine: one outcome, whichever strategy simulated it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ops.run.bound import lower_bound
from ops.run.work import Work, imported
from sim.errors import InputError
from sim.schedule.verify import Verdict
from sim.topology import Floats, Ints, Link, Topology
from sim.trace import Timing, Trace, metrics
from sim.trace.breakdown import Breakdown, breakdown
from sim.trace.timing import WrittenRows


@dataclass(frozen=True, eq=False)
class Run:
    """A collective that was proved and timed; times in seconds, rates in B/s.

    `bound` is the lower bound of the machine without faults, 0 for what keeps no known promise. `blocks` are the bytes
    of every block where they differ. `real` holds the real seconds that building, proving and simulating took.
    """

    work: Work
    timing: Timing
    bound: float
    blocks: Sequence[float] | None = None
    real: Mapping[str, Any] = field(default_factory=dict)
    strategy: str = "written"

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.timing.time

    @property
    def size(self) -> float:
        """Bytes, as nccl-tests counts them."""
        return self.timing.size

    @property
    def topology(self) -> Topology:
        """The machine, as faults left it."""
        return self.timing.topology

    @property
    def verdict(self) -> Verdict:
        """Whether the schedule keeps its promise."""
        return self.timing.verdict

    @property
    def algbw(self) -> float:
        """Algorithm bandwidth, B/s."""
        return metrics.algbw(self)

    @property
    def busbw(self) -> float:
        """Bus bandwidth, B/s; for what keeps no known promise, the algorithm bandwidth."""
        collective = self.work.collective
        return metrics.busbw(self, collective.busbw(self.timing.ranks) if collective else 1.0)

    @cached_property
    def link_use(self) -> Floats:
        """The share of what it could carry that crossed each link, shape (links,)."""
        return metrics.link_use(self.timing)

    @property
    def bottleneck(self) -> tuple[metrics.Use, Link] | None:
        """The link nearest to being full throughout, if anything crossed any."""
        use = metrics.bottleneck(self.timing)
        return (use, self.topology.links[use.link]) if use else None

    @property
    def is_written_out(self) -> bool:
        """Whether every transfer of every rank has a row."""
        return isinstance(self.timing.rows, WrittenRows)

    @property
    def trace(self) -> Trace:
        """Every transfer of every rank. Raises InputError where some ranks stand for others."""
        rows = self.timing.rows
        if not isinstance(rows, WrittenRows):
            raise InputError(
                f"{self.work.name}: {self.timing.messages:,} messages were simulated as {self.timing.simulated:,}, not"
                " one by one: use fewer ranks"
            )
        return rows.trace

    @cached_property
    def path(self) -> Trace:
        """Rows that have the critical path among them; every row where all were simulated."""
        return self.trace if self.is_written_out else self.timing.path()

    @cached_property
    def breakdown(self) -> Breakdown:
        """The seconds of the critical path, by what they were spent on."""
        return breakdown(self.path)

    def rows(self, ranks: Sequence[int]) -> Trace:
        """Return the transfers that these ranks send or receive. Raises InputError for ranks that do not take part."""
        chosen: Ints = np.unique(np.asarray(ranks, np.int32))
        if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < self.timing.ranks:
            raise InputError(f"{self.work.name} has ranks 0..{self.timing.ranks - 1}, not {chosen.tolist()[:8]}")
        return self.timing.rows.of(chosen)


def kept(trace: Trace) -> Run:
    """Return a run that was kept in a file, as it was when it ended."""
    schedule, promise = trace.schedule, trace.schedule.promise
    if promise is None or schedule.fixed_bytes is not None:
        return Run(imported(schedule), Timing.written(trace), 0.0)
    share = np.full(promise.blocks, trace.size * schedule.unit_share)
    bound = lower_bound(trace.topology, schedule, promise, share)
    return Run(imported(schedule), Timing.written(trace), bound)

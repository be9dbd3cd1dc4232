"""What a run came to, whichever of its transfers were simulated."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from sim.schedule.verify import Verdict
from sim.topology import Floats, Ints, Topology
from sim.trace.model import NO_CAPACITIES, NO_HITS, Capacities, Hits, Trace
from sim.units import fmt_object, fmt_size, fmt_time


class Rows(Protocol):
    """The transfers of a run, written out as far as somebody asks for them."""

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""

    def path(self) -> Trace:
        """Return rows that have the critical path among them: `critical_path` finds it there."""

    def of(self, ranks: Ints) -> Trace:
        """Return the transfers that these ranks send or receive, in schedule order; one row for each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Timing:
    """A run of one collective; times in seconds, names as `Trace` has them.

    `messages` are transfers between two different ranks, `simulated` those of them that the kernel carried out; each of
    these stands for all that are equal to it. In `hits` of a run whose ranks are alike, transfer `k * ranks + r` is
    the one of class k that rank r sends.
    """

    topology: Topology
    ranks: int
    messages: int
    steps: int
    verdict: Verdict
    size: float
    began: float
    ended: float
    instants: int
    simulated: int
    rows: Rows
    real: dict[str, float] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    hits: Hits = NO_HITS
    capacities: Capacities = NO_CAPACITIES

    def __repr__(self) -> str:
        load = f", {fmt_size(self.size)}" if self.size else ""
        whole = f"{self.topology.name}: {self.ranks:,} ranks{load}, {self.messages:,} messages"
        return fmt_object("Timing", f"{whole} ({self.simulated:,} simulated), {fmt_time(self.time)}")

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.ended - self.began

    @cached_property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""
        return self.rows.link_bytes

    def path(self) -> Trace:
        """Return rows that have the critical path among them, with the run's own beginning, end and faults."""
        rows = self.rows.path()
        return replace(
            rows,
            began=self.began,
            ended=self.ended,
            instants=self.instants,
            faults=self.faults,
            capacities=self.capacities,
        )

    @classmethod
    def written(cls, trace: Trace) -> "Timing":
        """Return the result of a run of which every transfer has a row."""
        return cls(
            topology=trace.topology,
            ranks=trace.schedule.n,
            messages=trace.schedule.messages,
            steps=trace.schedule.steps,
            verdict=trace.verdict,
            size=trace.size,
            began=trace.began,
            ended=trace.ended,
            instants=trace.instants,
            simulated=trace.schedule.messages,
            rows=WrittenRows(trace),
            real=trace.real,
            faults=trace.faults,
            hits=trace.hits,
            capacities=trace.capacities,
        )


@dataclass(frozen=True, eq=False)
class WrittenRows:
    """Every transfer has its row already."""

    trace: Trace

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""
        return self.trace.link_bytes

    def path(self) -> Trace:
        """Return the whole trace."""
        return self.trace

    def of(self, ranks: Ints) -> Trace:
        """Return the transfers that these ranks send or receive."""
        schedule = self.trace.schedule
        return self.trace.chosen(np.flatnonzero(np.isin(schedule.src, ranks) | np.isin(schedule.dst, ranks)))

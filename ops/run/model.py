"""How a work went on a machine: one outcome, whichever strategy simulated it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ops.cells import PICTURES, drawn, table
from ops.run.bound import lower_bound
from ops.run.transfers import Transfer, frame, named
from ops.run.work import Work, imported
from sim.errors import InputError
from sim.schedule.verify import Verdict
from sim.topology import Floats, Ints, Topology
from sim.trace import Timing, Trace, metrics
from sim.trace.breakdown import Breakdown, breakdown
from sim.trace.timing import WrittenRows
from sim.units import fmt_bandwidth, fmt_object, fmt_share, fmt_size, fmt_time

if TYPE_CHECKING:
    import pandas as pd

MOST = 8
"""Ranks that stand for a large run."""


@dataclass(frozen=True, eq=False)
class Run:
    """A verified and timed collective; times in seconds, rates in B/s.

    It prints as one line at a prompt, and as a table with a picture in a notebook.

    Parameters
    ----------
    work : Work
        What ran.
    timing : Timing
        The simulated transfers, and their numbers.
    bound : float
        Lower bound of the time on the machine without faults, s; 0 without a known postcondition.
    blocks : list of float
        Size of each block, bytes, if they differ.
    real : mapping
        Wall-clock time of building, verifying and simulating, seconds.
    strategy : str
        The strategy that simulated it, like `written` or `symmetric`.
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
        """The machine, with its faults."""
        return self.timing.topology

    @property
    def verdict(self) -> Verdict:
        """Whether the schedule meets its postcondition."""
        return self.timing.verdict

    @property
    def algbw(self) -> float:
        """Algorithm bandwidth, B/s."""
        return metrics.algbw(self)

    @property
    def busbw(self) -> float:
        """Bus bandwidth, B/s; without a known postcondition, the algorithm bandwidth."""
        collective = self.work.collective
        return metrics.busbw(self, collective.busbw(self.timing.ranks) if collective else 1.0)

    @cached_property
    def link_use(self) -> Floats:
        """Utilization of each link, shape (links,)."""
        return metrics.link_use(self.timing)

    @property
    def bottleneck(self) -> metrics.Use | None:
        """The busiest link, by name and number; None if no link carried data."""
        return metrics.bottleneck(self.timing)

    @property
    def is_written_out(self) -> bool:
        """Whether every transfer of every rank has a row."""
        return isinstance(self.timing.rows, WrittenRows)

    @property
    def trace(self) -> Trace:
        """Every transfer of every rank. Raises InputError if only representatives were simulated."""
        rows = self.timing.rows
        if not isinstance(rows, WrittenRows):
            raise InputError(
                "run.not_one_by_one",
                schedule=self.work.name,
                messages=self.timing.messages,
                simulated=self.timing.simulated,
            )
        return rows.trace

    @cached_property
    def path(self) -> Trace:
        """Rows that have the critical path among them; every row where all were simulated."""
        return self.trace if self.is_written_out else self.timing.path()

    @cached_property
    def critical_path(self) -> list[Transfer]:
        """The chain of transfers that determines the time of the run; each waited for the one before."""
        return named(self.path, metrics.critical_path(self.path))

    @cached_property
    def breakdown(self) -> Breakdown:
        """Time of the critical path by part, seconds."""
        return breakdown(self.path)

    def rows(self, ranks: Sequence[int]) -> Trace:
        """Return the transfers that these ranks send or receive. Raises InputError for ranks that do not take part."""
        chosen: Ints = np.unique(np.asarray(ranks, np.int32))
        if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < self.timing.ranks:
            last = self.timing.ranks - 1
            raise InputError("run.ranks", schedule=self.work.name, last=last, ranks=chosen[:8])
        return self.timing.rows.of(chosen)

    @property
    def representatives(self) -> Ints:
        """The ranks that stand for a large run: those of rank 0's host, or the first few of them."""
        hosts = self.topology.places[0][np.array(self.topology.ranks[: self.timing.ranks], np.int64)]
        return np.flatnonzero(hosts == hosts[0])[:MOST].astype(np.int32)

    def chosen(self, ranks: Sequence[int] | None = None) -> Trace:
        """Return the transfers of some ranks; without any all, or those of `representatives` where some stand for all.

        Raises InputError for ranks that do not take part.
        """
        if ranks is None and self.is_written_out:
            return self.trace
        return self.rows(self.representatives.tolist() if ranks is None else ranks)

    def to_frame(self, ranks: Sequence[int] | None = None) -> "pd.DataFrame":
        """Return the transfers as a table of pandas: a row each, in the order of steps.

        Columns are those of `Transfer`: step, ends, bytes, start and end in seconds from the run's beginning. Where
        some ranks stand for others, `ranks` chooses whose transfers it has: `representatives` unless given. Raises
        InputError for ranks that do not take part, ImportError where pandas is missing.
        """
        return frame(self.chosen(ranks))

    def plot(self, ax: Any = None, ranks: Sequence[int] | None = None) -> Any:
        """Draw when every transfer flowed, a row for each sender, with matplotlib; return the axes.

        `ax` are axes to draw on, new ones unless given; `ranks` as for `to_frame`. Raises InputError for ranks that do
        not take part, ImportError where `ui.notebook` is not loaded.
        """
        return drawn("plot", self.chosen(ranks), ax)

    @property
    def _facts(self) -> dict[str, str]:
        """What there is to say of the run, by name."""
        use, load = self.bottleneck, self.size > 0
        return {
            "ranks": f"{self.timing.ranks:,}",
            "size": fmt_size(self.size) if load else "",
            "time": fmt_time(self.time),
            "algbw": fmt_bandwidth(self.algbw) if load else "",
            "busbw": fmt_bandwidth(self.busbw) if load else "",
            "lower bound": fmt_time(self.bound) if self.bound else "",
            "bottleneck": f"{use.name}, full for {fmt_share(use.share)} of the run" if use else "",
            "transfers": f"{self.timing.messages:,} in {self.timing.steps:,} steps",
            "faults": "; ".join(filter(None, self.timing.faults)),
            "verified": "yes" if self.verdict.ok else f"{self.verdict.verdict}: {self.verdict.reason}",
        }

    def __repr__(self) -> str:
        facts = self._facts
        words = ", ".join(facts[name] for name in ("size", "time") if facts[name])
        rate = f", busbw {facts['busbw']}" if facts["busbw"] else ""
        proved = "verified" if self.verdict.ok else self.verdict.verdict
        whole = f"{self.work.name} on {self.topology.name}: {facts['ranks']} ranks, {words}{rate}, {proved}"
        return fmt_object("Run", whole + (f", with {facts['faults']}" if facts["faults"] else ""))

    def _repr_html_(self) -> str:
        picture = drawn("run", self) if "run" in PICTURES else ""
        return table(f"{self.work.name} on {self.topology.name}", self._facts, picture)


def kept(trace: Trace) -> Run:
    """Return a run that was kept in a file, as it was when it ended."""
    schedule, promise = trace.schedule, trace.schedule.promise
    if promise is None or schedule.fixed_bytes is not None:
        return Run(imported(schedule), Timing.written(trace), 0.0)
    share = np.full(promise.blocks, trace.size * schedule.unit_share)
    bound = lower_bound(trace.topology, schedule, promise, share)
    return Run(imported(schedule), Timing.written(trace), bound)

"""What happened, as columns: when every transfer was ready, flowed and ended, and how fast at every moment."""

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import offsets_of
from sim.schedule import REDUCE, Schedule
from sim.schedule.verify import Verdict
from sim.topology import Floats, Ints, Routes, Topology
from sim.units import fmt_object, fmt_size, fmt_time

FORMAT = "ringside-trace"
VERSION = 1


class History(NamedTuple):
    """Changes of rate in time order: from `time[k]` s on, `transfer[k]` flows at `rate[k]` B/s."""

    transfer: Ints
    time: Floats
    rate: Floats


class Hits(NamedTuple):
    """Fault `fault[k]` delayed transfer `transfer[k]` by `seconds[k]`.

    That is how much later it could be ready for a straggler, how much longer it waited for a jitter, and how long it
    flowed through a link while that was faulty.
    """

    fault: Ints
    transfer: Ints
    seconds: Floats


class Stall(NamedTuple):
    """Why a run never ends: `transfers` that are on the way and flow no more, the dead `links` that hold them.

    `waits[r]` is the place whose message place r has not got and needs next, or -1; `receivers` are those whose
    message is one of `transfers`.
    """

    transfers: list[int]
    links: list[int]
    waits: list[int]
    receivers: set[int]


class Capacities(NamedTuple):
    """Changes of what links can carry, in time order: from `time[k]` s on, `link[k]` has `bandwidth[k]` B/s."""

    link: Ints
    time: Floats
    bandwidth: Floats


class Excerpt(NamedTuple):
    """The first `shown` ranks of a trace stand for a run of `ranks`; the others are those they exchange data with.

    Rank r of the trace is rank `numbers[r]` of the run.
    """

    shown: int
    ranks: int
    numbers: tuple[int, ...]


class Alone(NamedTuple):
    """A run that had its machine to itself: what it takes, beside its schedule, to carry it out again.

    `unit_share` is which part of the size a slot is, 0 where bytes do not follow from the size.
    """

    lockstep: bool
    unit_share: float


NO_CAPACITIES = Capacities(np.zeros(0, np.int32), np.zeros(0), np.zeros(0))
NO_HITS = Hits(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Trace:
    """The run of one collective; times in seconds, one entry per transfer.

    Columns have the shape (transfers,). In a deadlocked run, events that never happen have the time infinity.

    Parameters
    ----------
    topology : Topology
        The machine, with its faults.
    schedule : Schedule
        What ran.
    verdict : Verdict
        Whether it meets its postcondition.
    size : float
        Bytes as nccl-tests counts them.
    began : float
        Start time, s.
    ended : float
        End or stall time, s.
    bytes : array of float
        Bytes of every transfer.
    route : array of int
        The number of every transfer's route.
    routes : Routes
        The links of every route.
    ready : array of float
        When the dependencies of every transfer were met, s.
    left : array of float
        When it left, s: then, or later if its connection sent others meanwhile.
    start : array of float
        When its first byte flowed, s: overhead and latency later.
    end : array of float
        When its data was in place, reduced, s.
    cause : array of int
        The transfer that it waited for last, or -1.
    history : History
        Changes of rate, where they were kept.
    instants : int
        How many moments the simulator looked at.
    real : mapping
        Real seconds that running it took.
    faults : tuple of str
        What went wrong in its world, as it was given.
    hits : Hits
        Which transfers the faults affected, and for how long.
    stall : Stall
        Set for a run that never ends.
    excerpt : Excerpt
        Set where these are the transfers of a few ranks of a larger run.
    capacities : Capacities
        When links could carry other than their own bandwidth; changes before it began count, too.
    alone : Alone
        Set for a run that had its machine to itself.
    """

    topology: Topology
    schedule: Schedule
    verdict: Verdict
    size: float
    began: float
    ended: float
    bytes: Floats
    route: Ints
    routes: Routes
    ready: Floats
    left: Floats
    start: Floats
    end: Floats
    cause: Ints
    history: History | None = None
    instants: int = 0
    real: dict[str, float] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    """What went wrong in its world, as it was given."""
    hits: Hits = NO_HITS
    stall: Stall | None = None
    """Set for a run that never ends: `ended` is when it stalled, and what has not happened happens at infinity."""
    excerpt: Excerpt | None = None
    """Set where these are the transfers of a few ranks of a larger run."""
    capacities: Capacities = NO_CAPACITIES
    """Where links could at times carry other than their own bandwidth; changes before it began count too."""
    alone: Alone | None = None
    """Set for a run that had its machine to itself."""

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.ended - self.began

    def __repr__(self) -> str:
        load = f", {fmt_size(self.size)}" if self.size else ""
        end = "never ends" if self.stall else fmt_time(self.time)
        whole = f"{self.schedule.name} on {self.topology.name}: {self.schedule.n:,} ranks{load}"
        return fmt_object("Trace", f"{whole}, {self.schedule.transfers:,} transfers, {end}")

    @cached_property
    def arrived(self) -> Floats:
        """When every transfer's last byte was there, before any reduction; a switch adds at the speed of its links."""
        by_rank = (self.schedule.op == REDUCE) & (self.schedule.dst < self.schedule.n)
        reducing = by_rank * self.topology.gamma * self.bytes
        through: Floats = np.maximum(self.end - reducing, self.start)
        return through

    @cached_property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link."""
        crossed = self.bytes if self.stall is None else self.bytes * self._shares(self.ended)
        per_route = np.bincount(self.route, weights=crossed, minlength=len(self.routes.offsets) - 1)
        hops = np.diff(self.routes.offsets)
        weights = np.repeat(per_route, hops)
        return np.bincount(self.routes.links, weights, len(self.topology.links)).astype(np.float64)

    def chosen(self, transfers: NDArray[np.integer[Any]]) -> "Trace":
        """Return the trace that has some of the transfers alone, given in order; it keeps no history."""
        place = np.full(len(self.cause) + 1, -1, np.int32)
        place[transfers] = np.arange(len(transfers), dtype=np.int32)
        columns = {name: getattr(self, name)[transfers] for name in ("bytes", "ready", "left", "start", "end", "route")}
        cause = place[self.cause[transfers]]
        return replace(self, schedule=self.schedule.chosen(transfers), cause=cause, history=None, alone=None, **columns)

    def route_of(self, i: int) -> Ints:
        """The links that transfer i crosses."""
        r = self.route[i]
        return self.routes.links[self.routes.offsets[r] : self.routes.offsets[r + 1]]

    @cached_property
    def _changes(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """History sorted by transfer: offsets, times, rates. A flow never slowed has one rate throughout."""
        if self.history is None:
            flowing = self.arrived - self.start
            rate = np.divide(self.bytes, flowing, out=np.zeros_like(flowing), where=flowing > 0)
            return np.arange(len(self.start) + 1, dtype=np.int64), self.start, rate
        order = np.argsort(self.history.transfer, kind="stable")
        counts = np.bincount(self.history.transfer, minlength=len(self.start))
        return offsets_of(counts), self.history.time[order], self.history.rate[order]

    def rates(self, i: int) -> tuple[Floats, Floats]:
        """When transfer i changed its rate (s), and to what (B/s).

        Without a kept history this is its average rate from `start` on.
        """
        offsets, times, rates = self._changes
        return times[offsets[i] : offsets[i + 1]], rates[offsets[i] : offsets[i + 1]]

    def delivered(self, i: int, t: float) -> float:
        """The share of transfer i's bytes, 0 to 1, that has arrived at time t."""
        if t >= self.arrived[i]:
            return 1.0
        if t <= self.start[i] or self.bytes[i] == 0:
            return 0.0
        times, rates = self.rates(i)
        until = np.append(times[1:], math.inf)
        spans = np.clip(np.minimum(until, t) - times, 0.0, None)
        return float(min(1.0, (spans * rates).sum() / self.bytes[i]))

    def _shares(self, t: float) -> Floats:
        """The share of every transfer's bytes that has arrived at time t."""
        shares = np.isfinite(self.end).astype(np.float64)
        for i in np.nonzero(np.isfinite(self.start) & ~np.isfinite(self.end))[0]:
            shares[i] = self.delivered(int(i), t)
        return shares

    def to_json(self) -> str:
        """Everything needed to look at this run again."""
        s, p = self.schedule, self.schedule.promise
        topology = {
            **{
                k: getattr(self.topology, k)
                for k in ("name", "overhead", "gamma", "forwarding", "relays", "assumed", "pairs")
            },
            **({"generation": self.topology.generation} if self.topology.generation else {}),
            "ranks": list(self.topology.ranks),
            "devices": [asdict(d) for d in self.topology.devices],
            "links": [asdict(link) for link in self.topology.links],
        }
        schedule = {name: _plain(getattr(s, name)) for name in _SCHEDULE}
        schedule["after"] = None if s.after is None else [x.tolist() for x in s.after]
        promise = None if p is None else {name: _plain(getattr(p, name)) for name in _PROMISE}
        columns = {name: _plain(getattr(self, name)) for name in _COLUMNS}
        history = None if self.history is None else [column.tolist() for column in self.history]
        document = {
            "format": FORMAT,
            "version": VERSION,
            "topology": topology,
            "schedule": schedule,
            "promise": promise,
            "verdict": asdict(self.verdict),
            "routes": [x.tolist() for x in self.routes],
            "columns": columns,
            "history": history,
            "faults": list(self.faults),
            "hits": [column.tolist() for column in self.hits],
            "capacities": [column.tolist() for column in self.capacities],
        }
        return json.dumps(document, allow_nan=False)


_SCHEDULE = (
    *("name", "n", "slots", "unit_share", "steps", "step_start", "op", "src", "dst", "channel", "moves"),
    *("from_slot", "to_slot", "phases", "root", "switches", "fixed_bytes", "work", "flaw"),
)
_PROMISE = ("name", "blocks", "given", "owed", "first", "last", "inputs", "outputs", "union")
_COLUMNS = ("size", "began", "ended", "bytes", "route", "ready", "left", "start", "end", "cause", "instants")


def _plain(value: Any) -> Any:
    if isinstance(value, range):
        return [value.start, value.stop]
    return value.tolist() if isinstance(value, np.ndarray) else value

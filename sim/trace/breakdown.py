"""Why a run took as long as it did: the seconds of its critical path, by what they were spent on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import take
from sim.topology import Floats
from sim.trace import Trace
from sim.trace.link_load import Spell, spells
from sim.trace.metrics import critical_path
from sim.units import fmt_object, fmt_time

PARTS = ("latency", "bytes", "slowed", "sharing", "reducing", "working", "waiting")
"""What seconds are spent on, see `Breakdown`."""
Path = NDArray[np.int64]
"""Indices of transfers; each waited for the one before."""
_ROUNDING = (1e-9, 1e-12)
"""Shares of a span and of the clock within which two moments are one: the kernel's own moments agree to a millionth."""


@dataclass(frozen=True, eq=False)
class Breakdown:
    """Time breakdown of a run: `seconds[k, j]` is the time of transfer `path[k]` of the critical path in `PARTS[j]`.

    | | |
    |---|---|
    | latency | the machine's overhead and the latencies of the route |
    | bytes | its bytes over the narrowest bandwidth of the route |
    | slowed | as much more as they would have taken alone, as faults left the links |
    | sharing | as much more as they took, beside others on these links |
    | reducing | adding them up |
    | working | a rank's own work, where a schedule has some |
    | waiting | being held back: a rank that is late, a delay of a fault, what a library's way of sending costs |

    All are whole multiples of the smallest step that the run's time can make as a float64: they add up to it exactly,
    in any order.

    Parameters
    ----------
    path : array of int, shape (path,)
        Transfers of the critical path, in order.
    seconds : array of float, shape (path, parts)
        Time of each of them in each of `PARTS`, seconds.
    messages : int
        Number of transfers of the path between two places.
    bytes : float
        Sum of their bytes.
    ahead : float
        Sum of their times from departure to first byte, seconds.
    """

    path: Path
    seconds: Floats
    messages: int
    bytes: float
    ahead: float

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {fmt_time(seconds)}" for part, seconds in self.parts.items() if seconds)
        return fmt_object("Breakdown", f"{fmt_time(math.fsum(self.parts.values()))}: {parts or 'nothing'}")

    @cached_property
    def parts(self) -> Mapping[str, float]:
        """Seconds by part; their sum equals the run's time to the last bit."""
        return dict(zip(PARTS, self.seconds.sum(axis=0).tolist(), strict=True))

    @property
    def spent_on(self) -> NDArray[np.uint8]:
        """Parts with time, for each transfer of the path: bit j for `PARTS[j]`."""
        bits: NDArray[np.uint8] = ((self.seconds > 0) << np.arange(len(PARTS))).sum(axis=1).astype(np.uint8)
        return bits


def breakdown(trace: Trace) -> Breakdown:
    """Where the time of a run that has ended went.

    Two messages in a row of 1 GB each, at 1 GB/s, 2 µs after what they waited for:

    >>> from sim.engine import simulate
    >>> from sim.machines import build
    >>> from sim.schedule import copy, unroll
    >>> chain = unroll([copy(0, 1, slot=0), copy(1, 2, slot=0)], name="chain", n=3, promise=None)
    >>> trace = simulate(build("switch:ranks=3,bandwidth=1GBps,latency=1us"), chain, size=1e9)
    >>> why = breakdown(trace)
    >>> why.messages, sum(why.parts.values()) == trace.time
    (2, True)
    >>> {part: round(seconds, 9) for part, seconds in why.parts.items() if seconds}
    {'latency': 4e-06, 'bytes': 2.0}
    """
    path = np.array(critical_path(trace), np.int64)
    step = math.ulp(trace.time)
    whole = np.rint(trace.time / step)
    if not len(path):
        return Breakdown(path, np.zeros((0, len(PARTS))), 0, 0.0, 0.0)
    moments = np.rint((_moments(trace, path) - trace.began) / step)
    in_order = np.minimum(np.maximum.accumulate(np.maximum(moments, 0).ravel()), whole)
    before, latency, extra, flowing, slowed, sharing, reducing = np.diff(in_order, prepend=0).reshape(-1, 7).T
    works = _works(trace, path)
    waiting = before + np.where(works, 0, extra)
    waiting[-1] += whole - in_order[-1]
    working = np.where(works, extra, 0)
    seconds = np.stack([latency, flowing, slowed, sharing, reducing, working, waiting], axis=1) * step
    away = path[trace.schedule.src[path] != trace.schedule.dst[path]]
    ahead = float((trace.start[away] - trace.left[away]).sum())
    return Breakdown(path, seconds, len(away), float(trace.bytes[away].sum()), ahead)


def _works(trace: Trace, path: Path) -> NDArray[np.bool_]:
    """Which transfers are a rank's own work."""
    work = trace.schedule.work
    return np.zeros(len(path), bool) if work is None else np.asarray(work[path] > 0)


def _moments(trace: Trace, path: Path) -> Floats:
    """A row per transfer: when it left, had paid latency, began to flow, and was there in the end, added up.

    Before the last one stands when its bytes would have been through but for faults, but for others, and were.
    """
    left, start, arrived, end = (column[path] for column in (trace.left, trace.start, trace.arrived, trace.end))
    lead, alone = _lead(trace, path), _alone(trace, path)
    latency = _same(np.minimum(left + lead, start), start, start - left)
    own = _same(np.minimum(start + alone, arrived), arrived, arrived - start)
    faulty = _same(np.minimum(_with_a_fault(trace, path, start + alone), arrived), arrived, arrived - start)
    return np.stack([left, latency, start, own, np.maximum(own, faulty), arrived, end], axis=1)


def _same(moments: Floats, others: Floats, spans: Floats) -> Floats:
    """Moments, or others where the two differ by no more than rounding."""
    near = np.abs(moments - others) <= _ROUNDING[0] * spans + _ROUNDING[1] * np.abs(others)
    return np.where(near, others, moments)


def _lead(trace: Trace, path: Path) -> Floats:
    """Seconds of overhead and latencies; a switch runs no software, and what crosses no link costs neither."""
    topology = trace.topology
    offsets, links = take(*trace.routes, trace.route[path])
    hops, latency = np.diff(offsets), np.zeros(len(path))
    latency[hops > 0] = np.add.reduceat(topology.latency[links], offsets[:-1][hops > 0])
    overhead = np.where(trace.schedule.src[path] < trace.schedule.n, topology.overhead, 0.0)
    return np.where(hops > 0, overhead + latency, 0.0)


def _alone(trace: Trace, path: Path) -> Floats:
    """Seconds that the bytes of transfers take on the narrowest link of their routes."""
    offsets, links = take(*trace.routes, trace.route[path])
    away, narrowest = np.diff(offsets) > 0, np.full(len(path), math.inf)
    narrowest[away] = np.minimum.reduceat(trace.topology.bandwidth[links], offsets[:-1][away])
    return np.asarray(trace.bytes[path] / narrowest)


def _with_a_fault(trace: Trace, path: Path, through: Floats) -> Floats:
    """When transfers would be through if they had their links, as faults left them, to themselves."""
    by_link: dict[int, list[Spell]] = {}
    for spell in spells(trace):
        by_link.setdefault(spell.link, []).append(spell)
    later = through.copy()
    for k, i in enumerate(path.tolist()) if by_link else ():
        route = trace.route_of(i).tolist()
        if any(link in by_link for link in route):
            later[k] = _through(trace, i, {link: by_link.get(link, []) for link in route})
    return later


def _through(trace: Trace, i: int, route: Mapping[int, Sequence[Spell]]) -> float:
    """When transfer i would be through alone; no later than it was."""
    begin, until = float(trace.start[i]), float(trace.arrived[i])
    changes = {moment for those in route.values() for spell in those for moment in (spell.begin, spell.end)}
    left = float(trace.bytes[i])
    for now, then in pairwise([begin, *sorted(m for m in changes if begin < m < until), until]):
        rate = min(_bandwidth(trace, link, those, now) for link, those in route.items())
        if left <= rate * (then - now):
            return now + left / rate
        left -= rate * (then - now)
    return until


def _bandwidth(trace: Trace, link: int, faulty: Sequence[Spell], moment: float) -> float:
    """What a link could carry from a moment on, in B/s."""
    now = (spell.bandwidth for spell in faulty if spell.begin <= moment < spell.end)
    return next(now, float(trace.topology.bandwidth[link]))


def shared_link(trace: Trace, why: Breakdown, use: Floats) -> int | None:
    """The link that makes the critical path wait most for others, or None where none does.

    `use` is the share of what it could carry that crossed each link, shape (links,). Of the links that a transfer
    crosses it is the one that was nearest to being full throughout the run.
    """
    sharing = why.seconds[:, PARTS.index("sharing")]
    lost = np.zeros(len(use))
    for i, seconds in zip(why.path.tolist(), sharing.tolist(), strict=True):
        route = trace.route_of(i)
        if seconds > 0 and len(route):
            lost[route[np.argmax(use[route])]] += seconds
    return int(np.argmax(lost)) if lost.any() else None

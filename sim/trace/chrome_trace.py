"""A run as a Chrome trace, which ui.perfetto.dev draws: a track per rank's sends and receives, and per link.

Times are kept to the nanosecond, which is what Perfetto counts in. Slices of one track nest or follow each
other: messages under way at once get lanes of their own. An arrow goes from every send to its receive.
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.errors import InputError
from sim.schedule import REDUCE
from sim.topology import Floats
from sim.trace.link_load import link_load
from sim.trace.model import Trace
from sim.units import GBps

MOST_TRANSFERS = 200_000
"""More make a file that a browser does not open."""
SENDS, RECEIVES, LOCAL = 1, 10_001, 20_001
"""First track of each kind in a rank's process; lanes count up from it."""
_TITLES = {SENDS: "sends", RECEIVES: "receives", LOCAL: "local moves"}

Event = dict[str, Any]
Whole = NDArray[np.int64]


def to_perfetto(trace: Trace) -> str:
    """The run as Chrome trace-event JSON. Raises InputError when it is too large to look at so."""
    transfers = trace.schedule.transfers
    if transfers > MOST_TRANSFERS:
        raise InputError(
            f"{trace.schedule.name} has {transfers:,} transfers, and Perfetto opens {MOST_TRANSFERS:,} at most:"
            " take fewer ranks or segments"
        )
    events = [*_ranks(trace), *_slices(trace), *_rates(trace)]
    whole = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": _about(trace)}
    return json.dumps(whole, allow_nan=False)


def _about(trace: Trace) -> dict[str, str]:
    return {
        "schedule": trace.schedule.name,
        "machine": trace.topology.name,
        "size_bytes": f"{trace.size:.0f}",
        "verified": trace.verdict.verdict,
    }


def _nanoseconds(seconds: Floats) -> Whole:
    whole: Whole = np.rint(seconds * 1e9).astype(np.int64)
    return whole


def _us(nanoseconds: int) -> float:
    return int(nanoseconds) / 1000


def _ranks(trace: Trace) -> Iterator[Event]:
    """Names of the processes: ranks, switches, and one for all links."""
    schedule = trace.schedule
    names = [f"rank {r}" for r in range(schedule.n)] + [f"switch {kind}" for kind in schedule.switches]
    for pid, name in enumerate([*names, "links"]):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}


def _slices(trace: Trace) -> Iterator[Event]:
    schedule = trace.schedule
    ready, start, arrived, end = (_nanoseconds(t) for t in (trace.ready, trace.start, trace.arrived, trace.end))
    away = np.nonzero(schedule.src != schedule.dst)[0]
    here = np.nonzero(schedule.src == schedule.dst)[0]
    step = schedule.step_of.tolist()
    phases = [schedule.phase_of(k) for k in range(schedule.steps)]
    lanes = _Lanes()
    tracks: dict[tuple[int, int], int] = {}
    for kind, place, begins, ends, some in (
        (SENDS, schedule.src, ready, arrived, away),
        (RECEIVES, schedule.dst, start, end, away),
        (LOCAL, schedule.src, ready, end, here),
    ):
        for i in some[np.argsort(begins[some], kind="stable")].tolist():
            tracks[kind, i] = lanes.take(int(place[i]), kind, int(begins[i]), int(ends[i]))
    for i in range(schedule.transfers):
        src, dst, k = int(schedule.src[i]), int(schedule.dst[i]), step[i]
        times = [int(t[i]) for t in (ready, start, arrived, end)]
        args = {
            "transfer": i, "step": k + 1, "phase": phases[k], "channel": int(schedule.channel[i]),
            "bytes": round(float(trace.bytes[i])), "slots": int(schedule.moves[i + 1] - schedule.moves[i]),
        }  # fmt: skip
        adds = bool(schedule.op[i] == REDUCE)
        if src == dst:
            yield _slice("reduce" if adds else "copy", src, tracks[LOCAL, i], times[0], times[3], args)
        else:
            yield from _message(i, src, dst, tracks, times, args, adds=adds)
    yield from lanes.names()


def _message(
    i: int, src: int, dst: int, tracks: dict[tuple[int, int], int], times: list[int], args: Event, *, adds: bool
) -> Iterator[Event]:
    """Send, receive, what is inside them, and the arrow from one to the other."""
    ready, start, arrived, end = times
    sends, receives = tracks[SENDS, i], tracks[RECEIVES, i]
    yield _slice(f"to {dst}", src, sends, ready, arrived, args)
    if ready < start < arrived:
        yield _slice("overhead and latency", src, sends, ready, start, {})
    yield _slice(f"from {src}", dst, receives, start, end, args)
    if adds and start < arrived < end:
        yield _slice("reduce", dst, receives, arrived, end, {})
    if ready < arrived and start < end:
        arrow = {"cat": "message", "name": "message", "id": i}
        yield {"ph": "s", **arrow, "pid": src, "tid": sends, "ts": _us(start if start < arrived else ready)}
        yield {"ph": "f", "bp": "e", **arrow, "pid": dst, "tid": receives, "ts": _us(start)}


def _slice(name: str, pid: int, tid: int, begin: int, end: int, args: Event) -> Event:
    return {
        "ph": "X", "name": name, "cat": "transfer", "pid": pid, "tid": tid,
        "ts": _us(begin), "dur": _us(end - begin), "args": args,
    }  # fmt: skip


class _Lanes:
    """Tracks of every rank and kind: the first one free is taken, a new one is laid when none is."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[int]] = {}
        self._busy: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._laid: dict[tuple[int, int], int] = {}

    def take(self, rank: int, kind: int, begin: int, end: int) -> int:
        """A track that is free from `begin` on; calls come in the order of `begin`."""
        key = rank, kind
        free, busy = self._free.setdefault(key, []), self._busy.setdefault(key, [])
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = self._laid.get(key, 0)
            self._laid[key] = lane + 1
        heapq.heappush(busy, (end, lane))
        return kind + lane

    def names(self) -> Iterator[Event]:
        """What every track is called."""
        for (rank, kind), lanes in self._laid.items():
            for lane in range(lanes):
                name = _TITLES[kind] + (f" {lane + 1}" if lane else "")
                where = {"pid": rank, "tid": kind + lane}
                yield {"ph": "M", "name": "thread_name", **where, "args": {"name": name}}
                yield {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": kind + lane}}


def _rates(trace: Trace) -> Iterable[Event]:
    """One counter per link that carried anything, in GB/s."""
    load = link_load(trace)
    pid = trace.schedule.places
    times = _nanoseconds(load.time).tolist()
    for link, ends in enumerate(trace.topology.links):
        steps = range(int(load.offsets[link]), int(load.offsets[link + 1]))
        name = f"{ends.src} -> {ends.dst}"
        for j in steps:
            if j + 1 in steps and times[j + 1] == times[j]:
                continue
            rate = float(load.rate[j]) / GBps
            yield {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": _us(times[j]), "args": {"GBps": rate}}

"""A run as a Chrome trace, which ui.perfetto.dev draws: a track per rank's sends and receives, and per link.

Times are kept to the nanosecond, which is what Perfetto counts in. Slices of one track nest or follow each
other: messages under way at once get lanes of their own. An arrow goes from every send to its receive.
"""

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.schedule import REDUCE
from sim.topology import Floats
from sim.trace.chrome_events import ChromeTrace, TrackPoint, check_slices
from sim.trace.link_load import link_load
from sim.trace.model import Trace
from sim.units import GBps

MOST_TRANSFERS = 200_000
"""More make a file that a browser does not open: each is two slices or three."""
SENDS, RECEIVES, LOCAL = 1, 10_001, 20_001
"""First track of each kind in a rank's process; lanes count up from it."""
_TITLES = {SENDS: "sends", RECEIVES: "receives", LOCAL: "local moves"}


def to_perfetto(trace: Trace) -> str:
    """The run as Chrome trace-event JSON. Raises InputError when it is too large to look at so."""
    transfers = trace.schedule.transfers
    check_slices(transfers, "perfetto.transfers", MOST_TRANSFERS, schedule=trace.schedule.name)
    chrome = ChromeTrace()
    _name_ranks(chrome, trace)
    _draw_transfers(chrome, trace)
    _draw_rates(chrome, trace)
    return chrome.to_json(_about(trace))


def _about(trace: Trace) -> dict[str, str]:
    return {
        "schedule": trace.schedule.name,
        "machine": trace.topology.name,
        "size_bytes": f"{trace.size:.0f}",
        "verified": trace.verdict.verdict,
    }


def _nanoseconds(seconds: Floats) -> NDArray[np.int64]:
    rounded: NDArray[np.int64] = np.rint(seconds * 1e9).astype(np.int64)
    return rounded


def _name_ranks(chrome: ChromeTrace, trace: Trace) -> None:
    """Names of the processes: ranks, switches, and one for all links."""
    schedule = trace.schedule
    names = [f"rank {r}" for r in range(schedule.n)] + [f"switch {kind}" for kind in schedule.switches]
    for process, name in enumerate([*names, "links"]):
        chrome.process(process, name, order=process)


def _draw_transfers(chrome: ChromeTrace, trace: Trace) -> None:
    schedule = trace.schedule
    left, start, arrived, end = (_nanoseconds(t) for t in (trace.left, trace.start, trace.arrived, trace.end))
    away = np.nonzero(schedule.src != schedule.dst)[0]
    local = np.nonzero(schedule.src == schedule.dst)[0]
    step = schedule.step_of.tolist()
    phases = [schedule.phase_of(k) for k in range(schedule.steps)]
    lanes = _Lanes()
    tracks: dict[tuple[int, int], int] = {}
    for kind, place, begins, ends, some in (
        (SENDS, schedule.src, left, arrived, away),
        (RECEIVES, schedule.dst, start, end, away),
        (LOCAL, schedule.src, left, end, local),
    ):
        for i in some[np.argsort(begins[some], kind="stable")].tolist():
            tracks[kind, i] = lanes.take(int(place[i]), kind, int(begins[i]), int(ends[i]))
    for i in range(schedule.transfers):
        src, dst, k = int(schedule.src[i]), int(schedule.dst[i]), step[i]
        times = [int(t[i]) for t in (left, start, arrived, end)]
        args = {
            "transfer": i, "step": k + 1, "phase": phases[k], "channel": int(schedule.channel[i]),
            "bytes": round(float(trace.bytes[i])), "slots": int(schedule.moves[i + 1] - schedule.moves[i]),
        }  # fmt: skip
        adds = bool(schedule.op[i] == REDUCE)
        if src == dst:
            name = "reduce" if adds else "copy"
            chrome.slice(src, tracks[LOCAL, i], name, "transfer", times[0], times[3], args)
        else:
            _draw_message(chrome, (src, tracks[SENDS, i]), (dst, tracks[RECEIVES, i]), times, args, adds=adds)
    lanes.name(chrome)


def _draw_message(
    chrome: ChromeTrace,
    sender: tuple[int, int],
    receiver: tuple[int, int],
    times: Sequence[int],
    args: dict[str, Any],
    *,
    adds: bool,
) -> None:
    """Send, receive, what is inside them, and the arrow from one to the other; ends are (process, track)."""
    left, start, arrived, end = times
    chrome.slice(*sender, f"to {receiver[0]}", "transfer", left, arrived, args)
    if left < start < arrived:
        chrome.slice(*sender, "overhead and latency", "transfer", left, start, {})
    chrome.slice(*receiver, f"from {sender[0]}", "transfer", start, end, args)
    if adds and start < arrived < end:
        chrome.slice(*receiver, "reduce", "transfer", arrived, end, {})
    if left < arrived and start < end:
        tail = TrackPoint(*sender, start if start < arrived else left)
        chrome.arrow(args["transfer"], "message", "message", tail, TrackPoint(*receiver, start))


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

    def name(self, chrome: ChromeTrace) -> None:
        """Say what every track is called."""
        for (rank, kind), lanes in self._laid.items():
            for lane in range(lanes):
                title = _TITLES[kind] + (f" {lane + 1}" if lane else "")
                chrome.track(rank, kind + lane, title, order=kind + lane)


def _draw_rates(chrome: ChromeTrace, trace: Trace) -> None:
    """One counter per link that carried anything, in GB/s."""
    load = link_load(trace)
    times = _nanoseconds(load.time).tolist()
    for number, link in enumerate(trace.topology.links):
        stretches = range(int(load.offsets[number]), int(load.offsets[number + 1]))
        for j in stretches:
            if j + 1 in stretches and times[j + 1] == times[j]:
                continue
            rate = float(load.rate[j]) / GBps
            chrome.counter(trace.schedule.places, f"{link.src} -> {link.dst}", times[j], "GBps", rate)

"""What a step of a workload was: its time, who did what when, what crossed every link, what memory it took."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ops.cells import PICTURES, drawn, table
from ops.communicators.expectation import expectation
from ops.communicators.records import CallRecord, Span
from sim.base.arrays import Ints
from sim.topology import Floats, Topology
from sim.trace.chrome_events import ChromeTrace, check_slices, nanoseconds
from sim.units import fmt_object, fmt_size, fmt_time

COMPUTE, COMM, WAIT, HOST = LANES = "compute", "comm", "wait", "host"
"""Lanes of a rank: its GPU at work; a collective it takes part in; a collective that other ranks are late for; its
thread at work on the processor."""
_NUMBERS = re.compile(r"\d+")
Interval = tuple[float, float]


class MemoryChange(NamedTuple):
    """From `time` on, `rank` holds `bytes` more (or less) of a kind: parameters, or activations."""

    rank: int
    time: float
    kind: str
    bytes: float


class AlikeRanks(NamedTuple):
    """Ranks of which one stands for all that do and see the same, and links that carry the same at every moment.

    `player[rank]` is the rank that was simulated for it, and itself if it was; `link_class[link]` a number.
    """

    player: Ints
    link_class: Ints


@dataclass(slots=True, kw_only=True)
class StepCollective(CallRecord):
    """One collective of the step; times in seconds. `latest` is the rank that came last.

    `links` are the kinds of links it crossed, like `NVL+NET`; `groups` tells how many communicators had one like it at
    the same time, where it stands for them all.
    """

    start: float
    end: float
    verified: bool
    latest: int
    links: str
    groups: int = 1


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """One step of a workload on a machine; times in seconds.

    Where some ranks stand for all, spans, calls and changes are theirs; for any other rank the one that stands for it
    answers.

    Parameters
    ----------
    topology : Topology
        The machine.
    ranks : int
        How many ranks took part.
    time : float
        How long the step took, s.
    spans : list of Span
        What ranks did when.
    calls : list of StepCollective
        The collectives.
    link_bytes : array of float, shape (links,)
        Bytes that crossed every link.
    changes : list of MemoryChange
        What ranks took and gave back of memory.
    facts : mapping
        The workload's own numbers; their names end in their unit: `_s`, `_bytes`, `_share` (0 to 1).
    workload : str
        The workload's name.
    settings : mapping
        Its parameters.
    alike : AlikeRanks
        Which rank stands for which, where some stand for all.
    beside : mapping
        Other steps to look at on the same clock, by name.
    """

    topology: Topology
    ranks: int
    time: float
    spans: list[Span] = field(repr=False)
    calls: list[StepCollective] = field(repr=False)
    link_bytes: Floats = field(repr=False)
    changes: list[MemoryChange] = field(repr=False)
    facts: dict[str, Any] = field(default_factory=dict)
    workload: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    alike: AlikeRanks | None = field(default=None, repr=False)
    beside: "dict[str, TrainingStep]" = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        times = f"{fmt_time(self.time)}, {fmt_time(self.exposed_s)} of communication exposed"
        return fmt_object("TrainingStep", f"{self.workload} on {self.topology.name}: {self.ranks:,} ranks, {times}")

    def _repr_html_(self) -> str:
        rows = {
            "ranks": f"{self.ranks:,}",
            "time": fmt_time(self.time),
            "exposed communication": fmt_time(self.exposed_s),
            "peak memory": fmt_size(max(self.peaks, default=0.0)) if any(self.peaks) else "",
            "verified": "yes" if self.verified else "no",
        }
        picture = drawn("step", self) if "step" in PICTURES else ""
        return table(f"{self.workload} on {self.topology.name}", rows, picture)

    @cached_property
    def stands_for(self) -> dict[int, int]:
        """The ranks that were simulated, in order, and for how many each stands, itself included."""
        if self.alike is None:
            return dict.fromkeys(range(self.ranks), 1)
        players, counts = np.unique(self.alike.player, return_counts=True)
        return dict(zip(players.tolist(), counts.tolist(), strict=True))

    def player(self, rank: int) -> int:
        """The rank that was simulated for this one."""
        return rank if self.alike is None else int(self.alike.player[rank])

    def spans_of(self, rank: int) -> list[Span]:
        """What a rank did when."""
        player = self.player(rank)
        return [span if player == rank else span._replace(rank=rank) for span in self.spans if span.rank == player]

    def changes_of(self, rank: int) -> list[MemoryChange]:
        """What a rank took and gave back of memory, in the order of time."""
        player = self.player(rank)
        return sorted((change for change in self.changes if change.rank == player), key=lambda change: change.time)

    @cached_property
    def _busy(self) -> dict[tuple[int, str], list[Interval]]:
        """Every lane's time as intervals that neither touch nor overlap."""
        lanes: dict[tuple[int, str], list[Interval]] = {}
        for span in sorted(self.spans, key=lambda span: span.start):
            intervals = lanes.setdefault((span.rank, span.lane), [])
            if intervals and span.start <= intervals[-1][1]:
                intervals[-1] = (intervals[-1][0], max(intervals[-1][1], span.end))
            else:
                intervals.append((span.start, span.end))
        return lanes

    def intervals(self, rank: int, lane: str) -> list[Interval]:
        """When a lane has something to show: intervals in order that neither touch nor overlap."""
        return self._busy.get((self.player(rank), lane), [])

    def busy(self, rank: int, lane: str) -> float:
        """Seconds in which a lane has something to show."""
        return _length(self.intervals(rank, lane))

    def exposed(self, rank: int) -> float:
        """Seconds of a rank's communication, waiting for others included, that no compute of its own hides."""
        compute = self.intervals(rank, COMPUTE)
        moving = _joined(self.intervals(rank, COMM) + self.intervals(rank, WAIT))
        return _length(moving) - _length(overlaps(moving, compute))

    @cached_property
    def exposed_s(self) -> float:
        """The exposed communication of the rank that has most of it."""
        return max((self.exposed(rank) for rank in self.stands_for), default=0.0)

    @cached_property
    def memory(self) -> list[tuple[Floats, Floats]]:
        """Per rank: moments in seconds, and the bytes held from each of them on."""
        curves = {}
        for rank in self.stands_for:
            changes = self.changes_of(rank)
            times = np.array([change.time for change in changes])
            total = np.cumsum([change.bytes for change in changes]) if changes else np.zeros(0)
            last = np.append(np.diff(times) > 0, True)[: len(times)]
            curves[rank] = times[last], total[last]
        return [curves[self.player(rank)] for rank in range(self.ranks)]

    @cached_property
    def peaks(self) -> list[float]:
        """The most bytes every rank held at once."""
        most = {rank: float(self.memory[rank][1].max(initial=0.0)) for rank in self.stands_for}
        return [most[self.player(rank)] for rank in range(self.ranks)]

    def memory_at_peak(self, rank: int) -> dict[str, float]:
        """What a rank's memory held by kind when it held most."""
        times, total = self.memory[rank]
        if not len(total):
            return {}
        moment = times[int(np.argmax(total))]
        kinds: dict[str, float] = {}
        for change in self.changes_of(rank):
            if change.time <= moment:
                kinds[change.kind] = kinds.get(change.kind, 0.0) + change.bytes
        return {kind: amount for kind, amount in kinds.items() if amount > 0}

    @property
    def collectives(self) -> list[dict[str, Any]]:
        """What was called: how often, by how many groups, over which links.

        Calls of one size whose names differ in their numbers alone are one row.
        """
        rows: dict[tuple[str, str, float, str], list[StepCollective]] = {}
        for call in self.calls:
            name = _NUMBERS.sub("#", call.name)
            rows.setdefault((name, call.algorithm, call.size, call.links), []).append(call)
        return [
            {
                "name": name, "algorithm": algorithm, "size_bytes": size, "links": links,
                "times": sum(call.groups for call in calls),
                "groups": sum({call.ranks: call.groups for call in calls}.values()), "ranks": len(calls[0].ranks),
                "longest_s": max(call.end - call.start for call in calls),
            }
            for (name, algorithm, size, links), calls in rows.items()
        ]  # fmt: skip

    @property
    def busiest(self) -> int | None:
        """The number of the link that most bytes crossed; None where nothing crossed any."""
        return int(self.link_bytes.argmax()) if self.link_bytes.any() else None

    @property
    def verified(self) -> bool:
        """Whether every collective's contributions were there exactly once."""
        return all(call.verified for call in self.calls)

    def to_dict(self) -> dict[str, Any]:
        """The step as plain data."""
        rows = {rank: self._row(rank) for rank in self.stands_for}
        return {
            "workload": self.workload,
            "machine": self.topology.name,
            "ranks": self.ranks,
            **expectation(self.calls),
            "settings": self.settings,
            "step_time_s": self.time,
            "exposed_communication_s": self.exposed_s,
            "verified": self.verified,
            "peak_memory_bytes": self.peaks,
            "memory_at_peak_bytes": self.memory_at_peak(0) if self.ranks else {},
            "facts": self.facts,
            "stands_for": None if self.alike is None else [
                {"rank": rank, "ranks": count} for rank, count in self.stands_for.items()
            ],
            "per_rank": [{"rank": rank} | rows[self.player(rank)] for rank in range(self.ranks)],
            "link_bytes": self._links(),
            "collectives": self.collectives,
            "calls": [
                {
                    "name": c.name, "algorithm": c.algorithm, "protocol": c.protocol,
                    "ranks": list(c.ranks), "size_bytes": c.size,
                    "start_s": c.start, "end_s": c.end, "verified": c.verified,
                    "latest_rank": c.latest, "links": c.links,
                    **({"groups": c.groups} if self.alike is not None else {}),
                }
                for c in self.calls
            ],
            "timeline": [
                {"rank": s.rank, "lane": s.lane, "start": s.start, "end": s.end, "name": s.name} for s in self.spans
            ],
            "memory": [
                {"time_s": times.tolist(), "bytes": total.tolist()}
                for times, total in (self.memory[rank] for rank in self.stands_for)
            ],
        }  # fmt: skip

    def _row(self, rank: int) -> dict[str, float]:
        """A rank's figures."""
        return {
            "compute_s": self.busy(rank, COMPUTE), "communication_s": self.busy(rank, COMM),
            "waiting_s": self.busy(rank, WAIT), "exposed_s": self.exposed(rank), "peak_memory_bytes": self.peaks[rank],
        }  # fmt: skip

    def _links(self) -> list[dict[str, Any]]:
        """What crossed links; where some stand for all that are like them, these alone, and for how many."""
        links, used = self.topology.links, np.flatnonzero(self.link_bytes)
        shown, more = used, [dict[str, int]()] * len(used)
        if self.alike is not None:
            first, counts = np.unique(self.alike.link_class[used], return_index=True, return_counts=True)[1:]
            shown, more = used[first], [{"stands_for": count} for count in counts.tolist()]
        return [
            {"src": links[i].src, "dst": links[i].dst, "bytes": float(self.link_bytes[i])} | count
            for i, count in zip(shown.tolist(), more, strict=True)
        ]

    def to_perfetto(self) -> str:
        """Chrome trace-event JSON: a process per rank, a track per lane, memory as a counter."""
        check_slices(len(self.spans), "perfetto.spans")
        lanes = {lane: number for number, lane in enumerate(LANES)}
        chrome = ChromeTrace()
        for rank, count in self.stands_for.items():
            chrome.process(rank, f"rank {rank}" if count == 1 else f"rank {rank} and {count - 1:,} that do the same")
            for lane, number in lanes.items():
                chrome.track(rank, number, lane)
            for time, total in zip(*self.memory[rank], strict=True):
                chrome.counter(rank, "memory", nanoseconds(time), "bytes", total)
        rows = _rows(self.spans)
        more = {(span.rank, span.lane, row): None for span, row in zip(self.spans, rows, strict=True) if row}
        for rank, lane, row in more:
            chrome.track(rank, lanes[lane] + row * len(LANES), f"{lane} {row + 1}")
        for span, row in zip(self.spans, rows, strict=True):
            track, start, end = lanes[span.lane] + row * len(LANES), nanoseconds(span.start), nanoseconds(span.end)
            chrome.slice(span.rank, track, span.name, span.lane, start, end)
        return chrome.to_json()


def _rows(spans: list[Span]) -> list[int]:
    """Return a row for every span, so that spans of one row of a rank's lane follow each other.

    >>> _rows([Span(0, COMM, 0, 2, "a"), Span(0, COMM, 1, 3, "b"), Span(0, COMM, 2, 3, "c")])
    [0, 1, 0]
    """
    ends: dict[tuple[int, str], list[float]] = {}
    rows = [0] * len(spans)
    for k in sorted(range(len(spans)), key=lambda k: spans[k].start):
        span, lane = spans[k], ends.setdefault((spans[k].rank, spans[k].lane), [])
        rows[k] = next((row for row, end in enumerate(lane) if end <= span.start), len(lane))
        lane[rows[k] : rows[k] + 1] = [span.end]
    return rows


def _joined(intervals: list[Interval]) -> list[Interval]:
    """Intervals that may overlap, as ones that do not."""
    apart: list[Interval] = []
    for start, end in sorted(intervals):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((start, end))
    return apart


def overlaps(ours: list[Interval], theirs: list[Interval]) -> list[Interval]:
    """What lies in both of two sorted lists of intervals.

    >>> overlaps([(0, 4), (6, 9)], [(1, 2), (3, 7)])
    [(1, 2), (3, 4), (6, 7)]
    """
    common, i, j = [], 0, 0
    while i < len(ours) and j < len(theirs):
        start, end = max(ours[i][0], theirs[j][0]), min(ours[i][1], theirs[j][1])
        if start < end:
            common.append((start, end))
        if ours[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1
    return common


def _length(intervals: list[Interval]) -> float:
    return sum(end - start for start, end in intervals)

"""A run at any instant, as numbers to draw: where blocks are, how full links are, what every rank holds."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.schedule import NOTHING
from sim.trace import Trace
from ui.captions import block_name, step_captions
from ui.contents import followed, given, unfollowed
from ui.layout import arrange
from ui.payload import FULL, place_devices, place_names
from ui.text import say

Floats = NDArray[np.float64]
BESIDE = 0.1
"""How far a link is drawn from the line between its ends, to its right, in device widths."""
ARC = 12


class Block(NamedTuple):
    """A block on its way: the transfer that carries it, its number, what it is called, and where it is."""

    transfer: int
    number: int
    label: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Held:
    """Blocks and how many ranks have contributed to them, by place; NOTHING where there is none."""

    block: NDArray[np.int64]
    count: NDArray[np.int64]


class Film:
    """A trace that can be asked about any instant. Asking in the order of time is quickest."""

    def __init__(self, trace: Trace, language: str = "en") -> None:
        self.trace, self.language = trace, language
        self.full = trace.schedule.transfers <= FULL
        self.stage = arrange(trace.topology)
        self.contents = followed(trace, trace.end) if self.full else unfollowed(trace)
        self._order = np.argsort(trace.end, kind="stable")
        self._ended = trace.end[self._order]
        self._done = 0
        self._rewind()

    @cached_property
    def captions(self) -> list[str]:
        """A sentence per step."""
        names = place_names(self.trace, place_devices(self.trace), self.language)
        return step_captions(self.trace.schedule, self.contents, names, self.language)

    @cached_property
    def lines(self) -> list[Floats]:
        """The points each link is drawn through, `[point, x or y]`."""
        src, dst = self.trace.topology.ends
        ends = np.stack([self.stage.x, self.stage.y], axis=1)
        arcs = bool(self.stage.boxes)
        return [_line(ends[a], ends[b], arcs=arcs) for a, b in zip(src, dst, strict=True)]

    @cached_property
    def _step_ends(self) -> Floats:
        starts = self.trace.schedule.step_start
        ends = [self.trace.end[a:b].max(initial=self.trace.began) for a, b in pairwise(starts)]
        return np.maximum.accumulate(np.array([self.trace.began, *ends]))

    def step(self, t: float) -> int:
        """The step under way: 0 before the first, k until step k and all before it have ended."""
        return min(int(np.searchsorted(self._step_ends, t * (1 - 1e-12))), len(self._step_ends) - 1)

    def caption(self, t: float) -> str:
        """What happens now, in a sentence."""
        step = self.step(t)
        if step == 0:
            return say("player.start", self.language)
        words = self.captions[step - 1]
        return say("player.end", self.language, caption=words) if t >= self.trace.ended else words

    def moving(self, t: float) -> NDArray[np.int64]:
        """The transfers between ranks that are under way."""
        trace = self.trace
        found: NDArray[np.int64] = np.nonzero(
            (trace.ready <= t) & (t < trace.end) & (trace.schedule.src != trace.schedule.dst)
        )[0]
        return found

    def progress(self, i: int, t: float) -> float:
        """0 to 1 along the route: the latency takes its share of the way, then the delivered bytes theirs."""
        trace = self.trace
        whole = trace.arrived[i] - trace.ready[i]
        if whole <= 0:
            return 1.0
        leading = float((trace.start[i] - trace.ready[i]) / whole)
        if t < trace.start[i]:
            return max(0.0, float((t - trace.ready[i]) / whole))
        return leading + (1 - leading) * trace.delivered(i, t)

    def blocks(self, t: float) -> list[Block]:
        """Every block that is on its way."""
        found = []
        for i in self.moving(t).tolist() if self.full else []:
            x, y = self._at(i, self.progress(i, t))
            first, stop = self.trace.schedule.moves[i : i + 2].tolist()
            number = int(self.contents.block[first]) if first < stop and len(self.contents.block) else NOTHING
            label = f"{stop - first}×" if stop - first > 1 else self.name(number)
            found.append(Block(i, number, label, x, y))
        return found

    def name(self, block: int) -> str:
        """What a person calls a block."""
        return block_name(self.trace.schedule, block)

    def _at(self, i: int, progress: float) -> tuple[float, float]:
        points = self._path(int(self.trace.route[i]), i)
        lengths = np.hypot(*np.diff(points, axis=0).T)
        along = np.concatenate([[0.0], np.cumsum(lengths)])
        want = progress * along[-1]
        return float(np.interp(want, along, points[:, 0])), float(np.interp(want, along, points[:, 1]))

    def _path(self, route: int, i: int) -> Floats:
        if route not in self._paths:
            self._paths[route] = self._walked(i)
        return self._paths[route]

    @cached_property
    def _paths(self) -> dict[int, Floats]:
        return {}

    def _walked(self, i: int) -> Floats:
        """The points of transfer i's route; a half-duplex link is crossed either way."""
        src, dst = self.trace.topology.ends
        at = place_devices(self.trace)[int(self.trace.schedule.src[i])]
        parts = []
        for link in self.trace.route_of(i).tolist():
            forward = int(src[link]) == at
            parts.append(self.lines[link] if forward else self.lines[link][::-1])
            at = int(dst[link] if forward else src[link])
        return np.concatenate(parts)

    def loads(self, t: float) -> Floats:
        """The share of its bandwidth that flows through every link now."""
        rates = np.zeros(len(self.trace.topology.links))
        for i in self.moving(t).tolist() if self.full else []:
            if self.trace.start[i] <= t < self.trace.arrived[i]:
                times, values = self.trace.rates(i)
                now = int(np.searchsorted(times, t, side="right")) - 1
                np.add.at(rates, self.trace.route_of(i), values[now] if now >= 0 else 0.0)
        shares: Floats = rates / self.trace.topology.bandwidth
        return shares

    def held(self, t: float) -> Held:
        """What every rank and adding switch holds, `[place, slot]`."""
        done = int(np.searchsorted(self._ended, t, side="right"))
        if done < self._done:
            self._rewind()
        for i in self._order[self._done : done].tolist():
            self._land(i)
        self._done = done
        return self._held

    def _rewind(self) -> None:
        block = given(self.trace.schedule).astype(np.int64)
        self._held = Held(block, (block != NOTHING).astype(np.int64))
        self._done = 0

    def _land(self, i: int) -> None:
        schedule, dst = self.trace.schedule, int(self.trace.schedule.dst[i])
        for m in range(int(schedule.moves[i]), int(schedule.moves[i + 1])):
            slot = int(schedule.to_slot[m])
            self._held.block[dst, slot] = self.contents.block[m] if len(self.contents.block) else NOTHING
            leaves: Any = self.contents.leaves
            self._held.count[dst, slot] = self.contents.count(leaves[m]) if self.contents.known else 1


def _line(a: Floats, b: Floats, *, arcs: bool) -> Floats:
    """Straight, kept to its right; in an arc where it would run through a row of devices."""
    way = b - a
    length = math.hypot(*way) or 1.0
    if arcs and abs(way[1]) < 0.3 and length > 1.6:
        sag = 0.42 + 0.16 * length + (0 if way[0] > 0 else BESIDE * 1.6)
        u = np.linspace(0, 1, ARC + 1)
        return np.stack([a[0] + way[0] * u, a[1] + way[1] * u + sag * 3 * u * (1 - u)], axis=1)
    aside = np.array([-way[1], way[0]]) / length * BESIDE
    return np.stack([a + aside, b + aside])

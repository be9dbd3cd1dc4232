"""What a still picture stands on: devices, the lines between them, and the line that a message follows.

The machine's own devices and links, or an algorithm's shape with a line for every pair that talks.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.trace import Trace
from ui.layout.algorithm_layout import shape_of
from ui.layout.boxes import Box
from ui.layout.folding import folded
from ui.layout.lines import SIZES, Floats, between
from ui.layout.machine_layout import arrange
from ui.layout.names import box_names, device_names
from ui.player.payload import place_devices, rank_numbers

CLEAR, MOST_CLEAR = 0.26, 0.42
"""Device widths that a block keeps from the devices at its ends, and the share of its way that it keeps at most."""
STRETCH = (2.4, 2.0)
"""How many times farther apart devices may stand across and down."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Centres, kinds and names of devices, the longest first, -1 or the rank of each; frames; lines `[point, x or y]`.

    `path(i)` are the points that transfer i goes by, `crossed(i)` the lines it goes along; `capacity(line,
    links)` is what a line can carry when links can carry so many B/s, or nan for one that is as wide as the flows on it
    find the machine; `link(line)` is the link that it is, or -1; `bars` has the widths of devices that are bars,
    `ends(i)` the devices between which transfer i goes, `hidden` those that are folded away.
    """

    x: Sequence[float]
    y: Sequence[float]
    kinds: Sequence[str]
    names: Sequence[Sequence[str]]
    ranks: Sequence[int]
    boxes: Sequence[Box]
    lines: Sequence[Floats]
    path: Callable[[int], Floats]
    crossed: Callable[[int], Sequence[int]]
    capacity: Callable[[int, Floats], float]
    link: Callable[[int], int] = lambda line: -1
    bars: Mapping[int, float] = field(default_factory=dict)
    ends: Callable[[int], tuple[int, int]] = lambda i: (0, 0)
    hidden: Set[int] = frozenset()

    def size(self, device: int) -> tuple[float, float]:
        """Width and height of a device."""
        wide, high = SIZES[self.kinds[device]]
        return self.bars.get(device, wide), high

    def seen(self) -> list[Floats]:
        """Lines that do not end at what is folded away."""
        if not self.hidden:
            return list(self.lines)
        spots = {(self.x[d], self.y[d]) for d in self.hidden}
        return [line for line in self.lines if not any(_near(end, spots) for end in (line[0], line[-1]))]

    def clear(self, i: int) -> tuple[float, float]:
        """Shares of the way of transfer i at which its block leaves one device and meets the other."""
        points, ends = self.path(i), self.ends(i)
        whole = float(np.hypot(*np.diff(points, axis=0).T).sum())
        if not whole:
            return 0.0, 1.0
        before, after = (
            min(_reach(self.size(end), points[k] - points[j]), whole * MOST_CLEAR) / whole
            for end, j, k in zip(ends, (0, -1), (1, -2), strict=True)
        )
        return before, 1 - after

    def spread(self, aspect: float) -> "Ground":
        """The same with devices farther apart, as on a page so many times as wide as high; none is larger."""
        reach = np.concatenate([np.stack([self.x, self.y], axis=1), *self.lines])
        wide, high = (reach.max(axis=0) - reach.min(axis=0) + np.array(SIZES["GPU"])).tolist()
        across, down = (
            min(most, max(1.0, share))
            for most, share in zip(STRETCH, (aspect * high / wide, wide / high / aspect), strict=True)
        )
        by = np.array([across, down])
        boxes = [
            b._replace(x=b.x * across, y=b.y * down, width=b.width * across, height=b.height * down) for b in self.boxes
        ]
        return replace(
            self,
            x=[x * across for x in self.x],
            y=[y * down for y in self.y],
            boxes=boxes,
            lines=[line * by for line in self.lines],
            path=lambda i: self.path(i) * by,
            bars={device: wide * across for device, wide in self.bars.items()},
        )


def _near(end: Floats, spots: Set[tuple[float, float]]) -> bool:
    """Whether a line ends at one of some places."""
    return any(abs(end[0] - x) + abs(end[1] - y) < 1.0 for x, y in spots)


def _reach(size: tuple[float, float], way: Floats) -> float:
    """How far it is along a way from the middle of a device until a block beside it is clear of it."""
    steps = np.abs(way) / (np.hypot(*way) or 1.0)
    return min((side / 2 + CLEAR) / step if step else math.inf for side, step in zip(size, steps.tolist(), strict=True))


def machine(trace: Trace, language: str = "en") -> Ground:
    """The machine: a line for every link."""
    topology, hidden = trace.topology, folded(trace)
    stage = arrange(topology, hidden)
    src, dst = topology.ends
    lines = between(stage.x, stage.y, src, dst, stage.bow, stage.bars)
    places = place_devices(trace)
    rank_of = {topology.ranks[r]: r for r in range(trace.schedule.n)}
    paths: dict[int, Floats] = {}

    def path(i: int) -> Floats:
        route = int(trace.route[i])
        if route not in paths:
            at, parts = places[int(trace.schedule.src[i])], []
            for link in trace.route_of(i).tolist():
                forward = int(src[link]) == at  # a half-duplex link is crossed either way
                parts.append(lines[link] if forward else lines[link][::-1])
                at = int(dst[link] if forward else src[link])
            paths[route] = np.concatenate(parts)
        return paths[route]

    return Ground(
        stage.x,
        stage.y,
        [d.kind for d in topology.devices],
        device_names(topology, rank_numbers(trace), language),
        [rank_of.get(d, -1) for d in range(len(topology.devices))],
        box_names(stage.boxes, language),
        lines,
        path,
        lambda i: trace.route_of(i).tolist(),
        lambda line, links: float(links[line]),
        lambda line: line,
        stage.bars,
        lambda i: (places[int(trace.schedule.src[i])], places[int(trace.schedule.dst[i])]),
        hidden,
    )


def shape(trace: Trace, blocks: NDArray[Any], language: str = "en") -> Ground | None:
    """The algorithm's shape, or None where that would be a smudge; `blocks` is the block of every move."""
    drawn = shape_of(trace.schedule, blocks)
    if drawn is None:
        return None
    schedule = trace.schedule
    pair = {(a, b): k for k, (a, b) in enumerate(zip(drawn.src, drawn.dst, strict=True))}
    names = device_names(trace.topology, rank_numbers(trace), language)
    devices = place_devices(trace)

    def ends(i: int) -> tuple[int, int]:
        first = int(schedule.moves[i])
        block = int(blocks[first]) if drawn.tree and first < schedule.moves[i + 1] else -1
        return drawn.spot(int(schedule.src[i]), block), drawn.spot(int(schedule.dst[i]), block)

    def line_of(i: int) -> int:
        return pair[ends(i)]

    lines = drawn.lines()
    return Ground(
        drawn.x,
        drawn.y,
        ["GPU" if place < schedule.n else "NVS" for place in drawn.place],
        [names[devices[place]] for place in drawn.place],
        [place if place < schedule.n else -1 for place in drawn.place],
        box_names(drawn.boxes, language),
        lines,
        lambda i: lines[line_of(i)],
        lambda i: [line_of(i)],
        lambda line, links: math.nan,
        ends=ends,
    )

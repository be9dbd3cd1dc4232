"""What a still picture stands on: devices, the lines between them, and the line that a message follows.

The machine's own devices and links, or an algorithm's shape with a line for every pair that talks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.trace import Trace
from ui.layout import arrange
from ui.payload import place_devices
from ui.pieces import Bow, Box
from ui.shapes import shape_of

Floats = NDArray[np.float64]
BESIDE = 0.1
"""How far a line is drawn from the middle between its ends, to its right, in device widths."""
ARC = 12
LEVEL = 0.3
"""How far apart the ends of a line may be for it to count as level, or upright."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Centres, kinds and names of devices, -1 or the rank of each; frames; lines `[point, x or y]`.

    `path(i)` are the points that transfer i goes by, `crossed(i)` the lines it goes along; `capacity(line,
    links)` is what a line can carry when links can carry so many B/s, or nan for one that is as wide as the flows on it
    find the machine; `link(line)` is the link that it is, or -1.
    """

    x: Sequence[float]
    y: Sequence[float]
    kinds: Sequence[str]
    names: Sequence[str]
    ranks: Sequence[int]
    boxes: Sequence[Box]
    lines: Sequence[Floats]
    path: Callable[[int], Floats]
    crossed: Callable[[int], Sequence[int]]
    capacity: Callable[[int, Floats], float]
    link: Callable[[int], int] = lambda line: -1


def machine(trace: Trace) -> Ground:
    """The machine: a line for every link."""
    topology, stage = trace.topology, arrange(trace.topology)
    src, dst = topology.ends
    ends = np.stack([stage.x, stage.y], axis=1)
    lines = [_line(ends[a], ends[b], stage.bow) for a, b in zip(src, dst, strict=True)]
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
        [d.name for d in topology.devices],
        [rank_of.get(d, -1) for d in range(len(topology.devices))],
        stage.boxes,
        lines,
        path,
        lambda i: trace.route_of(i).tolist(),
        lambda line, links: float(links[line]),
        lambda line: line,
    )


def shape(trace: Trace) -> Ground | None:
    """The algorithm's shape, or None where that would be a smudge."""
    drawn = shape_of(trace.schedule)
    if drawn is None:
        return None
    n, ends = trace.schedule.n, np.stack([drawn.x, drawn.y], axis=1)
    lines = [_line(ends[a], ends[b], drawn.bow) for a, b in zip(drawn.src, drawn.dst, strict=True)]
    pair = {(a, b): k for k, (a, b) in enumerate(zip(drawn.src, drawn.dst, strict=True))}
    devices = [trace.topology.devices[d].name for d in place_devices(trace)]

    def between(i: int) -> int:
        return pair[int(trace.schedule.src[i]), int(trace.schedule.dst[i])]

    return Ground(
        drawn.x,
        drawn.y,
        ["GPU" if r < n else "NVS" for r in range(len(drawn.x))],
        devices,
        [r if r < n else -1 for r in range(len(drawn.x))],
        drawn.boxes,
        lines,
        lambda i: lines[between(i)],
        lambda i: [between(i)],
        lambda line, links: math.nan,
    )


def _line(a: Floats, b: Floats, bow: Bow) -> Floats:
    """Straight, kept to its right; in an arc where it would run through a row of devices."""
    way = b - a
    length = math.hypot(*way) or 1.0
    level, upright = abs(way[1]) < LEVEL and length > bow.level, abs(way[0]) < LEVEL and length > bow.upright
    if level or upright:
        sag = min(0.42 + 0.16 * length, bow.most) + (0 if way.sum() > 0 else BESIDE * 1.6)
        u = np.linspace(0, 1, ARC + 1)
        off = np.array([0.0, sag] if level else [sag, 0.0])
        return np.asarray(a + way * u[:, None] + off * (3 * u * (1 - u))[:, None])
    aside = np.array([-way[1], way[0]]) / length * BESIDE
    return np.stack([a + aside, b + aside])

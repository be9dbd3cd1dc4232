"""What a still picture stands on: devices, the lines between them, and the line that a message follows.

The machine's own devices and links, or an algorithm's shape with a line for every pair that talks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.trace import Trace
from ui.layout.algorithm_layout import shape_of
from ui.layout.boxes import Box
from ui.layout.lines import Floats, between
from ui.layout.machine_layout import arrange
from ui.layout.names import box_names, device_names
from ui.player.payload import place_devices, rank_numbers


@dataclass(frozen=True, eq=False)
class Ground:
    """Centres, kinds and names of devices, the longest first, -1 or the rank of each; frames; lines `[point, x or y]`.

    `path(i)` are the points that transfer i goes by, `crossed(i)` the lines it goes along; `capacity(line,
    links)` is what a line can carry when links can carry so many B/s, or nan for one that is as wide as the flows on it
    find the machine; `link(line)` is the link that it is, or -1; `bars` has the widths of devices that are bars.
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


def machine(trace: Trace, language: str = "en") -> Ground:
    """The machine: a line for every link."""
    topology, stage = trace.topology, arrange(trace.topology)
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

    def line_of(i: int) -> int:
        first = int(schedule.moves[i])
        block = int(blocks[first]) if drawn.tree and first < schedule.moves[i + 1] else -1
        return pair[drawn.spot(int(schedule.src[i]), block), drawn.spot(int(schedule.dst[i]), block)]

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
    )

"""How devices and the lines between them are drawn, for the player and for files alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ui.layout.boxes import NOTHING, Bow

Floats = NDArray[np.float64]
SIZES = {
    "GPU": (1.2, 0.95),
    "NVS": (1.5, 0.8),
    "PCI": (1.3, 0.5),
    "CPU": (1.3, 0.64),
    "NIC": (1.0, 0.5),
    "NET": (1.9, 0.65),
}
"""Width and height of a device by its kind, in device widths."""
BESIDE = 0.1
"""How far a line is drawn from the middle between its ends, to its right, in device widths."""
SHOULDER = 0.3
"""How far from its ends a bar is met at most, in device widths."""
LANE = 0.2
"""How far from its middle a bar is met, so that messages along it from above and below pass each other."""
SMOOTH, FINEST = 2.0, 32
"""Pieces of an arc per device width, and at most."""
LEVEL = 0.3
"""How far apart the ends of a line may be for it to count as level, or upright."""
GRAIN = 1024
"""Parts of a device width to which points are sent."""


def between(
    x: Sequence[float], y: Sequence[float], src: Any, dst: Any, bow: Bow, bars: Mapping[int, float] = NOTHING
) -> list[Floats]:
    """The points `[point, x or y]` of a line from every device of `src` to the one of `dst`.

    Straight, kept to its right; in an arc where it would run through a row of devices. A bar is met where it is
    nearest, bars side by side; `bars` has their widths.
    """
    ends = np.stack([x, y], axis=1).astype(np.float64)
    reach = np.zeros(len(ends))
    for device, wide in bars.items():
        reach[device] = max(0.0, wide / 2 - SHOULDER)
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    a, b = ends[src], ends[dst]
    before, beyond = _met(ends, reach, src, dst)
    for near, far, half in ((a, beyond, reach[src]), (b, before, reach[dst])):
        near[:, 0] = np.clip(far[:, 0], near[:, 0] - half, near[:, 0] + half)
        near[:, 1] += np.where(half > 0, LANE * np.sign(far[:, 1] - near[:, 1]), 0.0)
    way = b - a
    length = np.hypot(way[:, 0], way[:, 1])
    length[length == 0] = 1.0
    level = (np.abs(way[:, 1]) < LEVEL) & (length > bow.level)
    upright = (np.abs(way[:, 0]) < LEVEL) & (length > bow.upright)
    level[level] = _interrupted(a[level], b[level], ends)
    aside = np.stack([-way[:, 1], way[:, 0]], axis=1) / length[:, None] * BESIDE
    lines = list(np.stack([a + aside, b + aside], axis=1))
    for k in np.nonzero(level | upright)[0].tolist():
        lines[k] = _arc(a[k], way[k], float(length[k]), bow, is_level=bool(level[k]))
    return lines


def _met(ends: Floats, reach: Floats, src: NDArray[np.int64], dst: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """What the other end of each line looks towards: a device's middle; bars meet each other side by side."""
    before, beyond = ends[src], ends[dst]
    both = np.nonzero((reach[src] > 0) & (reach[dst] > 0))[0]
    if len(both):
        low, high = np.minimum(src, dst)[both], np.maximum(src, dst)[both]
        pairs, number = np.unique(low * len(ends) + high, return_inverse=True)
        left = np.maximum(ends[low, 0] - reach[low], ends[high, 0] - reach[high])
        right = np.minimum(ends[low, 0] + reach[low], ends[high, 0] + reach[high])
        before[both, 0] = beyond[both, 0] = left + (right - left) * (number + 0.5) / len(pairs)
    return before, beyond


def _interrupted(a: Floats, b: Floats, places: Floats) -> NDArray[np.bool_]:
    """Which of some level lines have a device on their way."""
    order = np.argsort(places[:, 0], kind="stable")
    x, y = places[order].T
    first = np.searchsorted(x, np.minimum(a[:, 0], b[:, 0]) + LEVEL)
    last = np.searchsorted(x, np.maximum(a[:, 0], b[:, 0]) - LEVEL)
    return np.array(
        [bool((np.abs(y[i:j] - at) < LEVEL).any()) for i, j, at in zip(first, last, a[:, 1], strict=True)], bool
    )


def _arc(start: Floats, way: Floats, length: float, bow: Bow, *, is_level: bool) -> Floats:
    sag = min(0.42 + 0.16 * length, bow.most) + (0 if way.sum() > 0 else BESIDE * 1.6)
    u = np.linspace(0, 1, int(np.clip(SMOOTH * length, 4, FINEST)) + 1)
    off = np.array([0.0, sag] if is_level else [sag, 0.0])
    return np.asarray(start + way * u[:, None] + off * (3 * u * (1 - u))[:, None])


def columns(name: str, lines: Sequence[Floats]) -> dict[str, NDArray[Any]]:
    """Lines as `NAME_start`, where the points of each begin, and `NAME_x` and `NAME_y`.

    >>> columns("line", [np.array([[0.0, 0.1], [1.0, 0.1]])])["line_start"].tolist()
    [0, 2]
    """
    points = np.concatenate([np.empty((0, 2)), *lines])
    rounded = (np.round(points * GRAIN) / GRAIN).astype(np.float32)
    start = np.cumsum([0, *map(len, lines)]).astype(np.uint32)
    return {f"{name}_start": start, f"{name}_x": rounded[:, 0], f"{name}_y": rounded[:, 1]}


def along(points: Floats, share: float) -> tuple[float, float]:
    """The point at a share of the way.

    >>> along(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0]]), 0.5)
    (2.0, 0.0)
    """
    gone = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    x, y = (float(np.interp(share * gone[-1], gone, points[:, axis])) for axis in (0, 1))
    return x, y

"""Parts of a stage, laid out on their own and put together; positions in units of about one device width."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

STEP = 1.5
GAP, PAD, HEAD = 0.55, 0.5, 0.55
LANE_HIGH = 0.95
NEVER = 1e6
NOTHING: Mapping[int, float] = MappingProxyType({})


class Box(NamedTuple):
    """A frame around devices that belong together; its label stands in its upper edge, or `below` in its lower."""

    label: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    side: str = ""


class Bow(NamedTuple):
    """Lines run straight, but in an arc where they are longer than that and level, or upright: devices are on the way.

    `most` is how far an arc may stand off.
    """

    level: float = NEVER
    upright: float = NEVER
    most: float = NEVER


class Stage(NamedTuple):
    """Centres of all devices, frames, the size of the whole, which lines are arcs, and the widths of bars."""

    x: list[float]
    y: list[float]
    boxes: list[Box]
    width: float
    height: float
    bow: Bow = Bow()
    bars: Mapping[int, float] = NOTHING


class Piece(NamedTuple):
    """A part of the stage laid out on its own, from (0, 0): devices with their places, frames, size, widths of bars."""

    at: dict[int, tuple[float, float]]
    boxes: list[Box]
    width: float
    height: float
    bars: Mapping[int, float] = NOTHING


def join(pieces: Sequence[Piece], places: Sequence[tuple[float, float]], width: float, height: float) -> Piece:
    """Several pieces put at their places."""
    at = {i: (x + dx, y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for i, (x, y) in p.at.items()}
    boxes = [b._replace(x=b.x + dx, y=b.y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for b in p.boxes]
    return Piece(at, boxes, width, height, {i: wide for p in pieces for i, wide in p.bars.items()})


def frame(piece: Piece, label: str, kind: str, *, below: bool = False, pad: float = PAD) -> Piece:
    """The piece in a labelled box."""
    width, height = piece.width + 2 * pad, piece.height + 2 * pad + HEAD
    inner = join([piece], [(pad, pad + (0 if below else HEAD))], width, height)
    side = "below" if below else ""
    return inner._replace(boxes=[Box(label, kind, 0.0, 0.0, width, height, side), *inner.boxes])


def beside(pieces: Sequence[Piece]) -> Piece:
    """Pieces in a row, middles level."""
    height = max(p.height for p in pieces)
    places, left = [], 0.0
    for p in pieces:
        places.append((left, (height - p.height) / 2))
        left += p.width + GAP
    return join(pieces, places, left - GAP, height)


def above(pieces: Sequence[Piece], gap: float = GAP) -> Piece:
    """Pieces in a column, middles in line."""
    width = max(p.width for p in pieces)
    places, top = [], 0.0
    for p in pieces:
        places.append(((width - p.width) / 2, top))
        top += p.height + gap
    return join(pieces, places, width, top - gap)


def row(devices: Sequence[int], width: float = 0.0) -> Piece:
    """Devices in one line, spread over a width."""
    width = max(width, len(devices) * STEP)
    return Piece({i: (width * (k + 0.5) / len(devices), 0.5) for k, i in enumerate(devices)}, [], width, 1.0)


def bars(devices: Sequence[int], width: float) -> Piece:
    """Switches as bars that share a width between them."""
    each = width / len(devices)
    return row(devices, width)._replace(bars=dict.fromkeys(devices, each - GAP))


def lane(device: int, width: float) -> Piece:
    """A switch as a bar across a width, with no room above or below but for blocks to pass."""
    return Piece({device: (width / 2, LANE_HIGH / 2)}, [], width, LANE_HIGH, {device: width - GAP})


def misfit(piece: Piece) -> float:
    """How far from twice as wide as high."""
    return abs(math.log(piece.width / piece.height / 2.0))


def in_rows(pieces: Sequence[Piece], columns: int) -> Piece:
    """Pieces in rows of so many."""
    return above([beside(pieces[k : k + columns]) for k in range(0, len(pieces), columns)])


def in_lines(tier: list[int], most: int) -> list[list[int]]:
    """A tier broken into lines of equal length, of at most `most` or about a square."""
    per_line = most if len(tier) <= 64 else math.ceil(math.sqrt(len(tier) * 2))
    count = math.ceil(len(tier) / per_line)
    size = math.ceil(len(tier) / count)
    return [tier[k : k + size] for k in range(0, len(tier), size)]

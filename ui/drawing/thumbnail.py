"""A run as a small drawing: where devices are, how full links are and where blocks are at an instant."""

from collections.abc import Iterator
from html import escape

import numpy as np

from sim.trace import Trace
from ui.drawing.frames import Film
from ui.drawing.geometry import Ground
from ui.layout.lines import SIZES, Floats
from ui.layout.palette import DARK, IDLE, LIGHT, Look

WIDTH, HEIGHT = 320, 180
HALF = 0.42
"""The share of a run at which it is shown: something is on its way there."""
MARGIN, TALL = 0.25, 0.5
"""Around devices, and half of the highest one, in device widths."""
SIDE = 0.34
NAME, LETTER = 0.28, 0.56
"""Height of a name in device widths, and how wide a letter is in heights."""
MOST_LINES, MOST_BLOCKS = 600, 300


def _classes(look: Look) -> str:
    """Fills and strokes of a theme."""
    blocks = "".join(f".b{k}{{fill:{colour};stroke:{look.surface}}}" for k, colour in enumerate(look.blocks))
    loads = "".join(f".l{k}{{stroke:{colour}}}" for k, colour in [*enumerate(look.load), ("r", look.red)])
    plain = (
        f".d{{fill:{look.surface};stroke:{look.quiet}}}.s{{fill:{look.panel};stroke:{look.quiet}}}.n{{fill:{look.ink}}}"
    )
    return f"{plain}.l{{stroke:{look.load[0]}}}{loads}{blocks}"


STYLE = f"<style>{_classes(LIGHT)}@media(prefers-color-scheme:dark){{{_classes(DARK)}}}</style>"


def of_run(trace: Trace, view: str, words: str = "", *, language: str = "") -> str:
    """A run in the midst of it, on its machine or in its algorithm's shape; with a language devices have names."""
    film = Film(trace, language or "en")
    ground = film.shape if view == "shape" else film.machine
    return svg(film, ground, trace.began + HALF * trace.time, words, is_named=bool(language))


def svg(film: Film, ground: Ground, t: float, words: str, *, is_named: bool = False) -> str:
    """The picture of an instant as SVG, in the colours of whoever looks at it."""
    half = [ground.bars.get(k, SIZES[kind][0]) / 2 for k, kind in enumerate(ground.kinds)]
    left = min(x - wide for x, wide in zip(ground.x, half, strict=True)) - MARGIN
    right = max(x + wide for x, wide in zip(ground.x, half, strict=True)) + MARGIN
    top, bottom = min(ground.y) - TALL - MARGIN, max(ground.y) + TALL + MARGIN
    if is_named:  # a picture of its own has room for what is drawn beside devices
        reach = np.concatenate([*ground.seen(), [[left, top], [right, bottom]]])
        (left, top), (right, bottom) = reach.min(axis=0).tolist(), reach.max(axis=0).tolist()
    room = max((right - left) / WIDTH, (bottom - top) / HEIGHT)
    x = (left + right) / 2 - WIDTH / 2 * room
    y = (top + bottom) / 2 - HEIGHT / 2 * room
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" viewBox="'
            f'{x:.2f} {y:.2f} {WIDTH * room:.2f} {HEIGHT * room:.2f}"><title>{escape(words)}</title>{STYLE}',
            f'<g fill="none" stroke-width="{1.6 * room:.3f}">',
            *_lines(film, ground, t, room),
            f'</g><g stroke-width="{room:.3f}">',
            *_devices(ground),
            *(() if is_named else _blocks(film, ground, t)),
            "</g>",
            *(_names(ground) if is_named else ()),
            "</svg>",
        ]
    )


def _lines(film: Film, ground: Ground, t: float, room: float) -> Iterator[str]:
    if len(ground.lines) > MOST_LINES:
        return
    reds = film.waited_for(t, ground)
    seen = {id(line) for line in ground.seen()}
    for line, load, red in zip(ground.lines, film.loads(t, ground), reds, strict=True):
        if id(line) not in seen:
            continue
        level = "r" if red else min(len(LIGHT.load) - 1, int(load * len(LIGHT.load)))
        look = f'class="l{level}" stroke-width="{3 * room:.3f}"' if load > IDLE else 'class="l"'
        yield f'<path {look} d="M{_points(line)}"/>'


def _points(line: Floats) -> str:
    return "L".join(f"{x:.2f} {y:.2f}" for x, y in line.tolist())


def _devices(ground: Ground) -> Iterator[str]:
    for k, (x, y, kind, rank) in enumerate(zip(ground.x, ground.y, ground.kinds, ground.ranks, strict=True)):
        if k in ground.hidden:
            continue
        width, height = ground.bars.get(k, SIZES[kind][0]), SIZES[kind][1]
        look = "d" if rank >= 0 else "s"
        yield (
            f'<rect class="{look}" x="{x - width / 2:.2f}" y="{y - height / 2:.2f}" width="{width:.2f}"'
            f' height="{height:.2f}" rx=".12"/>'
        )


def _names(ground: Ground) -> Iterator[str]:
    """The longest name of every device that it has room for."""
    for k, (x, y, names) in enumerate(zip(ground.x, ground.y, ground.names, strict=True)):
        fitting = [name for name in names if len(name) * LETTER * NAME <= ground.size(k)[0]]
        if k not in ground.hidden and fitting:
            place = f'x="{x:.2f}" y="{y + NAME / 3:.2f}" font-size="{NAME}"'
            yield f'<text class="n" text-anchor="middle" {place}>{escape(fitting[0])}</text>'


def _blocks(film: Film, ground: Ground, t: float) -> Iterator[str]:
    for block in film.blocks(t, ground)[:MOST_BLOCKS]:
        side = max(0.16, SIDE * block.side)
        yield (
            f'<rect class="b{block.number % len(LIGHT.blocks)}" x="{block.x - side / 2:.2f}"'
            f' y="{block.y - side / 2:.2f}" width="{side:.2f}" height="{side:.2f}" rx=".06"/>'
        )

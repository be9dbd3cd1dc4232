"""A worksheet to print: for each step a row of small pictures, a caption, and a table of values to fill in."""

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.plan import Plan
from ops.run.values import SMALL, Values, number, values_of
from sim.errors import InputError
from sim.schedule import REDUCE, Schedule
from sim.trace import Trace
from ui.drawing.figures import left
from ui.drawing.fonts import faces
from ui.drawing.frames import Film
from ui.drawings import still
from ui.layout.captions import block_name, goal
from ui.layout.palette import LIGHT
from ui.text import say

MOST_RANKS, MOST_STEPS, MOST_BLOCKS = 16, 40, 16
"""The largest run that fits on a worksheet."""
SHARES = (0.15, 0.5, 0.85)
"""Instants of a step that are drawn, as shares of it."""
INCHES, DPI = 5.4, 200
"""Width of the page around a small picture, inches, and its resolution, dpi."""
PRINTED = replace(LIGHT, paper="#ffffff")
"""How it looks."""


class SheetCell(NamedTuple):
    """A cell of the table: its text, whether this step changed it, and whether the student fills it in.

    A cell stays blank after its first change, because a later row would show the answer.
    """

    text: str
    is_new: bool = False
    is_blank: bool = False


@dataclass(frozen=True)
class Row:
    """A step: title, caption, small pictures `[row, column, rgb]`, and the table after the step."""

    title: str
    caption: str
    pictures: tuple[NDArray[np.uint8], ...]
    cells: "Table"


@dataclass(frozen=True)
class Worksheet:
    """The whole worksheet; `head` names the run, `task` tells the student what to do."""

    language: str
    head: str
    task: str
    ranks: tuple[str, ...]
    blocks: tuple[str, ...]
    rows: tuple[Row, ...]
    is_answered: bool


def worksheet(trace: Trace, title: str, view: str, language: str, plan: Plan | None, *, answered: bool) -> Worksheet:
    """Make the sheet of a run. Raises InputError for one that is too large, or has no numbers."""
    schedule = trace.schedule
    slots = schedule.slots if schedule.promise is None else schedule.promise.given.shape[1]
    if schedule.n > MOST_RANKS or schedule.steps > MOST_STEPS or slots > MOST_BLOCKS:
        raise InputError(
            "worksheet.large",
            ranks=schedule.n,
            steps=schedule.steps,
            blocks=slots,
            most_ranks=MOST_RANKS,
            most_steps=MOST_STEPS,
            most_blocks=MOST_BLOCKS,
        )
    plan = plan or Plan()
    plan = replace(plan, values=plan.values or SMALL)
    values = values_of(schedule, plan.values, plan.op, plan.dtype, trace.end)
    film = Film(trace, language, plan=plan if answered else None)  # else blocks on their way would give answers away
    blocks = tuple(block_name(schedule, block) for block in range(slots))
    rows, changed = [_start(film, values, view, slots)], set[tuple[int, int]]()
    for step in range(schedule.steps):
        now = _changed(values, schedule, step, slots)
        changed |= now
        rows.append(_row(film, values, view, step, _cells(values, step, schedule.n, slots, now, changed)))
    aim, stop = goal(schedule, language), "。" if language == "zh" else "."
    task = say("worksheet.task", language)
    if (schedule.op == REDUCE).any():
        task += say("worksheet.combine", language, op=say(f"worksheet.op.{values.op}", language))
    ranks = tuple(say("caption.rank", language, ranks=r) for r in range(schedule.n))
    return Worksheet(language, title, f"{aim[:1].upper()}{aim[1:]}{stop} {task}", ranks, blocks, tuple(rows), answered)


Table = tuple[tuple[SheetCell, ...], ...]


def _start(film: Film, values: Values, view: str, slots: int) -> Row:
    cells = _cells(values, -1, film.trace.schedule.n, slots, set(), set())
    title = say("worksheet.start", film.language)
    before = film.trace.began - film.trace.time
    _, _, caption = film.caption(before).partition(title)
    return Row(title, _begun(caption or film.caption(before)), (_picture(film, view, before),), cells)


def _row(film: Film, values: Values, view: str, step: int, cells: Table) -> Row:
    begin, end = film.step_ends[step : step + 2].tolist()
    pictures = tuple(_picture(film, view, begin + share * (end - begin)) for share in SHARES)
    title = say("worksheet.step", film.language, step=step + 1, steps=film.trace.schedule.steps)
    _, _, caption = film.plain_captions[step].partition(title)
    return Row(title, _begun(caption or film.plain_captions[step]), pictures, cells)


def _begun(caption: str) -> str:
    words = caption.lstrip(":： ")
    return words[:1].upper() + words[1:]


def _cells(
    values: Values, step: int, n: int, slots: int, now: set[tuple[int, int]], so_far: set[tuple[int, int]]
) -> Table:
    """The table after a step, or before the first, which is -1; `now` are the places that it has changed."""
    state = values.final if step == len(values.states) - 2 else values.states[step + 1]
    held = values.is_held[step + 1]
    return tuple(
        tuple(
            SheetCell(number(state[r, s]) if held[r, s] else "", (r, s) in now, (r, s) in so_far) for s in range(slots)
        )
        for r in range(n)
    )


def _changed(values: Values, schedule: Schedule, step: int, slots: int) -> set[tuple[int, int]]:
    """The places that a step changes; the last one also where sums become means."""
    moves = slice(*schedule.moves[schedule.step_start[step : step + 2]].tolist())
    places = schedule.dst[schedule.transfer_of[moves]].tolist(), schedule.to_slot[moves].tolist()
    changed = set(zip(*places, strict=True))
    if step == schedule.steps - 1 and values.op == "mean":
        divided = values.final != values.states[-1]
        changed |= {(r, s) for r in range(schedule.n) for s in range(slots) if divided[r, s]}
    return changed


def _picture(film: Film, view: str, t: float) -> NDArray[np.uint8]:
    """Return the machine or algorithm picture, cropped to its content."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = still(view, film, t, INCHES, PRINTED)
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[left(figure)][:, :, :3]
    inked = (pixels != pixels[0, 0]).any(axis=2)
    down, across = np.nonzero(inked.any(axis=1))[0], np.nonzero(inked.any(axis=0))[0]
    return pixels[down[0] : down[-1] + 1, across[0] : across[-1] + 1].copy() if len(down) else pixels.copy()


def html(sheet: Worksheet) -> bytes:
    """Write it as a page of its own, which prints a row on one page."""
    rows = "\n".join(_html_row(sheet, row) for row in sheet.rows)
    language = "zh-Hans" if sheet.language == "zh" else sheet.language
    name = say("worksheet.name", sheet.language)
    name_line = "" if sheet.is_answered else f'<p class="who">{escape(name)} ______________________</p>'
    return f"""<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(sheet.head)}</title><style>{faces()}{STYLE}</style></head>
<body><header><h1>{escape(sheet.head)}</h1>{name_line}<p>{escape(sheet.task)}</p></header>
{rows}
</body></html>
""".encode()


def _html_row(sheet: Worksheet, row: Row) -> str:
    pictures = "".join(f'<img alt="{escape(row.caption)}" src="{_png(pixels)}">' for pixels in row.pictures)
    head = "".join(f"<th>{escape(block)}</th>" for block in sheet.blocks)
    lines = "".join(
        f"<tr><th>{escape(rank)}</th>{''.join(_html_cell(cell, is_answered=sheet.is_answered) for cell in cells)}</tr>"
        for rank, cells in zip(sheet.ranks, row.cells, strict=True)
    )
    corner = escape(say("worksheet.blocks", sheet.language))
    return (
        f'<section><div class="step"><h2>{escape(row.title)}</h2><p>{escape(row.caption)}</p>'
        f'<div class="pictures">{pictures}</div></div><table><tr><th>{corner}</th>{head}</tr>{lines}</table></section>'
    )


def _html_cell(cell: SheetCell, *, is_answered: bool) -> str:
    kind = ' class="new"' if cell.is_new else ""
    return f"<td{kind}>{escape(cell.text) if is_answered or not cell.is_blank else ''}</td>"


def _png(pixels: NDArray[np.uint8]) -> str:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).quantize(64).save(out, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"


def pages(sheet: Worksheet, high: float) -> Iterator[list[Row]]:
    """Rows by page, as many as there is room for."""
    page: list[Row] = []
    room = high
    for row in sheet.rows:
        need = height_of(row)
        if page and need > room:
            yield page
            page, room = [], high
        page.append(row)
        room -= need
    yield page


def height_of(row: Row) -> float:
    """Inches that a row takes on paper."""
    return max(2.1, 0.62 + 0.24 * (len(row.cells) + 1))


STYLE = """
@page { margin: 14mm }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 186mm; color: #000; background: #fff;
  font: 11pt/1.35 "Ringside Sans", system-ui, sans-serif }
header { border-bottom: 1.5pt solid #000; margin-bottom: 4mm }
h1 { font-size: 15pt; margin: 0 0 1mm } h2 { font-size: 11pt; margin: 0 } p { margin: 0 0 1.5mm }
.who { float: right; margin-left: 5mm }
section { display: flex; gap: 5mm; align-items: flex-start; break-inside: avoid; padding: 3mm 0;
  border-bottom: .5pt solid #999 }
.step { flex: 1; min-width: 0 } .pictures { display: flex; gap: 2mm; align-items: center }
.pictures img { flex: 1 1 0; min-width: 0; max-width: 48mm; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; flex: none }
th { font-weight: 600; font-size: 9pt; padding: 0 1.5mm; text-align: right } tr:first-child th { text-align: center }
td { border: .5pt solid #777; min-width: 9mm; height: 6.5mm; text-align: center; padding: 0 1mm; color: #555 }
td.new { border: 1.2pt solid #000; color: #000; font-weight: 600; background: #f3f3f3 }
@media (max-width: 700px) { body { padding: 4mm }
  section { flex-direction: column; align-items: stretch } table { align-self: start } }
"""

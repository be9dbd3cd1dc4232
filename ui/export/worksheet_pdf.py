"""The worksheet as a PDF, on A4."""

import io
from typing import Any

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ui.drawing.figures import fonts
from ui.export.worksheet import Row, Worksheet, height_of, pages
from ui.text import say

A4 = 8.27, 11.69
"""Width and height, inches."""
MARGIN, HEAD = 0.55, 0.95
"""Inches around everything, and of the head of every page."""
CELL = 0.24
"""Inches: how high a cell is."""
GAP = 0.12
"""Inches between pictures, and before the table."""
INK, QUIET, FILL = "#000000", "#555555", "#f3f3f3"


def pdf(sheet: Worksheet) -> bytes:
    """Return the worksheet as a PDF."""
    width, height = A4
    out = io.BytesIO()
    parts = list(pages(sheet, height - 2 * MARGIN - HEAD))
    with PdfPages(out, metadata={"Title": sheet.head, "CreationDate": None}) as file:
        for number, rows in enumerate(parts, 1):
            figure = Figure(figsize=(width, height), facecolor="white")
            page = _PrintedPage(figure, sheet)
            page.head(number, len(parts))
            top = height - MARGIN - HEAD
            for row in rows:
                page.row(row, top)
                top -= height_of(row)
            file.savefig(figure)
    return out.getvalue()


class _PrintedPage:
    """A page, in inches from its lower left corner."""

    def __init__(self, figure: Figure, sheet: Worksheet) -> None:
        self._figure, self._sheet = figure, sheet
        self._width, self._height = (float(x) for x in figure.get_size_inches())
        self._family = fonts(sheet.language)

    def _write(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        place = x / self._width, y / self._height
        self._figure.text(*place, text, fontsize=size, family=self._family, parse_math=False, **style)

    def head(self, number: int, count: int) -> None:
        sheet, top = self._sheet, self._height - MARGIN
        self._write(MARGIN, top - 0.22, sheet.head, 14, weight="bold")
        right = self._width - MARGIN
        self._write(right, top - 0.22, f"{number}/{count}", 9, ha="right", color=QUIET)
        for k, line in enumerate(_wrapped(sheet.task, 108, sheet.language)[:2]):
            self._write(MARGIN, top - 0.45 - 0.17 * k, line, 9.5)
        if not sheet.is_answered and number == 1:
            name = say("worksheet.name", sheet.language)
            self._write(right, top - 0.02, f"{name} ____________________", 9, ha="right")
        self._line(top - HEAD + 0.14, 1.2)

    def _line(self, y: float, width: float) -> None:
        box = (MARGIN / self._width, y / self._height), (self._width - 2 * MARGIN) / self._width, 0
        self._figure.add_artist(Rectangle(*box, linewidth=width, edgecolor=INK, facecolor="none"))

    def row(self, row: Row, top: float) -> None:
        """A step, below a height."""
        wide, gutter = self._cells(row), 0.62
        table = self._width - MARGIN - wide * len(self._sheet.blocks)
        self._write(MARGIN, top - 0.2, row.title, 10, weight="bold")
        for k, line in enumerate(_wrapped(row.caption, 72, self._sheet.language)[:2]):
            self._write(MARGIN, top - 0.37 - 0.15 * k, line, 8.5)
        room = table - gutter - GAP - MARGIN
        self._pictures(row, top - 0.62, room, height_of(row) - 0.72)
        self._table(row, table, top - 0.28, wide)
        self._line(top - height_of(row) + 0.04, 0.3)

    def _cells(self, row: Row) -> float:
        longest = max((len(cell.text) for cells in row.cells for cell in cells), default=1)
        return min(max(0.3, 0.1 + 0.08 * longest), 2.9 / len(self._sheet.blocks))

    def _pictures(self, row: Row, top: float, room: float, high: float) -> None:
        each = (room - GAP * (len(row.pictures) - 1)) / max(3, len(row.pictures))
        for k, pixels in enumerate(row.pictures):
            tall, across = pixels.shape[:2]
            scale = min(each / across, high / tall)
            wide, up = across * scale, tall * scale
            box = (MARGIN + k * (each + GAP)) / self._width, (top - up) / self._height
            axes = self._figure.add_axes((*box, wide / self._width, up / self._height))
            axes.imshow(pixels, interpolation="none", aspect="auto")
            axes.set_axis_off()

    def _table(self, row: Row, x: float, top: float, wide: float) -> None:
        for s, block in enumerate(self._sheet.blocks):
            self._write(x + (s + 0.5) * wide, top - 0.1, block, 8, ha="center", va="center", weight="bold")
        for r, (rank, cells) in enumerate(zip(self._sheet.ranks, row.cells, strict=True)):
            low = top - CELL * (r + 2) + 0.04
            self._write(x - 0.06, low + CELL / 2, rank, 8, ha="right", va="center", weight="bold")
            for s, cell in enumerate(cells):
                text = cell.text if self._sheet.is_answered or not cell.is_blank else ""
                self._cell(x + s * wide, low, wide, text, is_new=cell.is_new)

    def _cell(self, x: float, y: float, wide: float, text: str, *, is_new: bool) -> None:
        box = (x / self._width, y / self._height), wide / self._width, CELL / self._height
        look: dict[str, Any] = {
            "linewidth": 1.0 if is_new else 0.4,
            "edgecolor": INK,
            "facecolor": FILL if is_new else "none",
        }
        self._figure.add_artist(Rectangle(*box, zorder=2 if is_new else 1, **look))
        if text:
            size = min(9.0, 72 * wide / max(1, len(text)) / 0.62)
            style: dict[str, Any] = {"weight": "bold" if is_new else "normal", "color": INK if is_new else QUIET}
            self._write(x + wide / 2, y + CELL / 2, text, size, ha="center", va="center", zorder=3, **style)


def _wrapped(text: str, most: int, language: str) -> list[str]:
    """Lines of a text, of at most so many letters; Chinese ones are as wide as two, and may break anywhere."""
    if language == "zh":
        most //= 2
        return [text[k : k + most] for k in range(0, len(text), most)]
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > most and lines[-1]:
            lines.append("")
        lines[-1] += f"{word} "
    return lines

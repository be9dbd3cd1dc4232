"""Which numbers of a row are its times: the two halves, out of place and in place, told by the header and by sense.

nccl-tests prints time, algbw, busbw and #wrong, then the same in place; older releases leave out #wrong, newer ones add
four columns of times per iteration to either half, and a time stamp. algbw is size over time: a place where that does
not hold is not where the times are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from ops.measured.formats.nccl_tests.printed import TYPES, PrintedRow, PrintedTable, number
from sim.units import ms, us

Scale = tuple[float, float]
"""What one of time is in seconds, and one of algbw in B/s."""

SLACK = 0.02
"""What size over time may differ from algbw beyond what rounding explains."""
WIDTHS = (4, 3, 8, 7)
"""Columns of a half where no header tells: with #wrong, without, and with four per iteration more."""
TIME_UNITS = {"(us)": us, "(ms)": ms, "(s)": 1.0}
RATE_UNITS = {"(gb/s)": 1e9, "(mb/s)": 1e6, "(gib/s)": float(1 << 30)}
_GIB = float(1 << 30)
_LOOKED_AT = 64
"""Rows that settle the unit of a table."""


class Half(NamedTuple):
    """Seconds, and algbw and busbw as printed."""

    seconds: float
    algbw: float
    busbw: float


@dataclass(slots=True)
class Unread:
    """Why rows are left out, and which."""

    lines: dict[str, list[int]] = field(default_factory=dict)
    _odd: str = ""

    def add(self, why: str, line: int) -> None:
        """Leave out a line."""
        self.lines.setdefault(why, []).append(line)

    def disagreement(self, rate: float, algbw: str, line: int) -> None:
        """Leave out a line whose time and bandwidth contradict each other; the first one's figures are told."""
        self._odd = self._odd or f"size over time is not algbw: {rate:.4g} GB/s, not {algbw[:20]}, in line {line}"
        self.add(self._odd, line)

    def has(self, line: int) -> bool:
        """Whether the line that was looked at last is left out."""
        return any(lines[-1] == line for lines in self.lines.values())

    @property
    def entries(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Each reason with its lines."""
        return tuple((why, tuple(lines)) for why, lines in self.lines.items())


def agrees(size: float, time: str, algbw: str, scale: Scale) -> bool:
    """Whether a size over a time is a bandwidth, all of them as exact as they are printed.

    >>> agrees(67108864, "361.52", "185.63", (us, 1e9)), agrees(67108864, "186.88", "327.04", (us, 1e9))
    (True, False)
    """
    try:
        (least, most), (slowest, fastest) = _rounded_from(time), _rounded_from(algbw)
    except ArithmeticError:  # no number, or one with an exponent that decimals do not reckon with
        return False
    least, most, slowest, fastest = least * scale[0], most * scale[0], slowest * scale[1], fastest * scale[1]
    slow_enough = least <= 0 or slowest <= size / least * (1 + SLACK)
    return most > 0 and slow_enough and size / most * (1 - SLACK) <= fastest


def _rounded_from(word: str) -> tuple[float, float]:
    """The least and the most that is printed as this word.

    >>> _rounded_from("361.52")
    (361.515, 361.525)
    """
    value = Decimal(word.replace("_", "").replace(",", ""))
    exponent = value.as_tuple().exponent
    half = Decimal(5).scaleb(exponent - 1) if isinstance(exponent, int) else Decimal(0)
    return float(value - half), float(value + half)


def scale_of(table: PrintedTable) -> Scale:
    """The units of a table: those it names, else those in which most of its rows make sense.

    Letters of sizes like 8K become powers of 1000 where more rows make sense so than with powers of 1024.
    """
    if any(row.decimal for row in table.rows):
        decimal = replace(table, rows=[replace(row, size=row.decimal or row.size) for row in table.rows])
        if _fitting_plainly(decimal) > _fitting_plainly(table):
            table.rows = decimal.rows
    counts, rows = _fitting(table), table.rows[:_LOOKED_AT]
    best = max(counts, key=lambda scale: counts[scale])
    plain = next(iter(counts))
    unusual = best[1] == _GIB and plain[1] != _GIB
    return plain if unusual and (counts[best] < len(rows) or len(rows) < 3) else best


def _fitting_plainly(table: PrintedTable) -> int:
    """How many rows make sense, at best, where rates are in the unit that is likeliest."""
    counts = _fitting(table)
    _, rate = next(iter(counts))
    return max(count for scale, count in counts.items() if scale[1] == rate)


def _fitting(table: PrintedTable) -> dict[Scale, int]:
    """How many rows make sense in every scale that may be meant, likeliest first."""
    time = next((value for word, value in TIME_UNITS.items() if word in table.units), 0.0)
    rate = next((value for word, value in RATE_UNITS.items() if word in table.units), 0.0)
    old = table.header[:1] == ["bytes"]
    times = [time] if time else [ms, us] if old else [us, ms]
    rows = table.rows[:_LOOKED_AT]
    return {
        scale: sum(any(_sensible(row, layout, scale, table) for layout in _layouts(row, table)) for row in rows)
        for scale in [(one, rate or 1e9) for one in times] + [(one, _GIB) for one in times]
    }


def halves(row: PrintedRow, table: PrintedTable, scale: Scale, unread: Unread) -> tuple[Half | None, Half | None]:
    """What a row says, out of place and in place; nothing of a row that is left out, which `unread` then tells."""
    layouts = list(_layouts(row, table))
    layout = next((one for one in layouts if _sensible(row, one, scale, table)), None)
    if layout is not None and row.size > 0:
        first, second = (_half(row, start, scale) for start in (*layout, len(row.rest))[:2])
        if (first or second or _NOTHING).seconds > 0:
            return first, second
        unread.add("nothing was sent", row.line)
        return None, None
    numbers = next((row.rest[start : start + 3] for one in layouts for start in one if _is_filled(row, start)), None)
    if numbers is None:
        unread.add("no time in it", row.line)
    elif row.size <= 0 or not number(numbers[0]):
        unread.add("nothing was sent", row.line)
    else:
        unread.disagreement(row.size / (number(numbers[0]) or 1.0) / scale[0] / scale[1], numbers[1], row.line)
    return None, None


_NOTHING = Half(0.0, 0.0, 0.0)


def _layouts(row: PrintedRow, table: PrintedTable) -> Iterator[list[int]]:
    """Where the times of a row may begin, likeliest first: as a header with both halves says, else as usual."""
    starts, count = table.starts, len(row.rest)
    titled = starts[1] - starts[0] if len(starts) > 1 else len(table.header) - starts[0] if starts else 0
    roots = (1, 0) if "root" in table.header else (0, 1)
    others = () if len(starts) > 1 else tuple(width for width in WIDTHS if width != titled)
    for width in (titled, *others):
        for root in roots if row.type else (0,):
            beside = count - root > 2 * width and width != titled  # another table, as `diff -y` prints it
            if width >= 3 and count - root >= 3 and not beside and _iterations_fit(row, root, width):
                yield [root] if count - root < width + 3 else [root, root + width]


def _iterations_fit(row: PrintedRow, start: int, width: int) -> bool:
    """Whether the least of the times per iteration is the least, where a half has any."""
    cells = [number(cell) for cell in row.rest[start + width - 4 : start + width - 1]]
    if width < max(WIDTHS) - 1 or len(cells) < 3 or None in cells:
        return True
    least, most, nearly = (cell or 0.0 for cell in cells)
    return least <= nearly <= most


def _is_filled(row: PrintedRow, start: int) -> bool:
    """Whether there are three numbers from a place on."""
    cells = row.rest[start : start + 3]
    return len(cells) == 3 and all(number(cell) is not None for cell in cells)


def _sensible(row: PrintedRow, starts: list[int], scale: Scale, table: PrintedTable) -> bool:
    """Whether every time of a row fits its bandwidth; rows of nothing and halves that were not run fit."""
    filled = [start for start in starts if _is_filled(row, start)]
    blank = [start for start in starts if start not in filled and _number_at(row, start) and _number_at(row, start + 1)]
    return (
        bool(filled)
        and not blank
        and all(
            row.size <= 0 or agrees(_counted(row, table), row.rest[start], row.rest[start + 1], scale)
            for start in filled
        )
    )


def _counted(row: PrintedRow, table: PrintedTable) -> float:
    """The bytes that algbw counts: all, but for the hypercube test, which leaves out what a rank has already."""
    ranks = table.ranks or (row.size // (row.count * TYPES[row.type]) if row.count and row.type in TYPES else 0)
    return row.size * (ranks - 1) / ranks if table.program == "hypercube" and ranks > 1 else row.size


def _number_at(row: PrintedRow, at: int) -> bool:
    return at < len(row.rest) and number(row.rest[at]) is not None


def _half(row: PrintedRow, start: int, scale: Scale) -> Half | None:
    if not _is_filled(row, start):
        return None
    time, algbw, busbw = (number(cell) or 0.0 for cell in row.rest[start : start + 3])
    return Half(time * scale[0], algbw, busbw)

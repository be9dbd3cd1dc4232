"""A schedule drawn by hand: blocks that go from rank to rank, in columns; its text, and the schedule it means.

A move is `0>1:2` where rank 0 copies its slot 2 to rank 1, and `0>1+2` where rank 1 adds it. Several slots are one
message, `0>1:2,3`; `0>1:2=5` puts slot 2 into the receiver's slot 5. Spaces stand between moves, `;` between columns.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from ops.collectives import COLLECTIVES, Collective
from sim.base.numbers import whole
from sim.errors import InputError
from sim.schedule import COPY, REDUCE, Promise, Schedule, Step, copy, in_rank_order, reduce, unroll

MOST_RANKS, MOST_PIECES, MOST_COLUMNS, MOST_SENT = 16, 16, 64, 2000
"""Of a sketch: ranks, pieces of a block, columns, and slots that are sent in all."""
SPARE = 16
"""Slots of a rank beyond those of the collective, to put something down in."""
SIGNS = {COPY: ":", REDUCE: "+"}
_MOVE = re.compile(r"(\d{1,4})>(\d{1,4})([:+])(\d{1,4}(?:=\d{1,4})?(?:,\d{1,4}(?:=\d{1,4})?)*)")


class SketchMove(NamedTuple):
    """A message: `slots` are pairs of a slot of the sender and one of the receiver."""

    op: int
    src: int
    dst: int
    slots: tuple[tuple[int, int], ...]


Column = tuple[SketchMove, ...]


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is drawn, for which promise.

    A rank finishes its part of a column before its part of the next; ranks do not wait for each other otherwise.
    """

    collective: str = "broadcast"
    ranks: int = 4
    pieces: int = 1
    root: int = 0
    columns: tuple[Column, ...] = ()

    @property
    def kind(self) -> Collective:
        """The collective. Raises InputError for one that cannot be drawn."""
        if self.collective not in collectives():
            raise InputError("sketch.no_collective", collective=self.collective, choices=collectives())
        return COLLECTIVES[self.collective]

    @property
    def promise(self) -> Promise:
        """Who holds what before, and who is owed what. Raises InputError for numbers that cannot be."""
        for word, number, low, high in (
            ("ranks", self.ranks, 2, MOST_RANKS),
            ("pieces", self.pieces, 1, MOST_PIECES),
            ("root", self.root, 0, self.ranks - 1 if self.kind.rooted else 0),
        ):
            if not low <= number <= high:
                raise InputError("sketch.range", word=word, number=number, low=low, high=high)
        return self.kind.promise(self.ranks, self.pieces, self.root)

    def schedule(self, name: str = "") -> Schedule:
        """What is drawn, to be proved and timed. Raises InputError for a rank or slot there is none of."""
        promise = self.promise
        check_columns(self, self.columns)
        return in_rank_order(
            unroll(
                (tuple(_step(move) for move in column) for column in self.columns if column),
                name=name or f"{self.collective}.sketch",
                n=self.ranks,
                promise=promise,
                unit_share=1 / (self.kind.units(self.ranks) * self.pieces),
                root=self.root,
            )
        )

    def with_columns(self, columns: tuple[Column, ...]) -> "Sketch":
        """The same promise with other columns. Raises InputError for a rank or slot there is none of."""
        check_columns(self, columns)
        return replace(self, columns=columns)


def collectives() -> list[str]:
    """The collectives that can be drawn: those that move blocks of equal size."""
    return [name for name, entry in COLLECTIVES.items() if entry.sized and not entry.vector]


def _step(move: SketchMove) -> Step:
    make = reduce if move.op == REDUCE else copy
    slots, to = ([[pair[k] for pair in move.slots]] for k in (0, 1))
    return make([move.src], [move.dst], slot=slots, to=to)


def check_columns(sketch: Sketch, columns: tuple[Column, ...]) -> None:
    """Raise InputError for more than a sketch holds, and for a move of a rank or a slot there is none of."""
    ranks, slots = sketch.ranks, sketch.promise.given.shape[1] + SPARE
    sent = sum(len(move.slots) for column in columns for move in column)
    if len(columns) > MOST_COLUMNS or sent > MOST_SENT:
        raise InputError("sketch.too_much", count=len(columns), sent=sent, most=MOST_COLUMNS, most_sent=MOST_SENT)
    for k, column in enumerate(columns, 1):
        for move in column:
            if max(move.src, move.dst) >= ranks:
                raise InputError(
                    "sketch.rank", column=k, move=written_move(move), rank=max(move.src, move.dst), last=ranks - 1
                )
            if max(max(pair) for pair in move.slots) >= slots:
                raise InputError("sketch.slot", column=k, move=written_move(move), last=slots - 1)


def written_move(move: SketchMove) -> str:
    """A move as text.

    >>> written_move(SketchMove(REDUCE, 0, 1, ((2, 2), (3, 5))))
    '0>1+2,3=5'
    """
    pairs = ",".join(f"{a}" if a == b else f"{a}={b}" for a, b in move.slots)
    return f"{move.src}>{move.dst}{SIGNS[move.op]}{pairs}"


def written_columns(columns: tuple[Column, ...]) -> str:
    """Columns as text.

    >>> written_columns(columns_of("0>1:0; 1>2:0 0>3:0"))
    '0>1:0;1>2:0 0>3:0'
    """
    return ";".join(" ".join(map(written_move, column)) for column in columns)


def columns_of(text: str) -> tuple[Column, ...]:
    """The columns that a text describes; empty ones at its end are left out. Raises InputError for what is no move."""
    columns = tuple(column_of(part, k) for k, part in enumerate(text.split(";"), 1))
    while columns and not columns[-1]:
        columns = columns[:-1]
    return columns


def column_of(text: str, number: int) -> Column:
    """One column; `number` is what messages call it. Raises InputError."""
    moves = []
    for word in text.split():
        match = _MOVE.fullmatch(word)
        if not match:
            raise InputError("sketch.move", column=number, word=word)
        src, dst, sign, rest = match.groups()
        pairs = tuple(_pair(part) for part in rest.split(","))
        if src == dst and sign == ":" and any(a == b for a, b in pairs):
            raise InputError("sketch.to_itself", column=number, word=word)
        moves.append(SketchMove(REDUCE if sign == "+" else COPY, int(src), int(dst), pairs))
    return tuple(moves)


def _pair(text: str) -> tuple[int, int]:
    a, _, b = text.partition("=")
    first = whole(a) or 0
    return first, first if not b else whole(b) or 0


VERSION = "sketch-1"


def written(sketch: Sketch) -> str:
    """A sketch as a file, which `run --schedule` and `verify` read.

    >>> print(written(Sketch("broadcast", 3, columns=columns_of("0>1:0;1>2:0"))), end="")
    ringside: sketch-1
    collective: broadcast
    ranks: 3
    columns:
      - 0>1:0
      - 1>2:0
    """
    numbers = {"ranks": sketch.ranks} | {
        word: number
        for word, number, usual in (("pieces", sketch.pieces, 1), ("root", sketch.root, 0))
        if number != usual
    }
    lines = [f"ringside: {VERSION}", f"collective: {sketch.collective}", *(f"{k}: {v}" for k, v in numbers.items())]
    lines += ["columns:", *(f"  - {' '.join(map(written_move, column))}" for column in sketch.columns if column)]
    return "\n".join(lines if any(sketch.columns) else [*lines[:-1], "columns: []"]) + "\n"

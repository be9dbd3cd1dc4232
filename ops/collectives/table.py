"""What collectives do, side by side, read off their promises: so a new one stands in the table by itself."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ops.collectives import COLLECTIVES, Collective
from sim.schedule import NOTHING

RANKS = 5
"""So many that n, n - 1, n · n and 1 are different numbers."""
COUNTS = {1: "1", RANKS - 1: "n - 1", RANKS: "n"}
COLUMNS = ("collective", "ranks", "buffer", "result", "symmetric", "use")
WORDS = (*COLUMNS, "root", "all", "each", "some", "yes", "no")
"""What the table is told with."""


class CollectiveRow(NamedTuple):
    """`ranks` that give and that get, `buffer` of one of them before and after, m being a block's bytes."""

    collective: str
    ranks: str
    buffer: str
    result: str
    """Who holds the result: "root", "all" the same, "each" its own, or "some"."""
    symmetric: bool
    """Does every rank do and get the same?"""
    use: str


def rows() -> Iterator[CollectiveRow]:
    """A row for each collective; forms for blocks of unequal size are those of equal ones."""
    return (row_of(entry) for entry in COLLECTIVES.values() if not entry.vector)


def row_of(entry: Collective) -> CollectiveRow:
    """What a collective's promise says of it.

    >>> row_of(COLLECTIVES["reduce_scatter"])[1:5], row_of(COLLECTIVES["gather"])[1:5]
    (('n → n', 'n · m → m', 'each', True), ('n → 1', 'm → n · m', 'root', False))
    """
    promise = entry.promise(RANKS, 1, 0)
    has_first, owed = promise.given != NOTHING, promise.owed != NOTHING
    counts = [COUNTS.get(int(held.any(axis=1).sum()), "some") for held in (has_first, owed)]
    blocks = [int(held.sum(axis=1).max()) for held in (has_first, owed)]
    sizes = ["m" if block == 1 else f"{COUNTS.get(block, block)} · m" for block in blocks]
    summands = np.where(owed, promise.last - promise.first, 0).sum(axis=1)
    alike = not entry.rooted and len(set(summands.tolist())) == 1
    buffer = " → ".join(sizes) if entry.sized else ""
    parts = np.where(owed, [promise.owed, promise.first, promise.last], NOTHING)
    result = {"1": "root", "n": "all" if (parts == parts[:, :1]).all() else "each"}.get(counts[1], "some")
    return CollectiveRow(entry.name, " → ".join(counts), buffer, result, alike, entry.use)


def markdown(word: Callable[[str], str], use: Callable[[str, str], str]) -> str:
    """The table in Markdown; `word` says each of WORDS, `use` what a collective is for."""
    lines = ["| " + " | ".join(map(word, COLUMNS)) + " |", "|---" * len(COLUMNS) + "|"]
    for row in rows():
        symmetric, result = word("yes" if row.symmetric else "no"), word(row.result)
        cells = (f"`{row.collective}`", row.ranks, row.buffer or "–", result, symmetric, use(row.collective, row.use))
        lines.append("| " + " | ".join(cell or "–" for cell in cells) + " |")
    return "\n".join(lines)

"""Whether a measured table reaches what its machine should: rows below the band, and when there are too many."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from ops.libraries.nccl.own.band import band_at
from ops.measured.comparison import Compared, compare_table, halves
from ops.measured.rows import Table
from sim.topology import Topology

BELOW = 0.1
"""The share of a healthy machine's rows that is below the band: it holds four of five, and leaves out as many above."""
SURE = 0.05
"""How seldom a healthy table has as many rows below the band as one that fails."""


class GatedRow(NamedTuple):
    """A row of a table, the band around its expected time, and whether it took longer than that."""

    row: Compared
    band: float

    @property
    def most(self) -> float:
        """The longest time inside the band, s."""
        return self.row.simulated * (1 + self.band)

    @property
    def is_below(self) -> bool:
        """Whether the row is below the band: its time is longer, its bandwidth lower."""
        return self.row.measured > self.most


class GateVerdict(NamedTuple):
    """All rows that a band was found for, and those below it where they are too many, below or from 1 MiB."""

    rows: tuple[GatedRow, ...]
    failed: tuple[GatedRow, ...]


def gate(placed: Sequence[tuple[Topology, Table]]) -> GateVerdict:
    """Judge tables on their machines. Raises InputError where a row cannot be simulated."""
    gated = [
        GatedRow(row, band)
        for topology, table in placed
        for row in compare_table(topology, table)[0]
        if (band := band_at(topology, row.size, row.ranks)) is not None
    ]
    by_row = {id(one.row): one for one in gated}
    failed: list[GatedRow] = []
    for half in halves([one.row for one in gated]):
        below = [by_row[id(row)] for row in half if by_row[id(row)].is_below]
        failed += below if len(below) > tolerated(len(half)) else []
    return GateVerdict(tuple(gated), tuple(failed))


def tolerated(rows: int) -> int:
    """How many of so many rows may be below the band: more has one of twenty healthy tables, by the binomial law.

    >>> [tolerated(rows) for rows in (1, 4, 10, 30)]
    [1, 2, 3, 6]
    """
    chances = [comb(rows, k) * BELOW**k * (1 - BELOW) ** (rows - k) for k in range(rows + 1)]
    return next(k for k in range(rows + 1) if sum(chances[k + 1 :]) <= SURE)

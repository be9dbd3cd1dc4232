"""How near a prediction comes, cell by cell, beside what others predict for the same rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ops.measured.comparison import LARGE, Compared, compare_table
from ops.measured.rivals import RIVALS, rivals
from ops.measured.rows import Table
from sim.topology import Topology

OURS = "simulated"


@dataclass(frozen=True)
class Cell:
    """One system, number of GPUs, collective and half of the sizes, with the median |error| of every model.

    `errors` has a model's median as a share of what was measured; None where it has no answer for any row.
    """

    system: str
    ranks: int
    collective: str
    large: bool
    rows: int
    errors: dict[str, float | None]

    @property
    def behind(self) -> bool:
        """Whether another model is nearer."""
        ours = self.errors[OURS]
        others = [error for name, error in self.errors.items() if name != OURS and error is not None]
        return ours is not None and bool(others) and ours > min(others)

    def as_dict(self) -> dict[str, Any]:
        """As the terminal's JSON has it."""
        half = "from_1MiB" if self.large else "below_1MiB"
        plain = {"system": self.system, "ranks": self.ranks, "collective": self.collective, "half": half}
        return plain | {"rows": self.rows, "median_errors": self.errors}


def cells(placed: Sequence[tuple[str, Topology, Table]]) -> Iterator[Cell]:
    """A cell for both halves of every collective and number of GPUs; sources with their machines and tables."""
    for system, topology, table in placed:
        compared, _ = compare_table(topology, table)
        groups: dict[tuple[int, str, bool], list[Compared]] = {}
        for row in compared:
            groups.setdefault((row.ranks, row.collective, row.size >= LARGE), []).append(row)
        for (ranks, collective, large), rows in groups.items():
            yield Cell(system, ranks, collective, large, len(rows), _errors(topology, rows))


def _errors(topology: Topology, rows: Sequence[Compared]) -> dict[str, float | None]:
    by_rival: dict[str, list[float]] = {name: [] for name in RIVALS}
    for row in rows:
        answers = {} if row.algorithm else rivals(topology, row.collective, row.ranks, row.size)
        for name, seconds in answers.items():
            if seconds is not None:
                by_rival[name].append(abs(seconds / row.measured - 1))
    ours = median(abs(row.error) for row in rows)
    return {OURS: ours} | {name: median(errors) if errors else None for name, errors in by_rival.items()}

"""Who wins where: the fastest algorithm for every size and number of ranks, and the exact sizes where that changes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from ops.lab.cells import Row, prepare, rows
from ops.lab.pool import carried_out, cores
from ops.plan import Plan, PreparedRun
from sim.errors import InputError, Message, StalledError
from sim.topology import Floats
from sim.units import fmt_object, fmt_size

INLINE = 64
"""So few cells are run in this process; starting others would take longer."""


@dataclass(frozen=True, eq=False)
class WinnerMap:
    """Who wins where: times of algorithms by size and number of ranks.

    Parameters
    ----------
    ranks : tuple of int
        Numbers of ranks.
    sizes : tuple of int
        Sizes, bytes.
    names : tuple of str
        Algorithms, with the parameters they were given.
    time : array of float, shape (ranks, sizes, names)
        Seconds; infinite where an algorithm cannot do it.
    reasons : mapping
        Why not, by number of ranks and name.
    """

    ranks: tuple[int, ...]
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    time: Floats
    reasons: Mapping[tuple[int, str], str]

    def __repr__(self) -> str:
        axes = f"{_span(map(str, self.ranks))} ranks, {_span(map(fmt_size, self.sizes))}"
        return fmt_object("WinnerMap", f"of {len(self.names)} algorithms at {axes}; winners: {', '.join(self.winners)}")

    def winner(self, ranks: int, size: int) -> str:
        """The fastest one; of equally fast ones the first by name; nothing where none can do it."""
        times = self.time[self.ranks.index(ranks), self.sizes.index(size)]
        return self.names[int(np.argmin(times))] if np.isfinite(times.min()) else ""

    def margin(self, ranks: int, size: int) -> float:
        """How many times as long the runner-up takes; infinite where there is none."""
        times = np.sort(self.time[self.ranks.index(ranks), self.sizes.index(size)])
        return float(times[1] / times[0]) if len(times) > 1 and 0 < times[0] < math.inf else math.inf

    @property
    def winners(self) -> list[str]:
        """Everyone who wins somewhere, in the order of their sizes."""
        names = (self.winner(n, size) for size in self.sizes for n in self.ranks)
        return [name for name in dict.fromkeys(names) if name]


def _span(words: Iterable[str]) -> str:
    """The first and the last of an axis, or its only one."""
    first, *rest = words
    return f"{first} to {rest[-1]}" if rest else first


@dataclass(frozen=True)
class Change:
    """From `size` bytes on, `after` is the fastest, and no longer `before`."""

    size: int
    before: str
    after: str


def results(cells: Sequence[Plan], *, jobs: int = 0) -> Iterable[list[Row]]:
    """The rows of cells as they come, a few in this process, many on all cores."""
    if jobs == 1 or len(cells) <= INLINE:
        left = list(cells)
        while left:
            answers = rows(left)
            yield answers
            left = left[len(answers) :]
        return
    with cores(min(jobs, len(cells))) as pool:
        yield from carried_out(cells, pool)


def winner_map(rows: Iterable[Row]) -> WinnerMap:
    """The map that rows of a grid or a sweep make. Raises InputError for rows that fill a place of it twice."""
    places: dict[tuple[int, int, str], Row] = {}
    reasons: dict[tuple[int, str], str] = {}
    for row in rows:
        name = named(row)
        if row["ranks"] is None:
            raise InputError("winners.failed", name=name, machine=row["machine"], reason=row["reason"])
        place = row["ranks"], row["size_bytes"], name
        other = places.get(place)
        if other is not None:
            axes = ("machine", "network", "calibration", "fault", "seed", "root", "counts")
            what = next((key for key in axes if row[key] != other[key]), "machine")
            own = {"network": Message("its own"), "root": "0"}.get(what, Message("none"))
            ways = [other[what] or own, row[what] or own]
            raise InputError("winners.twice", ranks=place[0], bytes=place[1], what=what, ways=ways)
        places[place] = row
        if row.get("reason"):
            reasons[place[0], name] = row["reason"]
    ranks, sizes, names = (tuple(sorted(set(axis))) for axis in zip(*places, strict=True))
    time = np.full((len(ranks), len(sizes), len(names)), np.inf)
    for (n, size, name), row in places.items():
        if went_well(row):
            time[ranks.index(n), sizes.index(size), names.index(name)] = row["time_s"]
    return WinnerMap(ranks, sizes, names, time, reasons)


def went_well(row: Row) -> bool:
    """Whether a cell was run, and what it did was right."""
    return row.get("reason") is None and row.get("time_s") is not None


def named(row: Row) -> str:
    """An algorithm with the parameters it was given."""
    return f"{row['algorithm']}:{row['settings']}" if row["settings"] else str(row["algorithm"])


def changes(runs: Mapping[str, PreparedRun], sizes: Sequence[int], *, exact: float = 0.01) -> list[Change]:
    """Every size at which the fastest of several runs changes, closed in on by halving to within `exact`.

    All are runs on one machine. Neighbours in `sizes` are looked at as far as their winners differ; whoever wins only
    in between is found too, unless the same one wins at both ends.
    """
    prepare(len(runs) * len(sizes))

    @cache
    def winner(size: int) -> str:
        times = {}
        for name in sorted(runs):
            try:
                times[name] = runs[name].at(size).time
            except (InputError, StalledError):
                continue
        return min(times, key=times.__getitem__, default="")

    def between(low: int, high: int) -> list[Change]:
        if winner(low) == winner(high):
            return []
        if high <= low * (1 + exact) or high - low <= 1:
            return [Change(high, winner(low), winner(high))]
        middle = round(math.sqrt(low * high))
        return between(low, middle) + between(middle, high)

    ordered = sorted(set(sizes))
    return [change for low, high in pairwise(ordered) for change in between(low, high)]

"""What the commands of the lab share: their grid, and figures as files."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import Argument, argument
from terminal.arguments import write
from terminal.progress import Bar

if TYPE_CHECKING:
    from ops.lab.cells import Row
    from ops.lab.grid import Grid

SIZES = "1KiB..1GiB*4"
FIGURE = argument("-o", "--output", metavar="FIGURE", help="also draw it: .png, .svg or .pdf")


def many(flag: str, metavar: str, help: str) -> Argument:
    """An argument that may be given again and again."""
    return argument(flag, action="append", default=[], metavar=metavar, help=help)


MACHINES = (
    many("--machine", "SPEC", "NAME[:key=value,…], see `list machines`; may be repeated"),
    many("--topology", "FILE", "a capture in any known format is a machine too; may be repeated"),
    many("--vary", "KEY=A,B,…", "values of a parameter of the machines"),
    many("--set", "KEY=A,B,…", "values of a parameter of the algorithms"),
)
AXES = (
    argument("algorithms", nargs="*", metavar="ALGORITHM", help="allreduce.ring:key=value, allreduce for all, *.ring"),
    *MACHINES,
    argument("--sizes", default="", help="1MiB,64MiB or 1KiB..1GiB by powers of 2, 1KiB..1GiB*4 by those of 4"),
    argument("--ranks", default="", help="4,8,16; the whole machine if left out"),
)
JOBS = argument("--jobs", default="0", help="processes; one per core if left out")


def grid(given: argparse.Namespace, *, sizes: str = "", ranks: Sequence[str] = ()) -> "Grid":
    """The grid that the flags of `AXES` describe; `sizes` and `ranks` where none are given."""
    from ops.lab.grid import Grid, lists, split, topology_text

    return Grid(
        algorithms=given.algorithms,
        machines=[*given.machine, *given.topology],
        sizes=split(given.sizes or sizes),
        ranks=split(given.ranks) or ranks,
        vary=lists(given.vary, "--vary"),
        set=lists(given.set, "--set"),
        troubles=getattr(given, "trouble", []),
        seeds=split(getattr(given, "seeds", "")),
        texts={file: topology_text(file) for file in given.topology},
    )


def jobs(given: argparse.Namespace) -> int:
    """How many processes are asked for. Raises InputError."""
    from terminal.arguments import whole

    count = whole(given.jobs, "--jobs")
    if count < 0:
        raise InputError(f"--jobs {count} is below zero: give the number of processes")
    return count


def rows(asked: "Grid", processes: int) -> "list[Row]":
    """The rows of a grid, with a bar while they are made; in the grid's order."""
    from ops.lab.winners import results

    cells, bar = asked.cells(), Bar("runs")
    found: dict[str, Row] = {}
    for several in results(cells, asked.texts, jobs=processes):
        found |= {row["cell"]: row for row in several}
        bar(len(found), len(cells))
    return [found[cell.name(asked.texts)] for cell in cells]


def figure_ending(path: str | None) -> str:
    """What kind of figure a file becomes; nothing where none is asked for. Raises InputError for another kind."""
    if path is None:
        return ""
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in ("png", "svg", "pdf"):
        raise InputError(f"{path[:80]} is no kind of figure: end it in .png, .svg or .pdf")
    return ending


def draw(path: str | None, make: Callable[[Any], Any]) -> None:
    """Write the figure that `make` makes with the charts, if one is asked for."""
    if path is not None:
        from ui import charts

        write(path, charts.write(make(charts), figure_ending(path)))


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns under each other, the first to the left, the others to the right."""
    if not rows:
        return []
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(wide[0]), *(w.rjust(k) for w, k in zip(row[1:], wide[1:], strict=True))]).rstrip()
        for row in rows
    ]

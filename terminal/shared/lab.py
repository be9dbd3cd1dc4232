"""What the commands of the lab share: their grid, its rows, and figures as files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ops.formats import schedule_text
from ops.lab.cells import Row, name_of
from ops.lab.grid import Grid, lists, machine_text, split
from ops.lab.winners import results
from ops.plan.python_file import python_file
from sim.base.files.whole_file import check_writable, write_whole
from sim.errors import InputError
from sim.parameters import Parameter
from terminal.shared.options import Options, Words, calibration_word, gathers
from terminal.shared.progress import Bar
from terminal.shared.types import TypedWord


def _jobs(text: str, flag: str) -> int:
    count: int = Parameter(flag, "int", None).parse(text, "the command line")
    if count < 0:
        raise InputError("option.processes", flag=flag, count=count)
    return count


def _figure(text: str, flag: str) -> str:
    if Path(text).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("file.figure", file=text)
    check_writable(text)
    return text


FIGURE: Options = (
    click.option(
        "-o", "--output", "figure", type=TypedWord("figure", _figure), metavar="FIGURE",
        help="also draw it: .png, .svg or .pdf",
    ),
)  # fmt: skip
JOBS: Options = (
    click.option(
        "--jobs", type=TypedWord("jobs", _jobs), default="0", metavar="N",
        help="processes; one per core if left out",
    ),
)  # fmt: skip
_AXES: Options = (
    click.argument("algorithms", nargs=-1, metavar="[ALGORITHM]..."),
    click.option(
        "--machine", "machines", multiple=True, metavar="SPEC",
        help="NAME[:key=value,…], see `list machines`; may be repeated",
    ),
    click.option(
        "--topology", "topologies", multiple=True, metavar="FILE",
        help="a capture in any known format is a machine too; may be repeated",
    ),
    click.option(
        "--schedule", "schedules", multiple=True, metavar="FILE",
        help="a schedule in a known format, or file.py:function, is run, too; may be repeated",
    ),
    click.option("--vary", multiple=True, metavar="KEY=A,B,…", help="values of a parameter of the machines"),
    click.option("--set", multiple=True, metavar="KEY=A,B,…", help="values of a parameter of the algorithms"),
    click.option(
        "--sizes", default="", metavar="SIZE,…",
        help="1MiB,64MiB or 1KiB..1GiB by powers of 2, 1KiB..1GiB*4 by those of 4",
    ),
    click.option(
        "--counts", multiple=True, metavar="SIZE,…",
        help="instead of sizes, each block's bytes where they may be unequal; may be repeated",
    ),
    click.option("--ranks", default="", metavar="N,…", help="4,8,16; the whole machine if left out"),
    click.option("--roots", default="", metavar="N,…", help="0,3: of collectives that have a root; 0 if left out"),
    click.option(
        "--network", "networks", default="", metavar="NAME,…",
        help="what joins hosts, see `list networks`; own is the machine's",
    ),
    click.option(
        "--calibration", "calibrations", multiple=True, metavar="FILE|NUMBERS",
        help="numbers measured on the machines: a file of `calibrate -o`, or hop_4.2us,share_0.93; may be repeated",
    ),
)  # fmt: skip
"""Algorithms are `allreduce.ring:key=value`, `allreduce` for all, `*.ring`, or NCCL's choice, `nccl.allreduce`."""


def _grid(words: Words) -> Grid:
    texts = {file: machine_text(file) for file in words["topologies"]}
    return Grid(
        algorithms=words["algorithms"],
        machines=(*words["machines"], *texts),
        sizes=split(words["sizes"]),
        ranks=split(words["ranks"]),
        networks=split(words["networks"]),
        calibrations=[calibration_word(where) for where in words["calibrations"]],
        roots=split(words["roots"]),
        counts=words["counts"],
        schedules={file: schedule_text(file) for file in words["schedules"] if not python_file(file)},
        python=[file for file in words["schedules"] if python_file(file)],
        vary=lists(words["vary"], "--vary"),
        set=lists(words["set"], "--set"),
        texts=texts,
    )


axes = gathers("grid", _grid, *_AXES)
"""Gives a command the options of a grid, and its function what they say as `grid`."""


def of_sizes(grid: Grid, sizes: str) -> Grid:
    """The grid, with these sizes where it has none."""
    return grid if grid.sizes else replace(grid, sizes=split(sizes))


def rows_of(grid: Grid, jobs: int) -> list[Row]:
    """The rows of a grid, with a bar while they are made; in the grid's order."""
    cells, bar = grid.cells(), Bar("runs")
    rows: dict[str, Row] = {}
    for several in results(cells, jobs=jobs):
        rows |= {row["cell"]: row for row in several}
        bar(len(rows), len(cells))
    return [rows[name_of(cell)] for cell in cells]


ORIGIN = ("machine", "ranks", "nccl", "expected_error")


def origin(rows: Iterable[Row]) -> dict[str, Any]:
    """Where rows ran, on how many ranks, by which release of NCCL, and how far off such times are at most.

    A word or a number where all have the same, else a list; None for a release or an error that nothing tells.
    """
    values_of: dict[str, dict[Any, None]] = {key: {} for key in ORIGIN}
    for row in rows:
        for key, values in values_of.items():
            if row.get(key) is not None:
                values[row[key]] = None
    errors = list(values_of.pop("expected_error"))
    alone = {key: list(some) if len(some) > 1 else next(iter(some), None) for key, some in values_of.items()}
    return alone | {"expected_error": max(errors, default=None)}


def draw(path: str | None, make: Callable[[Any], Any]) -> None:
    """Write the figure that `make` makes with the charts, if one is asked for."""
    if path is not None:
        from ui.charts import lab_figures  # it takes longer to load than most answers take

        write_whole(path, lab_figures.write(make(lab_figures), Path(path).suffix.removeprefix(".").lower()))


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines with columns under each other, the first to the left, the others to the right."""
    rows = list(rows)
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(w.rjust(k) for w, k in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]

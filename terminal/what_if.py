"""`what-if`: a list of what-ifs, each with its time and its answer."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ops.answers import carried_out
from ops.plan import Plan
from ops.run import Run
from ops.run.part import shown
from ops.whatif import Sheet, VariantRow, rows_of, to_csv
from ops.whatif.file import read, write
from ops.whatif.table import SORTS, order_of, summary
from sim.base.files.textfile import Expected, read_text
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from terminal import DONE, NO, Answer, BatchCommand, command
from terminal.shared.facts import finite, opened
from terminal.shared.files import TO_WRITE
from terminal.shared.lab import table
from terminal.shared.options import MACHINE, asks
from terminal.shared.progress import Bar
from terminal.shared.types import LANGUAGE
from ui.text import speaking, worded

ENDINGS = (".csv", ".yaml", ".yml", ".html", ".htm")


@command(kind=BatchCommand)
@click.argument("file", metavar="FILE")
@asks(*MACHINE, machine=False)
@click.option("--sort", type=click.Choice(SORTS), help="sort the variants; in the order of the file if left out")
@click.option(
    "-o", "--output", type=TO_WRITE, metavar="FILE", help="write the table: .csv, .yaml or .html with pictures"
)
@click.option(
    "--lang", "language", type=LANGUAGE, default="en", metavar="CODE", help="language of the names and answers"
)
def what_if(file: str, plan: Plan, sort: str | None, output: str | None, language: str) -> Answer:
    """Run a list of what-ifs, and compare each variant with the baseline; also on another machine.

    FILE is YAML, as the page *What-ifs* writes it.
    """
    if output is not None and Path(output).suffix.lower() not in ENDINGS:
        raise InputError("whatif.ending", file=output)
    sheet = read(read_text(file, Expected(file="the list of what-ifs")), file)
    if plan.machine or plan.capture:
        sheet = sheet.on(plan)
    elif replace(plan, machine="") != Plan(algorithm="", machine="", size=""):
        raise InputError("option.machine_once")
    bar, rows = Bar("variants"), list[VariantRow]()
    for row in rows_of(sheet):
        rows.append(row)
        bar(len(rows), 1 + len(sheet.variants))
    if sort:
        with speaking(language):
            order = order_of(rows, sort, worded)
        sheet = sheet.ordered(order)
        rows = [rows[0], *(rows[k + 1] for k in order)]
    with speaking(language):
        if output is not None:
            write_whole(output, _file(Path(output).suffix.lower(), sheet, rows, language))
        data: dict[str, Any] = {"rows": [_data(row) for row in rows]}
        lines = [opened(data, [summary(rows)]), *(f"  {line}" for line in table([_line(row) for row in rows]))]
    return Answer(NO if any(row.problem for row in rows) else DONE, data, "\n".join(lines))


def _file(ending: str, sheet: Sheet, rows: list[VariantRow], language: str) -> str | bytes:
    if ending == ".csv":
        return to_csv(rows, worded)
    if ending in (".yaml", ".yml"):
        return write(sheet)
    from ui.drawing import thumbnail
    from ui.export import whatif_page

    def draw(plan: Plan) -> str:
        ended = carried_out(plan)
        return thumbnail.of_run(shown(ended) if isinstance(ended, Run) else ended, "machine")

    return whatif_page.page(rows, draw, language)


def _data(row: VariantRow) -> dict[str, Any]:
    return {
        "name": row.title(worded),
        "changes": row.changes or None,
        "time_s": finite(row.time),
        "factor": finite(row.factor),
        "answer": row.sentences(worded) or None,
        "runs": row.problem is None,
    }


def _line(row: VariantRow) -> list[str]:
    factor = f"{row.factor:.3g}×" if math.isfinite(row.factor) else ""
    return [row.title(worded), row.shown_time, factor]

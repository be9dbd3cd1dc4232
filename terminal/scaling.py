"""`scaling`: curves over ranks, as tables and figures."""

from collections.abc import Sequence

from ops.answers import outcome_of
from ops.answers.winners import answer_rows, answer_scaling
from ops.lab.cells import Row
from ops.lab.grid import Grid
from ops.lab.winners import went_well
from ops.plan import Plan
from sim.errors import InputError, Message
from sim.units import fmt_size
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.curves import as_table, over_ranks, plain, where
from terminal.shared.facts import opened
from terminal.shared.lab import FIGURE, JOBS, axes, draw, origin, rows_of
from terminal.shared.options import takes


@command(kind=BatchCommand)
@axes
@takes(*JOBS, *FIGURE)
def scaling(grid: Grid, jobs: int, figure: str | None) -> Answer:
    """Show time against the number of ranks at one size, from --ranks or a machine parameter in --vary."""
    rows = rows_of(grid, jobs)
    sizes = {row["size_bytes"] for row in rows}
    if len(sizes) > 1:
        raise InputError("option.one_size", count=len(sizes))
    curves = over_ranks(rows, machines=len(grid.machines) > 1)
    title = f"{where(grid.machines, dict(grid.vary))}, {fmt_size(max(sizes))}"
    draw(figure, lambda charts: charts.scaling(curves, title))
    data = {**origin(rows), "rows": plain(rows)}
    return Answer(DONE, data, "\n".join([opened(data, _answer(grid, rows)), as_table(curves, rows)]))


def _answer(grid: Grid, rows: Sequence[Row]) -> list[Message]:
    """Who is the fastest most often; of one algorithm, how many times as long the most ranks take as the fewest."""
    ended = [(row, cell) for row, cell in zip(rows, grid.cells(), strict=True) if went_well(row)]
    if len({(row["algorithm"], row["settings"]) for row in rows}) > 1 or len({row["ranks"] for row, _ in ended}) < 2:
        return answer_rows(rows)
    few, many = (choose(ended, key=lambda each: each[0]["ranks"]) for choose in (min, max))
    return answer_scaling(*(outcome_of(cell) for _, cell in (few, many) if isinstance(cell, Plan)))

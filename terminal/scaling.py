"""`scaling`: curves over ranks, as tables and figures."""

from ops.lab.grid import Grid
from sim.errors import InputError
from sim.units import fmt_size
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.curves import as_table, over_ranks, plain, where
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
    return Answer(DONE, {**origin(rows), "rows": plain(rows)}, as_table(curves, rows))

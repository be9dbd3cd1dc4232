"""`bandwidth`: curves over size, as tables and figures."""

from ops.answers.winners import answer_bandwidth
from ops.lab.grid import Grid
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.curves import as_nccl_tests, over_size, plain, where
from terminal.shared.facts import opened
from terminal.shared.lab import FIGURE, JOBS, axes, draw, of_sizes, origin, rows_of
from terminal.shared.options import takes


@command(kind=BatchCommand)
@axes
@takes(*JOBS, *FIGURE)
def bandwidth(grid: Grid, jobs: int, figure: str | None) -> Answer:
    """Show bus bandwidth against size, as nccl-tests prints it."""
    rows = rows_of(of_sizes(grid, "8..1GiB*4"), jobs)
    draw(figure, lambda charts: charts.bandwidths(over_size(rows), where(grid.machines, dict(grid.vary))))
    data = {**origin(rows), "rows": plain(rows)}
    return Answer(DONE, data, "\n".join([opened(data, answer_bandwidth(rows), mark="# "), as_nccl_tests(rows)]))

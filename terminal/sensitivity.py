"""`sensitivity`: which links matter."""

import click

from ops.answers.winners import answer_swings
from ops.lab.sensitivity import By
from ops.lab.sensitivity import sensitivity as swings_of
from ops.plan import Plan
from sim.units import fmt_time
from terminal import DONE, Answer, command
from terminal.shared.facts import opened
from terminal.shared.lab import FIGURE, draw, table
from terminal.shared.options import ONE, asks, prepare, takes
from terminal.shared.progress import Bar
from terminal.shared.swings import described, title
from terminal.shared.types import NUMBER


@command
@asks(*ONE)
@click.option(
    "--by",
    type=click.Choice(("class", "link")),
    default="class",
    help="change links of one class together, or one by one",
)
@click.option("--factor", type=NUMBER, default="2", metavar="X", help="how much slower and faster")
@takes(*FIGURE)
def sensitivity(plan: Plan, by: By, factor: float, figure: str | None) -> Answer:
    """Show which link matters most: repeat the run with each link slower and faster."""
    plain, swings = swings_of(prepare(plan), factor=factor, by=by, progress=Bar("changes"))
    time = plain.time
    draw(figure, lambda charts: charts.tornado(time, swings, factor, title(plain)))
    head = ["", f"{factor:g} x slower", f"{factor:g} x faster"]
    body = [
        [
            f"{swing.what:9}  {swing.name}",
            *(f"{fmt_time(t)} ({t / time - 1:+.1%})" for t in (swing.slower, swing.faster)),
        ]
        for swing in swings
    ]
    data = described(plain) | {
        "factor": factor,
        "swings": [
            {"links": s.name, "count": s.links, "what": s.what, "slower_s": s.slower, "faster_s": s.faster}
            for s in swings
        ],
    }
    lines = [opened(data, answer_swings(time, swings, factor)), title(plain)]
    return Answer(DONE, data, "\n".join([*lines, *(f"  {line}" for line in table([head, *body]))]))

"""`failures`: what losing a cable costs."""

from ops.lab.sensitivity import failures as losses_of
from ops.plan import Plan
from sim.units import fmt_time
from terminal import DONE, Answer, command
from terminal.shared.lab import FIGURE, draw, table
from terminal.shared.options import ONE, asks, prepare, takes
from terminal.shared.progress import Bar
from terminal.shared.swings import described, title


@command
@asks(*ONE)
@takes(*FIGURE)
def failures(plan: Plan, figure: str | None) -> Answer:
    """Run time after each link failure, with traffic rerouted."""
    plain, losses = losses_of(prepare(plan), progress=Bar("cables"))
    time = plain.time
    draw(figure, lambda charts: charts.failures(time, losses, title(plain)))
    body = [[x.name, fmt_time(x.time), f"{x.time / time:.3g} x"] for x in losses if x.time is not None]
    stuck = [f"  {x.name}: never ends, {x.reason}" for x in losses if x.time is None]
    data = described(plain) | {
        "losses": [
            {"src": src, "dst": dst, "time_s": loss.time, "reason": loss.reason or None}
            for loss in losses
            for src, dst in loss.cables
        ]
    }
    return Answer(DONE, data, "\n".join([title(plain), *stuck, *(f"  {line}" for line in table(body))]))

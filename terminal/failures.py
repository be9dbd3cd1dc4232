"""`failures`: what losing a cable costs."""

from collections.abc import Sequence
from dataclasses import replace

from ops.answers import outcome_of
from ops.answers.outcome import Standstill
from ops.answers.winners import answer_losses
from ops.lab.sensitivity import Loss
from ops.lab.sensitivity import failures as losses_of
from ops.plan import Plan
from ops.plan.notation import listed
from sim.units import fmt_time
from terminal import DONE, Answer, command
from terminal.shared.facts import opened
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
    stuck = [f"  {x.name}: never ends, {x.reason.partition('; ')[0]}" for x in losses if x.time is None]
    data = described(plain) | {
        "losses": [
            {"src": src, "dst": dst, "time_s": loss.time, "reason": loss.reason or None}
            for loss in losses
            for src, dst in loss.cables
        ]
    }
    above = opened(data, answer_losses(time, losses, _stands(plan, losses)))
    return Answer(DONE, data, "\n".join([above, title(plain), *stuck, *(f"  {line}" for line in table(body))]))


def _stands(plan: Plan, losses: Sequence[Loss]) -> Standstill | None:
    """How the run stands still without the first link that stops it."""
    stops = next((loss for loss in losses if loss.time is None), None)
    if stops is None:
        return None
    src, dst = stops.cables[0]
    dead = f"dead_link:src={src},dst={dst},reroute=yes"
    return outcome_of(replace(plan, fault=listed([*plan.faults, dead]))).standstill

"""`diagnose`: what is told of a machine that somebody brings."""

import click

from ops.diagnosis import Diagnosis, RingRank
from ops.diagnosis import diagnose as look_at
from ops.plan import Plan
from sim.units import fmt_bandwidth, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.lab import table
from terminal.shared.options import MACHINE_ALONE, asks


@command
@asks(click.argument("topology", required=False, metavar="[FILE]"), *MACHINE_ALONE)
def diagnose(plan: Plan) -> Answer:
    """Show the best rank order for a ring, its most important links, and the bandwidth of every GPU."""
    diagnosis = look_at(plan)
    lines = [
        f"{diagnosis.machine}: {diagnosis.n} GPUs, a ring of all takes {fmt_time(diagnosis.time)} for 64 MiB",
        *order_lines(diagnosis),
        *(f"  {line}" for line in _cables(diagnosis)),
        *(f"  {line}" for line in _ranks(diagnosis.ranks)),
        *(f"note: {note}" for note in diagnosis.assumed),
    ]
    return Answer(DONE, diagnosis.as_dict(), "\n".join(lines))


def order_lines(diagnosis: Diagnosis) -> list[str]:
    """The best ring order in a line."""
    if not diagnosis.edit:
        return ["  ring order  no order is faster than that of the ranks"]
    return [
        f"  ring order  {' '.join(map(str, diagnosis.order))}: {fmt_time(diagnosis.best_time)}, "
        f"{diagnosis.gain:.3g} times as fast; --edit {diagnosis.edit}"
    ]


def _cables(diagnosis: Diagnosis) -> list[str]:
    body = [
        [cable.name, *(f"{time / diagnosis.time:.3g} x" for time in (cable.slower, cable.faster))]
        for cable in diagnosis.cables
    ]
    more = [f"and {diagnosis.alike} more as much as the last"] if diagnosis.alike else []
    return [*table([["link", "half bandwidth", "double bandwidth"], *body]), *more] if body else []


def _ranks(ranks: tuple[RingRank, ...]) -> list[str]:
    body = [
        [
            rank.name,
            fmt_bandwidth(rank.rate),
            f"{rank.narrow}, {fmt_bandwidth(rank.slowest)}",
            f"{len(rank.behind)} behind it",
            f"{rank.next} over {rank.over}, {fmt_bandwidth(rank.pace)}",
        ]
        for rank in ranks
    ]
    return table([["GPU", "to others", "narrowest way", "", "in the ring to"], *body]) if body else []

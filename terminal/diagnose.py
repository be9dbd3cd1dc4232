"""`diagnose`: what is told of a machine that somebody brings."""

from typing import Any

import click

from ops.diagnosis import Diagnosis, RingRank, ordered
from ops.diagnosis import diagnose as look_at
from ops.plan import Plan
from ops.plan.notation import entries
from sim.units import fmt_bandwidth, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.lab import table
from terminal.shared.options import MACHINE_ALONE, asks


@command
@asks(click.argument("topology", required=False, metavar="[FILE]"), *MACHINE_ALONE)
def diagnose(plan: Plan) -> Answer:
    """Show the best rank order for a ring, its most important links, and the bandwidth of every GPU."""
    diagnosis = look_at(plan)
    spec = entries(ordered(plan, diagnosis.order).edits)[-1] if diagnosis.order != tuple(range(diagnosis.n)) else ""
    lines = [
        f"{diagnosis.machine}: {diagnosis.n} GPUs, a ring of all takes {fmt_time(diagnosis.time)} for 64 MiB",
        *_order(diagnosis, spec),
        *(f"  {line}" for line in _cables(diagnosis)),
        *(f"  {line}" for line in _ranks(diagnosis.ranks)),
        *(f"note: {note}" for note in diagnosis.assumed),
    ]
    return Answer(DONE, _data(diagnosis, spec), "\n".join(lines))


def _order(diagnosis: Diagnosis, spec: str) -> list[str]:
    if not spec:
        return ["  ring order  no order is faster than that of the ranks"]
    return [
        f"  ring order  {' '.join(map(str, diagnosis.order))}: {fmt_time(diagnosis.best_time)}, "
        f"{diagnosis.gain:.3g} times as fast; --edit {spec}"
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


def _data(diagnosis: Diagnosis, spec: str) -> dict[str, Any]:
    return {
        "machine": diagnosis.machine,
        "ranks": diagnosis.n,
        "nccl": None,
        "expected_error": None,
        "assumed": list(diagnosis.assumed),
        "time_s": diagnosis.time,
        "ring_order": list(diagnosis.order),
        "ring_order_edit": spec or None,
        "ring_order_time_s": diagnosis.best_time,
        "cables": [
            {"name": cable.name, "slower_s": cable.slower, "faster_s": cable.faster} for cable in diagnosis.cables
        ],
        "alike": diagnosis.alike,
        "gpus": [
            {
                "name": rank.name,
                "numa": rank.numa,
                "rate_Bps": rank.rate,
                "narrow": rank.narrow,
                "slowest_Bps": rank.slowest,
                "behind": list(rank.behind),
                "next": rank.next,
                "over": rank.over,
                "shared": rank.shared,
                "pace_Bps": rank.pace,
            }
            for rank in diagnosis.ranks
        ],
    }

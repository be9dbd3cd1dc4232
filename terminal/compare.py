"""`compare`: algorithms side by side."""

from typing import Any

import click

from ops.lab.crossovers import crossovers, reason
from ops.request import Request
from ops.work import Outcome
from sim import metrics
from sim.errors import InputError
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.options import MACHINE, RANKS, SIZE, TROUBLE, asks


@command
@click.argument("algorithms", nargs=-1, metavar="COLLECTIVE.ALGORITHM[:key=value,…]...")
@asks(*MACHINE, *SIZE, *RANKS, *TROUBLE)
def compare(request: Request, algorithms: tuple[str, ...]) -> Answer:
    """Which of several algorithms is fastest here, from which size on, and why."""
    if len(algorithms) < 2:
        raise InputError("nothing to compare is given: name two algorithms or more, like allreduce.ring allreduce.nvls")
    if len(set(algorithms)) < len(algorithms):
        raise InputError("an algorithm is given twice: name each once, or give one of them other parameters")
    machine = request.topology()
    several = {spec: request.of(spec).prepare(machine) for spec in algorithms}
    outcomes = {spec: prepared.run() for spec, prepared in several.items()}
    sized = any(prepared.work.sized for prepared in several.values())
    changes = crossovers(several) if sized and not request.trouble else []
    rows = [_row(spec, outcome) for spec, outcome in outcomes.items()]
    data = {
        "machine": machine.name,
        "ranks": several[algorithms[0]].work.schedule.n,
        "size_bytes": request.bytes if sized else 0,
        "runs": rows,
        "winner": min(rows, key=lambda row: row["time_s"])["algorithm"],
        "crossovers": [{"below": c.below, "above": c.above, "size_bytes": c.size} for c in changes],
    }
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, _text(data))


def _row(spec: str, outcome: Outcome) -> dict[str, Any]:
    """How one of them went, and why it took so long."""
    why = reason(outcome)
    return {
        "algorithm": spec,
        "time_s": outcome.trace.time,
        "algbw_Bps": metrics.algbw(outcome.trace),
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "messages_in_a_row": why.messages,
        "waiting_s": why.waiting,
        "flowing_s": why.flowing,
        "verified": outcome.trace.verdict.verdict == "ok",
    }


def _text(data: dict[str, Any]) -> str:
    rows = sorted(data["runs"], key=lambda row: row["time_s"])
    wide = max(len(row["algorithm"]) for row in rows)
    load = f", {fmt_size(data['size_bytes'])}" if data["size_bytes"] else ""
    lines = [f"{data['machine']}: {data['ranks']} ranks{load}"]
    for row in rows:
        why = f"{row['messages_in_a_row']} messages in a row, waiting {fmt_time(row['waiting_s'])}"
        rate = f"  {fmt_bandwidth(row['busbw_Bps']):>10}" if load else ""
        wrong = "" if row["verified"] else "  WRONG"
        lines.append(f"  {row['algorithm']:{wide}}  {fmt_time(row['time_s']):>9}{rate}  {why}{wrong}")
    lines += [
        f"from {fmt_size(change['size_bytes'])} on, {change['above']} is faster than {change['below']}"
        for change in data["crossovers"]
    ]
    return "\n".join(lines)

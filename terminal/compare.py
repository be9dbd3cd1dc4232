"""`compare`: algorithms side by side."""

import math
from dataclasses import replace
from typing import Any

import click

from ops.answers import Outcome, answer, answer_several, carried_out, of_ended
from ops.answers.names import called
from ops.lab.crossovers import crossovers
from ops.libraries.nccl.own.band import band_of
from ops.plan import Plan, PreparedRun
from ops.plan.notation import differences
from ops.run import Run
from sim.errors import InputError, Message
from sim.trace import Trace
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import parts, said
from terminal.shared.options import FAULT, MACHINE_ALONE, NETWORKS, RANKS, SIZE, TOPOLOGY, asks


@command
@click.argument("algorithms", nargs=-1, metavar="COLLECTIVE.ALGORITHM[:key=value,…]...")
@asks(*MACHINE_ALONE, TOPOLOGY, *NETWORKS, *SIZE, *RANKS, *FAULT)
@click.option(
    "--compare-to", "against", metavar="CHANGES", help="changes of a second plan of one algorithm, like size=1MiB"
)
def compare(plan: Plan, algorithms: tuple[str, ...], against: str | None) -> Answer:
    """Compare algorithms or two plans: the fastest, crossover sizes and the reason; also on several networks.

    One algorithm with faults or edits is compared with the same run without them.
    """
    plans = [replace(plan, against=""), *plan.others()]
    if len(algorithms) == len(plans) == 1 and (against is not None or plan.fault or plan.edits):
        return _what_if(plans[0].of(algorithms[0]), "fault=;edits=" if against is None else against)
    if against is not None:
        raise InputError("compare.one_algorithm")
    if len(algorithms) * len(plans) < 2 or not algorithms:
        raise InputError("compare.no_algorithms")
    if len(set(algorithms)) < len(algorithms):
        raise InputError("compare.algorithm_twice")
    rows: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    changes: list[dict[str, Any]] = []
    for each in plans:
        machine = each.topology()
        several = {spec: each.of(spec).prepare(machine) for spec in algorithms}
        on = {"network": each.network} if len(plans) > 1 else {}
        ends = [_ended(each.of(spec), prepared) for spec, prepared in several.items()]
        outcomes += [of_ended(run, each.of(spec)) for spec, run in zip(algorithms, ends, strict=True)]
        rows += [{**_row(spec, run), **on} for spec, run in zip(algorithms, ends, strict=True)]
        sized = any(prepared.work.sized for prepared in several.values())
        if sized and not each.fault and all(isinstance(run, Run) for run in ends):
            crossed = crossovers(several)
            changes += [{"below": c.below, "above": c.above, "size_bytes": c.size, **on} for c in crossed]
    best = min(rows, key=_time)
    data = {
        "machine": machine.name if len(plans) == 1 else replace(plan, network="").topology().name,
        "ranks": several[algorithms[0]].work.n,
        "size_bytes": plan.bytes if sized else 0,
        "runs": rows,
        "winner": best["algorithm"],
        "crossovers": changes,
    }
    data |= {key: best[key] for key in ("nccl", "expected_error")}
    data |= {"winner_network": best["network"]} if "network" in best else {}
    text = _text(data)
    names = [_called(row) for row in rows]
    answered = answer(*outcomes) if len(outcomes) == 2 else answer_several(outcomes, names)
    text = "\n".join([said(data, answered), text])
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, text)


def _what_if(plan: Plan, against: str) -> Answer:
    """Compare a plan with what another one does otherwise."""
    changes = differences(against)
    if len(changes) != 1:
        raise InputError("option.compare_to", text=against)
    plans = [plan.changed(changes[0]), plan]
    ended = [carried_out(each) for each in plans]
    rows = [_row(plan.algorithm, run) for run in ended]
    data: dict[str, Any] = {"machine": ended[1].topology.name, "runs": rows, "compared_to": changes[0]}
    text = said(data, answer(*map(of_ended, ended, plans)))
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, text)


def _called(row: dict[str, Any]) -> Message:
    """A row's run as a sentence begins with it."""
    name = called(row["algorithm"], first=True)
    return Message("answer.called.with", name=name, settings=row["network"]) if row.get("network") else name


def _ended(plan: Plan, prepared: PreparedRun) -> Run | Trace:
    own = replace(plan, against="")
    return carried_out(own, lambda other: (prepared if other == own else other.prepare()).run())


def _time(row: dict[str, Any]) -> float:
    return math.inf if row["time_s"] is None else float(row["time_s"])


def _row(spec: str, outcome: Run | Trace) -> dict[str, Any]:
    """How one of them went, and why it took so long."""
    if isinstance(outcome, Trace):
        return {"algorithm": spec, "time_s": None, "verified": False, "nccl": None, "expected_error": None}
    why = outcome.breakdown
    return {
        "algorithm": spec,
        "time_s": outcome.time,
        "algbw_Bps": outcome.algbw,
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "waiting_s": why.ahead,
        "flowing_s": outcome.time - why.ahead,
        **parts(outcome),
        "verified": outcome.verdict.verdict == "ok",
        "nccl": outcome.work.settings.get("release"),
        "expected_error": band_of(
            outcome.topology, outcome.work.settings, outcome.size, outcome.timing.faults, outcome.timing.ranks
        ),
    }


def _text(data: dict[str, Any]) -> str:
    rows = sorted(data["runs"], key=_time)
    wide = max(len(row["algorithm"]) for row in rows)
    nets = max(len(row.get("network", "")) for row in rows)
    load = f", {fmt_size(data['size_bytes'])}" if data["size_bytes"] else ""
    lines = [f"{data['machine']}: {data['ranks']} ranks{load}"]
    for row in rows:
        net = f"  {row['network']:{nets}}" if nets else ""
        if row["time_s"] is None:
            lines.append(f"  {row['algorithm']:{wide}}{net}  never ends")
            continue
        why = f"{row['messages_in_a_row']} messages in a row, waiting {fmt_time(row['waiting_s'])}"
        rate = f"  {fmt_bandwidth(row['busbw_Bps']):>10}" if load else ""
        wrong = "" if row["verified"] else "  WRONG"
        lines.append(f"  {row['algorithm']:{wide}}{net}  {fmt_time(row['time_s']):>9}{rate}  {why}{wrong}")
    for change in data["crossovers"]:
        on = f" with {change['network']}" if "network" in change else ""
        size = fmt_size(change["size_bytes"])
        lines.append(f"from {size} on, {change['above']} is faster than {change['below']}{on}")
    return "\n".join(lines)

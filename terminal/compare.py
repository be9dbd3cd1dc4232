"""`compare`: algorithms side by side."""

from dataclasses import replace
from itertools import product
from typing import Any

import click

from ops.answers import answer, answer_several, carried_out, of_ended, of_run
from ops.answers.names import called
from ops.lab.crossovers import crossovers
from ops.libraries.nccl.own.band import band_of
from ops.plan import Plan
from ops.plan.notation import differences
from ops.run import Run
from sim.errors import InputError, Message
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
    runs: list[Run] = []
    changes: list[dict[str, Any]] = []
    for each in plans:
        machine = each.topology()
        several = {spec: each.of(spec).prepare(machine) for spec in algorithms}
        on = {"network": each.network} if len(plans) > 1 else {}
        runs += [prepared.run() for prepared in several.values()]
        rows += [{**_row(spec, run), **on} for spec, run in zip(algorithms, runs[-len(several) :], strict=True)]
        sized = any(prepared.work.sized for prepared in several.values())
        if sized and not each.fault:
            crossed = crossovers(several)
            changes += [{"below": c.below, "above": c.above, "size_bytes": c.size, **on} for c in crossed]
    best = min(rows, key=lambda row: row["time_s"])
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
    outcomes = [of_run(run, each.of(spec)) for run, (each, spec) in zip(runs, product(plans, algorithms), strict=True)]
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
    rows = [_row(plan.algorithm, run) if isinstance(run, Run) else _stalled(plan.algorithm) for run in ended]
    data: dict[str, Any] = {"machine": ended[1].topology.name, "runs": rows, "compared_to": changes[0]}
    text = said(data, answer(*map(of_ended, ended, plans)))
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, text)


def _called(row: dict[str, Any]) -> Message:
    """A row's run as a sentence begins with it."""
    name = called(row["algorithm"], first=True)
    return Message("answer.called.with", name=name, settings=row["network"]) if row.get("network") else name


def _stalled(spec: str) -> dict[str, Any]:
    return {"algorithm": spec, "time_s": None, "verified": False}


def _row(spec: str, outcome: Run) -> dict[str, Any]:
    """How one of them went, and why it took so long."""
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
    rows = sorted(data["runs"], key=lambda row: row["time_s"])
    wide = max(len(row["algorithm"]) for row in rows)
    nets = max(len(row.get("network", "")) for row in rows)
    load = f", {fmt_size(data['size_bytes'])}" if data["size_bytes"] else ""
    lines = [f"{data['machine']}: {data['ranks']} ranks{load}"]
    for row in rows:
        why = f"{row['messages_in_a_row']} messages in a row, waiting {fmt_time(row['waiting_s'])}"
        rate = f"  {fmt_bandwidth(row['busbw_Bps']):>10}" if load else ""
        wrong = "" if row["verified"] else "  WRONG"
        net = f"  {row['network']:{nets}}" if nets else ""
        lines.append(f"  {row['algorithm']:{wide}}{net}  {fmt_time(row['time_s']):>9}{rate}  {why}{wrong}")
    for change in data["crossovers"]:
        on = f" with {change['network']}" if "network" in change else ""
        size = fmt_size(change["size_bytes"])
        lines.append(f"from {size} on, {change['above']} is faster than {change['below']}{on}")
    return "\n".join(lines)

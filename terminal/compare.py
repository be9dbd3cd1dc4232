"""`compare`: algorithms side by side."""

from dataclasses import replace
from typing import Any

import click

from ops.lab.crossovers import crossovers
from ops.libraries.nccl.layers import expected_error
from ops.plan import Plan
from ops.run import Run
from sim.errors import InputError
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import parts
from terminal.shared.options import FAULT, MACHINE_ALONE, NETWORKS, RANKS, SIZE, TOPOLOGY, asks


@command
@click.argument("algorithms", nargs=-1, metavar="COLLECTIVE.ALGORITHM[:key=value,…]...")
@asks(*MACHINE_ALONE, TOPOLOGY, *NETWORKS, *SIZE, *RANKS, *FAULT)
def compare(plan: Plan, algorithms: tuple[str, ...]) -> Answer:
    """Compare algorithms: the fastest one, the crossover sizes, and the reason; on several networks too."""
    plans = [replace(plan, against=""), *plan.others()]
    if len(algorithms) * len(plans) < 2 or not algorithms:
        raise InputError("compare.no_algorithms")
    if len(set(algorithms)) < len(algorithms):
        raise InputError("compare.algorithm_twice")
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for each in plans:
        machine = each.topology()
        several = {spec: each.of(spec).prepare(machine) for spec in algorithms}
        on = {"network": each.network} if len(plans) > 1 else {}
        rows += [{**_row(spec, prepared.run()), **on} for spec, prepared in several.items()]
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
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, _text(data))


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
        "expected_error": expected_error(outcome.topology, outcome.work.settings, outcome.size),
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

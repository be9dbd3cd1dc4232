"""`compare`: algorithms side by side."""

import argparse
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import MACHINE, RANKS, machine, whole

if TYPE_CHECKING:
    from ops.work import Outcome, Work
    from sim.topology import Topology


@command(
    argument("algorithms", nargs="*", metavar="COLLECTIVE.ALGORITHM", help="two or more; with :key=value,… as wanted"),
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument("--size", help="bytes as nccl-tests counts them, like 64MiB"),
    RANKS,
    argument("--trouble", action="append", default=[], metavar="SPEC", help="KIND:key=value,…, see `list troubles`"),
)
def compare(given: argparse.Namespace) -> Answer:
    """Which of several algorithms is fastest here, from which size on, and why."""
    from ops.lab.crossovers import crossovers
    from ops.work import carry_out
    from sim.units import parse_size

    if len(given.algorithms) < 2:
        raise InputError("nothing to compare is given: name two algorithms or more, like allreduce.ring allreduce.nvls")
    there = machine(given, given.topology)
    works = {spec: _work(spec, there, given) for spec in given.algorithms}
    if len(works) < len(given.algorithms):
        raise InputError("an algorithm is given twice: name each once, or give one of them other parameters")
    sized = any(work.sized for work in works.values())
    if sized and given.size is None:
        raise InputError(f"{given.algorithms[0]} moves data, but no size is given: add --size 64MiB")
    size = parse_size(given.size, "--size") if sized else 0
    outcomes = {spec: carry_out(there, work, size, trouble=given.trouble) for spec, work in works.items()}
    rows = [_row(spec, outcome) for spec, outcome in outcomes.items()]
    changes = crossovers(there, works) if sized and not given.trouble else []
    found = {
        "machine": there.name,
        "ranks": next(iter(works.values())).schedule.n,
        "size_bytes": size,
        "runs": rows,
        "winner": min(rows, key=lambda row: row["time_s"])["algorithm"],
        "crossovers": [{"below": c.below, "above": c.above, "size_bytes": c.size} for c in changes],
    }
    return Answer(DONE if all(row["verified"] for row in rows) else NO, found, _text(found))


def _row(spec: str, outcome: "Outcome") -> dict[str, Any]:
    """How one of them went, and why it took so long."""
    from ops.lab.crossovers import reason
    from sim import metrics

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


def _work(spec: str, there: "Topology", given: argparse.Namespace) -> "Work":
    """An algorithm with its parameters behind a colon."""
    from ops import ALGORITHMS
    from ops.work import registered
    from sim.parameters import parse_spec

    name, settings = parse_spec(spec)
    ranks = there.n if given.ranks is None else whole(given.ranks, "--ranks")
    if ranks > there.n:
        raise InputError(f"{there.name} holds {there.n} ranks, not {ranks}: ask for {there.n} or fewer")
    return registered(ALGORITHMS[name], ranks, topology=there, given=settings)


def _text(found: dict[str, Any]) -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    rows = sorted(found["runs"], key=lambda row: row["time_s"])
    wide = max(len(row["algorithm"]) for row in rows)
    load = f", {fmt_size(found['size_bytes'])}" if found["size_bytes"] else ""
    lines = [f"{found['machine']}: {found['ranks']} ranks{load}"]
    for row in rows:
        why = f"{row['messages_in_a_row']} messages in a row, waiting {fmt_time(row['waiting_s'])}"
        rate = f"  {fmt_bandwidth(row['busbw_Bps']):>10}" if load else ""
        wrong = "" if row["verified"] else "  WRONG"
        lines.append(f"  {row['algorithm']:{wide}}  {fmt_time(row['time_s']):>9}{rate}  {why}{wrong}")
    lines += [
        f"from {fmt_size(change['size_bytes'])} on, {change['above']} is faster than {change['below']}"
        for change in found["crossovers"]
    ]
    return "\n".join(lines)

"""`run`: prove a collective and time it."""

import math
import time
from typing import Any

import click

from ops.answers.contradiction import contradiction, posting
from ops.plan import Plan
from ops.run import Run
from ops.run.values import Values, kinds_of, values_of
from sim.base.files.whole_file import write_whole
from sim.errors import first_few
from sim.schedule.displacements import extent
from sim.schedule.numeric import DTYPES
from sim.trace import Trace
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import above as above_bound
from terminal.shared.facts import change_said, facts, stalled, title_of
from terminal.shared.files import TO_WRITE
from terminal.shared.numbers import as_data, as_table, check, in_words
from terminal.shared.options import RUN, VALUES, asks, ended

PROMPT = {"build_s": 0.0, "verify_s": 0.0}
"""Real seconds where nothing had to be built or proved."""
SHOWN = 8
"""Devices of a placement that are named."""


@command
@asks(
    *RUN,
    click.option(
        "--dtype", metavar="TYPE", help="also move real numbers and check them: float32, float64, int64 or float16"
    ),
    *VALUES,
)
@click.option("--unfolded", is_flag=True, help="simulate every rank, even when ranks are equivalent")
@click.option("--trace", type=TO_WRITE, metavar="FILE.json", help="also write everything that happened to a file")
def run(plan: Plan, trace: str | None, unfolded: bool) -> Answer:
    """Verify a collective and time it on a machine; equivalent ranks are simulated once."""
    begun = time.perf_counter()
    is_checked = bool(plan.dtype or plan.op) and not plan.values
    kind = kinds_of(plan.op, plan.dtype, DTYPES[0]) if is_checked else None
    placed = _placed(plan)
    every = unfolded or trace is not None or kind is not None or bool(plan.values)
    outcome = ended(plan, history=trace is not None, written=math.inf if every else 0)
    if isinstance(outcome, Trace):
        return _never(plan, outcome, trace)
    numbers = check(plan, outcome, *kind) if kind else None
    if trace is not None:
        write_whole(trace, outcome.trace.to_json())
    data = facts(outcome) | placed | ({"numbers": numbers} if numbers else {}) | PROMPT | dict(outcome.real)
    apart = contradiction(plan, outcome)
    data |= {"contradictions": [str(apart)]} if apart else {}
    posted = posting(plan, outcome)
    data |= {"posting": [str(posted)]} if posted else {}
    values = _values(plan, outcome.trace) if plan.values else None
    data |= {"values": as_data(values, outcome.trace.schedule)} if values else {}
    data |= {"sim_s": outcome.timing.real.get("sim_s", 0.0), "wall_s": time.perf_counter() - begun}
    above = change_said(data, plan, outcome)
    right = outcome.verdict.ok and (numbers is None or numbers["right"]) and (values is None or values.is_right)
    shown = f"\n\n{as_table(values, outcome.trace.schedule)}" if values else ""
    return Answer(DONE if right else NO, data, "\n".join([*above, _text(data, outcome) + shown]))


def _values(plan: Plan, trace: Trace) -> Values:
    return values_of(trace.schedule, plan.values, plan.op, plan.dtype, trace.end)


def _never(plan: Plan, stopped: Trace, file: str | None) -> Answer:
    """Say who waits for whom in a run that never ends."""
    if file is not None:
        write_whole(file, stopped.to_json())
    data = stalled(stopped)
    return Answer(NO, data, "\n".join([*change_said(data, plan, stopped), title_of(data)]))


def _placed(plan: Plan) -> dict[str, Any]:
    """Where blocks of unequal size stand in their buffer, if that is told."""
    displs = plan.displacements()
    return {"displs_bytes": displs, "extent_bytes": extent(plan.block_bytes, displs)} if displs else {}


def _text(data: dict[str, Any], outcome: Run) -> str:
    load = f", {fmt_size(data['size_bytes'])}" if data["size_bytes"] else ""
    head = f"{_called(outcome)} on {data['machine']}: {data['ranks']} ranks{load}"
    lines = [*_rows(data, outcome).items(), *(("fault", _fault(hit)) for hit in data["faults"])]
    notes = [
        f"note: {note}"
        for note in (*data.get("contradictions", ()), *data.get("posting", ()), *outcome.topology.assumed)
    ]
    return "\n".join([head, *(f"  {name:11} {value}" for name, value in lines), *notes])


def _called(outcome: Run) -> str:
    """The algorithm with its parameters as `run` reads them, or with what else a library chose."""
    work = outcome.work
    values = [
        f"{key.removesuffix('_Bps')}={fmt_bandwidth(value) if key.endswith('_Bps') else value}"
        for key, value in work.settings.items()
    ]
    if work.algorithm is not None and work.settings.keys() <= work.algorithm.params.keys():
        return " ".join([work.name, *(f"--set {value}" for value in values)])
    return f"{work.name} ({', '.join(values)})" if values else work.name


def _rows(data: dict[str, Any], outcome: Run) -> dict[str, str]:
    within = f", within {data['expected_error']:.0%} four times in five" if data["expected_error"] else ""
    rows = {"time": fmt_time(data["time_s"]) + within}
    if data["size_bytes"]:
        rows["algbw"] = fmt_bandwidth(data["algbw_Bps"])
        rows["busbw"] = fmt_bandwidth(data["busbw_Bps"])
    if "extent_bytes" in data:
        rows["buffer"] = f"{fmt_size(data['extent_bytes'])} from the first byte to the end of the last block"
    if data["bound_s"]:
        ratio = f" ({above_bound(data['time_s'], data['bound_s'])})"
        rows["bound"] = f"{fmt_time(data['bound_s'])} is the lower bound{ratio}"
    if data["bottleneck"]:
        busiest = data["bottleneck"]
        rows["bottleneck"] = f"{busiest['src']} -> {busiest['dst']}, busy {busiest['share']:.1%} of the time"
    rows["transfers"] = f"{data['transfers']:,} in {data['steps']:,} steps"
    if data["classes"] < data["transfers"]:
        rows["transfers"] += f", of which {data['classes']:,} stood for all"
    if data["placement"]:
        rows["placement"] = f"{first_few(data['placement'], SHOWN)}, ranks from 0 on"
    reason = outcome.verdict.reason
    rows["verified"] = {"ok": "yes", "unchecked": f"unchecked: {reason}"}.get(data["verdict"], f"NO: {reason}")
    if "numbers" in data:
        rows["numbers"] = in_words(data["numbers"])
    return rows


def _fault(hit: dict[str, Any]) -> str:
    if not hit["transfers"]:
        return f"{hit['fault']} delayed no transfer"
    return f"{hit['fault']} delayed {hit['transfers']:,} transfers, by at most {fmt_time(hit['longest_s'])}"

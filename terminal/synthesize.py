"""`synthesize`: search for a schedule that suits a machine."""

from dataclasses import replace
from typing import Any

import click

from ops.lab.synthesis.synthesize import SearchResult
from ops.lab.synthesis.synthesize import synthesize as searched_for
from ops.plan import Plan
from ops.run import execute
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import above, origin
from terminal.shared.files import TO_WRITE, ending_of
from terminal.shared.options import MACHINE, RANKS, asks
from terminal.shared.progress import Bar
from terminal.shared.types import SIZE, WHOLE


@command
@click.argument("collective")
@asks(
    *MACHINE,
    *RANKS,
    click.option(
        "--size",
        type=SIZE,
        required=True,
        metavar="SIZE",
        help="bytes as nccl-tests counts them, like 64MiB; what comes out is for this size",
    ),
)
@click.option(
    "--seeds",
    type=WHOLE,
    default="4",
    metavar="N",
    help="random plans for each number of chunks",
)
@click.option(
    "-o", "--output", type=TO_WRITE, metavar="FILE", help="also write it: .xml for MSCCL, or any ending `render` knows"
)
def synthesize(plan: Plan, collective: str, seeds: int, output: str | None) -> Answer:
    """Search for a schedule for this machine, and compare it with the lower bound and known algorithms.

    COLLECTIVE is allgather, reduce_scatter or allreduce.
    """
    if output is not None:
        _ending(output)
    if not 1 <= seeds <= 1000:
        raise InputError("option.seeds", seeds=seeds)
    result = searched_for(replace(plan, algorithm=collective), seeds=seeds, progress=Bar("schedules"))
    data = _facts(result)
    if output is not None:
        _write(output, result)
        data["file"] = output
    return Answer(DONE if data["verified"] else NO, data, _text(data))


def _facts(result: SearchResult) -> dict[str, Any]:
    best, searched, rival = result.best, result.searched, result.rival
    return {
        "collective": best.work.collective.name if best.work.collective else "custom",
        "algorithm": best.work.name,
        "parameters": dict(best.work.settings),
        **origin(best),
        "size_bytes": int(best.size),
        "time_s": best.time,
        "busbw_Bps": best.busbw,
        "bound_s": best.bound,
        "searched": {"time_s": searched.time, "parameters": dict(searched.work.settings)},
        "registered": rival and {"algorithm": rival.work.name, "time_s": rival.time},
        "transfers": best.work.schedule.messages,
        "steps": best.work.schedule.steps,
        "tried": result.tried,
        "verified": best.verdict.verdict == "ok",
        "file": None,
    }


def _ending(path: str) -> str:
    from ui.export.exports import EXPORTS  # which load what draws

    return ending_of(path, list(EXPORTS))


def _write(path: str, result: SearchResult) -> None:
    from ui.export.exports import render

    best = result.best
    trace = execute(best.topology, best.work, best.size, history=True).trace
    write_whole(path, render(trace, _ending(path)))


def _text(data: dict[str, Any]) -> str:
    settings = ",".join(f"{key}={value}" for key, value in data["parameters"].items())
    rival, time = data["registered"], data["time_s"]
    rows = {
        "time": fmt_time(time),
        "busbw": fmt_bandwidth(data["busbw_Bps"]),
        "bound": f"{fmt_time(data['bound_s'])} is the lower bound ({above(time, data['bound_s'])})",
    }
    if rival is None:
        rows["known"] = "no registered algorithm can do it here"
    elif data["algorithm"] == rival["algorithm"]:
        rows["searched"] = f"{fmt_time(data['searched']['time_s'])}: nothing found is faster than a known algorithm"
    else:
        rows["known"] = f"{rival['algorithm']}, the best of all registered ones: {fmt_time(rival['time_s'])}"
        rows["known"] += f", {rival['time_s'] / time:.3g} times as long"
    rows["transfers"] = f"{data['transfers']:,} in {data['steps']:,} steps, the best of {data['tried']} schedules"
    rows["verified"] = "yes" if data["verified"] else "NO"
    if data["file"]:
        rows["file"] = data["file"]
    name = f"{data['algorithm']}:{settings}" if settings else data["algorithm"]
    head = f"{name} on {data['machine']}: {data['ranks']} ranks, {fmt_size(data['size_bytes'])}"
    return "\n".join([head, *(f"  {key:11} {value}" for key, value in rows.items())])

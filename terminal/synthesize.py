"""`synthesize`: search for a schedule that suits a machine."""

import argparse
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import MACHINE, RANKS, machine, whole, write
from terminal.progress import Bar

if TYPE_CHECKING:
    from ops.lab.synthesize import Found


@command(
    argument("collective", help="allgather, reduce_scatter or allreduce"),
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument(
        "--size", required=True, help="bytes as nccl-tests counts them, like 64MiB; what is found is for this size"
    ),
    RANKS,
    argument("--seeds", default="4", help="how many plans are drawn for each way of cutting the blocks"),
    argument("-o", "--output", metavar="FILE", help="also write it: .xml for MSCCL, or any ending `render` knows"),
)
def synthesize(given: argparse.Namespace) -> Answer:
    """Search for a schedule that suits this machine, and compare it with the bound and with what is known."""
    from ops.lab.synthesize import synthesize
    from sim.units import parse_size

    if given.output is not None:
        _ending(given.output)
    there, size, seeds = machine(given, given.topology), parse_size(given.size, "--size"), whole(given.seeds, "--seeds")
    if not 1 <= seeds <= 1000:
        raise InputError(f"--seeds {seeds} is not between 1 and 1000: 4 are enough for most")
    ranks = 0 if given.ranks is None else whole(given.ranks, "--ranks")
    found = synthesize(there, given.collective, size, ranks=ranks, seeds=seeds, progress=Bar("schedules"))
    told = _told(found)
    if given.output is not None:
        _write(given.output, found, size)
        told["file"] = given.output
    return Answer(DONE if told["verified"] else NO, told, _text(told))


def _told(found: "Found") -> dict[str, Any]:
    best, searched, rival = found.best, found.searched, found.rival
    return {
        "collective": best.work.collective.name if best.work.collective else "custom",
        "algorithm": best.work.name,
        "parameters": dict(best.work.settings),
        "machine": best.trace.topology.name,
        "ranks": best.work.schedule.n,
        "size_bytes": int(best.trace.size),
        "time_s": best.trace.time,
        "busbw_Bps": best.busbw,
        "bound_s": best.bound,
        "searched": {"time_s": searched.trace.time, "parameters": dict(searched.work.settings)},
        "registered": rival and {"algorithm": rival.work.name, "time_s": rival.trace.time},
        "transfers": best.work.schedule.messages,
        "steps": best.work.schedule.steps,
        "tried": found.tried,
        "verified": best.trace.verdict.verdict == "ok",
        "file": None,
    }


def _ending(path: str) -> str:
    from terminal.render import ending_of
    from ui.exports import EXPORTS

    return ending_of(path, list(EXPORTS))


def _write(path: str, found: "Found", size: int) -> None:
    from ops.work import carry_out
    from ui.exports import render

    trace = carry_out(found.best.trace.topology, found.best.work, size, history=True).trace
    write(path, render(trace, _ending(path)))


def _text(told: dict[str, Any]) -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    settings = ",".join(f"{key}={value}" for key, value in told["parameters"].items())
    rival, time = told["registered"], told["time_s"]
    rows = {
        "time": fmt_time(time),
        "busbw": fmt_bandwidth(told["busbw_Bps"]),
        "bound": f"{fmt_time(told['bound_s'])} at least, whatever the ranks do (this took {time / told['bound_s']:.3g}"
        " times that)",
    }
    if rival is None:
        rows["known"] = "no registered algorithm can do it here"
    elif told["algorithm"] == rival["algorithm"]:
        rows["searched"] = f"{fmt_time(told['searched']['time_s'])}: nothing found is faster than a known algorithm"
    else:
        rows["known"] = f"{rival['algorithm']}, the best of all registered ones: {fmt_time(rival['time_s'])}"
        rows["known"] += f", {rival['time_s'] / time:.3g} times as long"
    rows["transfers"] = f"{told['transfers']:,} in {told['steps']:,} steps, the best of {told['tried']} schedules"
    rows["verified"] = "yes" if told["verified"] else "NO"
    if told["file"]:
        rows["file"] = told["file"]
    name = f"{told['algorithm']}:{settings}" if settings else told["algorithm"]
    head = f"{name} on {told['machine']}: {told['ranks']} ranks, {fmt_size(told['size_bytes'])}"
    return "\n".join([head, *(f"  {key:11} {value}" for key, value in rows.items())])

"""`nccl-choice`: what NCCL would run on a machine, and what it thinks of the alternatives."""

from typing import Any

import click

from ops.answers.contradiction import against_others, against_tuner
from ops.libraries.nccl.choice import NcclChoice, choose, work_of
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.own.band import band_at
from ops.libraries.nccl.releases import NEWEST
from ops.libraries.nccl.tuner import Candidate
from ops.libraries.nccl.variables import machine_with, set_variables
from ops.plan import Plan
from ops.plan.notation import assignments
from ops.run import Run, execute
from sim.placement import placement_of
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.options import MACHINE, RANKS, asks
from terminal.shared.types import ASSIGNMENT, SIZE


@command
@asks(
    *MACHINE,
    *RANKS,
    click.option(
        "--set",
        multiple=True,
        type=ASSIGNMENT,
        metavar="KEY=VALUE",
        help="variables of NCCL, like NCCL_ALGO=Ring; nccl= for a release like 2.18",
    ),
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=SIZE,
    metavar="SIZE",
    help="bytes as nccl-tests counts them, like 64MiB; several allowed",
)
@click.option("--collective", default="allreduce", metavar="NAME", help="allreduce if left out")
def nccl_choice(plan: Plan, sizes: tuple[int, ...], collective: str) -> Answer:
    """Show NCCL's algorithm and protocol, its predictions for all of them, and its rings."""
    options = set_variables(assignments(plan.settings, "--set"), "nccl-choice")
    machine = machine_with(plan.topology(), options)
    ranks = machine.taking_part(plan.ranks)
    choices = [
        choose(machine, collective, size, ranks, options=options)
        for size in sizes or [1 << k for k in range(10, 34, 3)]
    ]
    rows = [_choice(machine, choice) for choice in choices]
    bands = [row["expected_error"] for row in rows if row["expected_error"] is not None]
    widest = {"expected_error": max(bands, default=None)}
    data = _machine(machine, choices[0]) | widest | (rows[0] if len(rows) == 1 else {}) | {"choices": rows}
    return Answer(DONE, data, _text(data))


def _machine(topology: Topology, choice: NcclChoice) -> dict[str, Any]:
    at, family = choice.seen.situation, family_of(topology)
    return {
        "machine": topology.name,
        "collective": choice.collective,
        "ranks": at.n,
        "placement": placement_of(topology, at.n) or None,
        "nccl": at.release,
        "nodes": at.nodes,
        "generation": at.generation,
        "link": at.kind,
        "channels": at.channels,
        "channel_Bps": at.bw_intra * 1e9,
        "family": family.name if family else None,
        "rests_on": len(family.tables) if family else 0,
        "rings": [list(order) for order in choice.seen.orders],
        "nics": choice.seen.doors(topology),
        "assumed": list(topology.assumed),
    }


def _choice(topology: Topology, choice: NcclChoice) -> dict[str, Any]:
    def simulated(candidate: Candidate) -> Run:
        work = work_of(topology, choice, taken=candidate)
        least = work.schedule.promise.blocks if work.schedule.promise else 1  # fewer bytes are padded to one a block
        return execute(topology, work, max(choice.size, least))

    def row(candidate: Candidate, run: Run) -> dict[str, Any]:
        tuned = candidate.algorithm != "SendRecv"
        return {
            "algorithm": candidate.algorithm,
            "protocol": candidate.protocol,
            "channels": choice.seen.situation.channels,
            "latency_s": candidate.latency if tuned else None,
            "bandwidth_Bps": candidate.bandwidth if tuned else None,
            "predicted_s": candidate.time if tuned else None,
            "simulated_s": run.time,
            "chosen": candidate is choice.chosen,
        }

    runs = {candidate: simulated(candidate) for candidate in choice.candidates}
    rows = [row(candidate, run) for candidate, run in runs.items()]
    times = {candidate: run.time for candidate, run in runs.items()}
    apart = against_tuner(runs[choice.chosen], choice.chosen), against_others(times, choice.chosen)
    best = rows[0]
    return {
        "size_bytes": choice.size,
        "algorithm": best["algorithm"],
        "protocol": best["protocol"],
        "predicted_s": best["predicted_s"],
        "simulated_s": best["simulated_s"],
        "expected_error": _band(topology, choice),
        "contradictions": [str(message) for message in apart if message],
        "candidates": rows,
    }


def _band(topology: Topology, choice: NcclChoice) -> float | None:
    at = choice.seen.situation
    set_by_hand = at.variables.changed.keys() - {"algorithm", "protocol", "nccl"}
    return None if set_by_hand else band_at(topology, choice.size, at.n)


def _by(nics: dict[str, str | None]) -> str:
    """How a ring comes in and goes out."""
    out = "" if nics["enters"] == nics["leaves"] else f", out by {nics['leaves']}"
    forwarded = f", forwarded by {nics['through']}" if nics["through"] else ""
    return f"; {'in' if out else 'in and out'} by {nics['enters']}{out}{forwarded}"


def _text(data: dict[str, Any]) -> str:
    nodes = f"{data['nodes']} nodes" if data["nodes"] > 1 else "one node"
    lines = [
        f"{data['collective']} on {data['machine']}: {data['ranks']} ranks on {nodes}, {data['generation']},"
        f" {data['channels']} channels of {fmt_bandwidth(data['channel_Bps'])} over {data['link']}"
    ]
    for choice in data["choices"]:
        band = "" if choice["expected_error"] is None else f", within {choice['expected_error']:.0%} four times in five"
        lines.append(f"{fmt_size(choice['size_bytes'])}: {choice['algorithm']} {choice['protocol']}{band}")
        for row in choice["candidates"]:
            predicted = "NCCL has no prediction" if row["predicted_s"] is None else f"{fmt_time(row['predicted_s']):>9}"
            mark = "<-" if row["chosen"] else ""
            rest = f"  simulated {fmt_time(row['simulated_s']):>9}  {mark}"
            lines.append(f"  {row['algorithm']:9} {row['protocol']:7} {predicted}{rest}".rstrip())
        lines += [f"  note: {sentence}" for sentence in choice["contradictions"]]
    for k, ring in enumerate(data["rings"]):
        shown = " ".join(map(str, ring[:32])) + (" …" if len(ring) > 32 else "")
        lines.append(f"ring {k}: {shown}" + (_by(data["nics"][k]) if data["nics"] else ""))
    family = data["family"]
    lines.append(
        f"note: simulated with the calibration of {family}" if family else "note: simulated with NCCL's own constants"
    )
    if data["nccl"] != NEWEST:
        lines.append(f"note: NCCL's tuner with the tables of {data['nccl']}")
    return "\n".join([*lines, *(f"note: {note}" for note in data["assumed"])])

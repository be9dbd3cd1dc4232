"""`nccl-choice`: what NCCL would run on a machine, and what it thinks of the alternatives."""

import argparse
from typing import TYPE_CHECKING, Any

from terminal import DONE, Answer, argument, command
from terminal.arguments import MACHINE, RANKS, machine, whole

if TYPE_CHECKING:
    from ops.libraries.nccl.choice import NcclChoice
    from ops.libraries.nccl.tuner import Candidate
    from sim.topology import Topology


@command(
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument(
        "--size", action="append", default=[], help="bytes as nccl-tests counts them, like 64MiB; several allowed"
    ),
    argument("--collective", default="allreduce", help="allreduce if left out"),
    RANKS,
    argument("--set", action="append", default=[], metavar="KEY=VALUE", help="algorithm= or protocol= to force"),
)
def nccl_choice(given: argparse.Namespace) -> Answer:
    """The algorithm and protocol NCCL takes here, its prediction for all of them, and the rings it builds."""
    from ops.libraries.nccl.choice import NcclOptions, choose
    from sim.parameters import bind, parse_assignments
    from sim.units import parse_size

    there = machine(given, given.topology)
    options = NcclOptions(**bind(NcclOptions, parse_assignments(given.set, "--set"), "nccl-choice"))
    ranks = there.n if given.ranks is None else whole(given.ranks, "--ranks")
    sizes = [parse_size(text, "--size") for text in given.size] or [1 << k for k in range(10, 34, 3)]
    choices = [choose(there, given.collective, size, ranks, options=options) for size in sizes]
    told = [_choice(there, choice) for choice in choices]
    found = _machine(there, choices[0]) | (told[0] if len(told) == 1 else {}) | {"choices": told}
    return Answer(DONE, found, _text(found))


def _machine(there: "Topology", choice: "NcclChoice") -> dict[str, Any]:
    from ops.libraries.nccl.protocol_cost import family_of

    at, family = choice.seen.situation, family_of(there)
    return {
        "machine": there.name,
        "collective": choice.collective,
        "ranks": at.n,
        "nodes": at.nodes,
        "generation": at.generation,
        "link": at.kind,
        "channels": at.channels,
        "channel_Bps": at.bw_intra * 1e9,
        "family": family.name if family else None,
        "rings": [list(order) for order in choice.seen.orders],
        "assumed": list(there.assumed),
    }


def _choice(there: "Topology", choice: "NcclChoice") -> dict[str, Any]:
    from ops.libraries.nccl.choice import work_of
    from ops.work import carry_out

    def row(one: "Candidate") -> dict[str, Any]:
        simulated = carry_out(there, work_of(there, choice, taken=one), choice.size).trace.time
        tuned = one.algorithm != "SendRecv"
        return {
            "algorithm": one.algorithm,
            "protocol": one.protocol,
            "channels": choice.seen.situation.channels,
            "latency_s": one.latency if tuned else None,
            "bandwidth_Bps": one.bandwidth if tuned else None,
            "predicted_s": one.time if tuned else None,
            "simulated_s": simulated,
            "chosen": one is choice.chosen,
        }

    rows = [row(one) for one in choice.candidates]
    best = rows[0]
    return {
        "size_bytes": choice.size,
        "algorithm": best["algorithm"],
        "protocol": best["protocol"],
        "predicted_s": best["predicted_s"],
        "simulated_s": best["simulated_s"],
        "candidates": rows,
    }


def _text(found: dict[str, Any]) -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    nodes = f"{found['nodes']} nodes" if found["nodes"] > 1 else "one node"
    lines = [
        f"{found['collective']} on {found['machine']}: {found['ranks']} ranks on {nodes}, {found['generation']},"
        f" {found['channels']} channels of {fmt_bandwidth(found['channel_Bps'])} over {found['link']}"
    ]
    for choice in found["choices"]:
        lines.append(f"{fmt_size(choice['size_bytes'])}: {choice['algorithm']} {choice['protocol']}")
        for one in choice["candidates"]:
            told = "NCCL has no prediction" if one["predicted_s"] is None else f"{fmt_time(one['predicted_s']):>9}"
            mark = "<-" if one["chosen"] else ""
            rest = f"  simulated {fmt_time(one['simulated_s']):>9}  {mark}"
            lines.append(f"  {one['algorithm']:9} {one['protocol']:7} {told}{rest}".rstrip())
    for k, ring in enumerate(found["rings"]):
        shown = " ".join(map(str, ring[:32])) + (" …" if len(ring) > 32 else "")
        lines.append(f"ring {k}: {shown}")
    family = found["family"]
    lines.append(
        f"note: simulated with the pace of {family}" if family else "note: simulated with NCCL's own constants"
    )
    return "\n".join([*lines, *(f"note: {note}" for note in found["assumed"])])

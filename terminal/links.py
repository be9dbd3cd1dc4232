"""`sensitivity` and `failures`: which links matter, and what losing one costs."""

import argparse
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.arguments import ALGORITHM, MACHINE, RANKS, machine, work
from terminal.lab import FIGURE, draw, figure_ending, table
from terminal.progress import Bar

if TYPE_CHECKING:
    from ops.work import Outcome, Work
    from sim.topology import Topology

ONE = (
    *ALGORITHM,
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument("--size", help="bytes as nccl-tests counts them, like 64MiB"),
    RANKS,
)


@command(
    *ONE,
    argument(
        "--by", default="class", choices=("class", "link"), help="change links of one class together, or one by one"
    ),
    argument("--factor", default="2", help="how much slower and faster"),
    FIGURE,
)
def sensitivity(given: argparse.Namespace) -> Answer:
    """Which link's bandwidth or latency matters most: the run again with each slower and faster."""
    from ops.lab.sensitivity import sensitivity
    from sim.parameters import Parameter
    from sim.units import fmt_time

    figure_ending(given.output)
    there, asked, size = _one(given)
    factor = Parameter("--factor", "float", None).parse(given.factor, "the command line")
    plain, swings = sensitivity(there, asked, size, factor=factor, by=given.by, progress=Bar("changes"))
    time, title = plain.trace.time, _title(plain)
    draw(given.output, lambda charts: charts.tornado(time, swings, factor, title))
    head = ["", f"{factor:g} x slower", f"{factor:g} x faster"]
    body = [
        [
            f"{swing.what:9}  {swing.name}",
            *(f"{fmt_time(t)} ({t / time - 1:+.1%})" for t in (swing.slower, swing.faster)),
        ]
        for swing in swings
    ]
    found = _found(plain) | {
        "factor": factor,
        "swings": [
            {"links": s.name, "count": s.links, "what": s.what, "slower_s": s.slower, "faster_s": s.faster}
            for s in swings
        ],
    }
    return Answer(DONE, found, "\n".join([title, *(f"  {line}" for line in table([head, *body]))]))


@command(*ONE, FIGURE)
def failures(given: argparse.Namespace) -> Answer:
    """What the run takes without each cable it uses, when what crossed it goes another way."""
    from ops.lab.sensitivity import failures
    from sim.units import fmt_time

    figure_ending(given.output)
    there, asked, size = _one(given)
    plain, losses = failures(there, asked, size, progress=Bar("cables"))
    time, title = plain.trace.time, _title(plain)
    draw(given.output, lambda charts: charts.failures(time, losses, title))
    body = [[x.name, fmt_time(x.time), f"{x.time / time:.3g} x"] for x in losses if x.time is not None]
    stuck = [f"  {x.name}: never ends, {x.reason}" for x in losses if x.time is None]
    found = _found(plain) | {
        "losses": [{"src": x.src, "dst": x.dst, "time_s": x.time, "reason": x.reason or None} for x in losses]
    }
    return Answer(DONE, found, "\n".join([title, *stuck, *(f"  {line}" for line in table(body))]))


def _one(given: argparse.Namespace) -> "tuple[Topology, Work, int]":
    from sim.units import parse_size

    there = machine(given, given.topology)
    asked = work(given, there)
    if asked.sized and given.size is None:
        raise InputError(f"{asked.name} moves data, but no size is given: add --size 64MiB")
    return there, asked, parse_size(given.size, "--size") if asked.sized else 0


def _title(plain: "Outcome") -> str:
    from sim.units import fmt_size, fmt_time

    trace = plain.trace
    load = f", {fmt_size(trace.size)}" if trace.size else ""
    return f"{plain.work.name} on {trace.topology.name}: {trace.schedule.n} ranks{load}, {fmt_time(trace.time)}"


def _found(plain: "Outcome") -> dict[str, Any]:
    trace = plain.trace
    return {
        "algorithm": plain.work.name,
        "machine": trace.topology.name,
        "ranks": trace.schedule.n,
        "size_bytes": int(trace.size),
        "time_s": trace.time,
    }

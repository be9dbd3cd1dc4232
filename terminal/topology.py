"""`topology`: what a machine is made of."""

import click

from ops.plan import Plan
from ops.run.budget import expect_pairs
from sim.topology.path_classes import describe
from sim.units import fmt_bandwidth, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.options import MACHINE_ALONE, asks


@command
@asks(click.argument("topology", required=False, metavar="[FILE]"), *MACHINE_ALONE)
def topology(plan: Plan) -> Answer:
    """Show devices, links and pair classes of a machine; FILE is a capture in any format of `list formats`."""
    machine = plan.topology()
    expect_pairs(machine.name, len(machine.devices))
    data = describe(machine) | {"differs": plan.differences()}
    kinds: dict[tuple[str, float, float], int] = {}
    for link in machine.links:
        alike = (link.kind, link.bandwidth, link.latency)
        kinds[alike] = kinds.get(alike, 0) + 1
    lines = [
        f"{machine.name}: {data['gpus']} GPUs, {data['nics']} NICs, {data['numa_nodes']} NUMA nodes,"
        f" {len(machine.links)} links",
        *(f"  {n:4} x {kind} {fmt_bandwidth(rate)}, {fmt_time(wait)}" for (kind, rate, wait), n in kinds.items()),
        "",
        *_matrix(data["pairs"]),
        *(f"note: {note}" for note in machine.assumed),
        *(f"edited: {line}" for line in data["differs"]),
    ]
    return Answer(DONE, data, "\n".join(lines))


def _matrix(pairs: dict[str, dict[str, str]]) -> list[str]:
    """The classes of pairs as `nvidia-smi topo -m` prints them."""
    names = list(pairs)
    width = max((len(text) for row in pairs.values() for text in (*row, *row.values())), default=0) + 1
    left = max((len(name) for name in names), default=0)
    rows = [f"{'':{left}}" + "".join(f" {name:>{width}}" for name in names)]
    for a in names:
        cells = ("X" if a == b else pairs[a].get(b, "") for b in names)
        rows.append(f"{a:{left}}" + "".join(f" {cell:>{width}}" for cell in cells))
    return rows

"""`topology`: what a machine is made of."""

import argparse

from terminal import DONE, Answer, argument, command
from terminal.arguments import MACHINE, machine


@command(
    argument("file", nargs="?", metavar="FILE", help="a capture in any known format, see `list formats`"), *MACHINE
)
def topology(given: argparse.Namespace) -> Answer:
    """The devices, links and classes of pairs of a machine."""
    from sim.topology.path_classes import describe
    from sim.units import fmt_bandwidth, fmt_time

    it = machine(given, given.file)
    found = describe(it)
    kinds: dict[tuple[str, float, float], int] = {}
    for link in it.links:
        alike = (link.kind, link.bandwidth, link.latency)
        kinds[alike] = kinds.get(alike, 0) + 1
    lines = [
        f"{it.name}: {found['gpus']} GPUs, {found['nics']} NICs, {found['numa_nodes']} NUMA nodes,"
        f" {len(it.links)} links",
        *(f"  {n:4} x {kind} {fmt_bandwidth(rate)}, {fmt_time(wait)}" for (kind, rate, wait), n in kinds.items()),
        "",
        *_matrix(found["pairs"]),
        *(f"note: {note}" for note in it.assumed),
    ]
    return Answer(DONE, found, "\n".join(lines))


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

"""The search beside NCCL's own code.

NCCL 2.30.7's `src/graph` was compiled and run on the topology files of the machines (`write_topology(machine,
"nccl_xml")`), with the ranks of one host or of two. `tests/data/nccl-graphs.json` has its graphs: the pattern,
crossNic, the number of channels, GB/s inside and between nodes, types of paths, whether channels are alike, and the
channels that differ as the NIC by which they come in, ranks and the NIC by which they go out.

`tests/data/nccl-graphs-older.json` has graphs of 2.7.8, 2.9.9, 2.10.3 and 2.16.5, made in the same way, of
machines that these releases knew.
"""

import json
from pathlib import Path

from ops.libraries.nccl.releases import release_of
from ops.libraries.nccl.topology_search import look
from ops.libraries.nccl.variables import FREE, Variables
from sim.machines import build
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data"
ROWS = json.loads((DATA / "nccl-graphs.json").read_text(encoding="utf-8"))
OLDER = json.loads((DATA / "nccl-graphs-older.json").read_text(encoding="utf-8"))


def as_row(graph, system, ranks):
    """A graph as the data file has it."""
    rank_of = dict(zip(system.gpus, ranks, strict=True))

    def channel(at):
        order = ",".join(str(rank_of[gpu]) for gpu in at.gpus if gpu >= 0)
        return f"N{system.nets.index(at.enters)} {order} N{system.nets.index(at.leaves)}" if at.enters >= 0 else order

    return [
        graph.pattern.name.lower(),
        graph.cross_nic,
        len(graph.channels),
        graph.bw_intra / 1000,
        graph.bw_inter / 1000,
        graph.type_intra.name,
        graph.type_inter.name,
        int(graph.same),
        list(dict.fromkeys(map(channel, graph.channels))),
    ]


def graphs(spec, variables=FREE):
    """The graphs of a machine's first node."""
    machine = build(spec)
    seen = look(machine, machine.n, variables)
    part = seen.parts[0]
    graphs = {"ring": seen.rings.graphs[0], "tree": seen.trees.graphs[0], "nvls": seen.heads[0]}
    return {name: as_row(graph, part.system, part.ranks) for name, graph in graphs.items() if graph.channels}


@each_row("spec", [*ROWS])
def test_channels_are_those_of_nccl(spec):
    assert graphs(spec) == ROWS[spec]


@each_row("version, spec", [(version, spec) for version, rows in OLDER.items() for spec in rows])
def test_channels_are_those_of_older_releases(version, spec):
    found = graphs(spec, Variables(nccl=release_of(version)))
    assert {name: found[name] for name in ("ring", "tree")} == OLDER[version][spec]

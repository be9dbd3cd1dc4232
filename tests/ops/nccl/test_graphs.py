"""The search beside NCCL's own code.

NCCL 2.30.7's `src/graph` was compiled and run on the topology files of the machines (`write_topology(machine,
"nccl_xml")`), with the ranks of one host or of two. `tests/data/nccl-graphs.json` has its graphs: the pattern,
crossNic, the number of channels, GB/s inside and between nodes, types of paths, whether channels are alike, and the
channels that differ as the NIC by which they come in, ranks and the NIC by which they go out.
"""

import json
from pathlib import Path

from ops.libraries.nccl.topology_search import look
from sim.machines import build
from tests.tables import each_row

ROWS = json.loads((Path(__file__).parents[2] / "data/nccl-graphs.json").read_text(encoding="utf-8"))


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


def graphs(spec):
    """The graphs of a machine's first node."""
    machine = build(spec)
    seen = look(machine, machine.n)
    part = seen.parts[0]
    graphs = {"ring": seen.rings.graphs[0], "tree": seen.trees.graphs[0], "nvls": seen.heads[0]}
    return {name: as_row(graph, part.system, part.ranks) for name, graph in graphs.items() if graph.channels}


@each_row("spec", [*ROWS])
def test_channels_are_those_of_nccl(spec):
    assert graphs(spec) == ROWS[spec]

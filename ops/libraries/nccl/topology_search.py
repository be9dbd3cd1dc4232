"""A machine as NCCL sees it: its nodes, its generation, the channels that a search makes in it."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ops.libraries.nccl.constants import GENERATIONS, Generation, Kind
from ops.libraries.nccl.releases import RELEASES, is_since
from ops.libraries.nccl.search.graphs import Channel, ChannelGraph, Pattern
from ops.libraries.nccl.search.nics import Nics, NicStops
from ops.libraries.nccl.search.nodes import NodeSystem, groups_of, systems_of
from ops.libraries.nccl.search.passes import graph_of
from ops.libraries.nccl.search.rccl import listed, rings_of
from ops.libraries.nccl.search.system import PathType, SearchRules, System
from ops.libraries.nccl.tuner import Situation
from ops.libraries.nccl.variables import FREE, Variables
from sim.errors import InputError
from sim.topology import Ints, Topology
from sim.topology.generations import REDUCING
from sim.units import GBps

LANES: tuple[tuple[float, Generation], ...] = ((40.1, "Blackwell"), (20.6, "Hopper"))
"""GB/s of one NVLink that tell a generation; older ones share theirs and are told by PCIe."""
COLUMNS: dict[str, Generation] = {"Pascal": "Volta", **{word: word for word in GENERATIONS}}
"""By generation, which of NCCL's tables count."""
MOST_SEARCHED = 128
"""GPUs of a node that are searched; the others of a larger one follow in order."""
XGMI = (24.0, 36.0, 48.0)
"""GB/s of one xGMI link: AMD's GPUs, which RCCL serves."""


@dataclass(frozen=True)
class Joined:
    """Channels of a pattern through all nodes: rings, or the chains of trees.

    `graphs` has the search's result for every node. Of its channels those of `picked` stand for all, as NCCL duplicates
    many; `orders` are theirs, each through all ranks and for its share of the data.
    """

    graphs: tuple[ChannelGraph, ...]
    picked: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Seen:
    """What NCCL makes of a machine's first n ranks: `nodes` has the ranks of every node, `nics` their NICs if any."""

    situation: Situation
    nodes: tuple[tuple[int, ...], ...]
    parts: tuple[NodeSystem, ...]
    amd: bool
    rings: Joined
    trees: Joined
    heads: tuple[ChannelGraph, ...] = ()
    nics: Nics | None = None

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Rings through all ranks, each for its share of the data."""
        return self.rings.orders

    @property
    def even(self) -> bool:
        """Whether all nodes have as many ranks."""
        return len({len(node) for node in self.nodes}) == 1

    @property
    def in_a_row(self) -> bool:
        """Whether nodes of one size hold ranks that follow each other."""
        return self.even and tuple(rank for node in self.nodes for rank in node) == tuple(range(self.situation.n))

    @property
    def group(self) -> int:
        """Ranks in a row on every node, or 1 where nodes are not like that."""
        return len(self.nodes[0]) if self.in_a_row else 1

    @property
    def balanced(self) -> bool:
        """Whether two GPUs of a node share a tree's traffic between nodes."""
        return self.trees.graphs[0].pattern != Pattern.TREE

    def ways(self, algorithm: str) -> NicStops | None:
        """By which NICs an algorithm's messages go between nodes; None where nodes have none, or there is one node."""
        return None if self.nics is None else _ways(self, algorithm)

    def doors(self, topology: Topology) -> list[dict[str, str | None]]:
        """By name the NIC by which every ring enters the first node, the one it leaves by, and who forwards to it."""
        ways, last = self.ways("Ring"), len(self.nodes[0]) - 1
        if ways is None:
            return []

        def name(device: int) -> str | None:
            return None if device < 0 else topology.devices[device].name

        return [
            {
                "enters": name(ways.receives[k, order[0]]),
                "leaves": name(ways.sends[k, order[last], 0]),
                "through": name(ways.relays[k, order[last], 0]),
            }
            for k, order in enumerate(self.orders)
        ]

    def spread(self, algorithm: str) -> tuple[tuple[int, ...], ...]:
        """One order of all ranks for each NIC that a GPU sends by at once, for what has no rings; none for one NIC."""
        if self.nics is None:
            return ()
        count = {"SendRecv": self.nics.most_per_gpu(), "PAT": len(self.trees.picked)}.get(algorithm, 1)
        return (tuple(range(self.situation.n)),) * count if count > 1 else ()


@lru_cache(maxsize=64)
def _ways(seen: Seen, algorithm: str) -> NicStops:
    """Kept, as neighbouring sizes go the same ways."""
    assert seen.nics is not None
    if algorithm == "SendRecv":
        return seen.nics.of_peers(seen.rings.graphs)
    if algorithm == "NVLSTree":
        return seen.nics.of_heads(seen.heads)
    joined = seen.rings if algorithm == "Ring" else seen.trees
    return seen.nics.of_channels(joined.graphs, joined.picked)


@lru_cache(maxsize=16)
def look(topology: Topology, n: int, variables: Variables = FREE) -> Seen:
    """The situation of the first n ranks, with orders, to an NCCL with these variables.

    Raises InputError for fewer than 2 ranks or unreachable ones.
    """
    if not 2 <= n <= topology.n:
        raise InputError("nccl.ranks", topology=topology.name, n=n, most=topology.n)
    nodes = _nodes(topology, n)
    devices = [topology.ranks[rank] for node in nodes for rank in node]
    topology.routes(devices, [*devices[1:], devices[0]])  # raises where a rank is cut off
    generation, amd = generation_of(topology), is_amd(topology)
    rules = SearchRules(variables.cross_nic, variables.uses_pxn and not amd, variables.nccl)
    small = tuple(node[:MOST_SEARCHED] for node in nodes)
    parts = systems_of(topology, small, generation, rules, variables.takes_nic)
    if len(nodes) > 1 and small == nodes and is_since(variables.nccl, "2.12"):
        split = tuple(sorted(group for part in parts for group in groups_of(part)))
        if len(split) > len(nodes):
            nodes = split
            parts = systems_of(topology, nodes, generation, rules, variables.takes_nic)
    results = {part.system: _graphs(topology, part, len(nodes), amd=amd) for part in parts}
    rings, trees, heads = zip(*(results[part.system] for part in parts), strict=True)
    count = min(len(one.channels) for one in (*rings, *trees))
    ring, tree, head = (_least(graphs) for graphs in (rings, trees, heads))
    kind: Kind = "NVLINK" if ring.type_intra == PathType.NVL else "PCI"
    farthest = PathType.PXN if generation in ("Hopper", "Blackwell") else PathType.PXB
    near = ring.type_inter <= farthest or len(nodes) == 1
    is_shared = generation in REDUCING and kind == "NVLINK"
    situation = Situation(
        n=n,
        nodes=len(nodes),
        generation=generation,
        channels=count,
        bw_intra=ring.bw_intra / 1000,
        bw_inter=ring.bw_inter / 1000,
        kind=kind,
        amd_cpu=parts[0].system.amd_cpu,
        ll128=kind == "NVLINK" and not amd and near,
        nvls_channels=len(head.channels) if is_shared else 0,
        same_channels=ring.same,
        bw_tree=tree.bw_intra / 1000,
        bw_net=tree.bw_inter / 1000,
        bw_nvls=head.bw_intra / 1000 if is_shared else 0.0,
        bw_nvls_net=head.bw_inter / 1000 if is_shared else 0.0,
        simple_tree=tree.pattern == Pattern.TREE,
        release=variables.nccl,
        variables=variables,
    )
    with_nics = len(nodes) > 1 and all(_has_nics(topology, part) for part in parts)
    nics = Nics(tuple(parts), _wires(topology, parts)) if with_nics else None
    return Seen(
        situation,
        nodes,
        tuple(parts),
        amd,
        _joined(nodes, parts, rings, count),
        _joined(nodes, parts, trees, count),
        heads,
        nics,
    )


def _wires(topology: Topology, parts: Sequence[NodeSystem]) -> Ints:
    """The network's device next to every NIC where nodes are parts of hosts; else nothing, as all routes lead there."""
    hosts = Counter(topology.devices[part.devices[part.system.gpus[0]]].host for part in parts)
    if max(hosts.values()) == 1:
        return np.empty(0, np.int32)
    wire_of = np.full(len(topology.devices), -1, np.int32)
    src, dst = topology.ends
    for i in np.flatnonzero((topology.kinds[src] == "NIC") & (topology.kinds[dst] == "NET")):
        wire_of[src[i]] = dst[i]
    return wire_of


def _has_nics(topology: Topology, part: NodeSystem) -> bool:
    """Whether what leads to the network are NICs, not ports of other devices."""
    return bool(part.system.nets) and all(topology.devices[part.devices[net]].kind == "NIC" for net in part.system.nets)


def _graphs(
    topology: Topology, part: NodeSystem, nodes: int, *, amd: bool
) -> tuple[ChannelGraph, ChannelGraph, ChannelGraph]:
    """Rings, trees and heads of NVLink SHARP on a node."""
    system = part.system
    most = RELEASES[system.rules.release].most_channels
    heads = graph_of(system, Pattern.NVLS, 1, 2 * most)
    table = rings_of(system) if amd else ()
    joined = any(edge.type in (PathType.NVL, PathType.PIX) for edge in system.edges)
    if table or topology.forwarding or not joined:
        channels = table or (_plain(system),)
        rate = _carried(topology, part, channels)
        tree = listed(channels, Pattern.BALANCED_TREE, rate, rate)
        return listed(channels, Pattern.RING, rate, rate), tree, heads
    rings = graph_of(system, Pattern.RING, 1, most)
    count = len(rings.channels)
    least = count if system.newest else 1
    return rings, graph_of(system, _tree_pattern(system, nodes), least, count), heads


def _tree_pattern(system: System, nodes: int) -> Pattern:
    """The shape of trees that the search begins with."""
    shape = "balanced" if system.newest else RELEASES[system.rules.release].tree_shape
    if shape == "by_nodes" and nodes <= 2:
        return Pattern.TREE
    split = shape == "split" or (shape == "by_nodes" and system.capability < 80)
    return Pattern.SPLIT_TREE if split else Pattern.BALANCED_TREE


def _plain(system: System) -> Channel:
    """All GPUs in order, by the NICs of the first and the last one."""
    return Channel(tuple(system.gpus), *(system.near.net(gpu, 0) for gpu in (system.gpus[0], system.gpus[-1])))


def _carried(topology: Topology, part: NodeSystem, channels: Sequence[Channel]) -> float:
    """MB/s that each of some channels carries beside the others, by the machine's own routes."""
    stops = [(at.enters, *at.gpus, at.leaves) if at.enters >= 0 else (*at.gpus, at.gpus[0]) for at in channels]
    ends = [(part.devices[a], part.devices[b]) for path in stops for a, b in pairwise(path) if a != b]
    links = topology.routes(*(np.array(end, np.int32) for end in zip(*ends, strict=True))).links
    crossed = np.bincount(links, minlength=len(topology.links))
    used = np.flatnonzero(crossed)
    return float((topology.bandwidth[used] / crossed[used]).min(initial=math.inf)) / GBps * 1000


def _least(graphs: Sequence[ChannelGraph]) -> ChannelGraph:
    """What the graphs of all nodes have in common: the fewest channels, the least speed, the farthest paths."""
    return ChannelGraph(
        max(graph.pattern for graph in graphs),
        max(graph.cross_nic for graph in graphs),
        all(graph.same for graph in graphs),
        max(graph.type_intra for graph in graphs),
        max(graph.type_inter for graph in graphs),
        1,
        0,
        min(graph.bw_intra for graph in graphs),
        min(graph.bw_inter for graph in graphs),
        channels=min((graph.channels for graph in graphs), key=len),
    )


def _joined(
    nodes: Sequence[tuple[int, ...]], parts: Sequence[NodeSystem], graphs: tuple[ChannelGraph, ...], count: int
) -> Joined:
    """The first channels of all nodes one after the other, each followed by ranks that were not searched.

    Rings that change the NIC change places on every other node, so that they cross no rail (ncclTopoPostset).
    """
    swaps = [
        graph.cross_nic == 2 and graph.pattern == Pattern.RING and count % 2 == 0 and m % 2
        for m, graph in enumerate(graphs)
    ]
    kinds = set(zip(graphs, swaps, strict=True))
    keys = [tuple((one.channels[c], one.channels[c ^ int(swap)]) for one, swap in kinds) for c in range(count)]
    counts = Counter(keys)
    shares = math.gcd(*counts.values())
    picked = tuple(keys.index(key) for key, times in counts.items() for _ in range(times // shares))

    def order(c: int) -> Iterator[int]:
        for node, part, graph, swap in zip(nodes, parts, graphs, swaps, strict=True):
            rank_of = dict(zip(part.system.gpus, part.ranks, strict=True))
            yield from (rank_of[gpu] for gpu in graph.channels[c ^ int(swap)].gpus)
            yield from node[MOST_SEARCHED:]

    return Joined(graphs, picked, tuple(tuple(order(c)) for c in picked))


def _nodes(topology: Topology, n: int) -> tuple[tuple[int, ...], ...]:
    """Ranks by node: a host, or the hosts that NVLinks join."""
    nodes: dict[int, list[int]] = {}
    for rank, node in enumerate(topology.nodes[list(topology.ranks[:n])].tolist()):
        nodes.setdefault(node, []).append(rank)
    return tuple(map(tuple, nodes.values()))


def generation_of(topology: Topology) -> Generation:
    """The column of NCCL's tables: that of the machine's generation, AMD's GPUs being in Ampere's.

    Where nothing says the generation, what one NVLink carries tells it, else PCIe: Hopper from gen5 on, Ampere on gen4.
    """
    if topology.generation:
        return COLUMNS.get(topology.generation, "Ampere")
    lanes = [x.bandwidth / x.lanes / GBps for x in topology.links if x.kind == "NVL"]
    for rate, generation in LANES:
        if any(abs(lane - rate) < 0.05 for lane in lanes):
            return generation
    gpus = {device.name for device in topology.devices if device.kind == "GPU"}
    pcie = [x.bandwidth / GBps for x in topology.links if x.kind == "PCI" and (x.src in gpus or x.dst in gpus)]
    usual = Counter(pcie).most_common(1)[0][0] if pcie else 24.0
    return "Volta" if usual < 20 else "Ampere" if usual < 40 or lanes else "Hopper"


def is_amd(topology: Topology) -> bool:
    """Whether its NVLinks are xGMI links: its GPUs are AMD's, or where nothing says it, by what they carry."""
    if topology.generation:
        return topology.generation.startswith("CDNA")
    lanes = {round(x.bandwidth / x.lanes / GBps, 3) for x in topology.links if x.kind == "NVL"}
    return bool(lanes & set(XGMI))


def rooted_orders(seen: Seen, root: int) -> tuple[tuple[int, ...], ...]:
    """The same rings, each beginning at the root."""
    return tuple(order[order.index(root) :] + order[: order.index(root)] for order in seen.orders)

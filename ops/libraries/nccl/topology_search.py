"""A machine as NCCL sees it: its nodes, its generation, what a search for rings finds in it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ops.libraries.nccl.constants import GENERATIONS, MOST_CHANNELS, NET_SPEEDS, SPEEDS, Generation, Kind
from ops.libraries.nccl.search.nics import RCCL, Gate, NicRules, Nics, NicStops, PathType, nics_of
from ops.libraries.nccl.search.rings import MOST_PATHS, closed_rings, open_paths
from ops.libraries.nccl.tuner import Situation
from ops.libraries.nccl.variables import FREE, Variables
from sim.errors import InputError
from sim.topology import Topology
from sim.topology.generations import REDUCING
from sim.topology.host import AMPERE
from sim.units import GBps

LANES: tuple[tuple[float, Generation], ...] = ((40.1, "Blackwell"), (20.6, "Hopper"))
"""GB/s of one NVLink that tell a generation; older ones share theirs and are told by PCIe."""
COLUMNS: dict[str, Generation] = {"Pascal": "Volta", **{word: word for word in GENERATIONS}}
"""By generation, which of NCCL's tables count."""
XGMI = (24.0, 36.0, 48.0)
"""GB/s of one xGMI link: AMD's GPUs, which RCCL serves."""


@dataclass(frozen=True)
class Seen:
    """What NCCL makes of a machine's first n ranks.

    `orders` are rings through all ranks, each for its share of the data; `nodes` the ranks of every node. Between nodes
    order i has `gates[i]`, and `nics` are those of all nodes, where they have any.
    """

    situation: Situation
    orders: tuple[tuple[int, ...], ...]
    nodes: tuple[tuple[int, ...], ...]
    amd: bool
    gates: tuple[Gate, ...] = ()
    nics: Nics | None = None

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
        """Whether two GPUs of a node share a tree's traffic between nodes.

        From Hopper on one GPU alone where no second one is as near to its NIC: ncclTopoCompute tries the simpler tree
        before ways that are longer.
        """
        simple = self.situation.generation in ("Hopper", "Blackwell")
        return not (simple and any(gate.relayed for gate in self.gates))

    def ways(self, algorithm: str) -> NicStops | None:
        """By which NICs an algorithm's messages go between nodes; None where nodes have none, or there is one node."""
        return None if self.nics is None else _ways(self.nics, self.gates, algorithm)

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
        of_gpu = max(self.nics.nodes[0].per_gpu(place) for place in range(len(self.nodes[0])))
        count = {"SendRecv": of_gpu, "PAT": len(self.gates)}.get(algorithm, 1)
        return (tuple(range(self.situation.n)),) * count if count > 1 else ()


@lru_cache(maxsize=64)
def _ways(nics: Nics, gates: tuple[Gate, ...], algorithm: str) -> NicStops:
    """Kept, as neighbouring sizes go the same ways."""
    if algorithm == "SendRecv":
        return nics.of_peers(max(map(nics.nodes[0].per_gpu, range(len(nics.nodes[0].types)))))
    if algorithm == "NVLSTree":
        return nics.of_heads()
    return nics.of_channels(gates if algorithm != "Tree" else tuple(gate._replace(crosses=False) for gate in gates))


@lru_cache(maxsize=16)
def look(topology: Topology, n: int, variables: Variables = FREE) -> Seen:
    """The situation of the first n ranks, with orders, to an NCCL with these variables.

    Raises InputError for fewer than 2 ranks or unreachable ones.
    """
    if not 2 <= n <= topology.n:
        raise InputError("nccl.ranks", topology=topology.name, n=n, most=topology.n)
    nodes = _nodes(topology, n)
    generation, amd = generation_of(topology), is_amd(topology)
    first = [topology.ranks[r] for r in nodes[0]]
    switch = any(device.kind == "NVS" for device in topology.devices)
    inside = closed_rings(topology, first)
    kind: Kind = "NVLINK" if nvlinks_join(topology, [first[i] for i in inside.orders[0]]) else "PCI"
    sharp = switch and kind == "NVLINK" and generation in REDUCING
    tree, net, through_cpu, heads, nvls = 0.0, 0.0, False, MOST_CHANNELS, 0.0
    gates: tuple[Gate, ...] = ()
    nics: Nics | None = None
    if len(nodes) == 1:
        channels, speed = _channels([inside.bandwidth] * len(inside.orders), SPEEDS[generation], generation)
        heads, nvls = _heads(n, inside.bandwidth, generation)
        orders = tuple(tuple(nodes[0][i] for i in order) for order in inside.orders)
    else:
        rules = RCCL if amd else NicRules(variables.cross_nic, variables.uses_pxn)
        nics = nics_of(topology, nodes, rules, variables.takes_nic)
        gates, own, nic, entering = _entrances(topology, nodes, nics)
        through_cpu = nics is None or nics.nodes[0].type_between > _farthest_ll128(generation)
        paths = open_paths(topology, first, gates, own, nic)
        g = len(first)
        inner = inside.bandwidth * len(inside.orders) if g > 1 else math.inf
        # an open path of g GPUs leaves the links of one of them alone, so that g - 1 of them carry g paths
        unclosed = inner * g / (g - 1) if g > 1 else math.inf
        rates = [paths.bandwidth] * len(paths.orders)
        closed = any(gate.relayed for gate in gates)
        most = min(inner if closed else unclosed, entering)
        channels, speed = _channels(rates, NET_SPEEDS[generation], generation, most)
        orders = _through(nodes, _alternating(paths.orders, gates, amd=amd))
        fitting = [rate for rate in NET_SPEEDS[generation] if rate * channels * GBps <= unclosed]
        outward = min(nic * len(gates), entering)
        net = max((rate for rate in fitting if speed <= rate <= outward / channels / GBps), default=speed)
        if len(nodes) == 2 and g > 1:
            tree = max((rate for rate in fitting if rate <= 2 * net), default=speed)
    situation = Situation(
        n=n,
        nodes=len(nodes),
        generation=generation,
        channels=channels,
        bw_intra=speed,
        bw_inter=speed,
        kind=kind,
        amd_cpu=any(x.kind == "SYS" and x.bandwidth == AMPERE.sys for x in topology.links),
        ll128=kind == "NVLINK" and not amd and not through_cpu,
        nvls_channels=heads if sharp else 0,
        bw_tree=tree,
        bw_net=net,
        bw_nvls=nvls if sharp else 0.0,
        release=variables.nccl,
        variables=variables,
    )
    return Seen(situation, orders, nodes, amd, gates, nics)


def _nodes(topology: Topology, n: int) -> tuple[tuple[int, ...], ...]:
    """Ranks by node: a host, or the hosts that NVLinks join."""
    nodes: dict[int, list[int]] = {}
    for rank, node in enumerate(topology.nodes[list(topology.ranks[:n])].tolist()):
        nodes.setdefault(node, []).append(rank)
    return tuple(map(tuple, nodes.values()))


def nvlinks_join(topology: Topology, devices: Sequence[int]) -> bool:
    """Whether every device reaches the next over NVLinks alone."""
    if len(devices) < 2:
        return False
    routes = topology.routes(devices[:-1], devices[1:])
    return all(topology.links[i].kind == "NVL" for i in routes.links)


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


def _channels(
    carried: list[float], speeds: Sequence[float], generation: Generation, most: float = math.inf
) -> tuple[int, float]:
    """How many channels at which speed (GB/s) use rings of so many B/s best, `most` of it in all.

    The search begins at the top and is content with what a slower speed betters by less than a tenth; fast channels
    are then split in two, as ncclTopoDupChannels does.
    """
    count, rate = 1, min(carried) / GBps
    for speed in speeds:
        fit = min(MOST_CHANNELS, sum(int(ring / GBps / speed * (1 + 1e-9)) for ring in carried), most // (speed * GBps))
        if fit and (rate not in speeds or fit * speed > 1.1 * count * rate):
            count, rate = int(fit), speed
    stays = rate < 25 or (generation in ("Hopper", "Blackwell") and rate < 50 and count > 4) or count == MOST_CHANNELS
    stays |= generation == "Blackwell"  # measured: 8 B200 take Simple at 16 MiB, where 16 channels would take LL128
    if stays:
        return count, rate
    split = min(2 * count, MOST_CHANNELS)
    return split, rate / -(-split // count)


def _heads(gpus: int, carried: float, generation: Generation) -> tuple[int, float]:
    """Channels of the graph for NVLink SHARP, one headed by each GPU, and their speed (GB/s).

    Every channel crosses every GPU's NVLinks once each way (`src/graph/search.cc`, ncclTopoSearchTryNvls), so four
    GPUs have half the channels of eight, and their speed is bounded by the fastest there is, not by their links.
    """
    fitting = [speed for speed in SPEEDS[generation] if gpus * speed * GBps <= carried * (1 + 1e-9)]
    return gpus, max(fitting, default=0.0)


class Entrances(NamedTuple):
    """Where channels enter the first node: gates, the NIC of every place, B/s of a NIC and of all GPUs entered."""

    gates: tuple[Gate, ...]
    own: list[int]
    nic: float
    entering: float


def _entrances(topology: Topology, nodes: tuple[tuple[int, ...], ...], nics: Nics | None) -> Entrances:
    if nics is None:
        return _entrances_of_routes(topology, nodes)
    node = nics.nodes[0]
    gates, own = node.gates[:MOST_PATHS], [node.local(place, 0) for place in range(len(node.types))]
    wires = _network_rates(topology)
    nic = min(min(node.rate(gate), wires[nics.devices[0][gate.nic]]) for gate in gates)
    entered = {gate.enters for gate in gates}
    return Entrances(gates, own, nic, sum(float(node.rates[place].max()) for place in entered))


def _network_rates(topology: Topology) -> dict[int, float]:
    """What every device's links to the network carry, B/s."""
    rates: dict[int, float] = {}
    for link in topology.links:
        if link.kind == "NET":
            at = topology.index[link.src]
            rates[at] = rates.get(at, 0.0) + link.bandwidth
    return rates


def _entrances_of_routes(topology: Topology, nodes: tuple[tuple[int, ...], ...]) -> Entrances:
    """The same where nodes have no NICs: they are what the routes of their ranks leave by."""
    senders = [topology.ranks[r] for r in nodes[0]]
    peers = [topology.ranks[nodes[1][i % len(nodes[1])]] for i in range(len(senders))]
    offsets, links = topology.routes(senders, peers)
    doors, rates = [], []
    for k in range(len(senders)):
        route = [topology.links[i] for i in links[offsets[k] : offsets[k + 1]]]
        doors.append(next((x.src for x in route if x.kind == "NET"), route[0].src))
        rates.append(min(x.bandwidth for x in route if x.kind in ("NET", "PCI") or len(route) < 3))
    own = [doors.index(door) for door in doors]
    firsts = tuple(dict.fromkeys(own))[:MOST_PATHS]
    gates = tuple(
        Gate(p, p, tuple(q for q in firsts if q != p) or tuple(range(len(own))), crosses=True) for p in firsts
    )
    return Entrances(gates, own, min(rates), math.inf)


def _farthest_ll128(generation: Generation) -> PathType:
    """How far a NIC may be for LL128: PXB, from Hopper on PXN (`src/graph/tuning.cc`, NCCL_LL128_C2C)."""
    return PathType.PXN if generation in ("Hopper", "Blackwell") else PathType.PXB


def _alternating(
    paths: tuple[tuple[int, ...], ...], gates: tuple[Gate, ...], *, amd: bool
) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The paths of even and of odd nodes: pairs that change the NIC change places, so that no rail is crossed.

    ncclTopoPostset, `src/graph/connect.cc`, for crossNicRing 2.
    """
    if amd or len(paths) % 2 or not all(gate.crosses for gate in gates):
        return paths, paths
    return paths, tuple(paths[k ^ 1] for k in range(len(paths)))


def _through(
    nodes: tuple[tuple[int, ...], ...], paths: tuple[tuple[tuple[int, ...], ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Rings through all nodes: each path in every node in turn, of those for even and for odd ones.

    Nodes with fewer ranks than the first keep what they have of it, those with more append the rest.
    """

    def along(node: tuple[int, ...], path: tuple[int, ...]) -> tuple[int, ...]:
        return (*(node[i] for i in path if i < len(node)), *node[len(path) :])

    return tuple(
        tuple(rank for m, node in enumerate(nodes) for rank in along(node, paths[m % 2][k]))
        for k in range(len(paths[0]))
    )


def rooted_orders(seen: Seen, root: int) -> tuple[tuple[int, ...], ...]:
    """The same rings, each beginning at the root."""
    return tuple(order[order.index(root) :] + order[: order.index(root)] for order in seen.orders)

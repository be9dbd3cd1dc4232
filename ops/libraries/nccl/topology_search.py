"""A machine as NCCL sees it: its nodes, its generation, what a search for rings finds in it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ops.libraries.nccl.constants import GENERATIONS, MOST_CHANNELS, NET_SPEEDS, SPEEDS, Generation, Kind
from ops.libraries.nccl.rings import closed_rings, open_paths
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

    `orders` are rings through all ranks, each for its share of the data; `nodes` the ranks of every node.
    """

    situation: Situation
    orders: tuple[tuple[int, ...], ...]
    nodes: tuple[tuple[int, ...], ...]
    amd: bool

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
    tree, through_cpu, heads, nvls = 0.0, False, MOST_CHANNELS, 0.0
    if len(nodes) == 1:
        channels, speed = _channels([inside.bandwidth] * len(inside.orders), SPEEDS[generation], generation)
        heads, nvls = _heads(n, inside.bandwidth, generation)
        orders = tuple(tuple(nodes[0][i] for i in order) for order in inside.orders)
    else:
        nic_of, nic, through_cpu = _nics(topology, nodes)
        paths = open_paths(topology, first, nic_of, nic)
        g = len(first)
        # an open path of g GPUs leaves the links of one of them alone, so that g - 1 of them carry g paths
        total = inside.bandwidth * len(inside.orders) * g / (g - 1) if g > 1 else math.inf
        rates = [paths.bandwidth] * len(paths.orders)
        channels, speed = _channels(rates, NET_SPEEDS[generation], generation, total)
        orders = _through(nodes, paths.orders)
        more = [rate for rate in NET_SPEEDS[generation] if rate <= 2 * speed and rate * channels * GBps <= total]
        tree = max(more, default=speed) if len(nodes) == 2 and len(first) > 1 else 0.0
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
        bw_nvls=nvls if sharp else 0.0,
        release=variables.nccl,
        variables=variables,
    )
    return Seen(situation, orders, nodes, amd)


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


def _nics(topology: Topology, nodes: tuple[tuple[int, ...], ...]) -> tuple[list[int], float, bool]:
    """The NIC by which each rank of the first node leaves it, what one carries (B/s), and whether CPUs are on the way.

    A path over a CPU is PHB or farther, where NCCL does without LL128.
    """
    senders = [topology.ranks[r] for r in nodes[0]]
    peers = [topology.ranks[nodes[1][i % len(nodes[1])]] for i in range(len(senders))]
    offsets, links = topology.routes(senders, peers)
    nic_of, rates = [], []
    cpus = {device.name for device in topology.devices if device.kind == "CPU"}
    through_cpu = False
    for k in range(len(senders)):
        route = [topology.links[i] for i in links[offsets[k] : offsets[k + 1]]]
        out = next((x.src for x in route if x.kind == "NET"), route[0].src)
        nic_of.append(topology.index[out])
        through_cpu |= any(x.dst in cpus for x in route)
        rates.append(min(x.bandwidth for x in route if x.kind in ("NET", "PCI") or len(route) < 3))
    return nic_of, min(rates), through_cpu


def _through(nodes: tuple[tuple[int, ...], ...], paths: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Rings through all nodes: each path in every node in turn.

    Nodes with fewer ranks than the first keep what they have of it, those with more append the rest.
    """
    return tuple(
        tuple(rank for node in nodes for rank in (*(node[i] for i in path if i < len(node)), *node[len(path) :]))
        for path in paths
    )


def rooted_orders(seen: Seen, root: int) -> tuple[tuple[int, ...], ...]:
    """The same rings, each beginning at the root."""
    return tuple(order[order.index(root) :] + order[: order.index(root)] for order in seen.orders)

"""Which NIC each of NCCL's channels has on every node, and how a GPU gets to it.

Rules are those of NCCL 2.30; what another release does otherwise is said where it is.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import UnreachableError
from sim.topology import Ints, Topology
from sim.topology.devices import kinds_of
from sim.units import GBps

NONE = -1
C2C = 100 * GBps
"""B/s from which on the link of a GPU and its CPU is a C2C link, not PCIe."""
MOST_LOCAL = 64
"""Channels for which a GPU's NICs are looked for: MAXCHANNELS."""


class PathType(IntEnum):
    """How far a NIC is from a GPU: PATH_PIX and so on of `src/graph/topo.h`, in its order."""

    PIX, PXB, P2C, PXN, PHB, SYS, NET = range(7)


class NicRules(NamedTuple):
    """What a person may change of it: NCCL_CROSS_NIC, and whether a GPU may forward what another one sends (PXN)."""

    cross_nic: int = 2
    uses_pxn: bool = True


NVIDIA = NicRules()
RCCL = NicRules(cross_nic=1, uses_pxn=False)
"""RCCL's rings leave by the NIC of the GPU that they leave from (`src/graph/rome_models.cc`), and it has PXN off."""


class Gate(NamedTuple):
    """Where a channel enters a node and by which GPUs it may leave, as places in the node.

    It comes in by a NIC of this number and leaves by the same, or where it `crosses` by that of the GPU it leaves from.
    GPUs of `relayed` send through the one it `enters`.
    """

    nic: int
    enters: int
    leaves: tuple[int, ...]
    relayed: bool = False
    crosses: bool = False


@dataclass(frozen=True, eq=False)
class NodeNics:
    """The NICs of a node as its GPUs see them; arrays have one row for each GPU's place, one column for each NIC."""

    types: NDArray[np.int8]
    """The `PathType` of every GPU and NIC."""
    rates: NDArray[np.float64]
    """B/s on the way from every GPU to every NIC, without the network."""
    hosts: tuple[int, ...]
    """The host of every GPU."""
    turns: tuple[int, ...]
    """The number of every GPU among those of its host."""
    nvlinks: NDArray[np.bool_]
    """Which GPUs reach which over NVLinks alone."""
    rules: NicRules

    @cached_property
    def gpus_of(self) -> list[list[int]]:
        """The GPUs nearest to each NIC."""
        return list(map(_nearest, self.rates.T, self.types.T))

    @cached_property
    def directly(self) -> list[list[int]]:
        """The NICs nearest to each GPU: those of the highest rate, of these the nearest (ncclTopoGetLocal)."""
        return list(map(_nearest, self.rates, self.types))

    @cached_property
    def locals_of(self) -> list[list[int]]:
        """The same once GPUs forward: a NIC that another GPU forwards to is nearer than one behind the CPU."""
        reached = [[self.type_of(place, nic) for nic in range(self.types.shape[1])] for place in range(len(self.types))]
        return list(map(_nearest, self.rates, np.array(reached, np.int8)))

    def per_gpu(self, place: int) -> int:
        """Over how many NICs the channels of a GPU are spread (NCCL_NETDEVS_POLICY=AUTO)."""
        return self._spread(self.locals_of[place])

    def local(self, place: int, channel: int) -> int:
        """The NIC of a GPU on a channel: equally near ones are shared out (ncclTopoGetLocalNet).

        GPUs begin at NICs far from each other: of eight GPUs and four NICs those of GPU 0 to 3 are 0, 2, 1 and 3.
        """
        return self._shared_out(self.locals_of[place], place, channel)

    def _spread(self, local: list[int]) -> int:
        return -(-len(local) // len(self.gpus_of[local[0]]))

    def _shared_out(self, local: list[int], place: int, channel: int) -> int:
        first = self.turns[place] % len(self.gpus_of[local[0]])
        if len(local) & (len(local) - 1) == 0:
            first = _mirrored(first, len(local))
        return local[(first + channel % self._spread(local)) % len(local)]

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The NICs by which channels enter, in turn (ncclTopoPrefNetsChannelFirst, and GPU first on several hosts)."""
        places, channels = range(len(self.types)), range(MOST_LOCAL)
        if len(set(self.hosts)) > 1:
            order = [(place, channel) for channel in channels for place in places]
        else:
            order = [(place, channel) for place in places for channel in channels]
        return tuple(dict.fromkeys(self.local(*both) for both in order if both[1] < self.per_gpu(both[0])))

    @cached_property
    def gpu_of(self) -> list[int]:
        """The GPU of each NIC: the first near one whose own it is on a channel (ncclTopoGetLocalGpu); -1 for none."""

        def owner(nic: int) -> int:
            near = {place: self.directly[place] for place in self.gpus_of[nic]}
            turns = product(range(max(map(self._spread, near.values()))), near)
            return next((p for channel, p in turns if self._shared_out(near[p], p, channel) == nic), NONE)

        return list(map(owner, range(len(self.gpus_of))))

    def relay(self, place: int, nic: int) -> int:
        """The GPU through which another one sends to a NIC, over NVLink (PXN); -1 where it sends by itself.

        ncclTopoComputePaths, `src/graph/paths.cc`: that GPU is near the NIC, on the same host, and has more bandwidth
        to it or spares the way through a CPU. Nothing is forwarded to the receiver ("We don't support PXN on receive
        yet", `src/transport/net.cc`).
        """
        peer = self.gpu_of[nic]
        if not self.rules.uses_pxn or peer in (NONE, place) or self.hosts[peer] != self.hosts[place]:
            return NONE
        if self.types[peer, nic] > PathType.P2C or not self.nvlinks[peer, place]:
            return NONE
        better = self.rates[peer, nic] > self.rates[place, nic] or self.types[place, nic] > PathType.PXN
        return peer if better else NONE

    def type_of(self, place: int, nic: int) -> int:
        """The type of the way that is taken from a GPU to a NIC."""
        return PathType.PXN if self.relay(place, nic) != NONE else int(self.types[place, nic])

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Where channels come in and go out, one for each NIC by which they enter, in turn.

        A ring leaves by the NIC it came in by (ncclTopoSearchCheckNet with crossNic 0), from another GPU of the nearest
        type there is, as the search tries one after another. By another NIC it goes where that would be on another
        socket (crossNic 2), or always where NCCL_CROSS_NIC=1.
        """
        owners = tuple(dict.fromkeys(max(self.gpu_of[nic], 0) for nic in self.used))
        gates = [self._gate(nic, owners) for nic in self.used]
        if self.rules.cross_nic == 2:  # two that change the NIC go opposite ways
            for one, other in zip(gates[::2], gates[1::2], strict=False):
                if one.crosses and other.crosses and one.enters != other.enters:
                    at = gates.index(one)
                    gates[at : at + 2] = one._replace(leaves=(other.enters,)), other._replace(leaves=(one.enters,))
        return tuple(gates)

    def _gate(self, nic: int, owners: tuple[int, ...]) -> Gate:
        enters = max(self.gpu_of[nic], 0)
        others = [place for place in range(len(self.types)) if place != enters] or [enters]
        types = [self.type_of(place, nic) for place in others]
        nearest = min(types)
        away = tuple(place for place in owners if place != enters)
        if away and (self.rules.cross_nic == 1 or (self.rules.cross_nic and nearest >= PathType.SYS)):
            return Gate(nic, enters, away, crosses=True)
        leaves = tuple(place for place, kind in zip(others, types, strict=True) if kind == nearest)
        return Gate(nic, enters, leaves, relayed=nearest == PathType.PXN)

    @property
    def type_between(self) -> int:
        """The farthest type that a ring takes to a NIC: typeInter of its graph."""
        leaving = (self.type_of(gate.leaves[0], gate.nic) for gate in self.gates if not gate.crosses)
        return max(int(max(self.types[gate.enters, gate.nic] for gate in self.gates)), *leaving, 0)

    def rate(self, gate: Gate) -> float:
        """B/s between the NIC of a channel and the GPU it enters."""
        return float(self.rates[gate.enters, gate.nic])

    def peer_nic(self, place: int, channel: int, peer_turn: int) -> int:
        """The NIC by which a GPU sends to one of another node: that of its own GPU with the peer's number, by PXN.

        ncclTopoGetNetDev without a graph, NCCL_P2P_PXN_LEVEL=2; without PXN the GPU's own, with NCCL_CROSS_NIC=0 that
        of the peer's number in any case.
        """
        alike = [p for p, turn in enumerate(self.turns) if turn == peer_turn and self.hosts[p] == self.hosts[place]]
        own = self.local(place, channel)
        if not alike:
            return own
        nic = self.local(alike[0], channel)
        if alike[0] == place or self.rules.cross_nic == 0:
            return nic
        peer = self.gpu_of[nic] if self.rules.uses_pxn else NONE
        near = peer != NONE and self.types[peer, nic] <= PathType.P2C and (self.nvlinks[peer, place] or peer == place)
        return nic if near else own


def _nearest(rates: NDArray[np.float64], types: NDArray[np.int8]) -> list[int]:
    fastest = rates == rates.max()
    nearest: list[int] = np.flatnonzero(fastest & (types == types[fastest].min())).tolist()
    return nearest


def _mirrored(number: int, power: int) -> int:
    """The bits of a number below a power of two in reverse order (mirrorBits).

    >>> [_mirrored(k, 4) for k in range(5)]
    [0, 2, 1, 3, 0]
    """
    bits = power.bit_length() - 1
    return int(f"{number % power:0{bits}b}"[::-1], 2) if bits else 0


@dataclass(frozen=True, eq=False)
class Nics:
    """The NICs of all nodes, and by which of them the messages of ranks go."""

    nodes: tuple[NodeNics, ...]
    devices: tuple[Ints, ...]
    """Device indices of the NICs of every node."""
    gpus: tuple[Ints, ...]
    """Device indices of the GPUs of every node."""
    node_of: Ints
    place_of: Ints
    """The node of every rank and its place there."""

    def of_channels(self, gates: Sequence[Gate]) -> "NicStops":
        """The ways of rings' and trees' messages, whose channels have these gates on every node."""

        def receives(node: NodeNics, place: int, channel: int) -> int:
            nic = node.local(place, 0) if gates[channel].crosses else gates[channel].nic
            return nic if nic in node.used else node.used[channel % len(node.used)]

        return self._ways(len(gates), 1, lambda node, place, channel, peer: receives(node, place, channel), receives)

    def of_heads(self) -> "NicStops":
        """The ways of messages between GPUs that head shares of the data: each has its own NICs (getNvlsNetDev)."""
        return self._ways(2, 1, lambda node, place, channel, peer: node.local(place, channel), NodeNics.local)

    def of_peers(self, channels: int) -> "NicStops":
        """The ways of sends and receives, whose NIC depends on both ends."""
        turns = 1 + max(max(node.turns) for node in self.nodes)
        return self._ways(channels, turns, NodeNics.peer_nic, NodeNics.local)

    def _ways(self, channels: int, peers: int, sends: "Sends", receives: "Receives") -> "NicStops":
        """A table of the NICs that functions tell for the GPUs of a node."""
        n = len(self.node_of)
        table = np.full((3, channels, n, peers), NONE, np.int32)
        for k, node in enumerate(self.nodes):
            places = _table(node, channels, peers, sends, receives)
            ranks = np.flatnonzero(self.node_of == k)
            relay, send, receive = places[:, :, self.place_of[ranks]]
            table[0][:, ranks] = np.where(relay == NONE, NONE, self.gpus[k][relay])
            table[1][:, ranks], table[2][:, ranks] = self.devices[k][send], self.devices[k][receive]
        turn_of = np.zeros(n, np.int32)
        if peers > 1:
            turn_of[:] = [self.nodes[k].turns[place] for k, place in zip(self.node_of, self.place_of, strict=True)]
        return NicStops(self.node_of, turn_of, table[0], table[1], table[2][:, :, 0])


Sends = Callable[[NodeNics, int, int, int], int]
"""From a node, a place, a channel and the number of the peer's GPU to the NIC by which is sent."""
Receives = Callable[[NodeNics, int, int], int]
"""The same for what is received, whoever sends it."""


@lru_cache(maxsize=64)
def _table(node: NodeNics, channels: int, peers: int, sends: Sends, receives: Receives) -> Ints:
    """The place that forwards and the NICs that send and receive, shape (3, channels, places, peers)."""
    table = np.full((3, channels, len(node.types), peers), NONE, np.int32)
    for channel, place, peer in np.ndindex(*table.shape[1:]):
        nic = sends(node, place, channel, peer)
        table[:, channel, place, peer] = node.relay(place, nic), nic, receives(node, place, channel)
    return table


@dataclass(frozen=True, eq=False)
class NicStops:
    """Devices that messages between nodes pass (`sim.schedule.Via`), by channel, rank and the number of the peer's GPU.

    Without that number, its axis has one entry.
    """

    node_of: Ints
    turn_of: Ints
    """The number of every rank's GPU on its host; 0 where it does not matter."""
    relays: Ints
    """The GPU that forwards what a rank sends, shape (channels, ranks, peers)."""
    sends: Ints
    """The NIC by which a rank sends, of the same shape."""
    receives: Ints
    """The NIC by which a rank receives, shape (channels, ranks)."""

    def __call__(self, src: Ints, dst: Ints, channel: Ints) -> Ints:
        """Stops of messages between these ranks; switches and ranks of one node have none."""
        n = len(self.node_of)
        on = np.asarray(channel) % len(self.sends)
        a, b = np.minimum(src, n - 1), np.minimum(dst, n - 1)
        far = (src < n) & (dst < n) & (self.node_of[a] != self.node_of[b])
        turn = self.turn_of[b]
        stops = np.column_stack([self.relays[on, a, turn], self.sends[on, a, turn], self.receives[on, b]])
        return np.where(far[:, None], stops, NONE).astype(np.int32)


def nics_of(
    topology: Topology,
    nodes: Sequence[Sequence[int]],
    rules: NicRules = NVIDIA,
    takes: Callable[[int, str], bool] = lambda number, name: True,
) -> Nics | None:
    """The NICs of the nodes of a machine, whose ranks are given; None where a node has none that leads to a network.

    `takes` tells which of a host's NICs are used, by number and, where it has one of its own, by name.
    """
    src, dst = topology.ends
    kinds = kinds_of(topology.devices)
    leads = np.zeros(len(topology.devices), np.bool_)
    outward = np.array([link.kind == "NET" for link in topology.links], np.bool_)
    leads[src[outward]] = leads[dst[outward]] = True
    leads &= (kinds == "NIC") & _taken(topology, kinds, takes)
    at = topology.nodes
    gpus = [np.array([topology.ranks[r] for r in node], np.int32) for node in nodes]
    devices = [np.flatnonzero(leads & (at == at[node[0]])).astype(np.int32) for node in gpus]
    if not all(map(len, devices)):
        return None
    try:
        seen = tuple(_seen(topology, node, nics, rules) for node, nics in zip(gpus, devices, strict=True))
    except UnreachableError:
        return None
    node_of, place_of = np.empty((2, sum(map(len, nodes))), np.int32)
    for k, node in enumerate(nodes):
        node_of[list(node)], place_of[list(node)] = k, np.arange(len(node))
    return Nics(seen, tuple(devices), tuple(gpus), node_of, place_of)


def _taken(topology: Topology, kinds: NDArray[np.str_], takes: Callable[[int, str], bool]) -> NDArray[np.bool_]:
    """Which devices are NICs that are used."""
    taken, counted = np.zeros(len(kinds), np.bool_), Counter[int]()
    for i in np.flatnonzero(kinds == "NIC").tolist():
        device = topology.devices[i]
        plain = device.name.rpartition(".")[2]
        taken[i] = takes(counted[device.host], "" if re.fullmatch(r"NIC\d+", plain) else plain)
        counted[device.host] += 1
    return taken


def _seen(topology: Topology, gpus: Ints, nics: Ints, rules: NicRules) -> NodeNics:
    g, k = len(gpus), len(nics)
    ways = topology.routes(np.repeat(gpus, k), np.tile(nics, g))
    types, rates = np.zeros(g * k, np.int8), np.zeros(g * k)
    for i in range(g * k):
        types[i], rates[i] = _kind(topology, ways.links[ways.offsets[i] : ways.offsets[i + 1]].tolist())
    peers = topology.routes(np.repeat(gpus, g), np.tile(gpus, g))
    nvlink = np.array([link.kind == "NVL" for link in topology.links], np.bool_)
    crossed = np.concatenate([[0], np.cumsum(~nvlink[peers.links])])
    near = (crossed[peers.offsets[1:]] == crossed[peers.offsets[:-1]]).reshape(g, g)
    hosts = tuple(topology.devices[i].host for i in gpus.tolist())
    numbers: dict[int, list[int]] = {}
    for i in np.flatnonzero(kinds_of(topology.devices) == "GPU").tolist():
        numbers.setdefault(topology.devices[i].host, []).append(i)
    turns = tuple(numbers[host].index(i) for host, i in zip(hosts, gpus.tolist(), strict=True))
    return _shared(types.tobytes(), rates.tobytes(), near.tobytes(), tuple(h - hosts[0] for h in hosts), turns, rules)


@lru_cache(maxsize=64)
def _shared(
    types: bytes, rates: bytes, near: bytes, hosts: tuple[int, ...], turns: tuple[int, ...], rules: NicRules
) -> NodeNics:
    """Nodes that look the same are one, so that what one comes to is known of all."""
    g = len(hosts)
    return NodeNics(
        np.frombuffer(types, np.int8).reshape(g, -1),
        np.frombuffer(rates).reshape(g, -1),
        hosts,
        turns,
        np.frombuffer(near, np.bool_).reshape(g, g),
        rules,
    )


def _kind(topology: Topology, route: list[int]) -> tuple[PathType, float]:
    """The type of a way over some links, and what it carries, B/s."""
    links = [topology.links[i] for i in route]
    ends = [topology.devices[topology.index[end]].kind for link in links for end in (link.src, link.dst)]
    rate = min((link.bandwidth for link in links), default=np.inf)
    crossed = {link.kind for link in links}
    if "NET" in crossed:
        return PathType.NET, 0.0
    if "SYS" in crossed:
        return PathType.SYS, rate
    if "CPU" in ends:
        to_cpu = links[0].bandwidth
        return (PathType.P2C if to_cpu >= C2C else PathType.PHB), rate
    return (PathType.PXB if ends.count("PCI") > 2 else PathType.PIX), rate

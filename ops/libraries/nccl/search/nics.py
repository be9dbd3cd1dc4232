"""By which NICs messages go between nodes, and which GPU forwards them (ncclTopoGetNetDev of NCCL 2.30.7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ops.libraries.nccl.search.graphs import ChannelGraph
from ops.libraries.nccl.search.nodes import NodeSystem
from ops.libraries.nccl.search.system import PathType, System
from sim.topology import Ints

NONE = -1
Way = Callable[[System, ChannelGraph, int, int, int], int]
"""From a system, its graph, a GPU, a channel and the number of the peer's GPU to the NIC of a message."""


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
    wire_of: Ints
    """The network's device next to every NIC, where ranks of a host send each other by NICs; else empty."""

    def __call__(self, src: Ints, dst: Ints, channel: Ints) -> Ints:
        """Stops of messages between these ranks; switches and ranks of one node have none."""
        n = len(self.node_of)
        on = np.asarray(channel) % len(self.sends)
        a, b = np.minimum(src, n - 1), np.minimum(dst, n - 1)
        far = (src < n) & (dst < n) & (self.node_of[a] != self.node_of[b])
        turn = self.turn_of[b]
        sends, receives = self.sends[on, a, turn], self.receives[on, b]
        wires = [self.wire_of[sends], self.wire_of[receives]] if len(self.wire_of) else []
        stops = np.column_stack([self.relays[on, a, turn], sends, *wires, receives])
        return np.where(far[:, None], stops, NONE).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Nics:
    """The NICs of all nodes; `wire_of` as `NicStops` has it."""

    nodes: tuple[NodeSystem, ...]
    wire_of: Ints

    @cached_property
    def node_of(self) -> Ints:
        """The node of every rank."""
        node_of = np.empty(sum(len(node.ranks) for node in self.nodes), np.int32)
        for k, node in enumerate(self.nodes):
            node_of[list(node.ranks)] = k
        return node_of

    def most_per_gpu(self) -> int:
        """The NICs over which the channels of a GPU of the first node are spread, at most."""
        system = self.nodes[0].system
        return max(map(system.near.per_gpu, system.gpus))

    def of_channels(self, graphs: Sequence[ChannelGraph], picked: Sequence[int]) -> NicStops:
        """The ways of some channels of rings or trees, whose first GPU has the NIC they enter by.

        `graphs` has that of every node.
        """

        def nic(system: System, graph: ChannelGraph, gpu: int, channel: int, peer: int) -> int:
            at = graph.channels[picked[channel]]
            return at.enters if gpu == at.gpus[0] else at.leaves

        return self._table(len(picked), 1, graphs, nic, nic)

    def of_heads(self, graphs: Sequence[ChannelGraph]) -> NicStops:
        """The ways between GPUs that head channels to NVSwitches, each by its own NICs in turn (getNvlsNetDev)."""

        def nic(system: System, graph: ChannelGraph, gpu: int, channel: int, peer: int) -> int:
            own = [at.enters for at in graph.channels if at.gpus[0] == gpu]
            return own[channel % len(own)] if own else system.near.net(gpu, channel)

        return self._table(2, 1, graphs, nic, nic)

    def of_peers(self, graphs: Sequence[ChannelGraph]) -> NicStops:
        """The ways of sends and receives, whose NIC depends on both ends and on no graph."""

        def receives(system: System, graph: ChannelGraph, gpu: int, channel: int, peer: int) -> int:
            return system.near.net(gpu, channel)

        turns = 1 + max(max(node.system.numbers) for node in self.nodes)
        return self._table(self.most_per_gpu(), turns, graphs, _to_peer, receives)

    def _table(self, channels: int, peers: int, graphs: Sequence[ChannelGraph], sends: Way, receives: Way) -> NicStops:
        """A table of the NICs that functions return for the GPUs of every node, once for nodes that look alike."""
        n = len(self.node_of)
        table = np.full((3, channels, n, peers), NONE, np.int32)
        turn_of = np.zeros(n, np.int32)
        made: dict[int, Ints] = {}
        for k, node in enumerate(self.nodes):
            system: System = node.system
            if id(system) not in made:
                made[id(system)] = _local(system, graphs[k], channels, peers, sends, receives)
            real = np.array((*node.devices, NONE), np.int32)
            table[:, :, list(node.ranks)] = real[made[id(system)]]
            if peers > 1:
                turn_of[list(node.ranks)] = system.numbers
        return NicStops(self.node_of, turn_of, table[0], table[1], table[2][:, :, 0], self.wire_of)


def _local(system: System, graph: ChannelGraph, channels: int, peers: int, sends: Way, receives: Way) -> Ints:
    """The GPU that forwards and the NICs that send and receive, shape (3, channels, GPUs, peers)."""
    table = np.full((3, channels, len(system.gpus), peers), NONE, np.int32)
    for channel, place, peer in np.ndindex(*table.shape[1:]):
        gpu = system.gpus[place]
        net = sends(system, graph, gpu, channel, peer)
        through = system.path(gpu, net).through if net >= 0 else NONE
        table[:, channel, place, peer] = through, net, receives(system, graph, gpu, channel, peer)
    return table


def _to_peer(system: System, graph: ChannelGraph, gpu: int, channel: int, peer_turn: int) -> int:
    """The NIC by which a GPU sends to one of another node: that of its own GPU with the peer's number, by PXN.

    NCCL_P2P_PXN_LEVEL=2; without PXN the GPU's own, with NCCL_CROSS_NIC=0 that of the peer's number in any case.
    """
    near, own = system.near, system.near.net(gpu, channel)
    gpus = zip(system.gpus, system.numbers, strict=True)
    alike = [other for other, turn in gpus if turn == peer_turn and system.hosts[other] == system.hosts[gpu]]
    if not alike:
        return own
    net = near.net(alike[0], channel)
    if alike[0] == gpu or system.rules.cross_nic == 0:
        return net
    relay = near.gpu_of(net) if system.rules.uses_pxn else NONE
    if relay == NONE or system.path(relay, net).type > PathType.P2C:
        return own
    return net if system.path(relay, gpu).type <= PathType.NVL else own

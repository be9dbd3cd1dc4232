"""NCCL's search for rings, trees and NVLink SHARP heads on a node: which GPUs follow each other, by which NICs.

NCCL 2.30.7 `src/graph/search.cc`. An attempt looks for channels of one speed over paths of certain types;
ncclTopoCompute makes attempts (`attempts`) from the highest speed and the nearest paths on (`passes`). Speeds are MB/s.
Releases before 2.18 list NICs, GPUs and shapes of trees in other ways: `ops.libraries.nccl.releases` has them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from ops.libraries.nccl.releases import RELEASES
from ops.libraries.nccl.search.system import PathType, System


class Pattern(IntEnum):
    """Shapes of a channel: NCCL_TOPO_PATTERN_RING and so on of `src/include/graph.h`."""

    BALANCED_TREE, SPLIT_TREE, TREE, RING, NVLS = range(1, 6)


class TryOrder(IntEnum):
    """In which order an attempt tries GPUs: nearest first, as the bus counts them, or as in the channel before."""

    FREE, BUS, REPLAY = range(3)


class Channel(NamedTuple):
    """GPUs in order, and the NICs by which data come in and go out, counted in their system; -1 inside one node."""

    gpus: tuple[int, ...]
    enters: int = -1
    leaves: int = -1


@dataclass(frozen=True)
class ChannelGraph:
    """What a search returns, or an attempt asks for: channels, and MB/s of each inside and between nodes."""

    pattern: Pattern
    cross_nic: int
    same: bool
    type_intra: PathType
    type_inter: PathType
    least: int
    most: int
    bw_intra: float = 0
    bw_inter: float = 0
    hops: int = 0
    channels: tuple[Channel, ...] = ()

    @property
    def distinct(self) -> tuple[Channel, ...]:
        """The channels without those that NCCL duplicated, as often as each counts beside the others."""
        counts = Counter(self.channels)
        shares = math.gcd(*counts.values())
        return tuple(channel for channel, count in counts.items() for _ in range(count // shares))


class SystemViews:
    """What attempts on a system look at again and again."""

    def __init__(self, system: System) -> None:
        self.system, self.gpus, self.nets = system, system.gpus, system.nets
        self.has_switch = bool(system.of_kind("NVS")) and system.newest
        self.place = {gpu: k for k, gpu in enumerate(system.gpus)}
        self.inside = [kind != "NIC" for kind in system.kinds]
        self.ways = [[system.path(a, b) for b in range(len(system.kinds))] for a in range(len(system.kinds))]
        self.ports = {net: min(system.edges[e].bandwidth for e in system.out[net]) for net in system.nets}
        self.card_of = system.card_of
        self.on_card = {net: [k for k in system.nets if self.card_of[k] == self.card_of[net]] for net in system.nets}
        self._ranked: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
        self._nets: dict[tuple[int, int], list[int]] = {}
        self._closest: dict[int, list[int]] = {}

    def score(self, gpu: int, peer: int) -> tuple[int, int]:
        """How good a way between two GPUs is: GB/s, then links; the least is best."""
        path = self.ways[gpu][peer]
        return -(path.bandwidth // 1000), len(path.links)

    def ranked(self, gpu: int, net: int, left: Sequence[int]) -> list[int]:
        """Other GPUs by bandwidth to the NIC that a channel goes back to, if any, then by that to this GPU.

        `left` has what is left of every link: between GPUs as near to the NIC, that of their PCIe links decides.
        """
        pcie = () if net < 0 else tuple(self.left_of_pcie(peer, left) for peer in self.gpus)
        if (gpu, net, pcie) not in self._ranked:
            gpus = self.gpus
            start, n = gpus.index(gpu), len(gpus)

            def score(peer: int) -> tuple[int, ...]:
                inside = (*self.score(gpu, peer), (gpus.index(peer) - start) % n)
                if net < 0:
                    return inside
                back = self.ways[net][peer]
                return (-(back.bandwidth // 1000), -pcie[self.place[peer]], len(back.links), *inside)

            joined = (peer for peer in gpus if peer != gpu and self.ways[gpu][peer].links)
            self._ranked[gpu, net, pcie] = sorted(joined, key=score)
        return self._ranked[gpu, net, pcie]

    def left_of_pcie(self, gpu: int, left: Sequence[int]) -> int:
        """GB/s that are left of a GPU's PCIe link; -1 without one (gpuPciBw)."""
        return min((left[edge] // 1000 for edge in self.system.pcie.get(gpu, ())), default=-1)

    def nets_of(self, farthest: PathType, gpu: int = -1) -> list[int]:
        """NICs to try, of a GPU or of all (-1), up to a type (ncclTopoSelectNets)."""
        if (gpu, farthest) not in self._nets:
            policy = "own" if self.system.newest else RELEASES[self.system.rules.release].nets
            among = self.gpus if gpu < 0 else [gpu]
            if policy == "listed" or (policy == "widest" and gpu >= 0):
                nets = self.nets
            elif policy == "widest":
                nets = self._widest()
            elif policy == "by_type":
                nets = self._by_type(farthest, among)
            else:
                nets = self._own_first(farthest, among)
            self._nets[gpu, farthest] = list(dict.fromkeys(nets))
        return self._nets[gpu, farthest]

    def _own_first(self, farthest: PathType, among: list[int]) -> list[int]:
        """The NICs of the GPUs, then others from near to far."""
        turns = [self.system.near.nets_in_turn(one) for one in among]
        own = [net for nets in turns for net in nets]
        if len({self.system.hosts[gpu] for gpu in self.gpus}) > 1:  # of hosts that NVLinks join: first NICs first
            own = [nets[k] for k in range(max(map(len, turns), default=0)) for nets in turns if k < len(nets)]
        kinds = range(farthest + 1)
        return own + [net for kind in kinds for one in among for net in self.nets if self.ways[one][net].type == kind]

    def _by_type(self, farthest: PathType, among: list[int]) -> list[int]:
        """NICs from near to far, those as far from a GPU turned by its number (2.12 to 2.18.1)."""
        listed = []
        for kind in range(farthest + 1):
            for gpu in among:
                nets = [net for net in self.nets if self.ways[gpu][net].type == kind]
                listed += _turned(nets, self.system.numbers[self.place[gpu]])
        return listed

    def _widest(self) -> list[int]:
        """NICs of the highest bandwidth to a GPU, by hops; those as many hops away turned by the first GPU's number."""
        best = {
            net: min((-self.ways[net][gpu].bandwidth, self._hops(net, gpu)) for gpu in self.gpus) for net in self.nets
        }
        most = min((width for width, _ in best.values()), default=0)
        listed = []
        for hops in sorted({hops for width, hops in best.values() if width == most}):
            listed += _turned([net for net in self.nets if best[net] == (most, hops)], self.system.numbers[0])
        return listed

    def closest(self, net: int) -> list[int]:
        """GPUs of the highest bandwidth from a NIC, and of these those of the fewest hops (before 2.18)."""
        if not self._closest.get(net):
            best = min((-self.ways[net][gpu].bandwidth, self._hops(net, gpu)) for gpu in self.gpus)
            near = [gpu for gpu in self.gpus if (-self.ways[net][gpu].bandwidth, self._hops(net, gpu)) == best]
            self._closest[net] = near
        return self._closest[net]

    def _hops(self, net: int, gpu: int) -> int:
        return len(self.ways[net][gpu].links)

    def most(self, at: ChannelGraph) -> int:
        """Channels that an attempt has at most: the NICs, and the links of the GPUs, carry no more."""
        system, n = self.system, len(self.gpus)
        links = (system.edges[e] for gpu in self.gpus for e in system.out[gpu])
        out = sum(link.bandwidth // int(at.bw_intra) for link in links if link.type <= at.type_intra)
        ports = {self.card_of[net]: port for net, port in self.ports.items()}
        wires = sum(port // max(1, whole(at.bw_inter)) for port in ports.values()) if system.inter else at.most
        sent = n if at.pattern == Pattern.RING and not system.inter else n - 1
        return min(at.most, wires, out // sent if sent else at.most)

    @cached_property
    def fewest_hops(self) -> int:
        """Links that a ring crosses at least."""
        ways = [[self.ways[a][b] for a in some for b in others if a != b] for some, others in self._stretches]
        least = [min((len(path.links) for path in paths if path.links), default=0) for paths in ways]
        return sum(least) + least[0] * (len(self.gpus) - 2 + (not self.system.inter))

    @property
    def _stretches(self) -> list[tuple[list[int], list[int]]]:
        between = [(self.nets, self.gpus), (self.gpus, self.nets)] if self.system.inter else []
        return [(self.gpus, self.gpus), *between]


def _turned(nets: list[int], times: int) -> list[int]:
    """A list turned to the left."""
    first = times % len(nets) if nets else 0
    return nets[first:] + nets[:first]


def whole(rate: float) -> int:
    """A rate in whole GB/s, as MB/s: what a NIC's port is asked for."""
    return int(rate) // 1000 * 1000

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
from ops.libraries.nccl.search.system import Edge, Path, PathType, System
from sim.topology import DeviceKind

NO_LINK, HOPS = -2, -1
"""Behind what is left of the links of a system: less than nothing, for a link that is not there, and hops so far."""


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
        self.any_shape = not system.rules.is_since("2.8")
        self.place = {gpu: k for k, gpu in enumerate(system.gpus)}
        self.inside = [kind != "NIC" for kind in system.kinds]
        self.ways = [[system.path(a, b) for b in range(len(system.kinds))] for a in range(len(system.kinds))]
        self.ports = {net: min(system.edges[e].bandwidth for e in system.out[net]) for net in system.nets}
        self.card_of = system.card_of
        self.on_card = {net: [k for k in system.nets if self.card_of[k] == self.card_of[net]] for net in system.nets}
        self._pcie = [system.pcie.get(gpu, (NO_LINK, NO_LINK)) for gpu in system.gpus]
        self._ranked: dict[tuple[int, ...], list[int]] = {}
        self._fewest: dict[tuple[DeviceKind, DeviceKind], int] = {}
        self._nets: dict[tuple[int, int], list[int]] = {}
        self._closest: dict[int, list[int]] = {}

    @cached_property
    def links(self) -> list[Edge]:
        """Links out of the GPUs."""
        return [self.system.edges[e] for gpu in self.gpus for e in self.system.out[gpu]]

    @cached_property
    def wires(self) -> list[int]:
        """MB/s of the widest port of every card."""
        ports: dict[int, int] = {}
        for net, port in self.ports.items():
            ports[self.card_of[net]] = max(port, ports.get(self.card_of[net], 0))
        return [*ports.values()]

    @cached_property
    def scores(self) -> dict[int, dict[int, tuple[int, int]]]:
        """How good a way from a GPU to another is: GB/s, then links; the least is best."""

        def score(path: Path) -> tuple[int, int]:
            return -(path.bandwidth // 1000), len(path.links)

        return {gpu: {peer: score(self.ways[gpu][peer]) for peer in self.gpus} for gpu in self.gpus}

    def fewest_hops(self, start: DeviceKind, end: DeviceKind) -> int:
        """Links of the shortest path between devices of two kinds."""
        if (start, end) not in self._fewest:
            starts, ends = self.system.of_kind(start), self.system.of_kind(end)
            counts = (len(self.ways[a][b].links) for a in starts for b in ends if a != b)
            self._fewest[start, end] = min(filter(None, counts), default=0)
        return self._fewest[start, end]

    def ranked(self, gpu: int, net: int, left: Sequence[int]) -> list[int]:
        """Other GPUs by bandwidth to the NIC that a channel goes back to, if any, then by that to this GPU.

        `left` has what is left of every link: between GPUs as near to the NIC, that of their PCIe links decides.
        """
        pcie = [] if net < 0 else [left[a] // 1000 if left[a] < left[b] else left[b] // 1000 for a, b in self._pcie]
        key = gpu, net, *pcie
        if key not in self._ranked:
            gpus, scores = self.gpus, self.scores[gpu]
            start, n = gpus.index(gpu), len(gpus)
            ways = self.ways[net] if net >= 0 else []

            def score(place: int) -> tuple[int, ...]:
                peer = gpus[place]
                inside = (*scores[peer], (place - start) % n)
                back = ways[peer] if ways else None
                return (-(back.bandwidth // 1000), -pcie[place], len(back.links), *inside) if back else inside

            joined = (place for place in range(n) if place != start and self.ways[gpu][gpus[place]].links)
            self._ranked[key] = [gpus[place] for place in sorted(joined, key=score)]
        return self._ranked[key]

    def left_of_pcie(self, gpu: int, left: Sequence[int]) -> int:
        """GB/s that are left of a GPU's PCIe link; -1 without one (gpuPciBw)."""
        return min(left[edge] // 1000 for edge in self._pcie[self.place[gpu]])

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


def _turned(nets: list[int], times: int) -> list[int]:
    """A list turned to the left."""
    first = times % len(nets) if nets else 0
    return nets[first:] + nets[:first]


def whole(rate: float) -> int:
    """A rate in whole GB/s, as MB/s: what a NIC's port is asked for."""
    return int(rate) // 1000 * 1000

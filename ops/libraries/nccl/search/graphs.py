"""NCCL's search for rings, trees and NVLink SHARP heads on a node: which GPUs follow each other, by which NICs.

NCCL 2.30.7 `src/graph/search.cc`. An attempt looks for channels of one speed over paths of certain types;
ncclTopoCompute makes attempts (`attempts`) from the highest speed and the nearest paths on (`passes`). Speeds are MB/s.
"""

import math
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

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
        self.has_switch = bool(system.of_kind("NVS"))
        self.place = {gpu: k for k, gpu in enumerate(system.gpus)}
        self.inside = [kind != "NIC" for kind in system.kinds]
        self.ways = [[system.path(a, b) for b in range(len(system.kinds))] for a in range(len(system.kinds))]
        self.ports = {net: min(system.edges[e].bandwidth for e in system.out[net]) for net in system.nets}
        self._ranked: dict[tuple[int, int], list[int]] = {}
        self._nets: dict[tuple[int, int], list[int]] = {}

    def score(self, gpu: int, peer: int) -> tuple[int, int]:
        """How good a way between two GPUs is: GB/s, then links; the least is best."""
        path = self.ways[gpu][peer]
        return -(path.bandwidth // 1000), len(path.links)

    def ranked(self, gpu: int, net: int) -> list[int]:
        """Other GPUs by bandwidth to the NIC that a channel goes back to, if any, then by that to this GPU."""
        if (gpu, net) not in self._ranked:
            gpus = self.gpus
            start, n = gpus.index(gpu), len(gpus)

            def score(peer: int) -> tuple[int, ...]:
                inside = (*self.score(gpu, peer), (gpus.index(peer) - start) % n)
                if net < 0:
                    return inside
                back = self.ways[net][peer]
                return (-(back.bandwidth // 1000), -(self.system.pcie(peer) // 1000), len(back.links), *inside)

            joined = (peer for peer in gpus if peer != gpu and self.ways[gpu][peer].links)
            self._ranked[gpu, net] = sorted(joined, key=score)
        return self._ranked[gpu, net]

    def nets_of(self, farthest: PathType, gpu: int = -1) -> list[int]:
        """NICs to try, of a GPU or of all: their own ones first, then others up to a type (ncclTopoSelectNets)."""
        if (gpu, farthest) not in self._nets:
            among, near = self.gpus if gpu < 0 else [gpu], self.system.near
            turns = [near.nets_in_turn(one) for one in among]
            own = [net for nets in turns for net in nets]
            if (
                len({self.system.hosts[gpu] for gpu in self.gpus}) > 1
            ):  # hosts that NVLinks join: the first NIC of every GPU first
                own = [nets[k] for k in range(max(map(len, turns), default=0)) for nets in turns if k < len(nets)]
            kinds = range(farthest + 1)
            other = [net for kind in kinds for one in among for net in self.nets if self.ways[one][net].type == kind]
            self._nets[gpu, farthest] = list(dict.fromkeys(own + other))
        return self._nets[gpu, farthest]

    def most(self, at: ChannelGraph) -> int:
        """Channels that an attempt has at most: the NICs, and the links of the GPUs, carry no more."""
        system, n = self.system, len(self.gpus)
        links = (system.edges[e] for gpu in self.gpus for e in system.out[gpu])
        out = sum(link.bandwidth // int(at.bw_intra) for link in links if link.type <= at.type_intra)
        wires = sum(port // max(1, whole(at.bw_inter)) for port in self.ports.values()) if system.inter else at.most
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


def whole(rate: float) -> int:
    """A rate in whole GB/s, as MB/s: what a NIC's port is asked for."""
    return int(rate) // 1000 * 1000

"""A node as NCCL sees it: GPUs, NVSwitches, PCIe switches, CPUs and NICs, and one path between any two.

NCCL 2.30.7 makes the system of a topology file in `src/graph/topo.cc` and its paths in `src/graph/paths.cc`. Bandwidths
are whole MB/s, as NCCL rounds to a thousandth of 1 GB/s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from ops.libraries.nccl.constants import Generation
from ops.libraries.nccl.releases import NEWEST, is_since
from sim.topology import DeviceKind

LOCAL = 5_000_000
"""MB/s inside a device: LOC_BW of `src/graph/topo.h`."""


class PathType(IntEnum):
    """How far two devices are apart: PATH_LOC and so on of `src/include/graph.h`, in its order."""

    LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS = range(12)


CAPABILITY: dict[Generation, int] = {"Volta": 70, "Ampere": 80, "Hopper": 90, "Blackwell": 100}


class Edge(NamedTuple):
    """A link in one direction between two devices of a system, by number; MB/s."""

    src: int
    dst: int
    type: PathType
    bandwidth: int


@dataclass(slots=True)
class Path:
    """Links from one device to another, their least bandwidth (MB/s) and the type of the whole.

    `weighted` are links that a flow loads by another amount than its own, in fortieths.
    """

    links: tuple[int, ...] = ()
    bandwidth: int = 0
    type: PathType = PathType.DIS
    through: int = -1
    """The GPU that forwards (PXN), or -1."""
    weighted: tuple[tuple[int, int], ...] = ()
    plain: tuple[int, ...] = ()


@dataclass(frozen=True)
class SearchRules:
    """What variables and releases change of paths and search."""

    cross_nic: int = 2
    uses_pxn: bool = True
    release: str = NEWEST

    def is_since(self, first: str) -> bool:
        """Whether the release is this one or newer."""
        return is_since(self.release, first)


@dataclass(frozen=True)
class System:
    """Devices of a node and the paths between them; GPUs and NICs are counted in the order of a topology file.

    `numbers` are those of the GPUs on their hosts, `hosts` of every device. `copied` are pairs
    of devices whose data go through host memory, because peers or NICs do not reach into a GPU's memory.
    """

    kinds: Sequence[DeviceKind]
    hosts: Sequence[int]
    edges: Sequence[Edge]
    numbers: Sequence[int]
    capability: int
    amd_cpu: bool
    intel_cpu: bool
    inter: bool
    rules: SearchRules = SearchRules()
    copied: frozenset[tuple[int, int]] = frozenset()
    cards: Sequence[int] = ()
    """The card of every NIC, by number; NICs of one share its bandwidth (net.asic). Empty where each is its own."""

    def of_kind(self, kind: DeviceKind) -> list[int]:
        """Devices of a kind, in order."""
        return [i for i, one in enumerate(self.kinds) if one == kind]

    @cached_property
    def gpus(self) -> list[int]:
        """The GPUs."""
        return self.of_kind("GPU")

    @cached_property
    def nets(self) -> list[int]:
        """The NICs."""
        return self.of_kind("NIC")

    @cached_property
    def newest(self) -> bool:
        """Whether the search is that of 2.18 or newer, as for nodes of several hosts, which no older release knows."""
        return self.rules.is_since("2.18") or len(set(self.hosts)) > 1

    @cached_property
    def card_of(self) -> dict[int, int]:
        """The card of every NIC."""
        return dict(zip(self.nets, self.cards or self.nets, strict=True))

    @cached_property
    def out(self) -> list[list[int]]:
        """Edges out of every device: fast ones first, the one to the device's own switch last (ncclTopoSort)."""
        out: list[list[int]] = [[] for _ in self.kinds]
        for i, edge in enumerate(self.edges):
            out[edge.src].append(i)
        for at, edges in enumerate(out):
            up = min((e for e in edges if self._leads_up(at, e)), default=None)
            edges.sort(key=lambda e: (e == up, -self.edges[e].bandwidth))
        return out

    def _leads_up(self, at: int, edge: int) -> bool:
        return self.kinds[at] in ("GPU", "NIC", "PCI") and self.edges[edge] in self.upward

    @cached_property
    def upward(self) -> set[Edge]:
        """The PCIe links towards CPUs: the first that a device has, as files list parents first."""
        up: dict[int, Edge] = {}
        for edge in self.edges:
            if edge.type == PathType.PIX and self.kinds[edge.src] in ("GPU", "NIC", "PCI"):
                up.setdefault(edge.src, edge)
        return set(up.values())

    @cached_property
    def back(self) -> list[int]:
        """The edge that leads back, of every edge."""
        at = {(edge.src, edge.dst, edge.type): i for i, edge in enumerate(self.edges)}
        return [at.get((edge.dst, edge.src, edge.type), -1) for edge in self.edges]

    @cached_property
    def direct(self) -> dict[tuple[int, int], Path]:
        """The shortest path from every device to every GPU, NIC, CPU and NVSwitch; of equal ones the widest."""
        paths: dict[tuple[int, int], Path] = {}
        for kind in ("CPU", "GPU", "NIC", "NVS"):
            for base in self.of_kind(kind):
                paths.update({(at, base): path for at, path in self._paths_to(base).items()})
        return paths

    def _paths_to(self, base: int) -> dict[int, Path]:
        """ncclTopoSetPaths: of two ways the nearer type, then the wider, then the one of fewer links.

        No way leads through a GPU, but by NVLinks through one of them (NVB).
        """
        paths = {base: Path((), LOCAL, PathType.LOC)}
        reached = [base]
        while reached:
            following: dict[int, None] = {}
            for node in reached:
                path = paths[node]
                for number in self.out[node]:
                    edge = self.edges[number]
                    through = node != base and self.kinds[node] == "GPU"
                    ends = edge.type == PathType.NVL and self.kinds[edge.dst] == "GPU" and len(path.links) == 1
                    ends = ends and self.rules.is_since("2.8")
                    if self.back[number] < 0 or (through and not ends):
                        continue
                    kind, width = self._type(edge, path), min(path.bandwidth, edge.bandwidth)
                    old = paths.get(edge.dst)
                    if old and (old.type, -old.bandwidth, len(old.links)) <= (kind, -width, 1 + len(path.links)):
                        continue
                    paths[edge.dst] = Path((self.back[number], *path.links), width, kind)
                    following[edge.dst] = None
            reached = [*following]
        return paths

    def _type(self, edge: Edge, path: Path) -> PathType:
        """The type of a path with one more link."""
        ends = {self.kinds[edge.src], self.kinds[edge.dst]}
        kind = edge.type
        if kind == PathType.PIX:
            kind = PathType.PXB if ends == {"PCI"} else PathType.PHB if "CPU" in ends else kind
        if self.kinds[edge.src] == "GPU" and path.type == kind == PathType.NVL:
            kind = PathType.NVB
        return max(path.type, kind)

    @cached_property
    def local_cpu(self) -> dict[int, int]:
        """The CPU nearest to every GPU, where there are CPUs."""
        cpus = self.of_kind("CPU")
        near = {gpu: [cpu for cpu in cpus if (gpu, cpu) in self.direct] for gpu in self.gpus}
        return {gpu: min(some, key=lambda cpu: len(self.direct[gpu, cpu].links)) for gpu, some in near.items() if some}

    @cached_property
    def paths(self) -> dict[tuple[int, int], Path]:
        """The paths that are taken, by (from, to): ncclTopoComputePaths."""
        paths = dict(self.direct)
        by_amd = self.amd_cpu and (len(self.gpus) <= 2 or not self.newest)
        farthest = PathType.SYS if by_amd else PathType.PXB
        for gpu in self.gpus:
            for peer in self.gpus:
                path = paths.get((peer, gpu))
                staged = path is None or path.type > farthest or (peer, gpu) in self.copied
                if peer != gpu and staged and gpu in self.local_cpu:
                    paths[peer, gpu] = _joined(paths, peer, self.local_cpu[gpu], gpu)
        self._mark_c2c(paths)
        near = Locality(self, paths)
        for net in self.nets:
            for gpu in self.gpus:
                self._forward(paths, near, gpu, net)
                path = paths.get((gpu, net))
                direct = path is not None and (path.through < 0 or not self.newest)
                if path and path.type < PathType.PHB and direct and (gpu, net) in self.copied:
                    cpu = self.local_cpu[gpu]
                    paths[net, gpu], paths[gpu, net] = _joined(paths, net, cpu, gpu), _joined(paths, gpu, cpu, net)
                    near.forget(gpu, net)
        for (src, _), path in paths.items():
            self._weigh(src, path)
        return paths

    def _mark_c2c(self, paths: dict[tuple[int, int], Path]) -> None:
        """A NIC below the CPU of a GPU with C2C links is nearer than one behind PCIe: P2C."""
        near = Locality(self, paths)
        for gpu, cpu in self.local_cpu.items():
            for net in near.nets_of(gpu):
                if _merged(paths[gpu, cpu].type, paths[net, cpu].type) == PathType.P2C:
                    for ends in ((gpu, net), (net, gpu)):
                        paths[ends].type = min(PathType.P2C, paths[ends].type)

    def _forward(self, paths: dict[tuple[int, int], Path], near: "Locality", gpu: int, net: int) -> None:
        """Let the NIC's own GPU send what another GPU has for it, over NVLink (PXN)."""
        relay = near.gpu_of if self.newest else lambda net: self._old_relay(paths, gpu, net)
        peer = relay(net) if self.rules.uses_pxn else -1
        if peer in (-1, gpu) or self.hosts[peer] != self.hosts[gpu]:
            return
        own, other, wire = paths.get((gpu, net)), paths[peer, net], paths.get((peer, gpu))
        reaches = other.type <= PathType.P2C and (peer, net) not in self.copied
        if not reaches or wire is None or wire.type > PathType.NVL:
            return
        if own is None or other.bandwidth > own.bandwidth or own.type > PathType.PXN:
            joined = _joined(paths, gpu, peer, net)
            joined.type, joined.through = PathType.PXN, peer
            paths[gpu, net] = joined
            near.forget(gpu, net)

    def _old_relay(self, paths: dict[tuple[int, int], Path], gpu: int, net: int) -> int:
        """The GPU that forwards before 2.18: one whose first NIC it is, else the last that is nearer or wider."""
        relay, own = -1, paths.get((gpu, net)) or Path()
        for peer in self.gpus:
            other, wire = paths.get((peer, net)) or Path(), paths.get((peer, gpu)) or Path()
            no_better = other.bandwidth <= own.bandwidth and own.type <= PathType.PXB
            if peer == gpu or other.type > PathType.PXB or wire.type > PathType.NVL or no_better:
                continue
            relay = peer
            if self._first_net(paths, peer) == net:
                break
        return relay

    def _first_net(self, paths: dict[tuple[int, int], Path], gpu: int) -> int:
        """The NIC of a GPU before 2.18: of the widest and then nearest that of its number (ncclTopoGetLocalNet)."""
        ways = {net: paths.get((net, gpu)) or Path() for net in self.nets}
        best = min((-path.bandwidth, path.type) for path in ways.values())
        nets = [net for net, path in ways.items() if (-path.bandwidth, path.type) == best]
        return nets[self.numbers[self.gpus.index(gpu)] % len(nets)]

    def _weigh(self, src: int, path: Path) -> None:
        """ncclTopoFollowPath: PCIe by way of an Intel CPU takes 6/5 between GPUs; what comes to old ones, 1/8 back."""
        crossed = {self.kinds[self.edges[i].dst] for i in path.links}
        is_gpu = self.kinds[src] == "GPU"
        slow = self.intel_cpu and is_gpu and path.type == PathType.PHB and "CPU" in crossed
        weighted = [(i, 48) for i in path.links if slow and self.edges[i].type == PathType.PIX]
        path.plain = tuple(i for i in path.links if not slow or self.edges[i].type != PathType.PIX)
        if self.capability < 80 and not is_gpu:
            weighted += [(self.back[i], 5) for i in path.links if self.kinds[self.edges[i].dst] == "GPU"]
        path.weighted = tuple(weighted)

    def path(self, src: int, dst: int) -> Path:
        """The path that data take between two devices. Its type is DIS where they are not joined."""
        return self.paths.get((src, dst)) or Path()

    @cached_property
    def near(self) -> "Locality":
        """Which GPUs and NICs are nearest to each other by the paths that are taken."""
        return Locality(self, self.paths)

    @cached_property
    def widest(self) -> int:
        """MB/s that one channel may carry: maxBw of ncclTopoSearchInit."""
        peers = self.nets if self.inter else self.gpus
        ways = (self.direct.get((gpu, peer)) for gpu in self.gpus for peer in peers if peer != gpu)
        return max((path.bandwidth for path in ways if path), default=0)

    @cached_property
    def total(self) -> int:
        """MB/s of all NVLinks of a GPU, or its PCIe link: totalBw of ncclTopoSearchInit."""

        def of_type(gpu: int, type_: PathType) -> Iterator[int]:
            return (self.edges[i].bandwidth for i in self.out[gpu] if self.edges[i].type == type_)

        single = PathType.PIX, PathType.C2C
        return max(
            max(sum(of_type(gpu, PathType.NVL)), *(max(of_type(gpu, kind), default=0) for kind in single))
            for gpu in self.gpus
        )

    @cached_property
    def pcie(self) -> dict[int, tuple[int, ...]]:
        """The PCIe link of every GPU that has one, up and down."""
        up = ((gpu, next((i for i in self.out[gpu] if self.edges[i].type == PathType.PIX), -1)) for gpu in self.gpus)
        return {gpu: (edge, self.back[edge]) for gpu, edge in up if edge >= 0 and self.back[edge] >= 0}


def _merged(one: PathType, other: PathType) -> PathType:
    """The type of two paths in a row: PCIe behind a C2C link is P2C (mergePathType)."""
    return PathType.P2C if {one, other} == {PathType.PHB, PathType.C2C} else max(one, other)


def _joined(paths: dict[tuple[int, int], Path], src: int, by: int, dst: int) -> Path:
    """The path by way of a CPU or a GPU: addInterStep."""
    first, second = paths[src, by], paths[by, dst]
    width = min(first.bandwidth, second.bandwidth)
    return Path(first.links + second.links, width, _merged(first.type, second.type))


class Locality:
    """Nearest NICs of GPUs and nearest GPUs of NICs, for paths that may still change."""

    def __init__(self, system: System, paths: dict[tuple[int, int], Path]) -> None:
        self._system, self._paths = system, paths
        self._nearest: dict[int, list[int]] = {}
        self._owner: dict[int, int] = {}

    def forget(self, gpu: int, net: int) -> None:
        """Look again at what depends on the paths between a GPU and a NIC."""
        self._nearest.pop(gpu, None)
        self._nearest.pop(net, None)
        self._owner.clear()

    def _locals(self, at: int, among: Sequence[int]) -> list[int]:
        """Of the highest bandwidth, and of these the nearest: ncclTopoGetLocal."""
        if at not in self._nearest:
            ways = {other: path for other in among if (path := self._paths.get((at, other)))}
            best = min(((-path.bandwidth, path.type) for path in ways.values()), default=None)
            self._nearest[at] = [other for other, path in ways.items() if (-path.bandwidth, path.type) == best]
        return self._nearest[at]

    def nets_of(self, gpu: int) -> list[int]:
        """The NICs nearest to a GPU."""
        return self._locals(gpu, self._system.nets)

    def gpus_of(self, net: int) -> list[int]:
        """The GPUs nearest to a NIC."""
        return self._locals(net, self._system.gpus)

    def per_gpu(self, gpu: int) -> int:
        """Over how many NICs the channels of a GPU are spread: NCCL_NETDEVS_POLICY=AUTO."""
        nets = self.nets_of(gpu)
        return -(-len(nets) // len(self.gpus_of(nets[0]))) if nets else 0

    def net(self, gpu: int, channel: int) -> int:
        """The NIC of a GPU on a channel, or -1 without any: ncclTopoGetLocalNet.

        GPUs begin at NICs far from each other: of eight GPUs and four NICs those of GPU 0 to 3 are 0, 2, 1 and 3.
        """
        nets = self.nets_of(gpu)
        if not nets:
            return -1
        number = self._system.numbers[self._system.gpus.index(gpu)] % len(self.gpus_of(nets[0]))
        first = _mirrored(number, len(nets)) if len(nets) & (len(nets) - 1) == 0 else number
        return nets[(first + channel % self.per_gpu(gpu)) % len(nets)]

    def nets_in_turn(self, gpu: int) -> list[int]:
        """The NICs of a GPU, that of channel 0 first."""
        return list(dict.fromkeys(self.net(gpu, channel) for channel in range(self.per_gpu(gpu))))

    def gpu_of(self, net: int) -> int:
        """The GPU of a NIC: the first near one whose own it is on a channel; -1 for none (ncclTopoGetLocalGpu)."""
        if net not in self._owner:
            near = self.gpus_of(net)
            channels = range(max(map(self.per_gpu, near), default=0))
            turns = ((gpu, channel) for channel in channels for gpu in near)
            self._owner[net] = next((gpu for gpu, channel in turns if self.net(gpu, channel) == net), -1)
        return self._owner[net]


def _mirrored(number: int, power: int) -> int:
    """The bits of a number below a power of two in reverse order (mirrorBits).

    >>> [_mirrored(k, 4) for k in range(5)]
    [0, 2, 1, 3, 0]
    """
    bits = power.bit_length() - 1
    return int(f"{number % power:0{bits}b}"[::-1], 2) if bits else 0

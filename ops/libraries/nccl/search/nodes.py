"""The nodes of a machine as systems that NCCL searches."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.libraries.nccl.constants import Generation
from ops.libraries.nccl.releases import RELEASES
from ops.libraries.nccl.search.system import CAPABILITY, LOCAL, Edge, PathType, SearchRules, System
from sim.topology import DeviceKind, Link, Topology
from sim.topology.host import AMPERE, BLACKWELL
from sim.units import GBps

C2C = 100 * GBps
"""B/s from which on the link of a GPU and its CPU is a C2C link, not PCIe."""
INTEL = (6.0, 10.0, 22.0, 40.0)
"""GB/s that NCCL reckons with between Intel sockets (`src/graph/topo.h`)."""
OMNI_PATH = r"hfi1_\d+"
"""Names of Omni-Path ports: all of a host have one system image GUID (`hfi1_register_ib_device` in Linux's
`drivers/infiniband/hw/hfi1/verbs.c`), by which NCCL takes them for one card (`src/transport/net_ib.cc`)."""


class NodeSystem(NamedTuple):
    """What NCCL makes of a node: the machine's device for each of its devices, the rank of each of its GPUs."""

    system: System
    devices: tuple[int, ...]
    ranks: tuple[int, ...]


def systems_of(
    topology: Topology,
    nodes: Sequence[Sequence[int]],
    generation: Generation,
    rules: SearchRules,
    takes: Callable[[int, str], bool],
) -> list[NodeSystem]:
    """The system of each node, whose ranks are given.

    `takes` says which NICs of a host are used, by number and, where it has one of its own, by name. A node without NICs
    has one for each link of a device to the network.
    """
    parts = _Parts(topology, generation, rules, _taken(topology, takes))
    systems = [parts.system({topology.ranks[rank]: rank for rank in node}, inter=len(nodes) > 1) for node in nodes]
    alike = {part.system: part.system for part in reversed(systems)}  # one object, so that paths are looked for once
    return [part._replace(system=alike[part.system]) for part in systems]


def _taken(topology: Topology, takes: Callable[[int, str], bool]) -> NDArray[np.bool_]:
    """Which devices are NICs that are used."""
    taken, counted = np.zeros(len(topology.devices), np.bool_), Counter[int]()
    for i in np.flatnonzero(topology.kinds == "NIC").tolist():
        device = topology.devices[i]
        plain = device.name.rpartition(".")[2]
        taken[i] = takes(counted[device.host], "" if re.fullmatch(r"NIC\d+", plain) else plain)
        counted[device.host] += 1
    return taken


class _Parts:
    """Devices and links of a machine by node."""

    def __init__(
        self, topology: Topology, generation: Generation, rules: SearchRules, taken: NDArray[np.bool_]
    ) -> None:
        self.topology, self.generation, self.rules, self.taken = topology, generation, rules, taken
        self.devices: dict[int, list[int]] = defaultdict(list)
        self.links: dict[int, list[Link]] = defaultdict(list)
        for i, node in enumerate(topology.nodes.tolist()):
            self.devices[node].append(i)
        for i, src in enumerate(topology.ends[0].tolist()):
            self.links[int(topology.nodes[src])].append(topology.links[i])
        self.staged = topology.router is not None and bool((topology.kinds == "CPU").any())

    def system(self, rank_of: dict[int, int], *, inter: bool) -> NodeSystem:
        """The system of a node, whose GPUs are given by device with their ranks."""
        topology, index, gpus = self.topology, self.topology.index, [*rank_of]
        node = int(topology.nodes[gpus[0]])
        stands_for = self._standing(self.devices[node], gpus)
        wires: dict[int, float] = defaultdict(float)
        out: dict[int, list[tuple[int, Link]]] = defaultdict(list)
        for link in self.links[node]:
            src, dst = index[link.src], index[link.dst]
            if link.kind == "NET":
                wires[src] += link.bandwidth
            elif not link.both and {src, dst} <= stands_for.keys() and stands_for[src] != stands_for[dst]:
                out[stands_for[src]].append((stands_for[dst], link))
        nics = [i for i in wires if inter and topology.kinds[i] == "NIC" and self.taken[i]]
        own = [] if nics else [i for i in wires if inter and i in stands_for]
        cards = [i for i in self.devices[node] if topology.kinds[i] == "NIC"]
        listed = [i for i in self.devices[node] if stands_for.get(i) == i]
        turns = {gpu: turn for turn, gpu in enumerate(gpus)}
        turns.update(dict.fromkeys(cards, 0 if self.rules.is_since("2.18") else len(gpus)))
        order = [i for i in _in_order(listed, out, turns) if i in nics or topology.kinds[i] != "NIC"]
        place = {device: k for k, device in enumerate(order)}
        edges = [*self._edges(place, out, wires)]
        for k, device in enumerate(own, len(order)):
            rate = round(wires[device] / GBps * 1000)
            edges += [Edge(k, place[device], PathType.PIX, rate), Edge(place[device], k, PathType.PIX, rate)]
        kinds: list[DeviceKind] = [topology.devices[i].kind for i in order]
        between = max((link.bandwidth for some in out.values() for _, link in some if link.kind == "SYS"), default=0.0)
        make = _sockets(between)[0] if between else "Arm" if any(edge.type == PathType.C2C for edge in edges) else ""
        system = self._described(order, kinds + ["NIC"] * len(own), edges, make, inter=inter)
        return NodeSystem(system, (*order, *own), tuple(rank_of[order[gpu]] for gpu in system.gpus))

    def _standing(self, devices: list[int], gpus: list[int]) -> dict[int, int]:
        """The device that each stands for: a host bridge for its CPU. Memory and GPUs without a rank have none."""
        names = {self.topology.devices[i].name: i for i in devices}
        stands_for = {}
        for name, i in names.items():
            kind = self.topology.devices[i].kind
            if (kind == "GPU" and i not in gpus) or (kind == "CPU" and "MEM" in name) or kind == "NET":
                continue
            cpu, bridge, _ = name.rpartition(".HB")
            stands_for[i] = names[cpu] if kind == "CPU" and bridge else i
        return stands_for

    def _edges(
        self, place: dict[int, int], out: dict[int, list[tuple[int, Link]]], wires: dict[int, float]
    ) -> Iterator[Edge]:
        """Edges between devices, upwards before downwards, parallel links as one."""
        rates: dict[tuple[int, int, PathType], float] = defaultdict(float)
        for device in place:
            for other, link in out[device]:
                if other in place:
                    rates[place[device], place[other], self._type(device, other, link)] += self._rate(link)
        ports = {place[i]: rate for i, rate in wires.items() if i in place and self.topology.kinds[i] == "NIC"}
        for (src, dst, kind), rate in rates.items():
            rate = (
                self._between(rate) if kind == PathType.SYS else min(rate, ports.get(src, rate), ports.get(dst, rate))
            )
            yield Edge(src, dst, kind, round(rate / GBps * 1000))

    def _rate(self, link: Link) -> float:
        """B/s of a link as NCCL has it: before 2.18 it took an NVLink of 20 GB/s for more."""
        full = link.kind == "NVL" and 19.9 < link.bandwidth / link.lanes / GBps < 21
        old = full and not self.rules.is_since("2.18")
        return link.lanes * RELEASES[self.rules.release].nvlink * GBps if old else link.bandwidth

    def _between(self, rate: float) -> float:
        """B/s between sockets as NCCL has it: before 2.18, 9 GB/s at most for Intel's, no limit for AMD's."""
        make, reckoned = _sockets(rate)
        if self.rules.is_since("2.18") or make == "Arm":
            return reckoned
        return LOCAL / 1000 * GBps if make == "AMD" else min(reckoned, 9 * GBps)

    def _type(self, src: int, dst: int, link: Link) -> PathType:
        ends = {self.topology.devices[src].kind, self.topology.devices[dst].kind}
        if ends == {"GPU", "CPU"} and link.bandwidth >= C2C:
            return PathType.C2C
        return {"NVL": PathType.NVL, "SYS": PathType.SYS}.get(link.kind, PathType.PIX)

    def _described(
        self, order: list[int], kinds: list[DeviceKind], edges: list[Edge], make: str, *, inter: bool
    ) -> System:
        topology = self.topology
        named = {host: k for k, host in enumerate(dict.fromkeys(topology.devices[i].host for i in order))}
        counted: Counter[int] = Counter()
        number: dict[int, int] = {}
        for i in (i for i in self.devices[int(topology.nodes[order[0]])] if topology.kinds[i] == "GPU"):
            host = topology.devices[i].host
            number[i] = counted[host]
            counted[host] += 1
        return System(
            kinds=tuple(kinds),
            hosts=tuple(named[topology.devices[i].host] for i in order) + (0,) * (len(kinds) - len(order)),
            edges=tuple(edges),
            numbers=tuple(number[i] for i in order if i in number),
            capability=min(CAPABILITY[self.generation], 100 if self.rules.is_since("2.12") else 80),
            amd_cpu=make == "AMD",
            intel_cpu=make == "Intel",
            inter=inter,
            rules=self.rules,
            copied=frozenset(self._copied(order)) if self.staged else frozenset(),
            cards=self._cards([i for i in order if topology.kinds[i] == "NIC"]),
        )

    def _cards(self, nics: list[int]) -> tuple[int, ...]:
        """The card of every NIC, one for all ports of Omni-Path of a host; empty where every NIC is its own."""

        def card(nic: int) -> tuple[int, str]:
            device = self.topology.devices[nic]
            return device.host, "" if re.fullmatch(OMNI_PATH, device.name.rpartition(".")[2]) else device.name

        cards = [card(nic) for nic in nics]
        return tuple(map(cards.index, cards)) if len(set(cards)) < len(cards) else ()

    def _copied(self, order: list[int]) -> Iterator[tuple[int, int]]:
        """GPUs, and GPUs and NICs, whose data the machine's own routes take through host memory, or peers by a CPU."""
        topology = self.topology
        gpus = [k for k, i in enumerate(order) if topology.kinds[i] == "GPU"]
        pairs = [(a, b) for a in gpus for b, i in enumerate(order) if a != b and topology.kinds[i] in ("GPU", "NIC")]
        src, dst = (np.array([order[pair[k]] for pair in pairs], np.int32) for k in range(2))
        offsets, links = topology.routes(src, dst)
        for k, (a, b) in enumerate(pairs):
            passed = topology.ends[1][links[offsets[k] : offsets[k + 1]]]
            cpus = [topology.devices[i].name for i in passed if topology.kinds[i] == "CPU"]
            if any("MEM" in name for name in cpus) or (cpus and b in gpus):
                yield a, b


def _in_order(devices: list[int], out: dict[int, list[tuple[int, Link]]], first: dict[int, int]) -> list[int]:
    """Devices as NCCL counts them: CPUs with what is below them, parents first, then the rest.

    `first` has the turn of every GPU and NIC. NCCL joins what its ranks see, in their order, and every rank sees all
    NICs (ncclTopoFuseXml): so what has the first rank or a NIC below it comes first. Before 2.18 a rank lists the GPUs
    of all ranks, then the NICs (ncclTopoGetSystem of `src/graph/topo.cc`).
    """
    last = len(first)
    placed: set[int] = set()

    def below(device: int) -> tuple[int, list[int]]:
        placed.add(device)
        trees = [below(other) for other, link in out[device] if link.kind == "PCI" and other not in placed]
        trees.sort(key=lambda tree: tree[0])
        least = min([first.get(device, last), *(tree[0] for tree in trees)])
        return least, [device, *(one for _, tree in trees for one in tree)]

    roots = [below(device) for device in devices if device not in first and device in out and device not in placed]
    roots.sort(key=lambda tree: tree[0])
    order = [device for _, tree in roots for device in tree]
    return [*order, *(device for device in devices if device not in order)]


def groups_of(part: NodeSystem) -> list[tuple[int, ...]]:
    """Ranks of a node that NCCL joins inside it; those of two groups it joins by NICs, as they are faster.

    ncclTopoCheckNet of `src/graph/paths.cc`.
    """
    system = part.system
    wire = {}
    for gpu in system.gpus:
        ways = (system.direct.get((gpu, net)) for net in system.nets)
        wire[gpu] = max((way.bandwidth for way in ways if way and way.type <= PathType.PXB), default=0)
    groups: list[list[int]] = []
    for gpu in system.gpus:
        for group in groups:
            if any(min(wire[gpu], wire[peer]) <= system.path(gpu, peer).bandwidth for peer in group):
                group.append(gpu)
                break
        else:
            groups.append([gpu])
    rank_of = dict(zip(system.gpus, part.ranks, strict=True))
    return [tuple(sorted(rank_of[gpu] for gpu in group)) for group in groups]


def _sockets(rate: float) -> tuple[str, float]:
    """Who made CPUs whose sockets carry so many B/s, and what NCCL reckons with between them.

    >>> _sockets(16e9), _sockets(5.24e9), _sockets(100e9)
    (('AMD', 16000000000.0), ('Intel', 6000000000.0), ('Arm', 6000000000.0))
    """
    if rate > BLACKWELL.sys:
        return "Arm", INTEL[0] * GBps
    makes = [("AMD", AMPERE.sys), *(("Intel", each * GBps) for each in INTEL)]
    return min(makes, key=lambda make: abs(make[1] - rate))

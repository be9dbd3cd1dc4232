"""One host built from places: who shares a PCIe switch, a host bridge, a NUMA node, and who has NVLinks.

Real machines and captures alike come down to this, so that a capture of a machine and the machine itself
are the same devices joined the same way.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, groupby
from typing import Any, NamedTuple

from sim.topology.devices import Device, DeviceKind, Link, LinkKind, both_ways
from sim.topology.generations import Generation
from sim.topology.model import Topology
from sim.units import Bandwidth, GBps, Time, ns, us


class Place(NamedTuple):
    """Where a device is plugged in: two places are equal up to where a path between them turns.

    `domain` is the socket or NUMA node, `bridge` the host bridge in it, `upper` the PCIe switch below that, `switch`
    the one below that: two devices of one place meet in a switch (PIX), of one upper switch in two (PXB), of one
    bridge on the way to it (PHB), of one domain on the way between bridges (NODE).
    """

    domain: int
    bridge: int = 0
    upper: int = 0
    switch: int = 0


MOST_NVLINKS = 18
"""NVLinks a GPU has at most (Hopper, Blackwell); NVIDIA NVLink page. More means an NVSwitch shares them out."""


class Leaf(NamedTuple):
    """A GPU or NIC and where it is plugged in; `numa` is -1 when unknown."""

    name: str
    kind: DeviceKind
    place: Place
    numa: int = -1


def gpu(number: int, place: Place, numa: int | None = None) -> Leaf:
    """A GPU in its place, on the NUMA node of that number unless the place's domain is it."""
    return Leaf(f"GPU{number}", "GPU", place, place.domain if numa is None else numa)


def nic(number: int, place: Place, numa: int | None = None) -> Leaf:
    """A NIC in its place, on the NUMA node of that number unless the place's domain is it."""
    return Leaf(f"NIC{number}", "NIC", place, place.domain if numa is None else numa)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What one direction of a host's links carries (B/s) and how long a byte is under way (s).

    `nvlink` is one NVLink; `pix` a device's own PCIe link; `pxb` joins PCIe switches; `phb` is the uplink
    to a host bridge; `node` joins host bridges inside a NUMA node; `sys` joins NUMA nodes; `nic` is a
    NIC's port and its PCIe link; `generation` is that of the GPUs that have them. `nvlink_latency` is from GPU
    to GPU: an NVSwitch halves it on either side.

    Latencies are α 0.7 µs over NVLink (microsoft/taccl, NDv2 and DGX-2 profiles); 0.25 µs per device on
    PCIe (two GPUs under one switch write to each other in 0.45-0.53 µs, CUDA samples
    p2pBandwidthLatencyTest); 105 ns per further switch (Broadcom PEX88000), taken for host bridges and
    between sockets too; 0.9 µs from NIC to switch (perftest ib_write_lat: 1.8 µs between two hosts).
    """

    generation: Generation = ""
    nvlink: float
    pix: float
    pxb: float
    phb: float
    node: float
    sys: float
    nic: float
    nvlink_latency: float = 0.7 * us
    pix_latency: float = 250 * ns
    pxb_latency: float = 105 * ns
    phb_latency: float = 105 * ns
    node_latency: float = 105 * ns
    sys_latency: float = 105 * ns
    nic_latency: float = 0.9 * us


RATES = tuple(field.name for field in fields(Rates) if field.name != "generation")
"""Names of all rates and latencies."""
LATENCIES = tuple(field.name for field in fields(Rates) if field.name.endswith("_latency"))
"""Names of the latencies among the rates."""


def rate_options(*names: str, usual: Rates | None = None) -> dict[str, tuple[Any, Any]]:
    """Keyword parameters for `spread`, by the names of `Rates` or like them: nothing unless `usual` has a default."""
    kinds = {name: Time if name.endswith("_latency") else Bandwidth for name in names}
    return {name: (kind, getattr(usual, name)) if usual else (kind | None, None) for name, kind in kinds.items()}


def _rates(generation: Generation, *, nvlink: float, pcie: float, sys: float, nic: float) -> Rates:
    """Rates of a host whose PCIe links are all of one width and speed."""
    return Rates(generation=generation, nvlink=nvlink, pix=pcie, pxb=pcie, phb=pcie, node=pcie, sys=sys, nic=nic)


VOLTA = _rates("Volta", nvlink=20 * GBps, pcie=12 * GBps, sys=10 * GBps, nic=12.5 * GBps)
"""V100 on Skylake: effective rates of NCCL `src/graph/topo.h` (SM70, PCI gen3 x16, SKL_QPI); EDR InfiniBand."""

PASCAL = replace(VOLTA, generation="Pascal", nvlink=18 * GBps, sys=6 * GBps)
"""P100 on Broadwell: as VOLTA, NVLink of SM60 and the socket link of BDW in NCCL `src/graph/topo.h`."""

AMPERE = _rates("Ampere", nvlink=20 * GBps, pcie=24 * GBps, sys=16 * GBps, nic=25 * GBps)
"""A100 on EPYC: effective rates of NCCL `src/graph/topo.h` (SM80, gen4 = 2 x PCI, AMD); HDR InfiniBand."""

BRIDGED = replace(AMPERE, nvlink=12 * GBps)
"""A40, RTX A6000, RTX 3090 with an NVLink bridge: as AMPERE, NVLink of SM86 in NCCL `src/graph/topo.h`."""

HOPPER = _rates("Hopper", nvlink=20.6 * GBps, pcie=48 * GBps, sys=22 * GBps, nic=50 * GBps)
"""H100 on Sapphire Rapids: NCCL `src/graph/topo.h` (SM90, gen5 = 4 x PCI, SRP_QPI); NDR InfiniBand."""

BLACKWELL = replace(HOPPER, generation="Blackwell", nvlink=40.1 * GBps, sys=40 * GBps)
"""B200 on Emerald Rapids: as HOPPER, NVLink of SM100 and the socket link of EMR in NCCL `src/graph/topo.h`."""

CDNA = _rates("CDNA2", nvlink=36 * GBps, pcie=24 * GBps, sys=16 * GBps, nic=25 * GBps)
"""MI250X on EPYC: xGMI of MI200 in RCCL `src/graph/topo.h` (50 GB/s nominal), gen4, AMD sockets; 200 Gbit/s NICs."""

CDNA3 = _rates("CDNA3", nvlink=48 * GBps, pcie=48 * GBps, sys=CDNA.sys, nic=50 * GBps)
"""MI300X on EPYC: xGMI of GFX94X in RCCL `src/graph/topo.h` (64 GB/s nominal), PCIe gen5, 400 Gbit/s NICs."""

CDNA4 = replace(CDNA3, generation="CDNA4")
"""MI350X and MI355X on EPYC: xGMI of GFX95X in RCCL `src/graph/topo.h` (76.5 GB/s nominal), the rest as CDNA3."""

GRACE = replace(HOPPER, pix=48 * GBps, sys=100 * GBps, nic=24 * GBps)
"""GH200 on Grace: NVLinks as HOPPER; Slingshot at 200 Gbit/s, 23.98 GB/s measured on Alps (OSU). What joins the Grace
sockets has a nominal 100 GB/s each way (NVIDIA Grace CPU white paper, coherent NVLink between four superchips)."""


GRACE_BLACKWELL = replace(BLACKWELL, sys=GRACE.sys)
"""GB200 on Grace: NVLinks and NICs as BLACKWELL, sockets as GRACE."""


def between_sockets(vendor: str, model: int, what: str = "") -> float:
    """B/s that NCCL reckons with between two sockets (`src/graph/topo.h`, `src/graph/topo.cc`).

    By the CPU's vendor and model number as `/proc/cpuinfo` has them; `what` is its architecture or name.

    >>> between_sockets("GenuineIntel", 143), between_sockets("AuthenticAMD", 1)
    (22000000000.0, 16000000000.0)
    """
    if "AMD" in vendor:
        return AMPERE.sys
    if re.search(r"power|ppc", what, re.IGNORECASE):
        return 32 * GBps
    if vendor != "GenuineIntel" or model < 0x55:
        return 6 * GBps  # Broadwell and before; Arm has the same
    if model >= 0xCF:
        return BLACKWELL.sys
    return HOPPER.sys if model >= 0x8F else VOLTA.sys


@dataclass(slots=True, kw_only=True)
class HostParts:
    """Devices and links gathered on the way."""

    devices: list[Device] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def add(self, prefix: str, kind: DeviceKind, numa: int) -> str:
        """A new device; its name counts those of its kind."""
        name = f"{prefix}{sum(device.name.startswith(prefix) for device in self.devices)}"
        self.devices.append(Device(name, kind, numa))
        return name

    def cable(self, a: str, b: str, bandwidth: float, latency: float, kind: LinkKind = "PCI", lanes: int = 1) -> None:
        """A link in each direction."""
        self.links += both_ways(a, b, bandwidth, latency, kind, lanes)


@dataclass(slots=True)
class _RatedParts(HostParts):
    """Parts whose links carry what the rates say."""

    rates: Rates


def build_host(
    name: str,
    leaves: Sequence[Leaf],
    rates: Rates,
    nvlinks: Mapping[tuple[str, str], int],
    *,
    numa_nodes: Iterable[int] = (),
) -> Topology:
    """One host of GPUs and NICs in their places; `nvlinks` counts the NVLinks of each pair of GPUs.

    Where a GPU would need more NVLinks than it can have, its NVLink neighbours hang on one NVSwitch. Domains
    are joined by a full mesh of inter-socket links, as NCCL does. Of `numa_nodes`, those without leaves are there, too.
    """
    parts = _RatedParts(rates)
    parts.devices += [Device(leaf.name, leaf.kind, leaf.numa) for leaf in leaves]
    _wire_nvlinks(parts, nvlinks)
    domains = _grouped(leaves, 1)
    numa = [next((leaf.numa for leaf in members if leaf.numa >= 0), -1) for members in domains]
    numa += sorted({*numa_nodes} - {leaf.numa for leaf in leaves})
    by_numa = len(set(numa)) == len(numa) and -1 not in numa
    cpus = [f"CPU{n if by_numa else i}" for i, n in enumerate(numa)]
    parts.devices += [Device(cpu, "CPU", n) for cpu, n in zip(cpus, numa, strict=True)]
    for cpu, n, members in zip(cpus, numa, domains, strict=False):
        _wire_domain(parts, cpu, n, members)
    for a, b in combinations(cpus, 2):
        parts.cable(a, b, rates.sys, rates.sys_latency, "SYS")
    return Topology(name, tuple(parts.devices), tuple(parts.links), generation=rates.generation)


def _grouped(leaves: Sequence[Leaf], depth: int) -> list[list[Leaf]]:
    """Leaves that share the first `depth` parts of their place."""
    ordered = sorted(leaves, key=lambda leaf: leaf.place)
    return [list(members) for _, members in groupby(ordered, key=lambda leaf: leaf.place[:depth])]


def _wire_domain(parts: _RatedParts, cpu: str, numa: int, members: list[Leaf]) -> None:
    """Host bridges of one NUMA node; a single one is the CPU itself."""
    rates = parts.rates
    bridges = _grouped(members, 2)
    for below in bridges:
        bridge = cpu
        if len(bridges) > 1:
            bridge = parts.add(f"{cpu}.HB", "CPU", numa)
            parts.cable(bridge, cpu, rates.node, rates.node_latency)
        for tree in _grouped(below, 3):
            _wire_tree(parts, bridge, numa, tree)


def _wire_tree(parts: _RatedParts, bridge: str, numa: int, tree: list[Leaf]) -> None:
    """The PCIe switches that share one uplink to a host bridge."""
    rates = parts.rates
    if len(tree) == 1:
        _plug(parts, tree[0], bridge, rates.phb, rates.phb_latency)
        return
    top = parts.add("PCI", "PCI", numa)
    parts.cable(top, bridge, rates.phb, rates.phb_latency)
    switches = _grouped(tree, 4)
    if len(switches) == 1:
        for leaf in tree:
            _plug(parts, leaf, top, rates.pix, 0.0)
        return
    # two lone leaves on the upper switch would be one switch apart, so only the first may sit there
    lone = next((members for members in switches if len(members) == 1), None)
    for members in switches:
        if members is lone:
            _plug(parts, members[0], top, rates.pxb, rates.pxb_latency)
            continue
        switch = parts.add("PCI", "PCI", numa)
        parts.cable(switch, top, rates.pxb, rates.pxb_latency)
        for leaf in members:
            _plug(parts, leaf, switch, rates.pix, 0.0)


def _plug(parts: _RatedParts, leaf: Leaf, into: str, bandwidth: float, latency: float) -> None:
    """A device's own PCIe link, as narrow as the device and as the socket it is plugged into."""
    own = parts.rates.nic if leaf.kind == "NIC" else parts.rates.pix
    parts.cable(leaf.name, into, min(own, bandwidth), parts.rates.pix_latency + latency)


def _wire_nvlinks(parts: _RatedParts, nvlinks: Mapping[tuple[str, str], int]) -> None:
    rates = parts.rates
    for names in _joined(nvlinks):
        joined = {pair: n for pair, n in nvlinks.items() if pair[0] in names}
        ports = {a: max(n for pair, n in joined.items() if a in pair) for a in names}
        switched = any(sum(n for pair, n in joined.items() if a in pair) > MOST_NVLINKS for a in names) and all(
            joined.get((a, b), joined.get((b, a), 0)) == min(ports[a], ports[b]) for a, b in combinations(names, 2)
        )
        if not switched:
            for (a, b), n in joined.items():
                parts.cable(a, b, n * rates.nvlink, rates.nvlink_latency, "NVL", n)
            continue
        switch = parts.add("NVS", "NVS", -1)
        for a in names:
            parts.cable(a, switch, ports[a] * rates.nvlink, rates.nvlink_latency / 2, "NVL", ports[a])


def _joined(pairs: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Names that the pairs join, directly or through others, one group at a time."""
    groups: list[list[str]] = []
    for a, b in pairs:
        old = [group for group in groups if a in group or b in group]
        groups = [group for group in groups if group not in old]
        groups.append(list(dict.fromkeys([*(x for group in old for x in group), a, b])))
    yield from groups

"""Networks between hosts: what a NIC's port carries and how long a message takes to the switch; the only table."""

from dataclasses import replace
from typing import NamedTuple

from sim.errors import InputError
from sim.topology.devices import Link
from sim.topology.model import Topology
from sim.units import Gbps, us


class HostNetwork(NamedTuple):
    """`bandwidth` is that of a port in each direction, B/s; `latency` from a NIC to its switch, s.

    A message between two hosts on one switch pays the latency twice.
    """

    bandwidth: float
    latency: float
    about: str
    source: str


TCP = 10 * us
"""Sockets through the kernel: tens of µs end to end, whatever the port carries."""
VERBS = 0.9 * us
"""perftest's ib_write_lat between two NDR hosts on one switch is 1.80 µs."""
_TCP = "with TCP's tens of µs end to end"
_VERBS = "perftest ib_write_lat, 1.80 µs between two hosts"
_EDR = HostNetwork(100 * Gbps, 1 * us, "EDR InfiniBand, 100 Gbit/s.", "IBTA volume 1; OSU micro-benchmarks, a µs or so")
_25G = HostNetwork(25 * Gbps, TCP, "25 Gbit/s Ethernet and TCP.", f"IEEE 802.3by, {_TCP}")
NETWORKS: dict[str, HostNetwork] = {
    "ethernet": _25G._replace(about="25 Gbit/s Ethernet and TCP, as ethernet_25g."),
    "ethernet_1g": HostNetwork(1 * Gbps, TCP, "1 Gbit/s Ethernet and TCP.", f"IEEE 802.3ab, {_TCP}"),
    "ethernet_10g": HostNetwork(10 * Gbps, TCP, "10 Gbit/s Ethernet and TCP.", f"IEEE 802.3ae, {_TCP}"),
    "ethernet_25g": _25G,
    "ethernet_40g": HostNetwork(40 * Gbps, TCP, "40 Gbit/s Ethernet and TCP.", f"IEEE 802.3ba, {_TCP}"),
    "ethernet_100g": HostNetwork(100 * Gbps, TCP, "100 Gbit/s Ethernet and TCP.", f"IEEE 802.3ba, {_TCP}"),
    "ethernet_200g": HostNetwork(200 * Gbps, TCP, "200 Gbit/s Ethernet and TCP.", f"IEEE 802.3bs, {_TCP}"),
    "ethernet_400g": HostNetwork(400 * Gbps, TCP, "400 Gbit/s Ethernet and TCP.", f"IEEE 802.3bs, {_TCP}"),
    "infiniband": _EDR._replace(about="EDR InfiniBand, 100 Gbit/s, as infiniband_edr."),
    "infiniband_edr": _EDR,
    "infiniband_hdr": HostNetwork(200 * Gbps, VERBS, "HDR InfiniBand, 200 Gbit/s.", f"IBTA volume 1; {_VERBS}"),
    "infiniband_ndr": HostNetwork(400 * Gbps, VERBS, "NDR InfiniBand, 400 Gbit/s.", f"IBTA volume 1; {_VERBS}"),
    "infiniband_xdr": HostNetwork(800 * Gbps, VERBS, "XDR InfiniBand, 800 Gbit/s.", f"IBTA volume 1; {_VERBS}"),
    "slingshot": HostNetwork(
        200 * Gbps, 1.7 * us, "Slingshot 11, 200 Gbit/s.",
        "HPE; HLC-Lab/pico: 3.4 µs a step of a ring between the nodes of LUMI",
    ),
}  # fmt: skip


def networked(topology: Topology, name: str) -> Topology:
    """The machine with this network between its hosts, and its own routes.

    Ports get the network's rates; links between switches keep their latency, and stay as many times as fast as a port
    as they were. Where GPUs hang on one switch or on each other, with nothing around them, all links are the
    network's. Raises InputError for a network there is none of, and for a machine without any.
    """
    if name not in NETWORKS:
        raise InputError("network.unknown", network=name, choices=NETWORKS)
    network, kind = NETWORKS[name], _kind(topology)
    if kind is None:
        raise InputError("network.one_host", topology=topology.name)
    kinds = {device.name: device.kind for device in topology.devices}

    def is_port(link: Link) -> bool:
        return link.kind == kind and not kinds[link.src] == kinds[link.dst] == "NET"

    own = max(link.bandwidth for link in topology.links if is_port(link))

    def changed(link: Link) -> Link:
        if is_port(link):
            return replace(link, bandwidth=network.bandwidth, latency=network.latency)
        return replace(link, bandwidth=link.bandwidth / own * network.bandwidth) if link.kind == kind else link

    links = tuple(map(changed, topology.links))
    return replace(topology, name=f"{topology.name}, {name}", links=links, router=topology.routes)


def has_network(topology: Topology) -> bool:
    """Whether there is one that another could take the place of."""
    return _kind(topology) is not None


def _kind(topology: Topology) -> str | None:
    """Of the links that are the network's, if any are."""
    kinds = {link.kind for link in topology.links}
    if "NET" in kinds:
        return "NET"
    switches = [device for device in topology.devices if device.kind != "GPU"]
    alone = len(kinds) == 1 and (not switches or [device.kind for device in switches] == ["NVS"])
    return kinds.pop() if alone else None

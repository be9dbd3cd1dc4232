"""Whole servers from one host: rates a caller may change, links of every pair, several hosts on rails."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated

from sim.parameters import Bounds
from sim.topology.host import Leaf, Rates, build_host
from sim.topology.model import Topology
from sim.topology.path_classes import pair_classes
from sim.topology.rails import join_by_rails

Hosts = Annotated[int, Bounds(1, 1024)]


def server(
    name: str,
    leaves: Sequence[Leaf],
    rates: Rates,
    nvlinks: Mapping[tuple[str, str], int],
    *,
    hosts: int = 1,
    overhead: float = 0.0,
    gamma: float = 0.0,
    forwarding: bool = False,
) -> Topology:
    """As many hosts alike as wanted, NIC k of each on rail k; arguments as for `build_host`."""
    host = replace(build_host(name, leaves, rates, nvlinks), overhead=overhead, gamma=gamma, forwarding=forwarding)
    return join_by_rails(replace(host, pairs=pair_classes(host)), hosts, rates.nic, rates.nic_latency)


def rated(
    of: Rates, nvlink: float, nvlink_latency: float, pcie: float, sys: float, nic: float, nic_latency: float
) -> Rates:
    """A generation's rates with what a caller gives: B/s and s; `pcie` is every PCIe link."""
    pci = dict.fromkeys(("pix", "pxb", "phb", "node"), pcie)
    rest = {"nvlink": nvlink, "sys": sys, "nic": nic, "nvlink_latency": nvlink_latency, "nic_latency": nic_latency}
    return replace(of, **pci, **rest)


def all_to_all(gpus: int, links: int) -> dict[tuple[str, str], int]:
    """Every pair of GPUs with the same number of NVLinks."""
    return {(f"GPU{a}", f"GPU{b}"): links for a, b in combinations(range(gpus), 2)}

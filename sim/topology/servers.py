"""Whole servers from one host: its parts, links of every pair of GPUs, several hosts on rails."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, NamedTuple

from sim.parameters import Bounds
from sim.topology.host import Leaf, Rates, build_host
from sim.topology.model import Topology
from sim.topology.path_classes import pair_classes
from sim.topology.rails import join_by_rails

Hosts = Annotated[int, Bounds(1, 1024)]
Nics = Annotated[int, Bounds(0, 64)]
"""How many NICs a host has; 0 for as many as its kind has."""


class Server(NamedTuple):
    """The parts of a host: GPUs and NICs in their places, how many NVLinks each pair of GPUs has.

    `relays` GPUs in a row pass on what is not for them from one NVLink to another.
    """

    leaves: Sequence[Leaf]
    nvlinks: Mapping[tuple[str, str], int] = {}
    relays: int = 0


def joined(name: str, server: Server, rates: Rates, hosts: int = 1) -> Topology:
    """As many hosts alike as wanted, NIC k of each on rail k."""
    host = replace(build_host(name, server.leaves, rates, server.nvlinks), relays=server.relays)
    return join_by_rails(replace(host, pairs=pair_classes(host)), hosts, rates.nic, rates.nic_latency)


def with_nics(server: Server, count: int) -> Server:
    """The server with so many NICs, spread over the places of those that it has."""
    own = [leaf for leaf in server.leaves if leaf.kind == "NIC"]
    places = [own[k * len(own) // count] for k in range(count)]
    nics = [leaf._replace(name=f"NIC{k}") for k, leaf in enumerate(places)]
    return server._replace(leaves=[*(leaf for leaf in server.leaves if leaf.kind != "NIC"), *nics])


def all_to_all(gpus: int, links: int) -> dict[tuple[str, str], int]:
    """Every pair of GPUs with the same number of NVLinks."""
    return numbered(dict.fromkeys(combinations(range(gpus), 2), links))


def numbered(links: Mapping[tuple[int, int], int]) -> dict[tuple[str, str], int]:
    """NVLinks of pairs of GPUs that are given by their numbers."""
    return {(f"GPU{a}", f"GPU{b}"): n for (a, b), n in links.items()}

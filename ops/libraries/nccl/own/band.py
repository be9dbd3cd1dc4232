"""Within how much of a prediction four of five measurements lie, and when nothing can be said of that.

The band rests on what the prediction rests on: a calibration of the machine itself, tables of its kind of network or
GPUs, or what all kinds come to where nothing is known of them. It widens with the hosts beyond those measured. None
where no measurement stands behind a prediction: on an edited machine, another network, with faults or with variables
that change how NCCL sends.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ops.libraries.nccl.layers import HALVES, LARGE, bands_kept, family_of
from ops.libraries.nccl.own.numbers import of_machine
from sim.faults.edits import EDITED
from sim.machines.through_memory import COPIES
from sim.topology import Topology
from sim.topology.networks import NETWORKS
from sim.units import GiB

LARGEST = 32 * GiB
"""Bytes beyond which nobody measured."""


def hosts_of(topology: Topology, ranks: int = 0) -> int:
    """Nodes that the first so many ranks are on."""
    return len(np.unique(topology.nodes[list(topology.ranks[: ranks or topology.n])]))


def is_unmeasured(topology: Topology) -> bool:
    """Whether a machine was changed into one that no table is of."""
    words = topology.name.split(", ")
    is_changed = EDITED in topology.name or not NETWORKS.keys().isdisjoint(word.removesuffix(EDITED) for word in words)
    return is_changed or COPIES in topology.assumed


def band_of(
    topology: Topology,
    settings: Mapping[str, object],
    size: float,
    faults: Sequence[str] = (),
    ranks: int = 0,
) -> float | None:
    """The share by which four of five times of a run with these settings differ at most; None where untold."""
    if "release" not in settings or "variables" in settings or any(faults):
        return None
    return band_at(topology, size, ranks)


def band_at(topology: Topology, size: float, ranks: int = 0) -> float | None:
    """The same for what NCCL runs by itself."""
    family = family_of(topology)
    if family is None or is_unmeasured(topology) or size > LARGEST:
        return None
    half, hosts = HALVES[size >= LARGE], hosts_of(topology, ranks)
    own, kept = of_machine(topology), bands_kept()
    if own and own.bears_on(several_hosts=hosts > 1):
        bands = kept["own"]["networks" if hosts > 1 else "generations"]
        stray, least = bands.get(family.layers[-1].name, bands[""])[half], own.hosts or 2
    else:
        usual = family.layers[-1].strays.get(half)
        if usual is None:
            return None
        stray, least = usual, kept["hosts"].get(family.layers[-1].name, 2)
    beyond = math.log2(hosts / least) if hosts > least > 1 else 0.0
    return math.expm1(stray + kept["a_doubling"][half] * beyond)


def bands_at(topology: Topology, ranks: int = 0) -> tuple[float | None, float | None]:
    """The same below and from 1 MiB."""
    return band_at(topology, 1, ranks), band_at(topology, LARGE, ranks)

"""What generations of GPUs and kinds of networks cost, layer upon layer, and which layers a machine has.

`layers.json` keeps a few factors on NCCL's own constants for each, fitted by `accuracy --leave-out` to tables.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ops.libraries.nccl.own.numbers import of_machine
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.topology_search import generation_of, is_amd
from sim.machines.through_memory import COPIES
from sim.topology import Topology
from sim.units import GBps, MiB

LAYERS = Path(__file__).with_name("layers.json")
LARGE = 1 * MiB
"""From this size on, rates and not latencies decide most of a time: errors are told below and from it."""
HALVES = ("below_1MiB", "from_1MiB")
"""Of the sizes, as files and answers call them."""
UNMEASURED = {"generations": "unmeasured GPUs", "networks": "unmeasured networks"}
"""What a layer is called that no table is known of."""
KINDS = ("generations", "networks")
"""Of layers: one or the other."""
NETWORK_UNTOLD = "its network between hosts is unknown: InfiniBand as on other machines is assumed"
"""What a machine assumes whose network may be any."""
LANES_OF = {20.0: ("Ampere", False), 20.6: ("Hopper", False), 40.1: ("Blackwell", False), 48.0: ("CDNA", True)}
"""What a captured machine's NVLinks carry (GB/s), which layer it then has, and whether its GPUs are AMD's."""


BRIDGED = 4
"""NVLinks of a card with a bridge, at most: nobody measured such cards."""


@dataclass(frozen=True)
class CostLayer:
    """What a generation of GPUs or a kind of network costs, the machines that have it, and where that comes from."""

    name: str
    machines: tuple[str, ...]
    pace: Mapping[str, float]
    tables: tuple[str, ...]
    strays: Mapping[str, float]
    note: str = ""
    errors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By table: its rows, the medians of its errors below and from 1 MiB as `fitted`, as `left_out`, these `by_ranks`
    too, as `unseen` where nothing of the layer is known, and how many rows left out are `inside` the band."""
    unseen: tuple[float | None, float | None] = (None, None)
    """The same medians over all its tables where nothing is known of the layer."""


@dataclass(frozen=True)
class Family:
    """The layers of one machine put together: their pace, and the tables that it rests on."""

    name: str
    pace: Pace
    layers: tuple[CostLayer, ...]

    @property
    def is_measured(self) -> bool:
        """Whether its GPUs are known by tables of their own."""
        return self.layers[0] is not unknown_layer("generations")

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table that one of the layers was fitted to, once."""
        return tuple(dict.fromkeys(table for layer in self.layers for table in layer.tables))


@cache
def layers() -> dict[str, dict[str, CostLayer]]:
    """Every layer by its kind, `generations` or `networks`, and its name."""
    return {
        kind: {
            name: CostLayer(
                name,
                tuple(entry["machines"]),
                {key: float(value) for key, value in entry["pace"].items()},
                tuple(entry["tables"]),
                entry.get("strays", {}),
                entry.get("note", ""),
                entry["tables"] if isinstance(entry["tables"], dict) else {},
                tuple(entry.get("unseen", (None, None))),
            )
            for name, entry in entries.items()
        }
        for kind, entries in _kept().items()
        if kind in KINDS
    }


@cache
def _kept() -> dict[str, dict[str, dict[str, Any]]]:
    kept: dict[str, dict[str, dict[str, Any]]] = json.loads(LAYERS.read_text())
    return kept


def bands_kept() -> dict[str, Any]:
    """What is known of bands beside those of layers: of calibrated machines, and how they widen with hosts."""
    return _kept()["bands"]


def classes_kept() -> dict[str, dict[str, Any]]:
    """How near predictions come by class of set-up, as `accuracy --leave-out -o` found."""
    return _kept()["classes"]


@cache
def unknown_layer(kind: str) -> CostLayer:
    """What is expected of a layer of a kind that nobody measured: latencies that those that are known have in common.

    It rests on the tables of all of them, and its band is how far off each comes out by what the others have.
    """
    entry = _kept()["unknown"][kind]
    tables = dict.fromkeys(table for layer in layers()[kind].values() for table in layer.tables)
    return CostLayer(UNMEASURED[kind], (), entry["pace"], tuple(tables), entry["strays"])


def machine_word(topology: Topology) -> str:
    """A machine's name without its parameters, and without what was done to it since.

    >>> from sim.machines import build
    >>> from sim.faults.edits import edited
    >>> machine_word(edited(build("dgx_a100"), ["set_class:times=2"])), machine_word(build("l40s:gpus=2"))
    ('dgx_a100', 'l40s')
    """
    return re.split(r"[:,\s]", topology.name.strip(), maxsplit=1)[0]


def layers_of(topology: Topology) -> tuple[CostLayer, ...]:
    """What is known of a machine's GPUs and, where it has several hosts, of its network.

    A machine is known by its name, a captured one by its GPUs' generation, else by its NVLinks. GPUs in hosts that are
    not known have the latencies of others; abstract machines, whose GPUs stand nowhere, have no layers.
    """
    gpus = _gpus_of(topology) or (unknown_layer("generations") if _stands_in_hosts(topology) else None)
    if gpus is None:
        return ()
    if len(np.unique(topology.nodes[list(topology.ranks)])) == 1:
        return (gpus,)
    usual, name = layers()["networks"]["IB"], machine_word(topology)
    network = next((layer for layer in layers()["networks"].values() if name in layer.machines), usual)
    if NETWORK_UNTOLD in topology.assumed or (topology.format and network is usual):
        network = replace(network, strays=unknown_layer("networks").strays or network.strays)
    if gpus is unknown_layer("generations"):
        wider = {half: max(stray, gpus.strays.get(half, stray)) for half, stray in network.strays.items()}
        network = replace(network, strays=wider)
    return gpus, network


def _gpus_of(topology: Topology) -> CostLayer | None:
    if COPIES in topology.assumed:  # nobody measured it without peers' memory
        return None
    name, generations = machine_word(topology), layers()["generations"]
    by_name = next((layer for layer in generations.values() if name in layer.machines), None)
    if by_name or not topology.format:
        return by_name
    if topology.generation:
        first = topology.devices[topology.ranks[0]].name
        wires = sum(x.lanes for x in topology.links if x.kind == "NVL" and x.src == first)
        return generations.get(topology.generation.rstrip("34")) if wires > BRIDGED else None
    lanes = {round(x.bandwidth / x.lanes / GBps, 3) for x in topology.links if x.kind == "NVL"}
    fitted = next((LANES_OF[rate] for rate in sorted(lanes & LANES_OF.keys())), ("", False))
    agrees = fitted[0] and fitted[1] == is_amd(topology) and fitted[0] in ("CDNA", generation_of(topology))
    return generations.get(fitted[0]) if agrees else None


def _stands_in_hosts(topology: Topology) -> bool:
    """Whether its GPUs are in hosts: it was captured, or they hang on sockets."""
    return bool(topology.format) or any(topology.devices[device].numa >= 0 for device in topology.ranks)


@lru_cache(maxsize=64)
def family_of(topology: Topology) -> Family | None:
    """The layers of a machine put together; None for an abstract one."""
    parts = layers_of(topology)
    pace = Pace(**{key: value for layer in parts for key, value in layer.pace.items()})
    own = of_machine(topology)
    return Family(", ".join(layer.name for layer in parts), own.on(pace) if own else pace, parts) if parts else None

"""Path classes: what kind of path joins two devices, in the words of `nvidia-smi topo -m`, from the routes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.ragged import row_numbers
from sim.topology.model import Topology

CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""PCIe classes, nearest first."""
LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "NET")
"""How far apart two devices are, nearest first, as NCCL calls it: NODE is PHB there."""
_WORDS = ("NET", "SYS", "NODE", "PHB", "NV", "PXB", "PIX")
_LEVEL_OF = np.array([LEVELS.index({"NODE": "PHB", "NV": "NVL"}.get(word, word)) for word in _WORDS])


def pair_classes(topology: Topology) -> dict[str, dict[str, str]]:
    """The class of every pair of GPUs and NICs, by name: `{"GPU0": {"GPU1": "NV12", …}}`.

    NET through the network, SYS over a link between sockets, NODE through several host bridges of one NUMA
    node, PHB through one, NV# over NVLinks of which the narrowest has # lanes, PXB over several PCIe
    switches, PIX over one at most. Raises InputError for a pair nothing connects.
    """
    ends = np.array([i for i, d in enumerate(topology.devices) if d.kind in ("GPU", "NIC")], np.int32)
    src, dst = (side.ravel() for side in np.meshgrid(ends, ends, indexing="ij"))
    src, dst = src[src != dst], dst[src != dst]
    chosen, lanes = _classes(topology, src, dst)
    names = [device.name for device in topology.devices]
    pairs: dict[str, dict[str, str]] = {names[i]: {} for i in ends}
    for a, b, word, n in zip(src.tolist(), dst.tolist(), chosen.tolist(), lanes.tolist(), strict=True):
        pairs[names[a]][names[b]] = f"NV{n}" if word == _WORDS.index("NV") else _WORDS[word]
    return pairs


def levels(topology: Topology, src: Ints, dst: Ints) -> NDArray[np.int64]:
    """How far apart the two devices of each pair are, as a place in `LEVELS`, shape (pairs,)."""
    return np.where(src == dst, 0, _LEVEL_OF[_classes(topology, src, dst)[0]])


def _classes(topology: Topology, src: Ints, dst: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The class of each pair, as a place in `_WORDS`, and the lanes of the narrowest link between them."""
    offsets, links = topology.routes(src, dst)
    route = row_numbers(offsets)

    def crossed(what: list[bool]) -> Any:
        return np.bincount(route[np.array(what, np.bool_)[links]], minlength=len(src))

    kinds = [link.kind for link in topology.links]
    # a half-duplex link may be crossed against its direction: count both ends, every device between is met twice
    touched = [[d.kind for d in (topology.devices[topology.index[e]] for e in (x.src, x.dst))] for x in topology.links]
    cpus, switches = (
        crossed([ends[0] == kind for ends in touched]) + crossed([ends[1] == kind for ends in touched])
        for kind in ("CPU", "PCI")
    )
    lanes = np.full(len(src), np.iinfo(np.int64).max)
    np.minimum.at(lanes, route, np.array([link.lanes for link in topology.links], np.int64)[links])
    tests = [
        crossed([kind == "NET" for kind in kinds]) > 0,
        crossed([kind == "SYS" for kind in kinds]) > 0,
        cpus > 2,
        cpus > 0,
        crossed([kind != "NVL" for kind in kinds]) == 0,
        switches > 2,
    ]
    return np.select(tests, [0, 1, 2, 3, 4, 5], 6), lanes


def describe(topology: Topology) -> dict[str, Any]:
    """A topology as plain data for JSON: devices, links, counts and classes of pairs.

    `pairs` is what a capture says where there is one, else what the routes say.
    """
    devices = topology.devices
    return {
        "name": topology.name,
        "format": topology.format,
        "devices": [{"name": d.name, "kind": d.kind, "numa": d.numa, "host": d.host} for d in devices],
        "gpus": sum(d.kind == "GPU" for d in devices),
        "nics": sum(d.kind == "NIC" for d in devices),
        "numa_nodes": len({(d.host, d.numa) for d in devices if d.numa >= 0}),
        "links": [
            {"src": x.src, "dst": x.dst, "bandwidth_Bps": x.bandwidth, "latency_s": x.latency, "kind": x.kind}
            for x in topology.links
        ],
        "pairs": topology.pairs or pair_classes(topology),
        "assumed": list(topology.assumed),
    }

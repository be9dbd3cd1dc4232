"""Which devices play the switches of a schedule that adds or copies inside the network."""

import numpy as np

from sim.errors import InputError
from sim.schedule import Schedule
from sim.topology.model import Topology


def switch_devices(topology: Topology, schedule: Schedule, ranks: list[int]) -> list[int]:
    """A device for every switch of the schedule; `ranks` are the devices of its ranks.

    The k-th NVS is the k-th host's own, or that of a rack whose hosts share it; a NET joins all hosts; a machine
    that is one switch is both. Of several the one nearest to its ranks is taken. Raises InputError where the machine
    has none.
    """
    if not schedule.switches:
        return []
    devices = topology.devices
    of_kind = {kind: [i for i, d in enumerate(devices) if d.kind == kind] for kind in ("NVS", "NET")}
    everywhere = bool(of_kind["NVS"]) and all(devices[i].host == -1 for i in of_kind["NVS"])
    hosts = list(dict.fromkeys(-1 if everywhere else devices[r].host for r in ranks))
    nodes = schedule.switches.count("NVS")
    if nodes not in (0, len(hosts)):
        raise InputError(
            f"{schedule.name} is for ranks of {nodes} node{'s' * (nodes > 1)}, not of {len(hosts)}:"
            " take fewer ranks or another algorithm"
        )
    chosen: list[int] = []
    inside = iter(hosts)
    for kind in schedule.switches:
        if kind == "NVS":
            host = next(inside)
            near = [r for r in ranks if everywhere or devices[r].host == host]
            candidates = [i for i in of_kind["NVS"] if devices[i].host == host]
        else:
            near, candidates = ranks, of_kind["NET"] or (of_kind["NVS"] if len(hosts) == 1 else [])
        if not candidates:
            place = "between its nodes" if kind == "NET" else "in its node"
            raise InputError(
                f"{schedule.name} needs a switch {place} that adds and copies, and {topology.name} has none there:"
                " choose another algorithm or machine"
            )
        chosen.append(candidates[0] if len(candidates) == 1 else _nearest(topology, near, candidates))
    return chosen


def _nearest(topology: Topology, ranks: list[int], switches: list[int]) -> int:
    """The switch with the fewest links to a sample of the ranks."""
    some = ranks[:: -(-len(ranks) // 16)]
    pairs = topology.routes(some * len(switches), [s for s in switches for _ in some])
    hops = np.diff(pairs.offsets).reshape(len(switches), -1).sum(axis=1)
    return switches[int(np.argmin(hops))]

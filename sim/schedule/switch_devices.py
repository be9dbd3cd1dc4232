"""Which devices play the switches of a schedule that adds or copies inside the network."""

from collections.abc import Collection

import numpy as np

from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.topology.generations import can_reduce
from sim.topology.model import Topology


def switch_devices(topology: Topology, schedule: Schedule, ranks: list[int]) -> list[int]:
    """A device for every switch of the schedule; `ranks` are the devices of its ranks.

    The k-th NVS is that of the k-th node, which is a host or a rack of hosts around it; a NET joins all nodes; a
    machine that is one switch is both. Of several the one nearest to its ranks is taken. Raises InputError where the
    machine has none.
    """
    if not schedule.switches:
        return []
    of_kind = {kind: np.flatnonzero(topology.kinds == kind).tolist() for kind in ("NVS", "NET")}
    node_of = topology.nodes
    nodes = list(dict.fromkeys(node_of[ranks].tolist()))
    meant = schedule.switches.count("NVS")
    if meant not in (0, len(nodes)):
        why = "switch.nodes" if meant > 1 else "switch.one_node"
        raise InputError(why, schedule=schedule.name, meant=meant, count=len(nodes))
    chosen: list[int] = []
    inside = iter(nodes)
    for kind in schedule.switches:
        if kind == "NVS":
            node = next(inside)
            near = [r for r in ranks if node_of[r] == node]
            candidates = [i for i in of_kind["NVS"] if node_of[i] == node]
        else:
            near, candidates = ranks, of_kind["NET"] or (of_kind["NVS"] if len(nodes) == 1 else [])
        if not candidates:
            why = "switch.none_between" if kind == "NET" else "switch.none_inside"
            raise InputError(why, schedule=schedule.name, topology=topology.name)
        if reason := cannot_reduce(topology, candidates[0]):
            raise InputError("switch.reason", schedule=schedule.name, reason=reason)
        chosen.append(candidates[0] if len(candidates) == 1 else _nearest(topology, near, candidates))
    return chosen


def cannot_reduce(topology: Topology, switch: int) -> Message | None:
    """Return why a switch neither adds nor copies what it carries, None where it does.

    An NVSwitch does from Hopper on, and where nothing says which GPUs the machine has; a network's switches do.
    """
    if topology.kinds[switch] != "NVS" or can_reduce(topology.generation):
        return None
    return Message("switch.cannot_reduce", topology=topology.name, generation=topology.generation)


def reduces(topology: Topology, kinds: Collection[str]) -> bool:
    """Return whether the machine has a switch of each kind, `NVS` or `NET`, that adds and copies what it carries."""
    able = {str(topology.kinds[i]) for i in np.flatnonzero(np.isin(topology.kinds, ("NVS", "NET")))}
    if not can_reduce(topology.generation):
        able.discard("NVS")
    return all(kind in able or (kind == "NET" and "NVS" in able) for kind in kinds)


def _nearest(topology: Topology, ranks: list[int], switches: list[int]) -> int:
    """The switch with the fewest links to a sample of the ranks."""
    some = ranks[:: -(-len(ranks) // 16)]
    pairs = topology.routes(some * len(switches), [s for s in switches for _ in some])
    hops = np.diff(pairs.offsets).reshape(len(switches), -1).sum(axis=1)
    return switches[int(np.argmin(hops))]

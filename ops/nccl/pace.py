"""What NCCL's way of sending costs on a machine: start-up, hops and the shares of links that protocols reach.

The constants are NCCL's own; `families.json` bends them by a few factors per family of machines, fitted by
`calibrate` to published measurements.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ops.nccl.constants import BASE_LATENCY, HOP_LATENCY, PAYLOAD, PROTOCOLS, Protocol
from ops.nccl.machine import Seen
from sim.schedule import Schedule
from sim.topology import Floats, Topology
from sim.trouble import Trouble
from sim.units import us

FAMILIES = Path(__file__).with_name("families.json")
NVLS_STAGES = 4
"""Messages in a row that NVLS takes to and from the switch; they share its latency."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a family of machines keeps NCCL's constants: factors on them, shares of links, and a start-up of its own."""

    launch: float = 0.0
    """Seconds before anything moves, beside the protocol's base latency."""
    intra: float = 1.0
    """Factor on every hop inside a node."""
    inter: float = 1.0
    """Factor on every hop between nodes."""
    nvlink: float = 1.0
    """Share of what links inside a node carry that rings and trees reach."""
    net: float = 1.0
    """Share of what NICs carry that is reached."""
    nvls: float = 0.85
    """Share of NVLinks that in-switch adding reaches; nvlsEfficiency of Hopper."""

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


@dataclass(frozen=True)
class Family:
    """Machines that keep one pace, and where it comes from."""

    name: str
    machines: tuple[str, ...]
    pace: Pace
    provenance: Mapping[str, Any]


@cache
def families() -> dict[str, Family]:
    """Every calibrated family by name."""
    known = {field.name for field in fields(Pace)}
    found = {}
    for name, entry in json.loads(FAMILIES.read_text()).items():
        pace = Pace(**{key: float(value) for key, value in entry["pace"].items() if key in known})
        rest = {key: value for key, value in entry.items() if key not in ("pace", "machines")}
        found[name] = Family(name, tuple(entry["machines"]), pace, rest)
    return found


def family_of(topology: Topology) -> Family | None:
    """The family a machine belongs to by its name; None for machines nobody has calibrated."""
    name = topology.name.partition(":")[0].strip()
    return next((family for family in families().values() if name in family.machines), None)


def hop(algorithm: str, protocol: Protocol, kind: str, pace: Pace) -> float:
    """Seconds that one step costs over NVLINK, PCI or NET."""
    table = HOP_LATENCY[algorithm]
    factor = pace.inter if kind == "NET" else pace.intra
    value: float = table[kind][PROTOCOLS.index(protocol)]  # type: ignore[index]
    return value * factor * us


def costs(topology: Topology, seen: Seen, algorithm: str, protocol: Protocol, pace: Pace) -> Trouble:
    """What this algorithm and protocol do to a machine and to every transfer; a Trouble without a name.

    Links carry the protocol's share. The first transfers wait for the launch, and each waits what its hop costs
    beyond the latency of its route.
    """
    base = BASE_LATENCY.get(algorithm, (0.0, 0.0, 0.0))[PROTOCOLS.index(protocol)] * us
    inside = hop(algorithm, protocol, seen.situation.kind, pace)
    between = hop(algorithm, protocol, "NET", pace)
    switched = inside / NVLS_STAGES
    inner = (pace.nvls if algorithm.startswith("NVLS") else pace.nvlink) * PAYLOAD[protocol]
    outer = pace.net * PAYLOAD[protocol]
    node_of = np.zeros(seen.situation.n, np.int64)
    for k, node in enumerate(seen.nodes):
        node_of[list(node)] = k

    def slowed(machine: Topology) -> Topology:
        network = {d.name for d in machine.devices if d.kind in ("NIC", "NET")}
        links = tuple(
            replace(x, bandwidth=x.bandwidth * (outer if network & {x.src, x.dst} else inner)) for x in machine.links
        )
        return replace(machine, links=links, router=machine.routes)

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        n = schedule.n
        ranks = (schedule.src < n) & (schedule.dst < n)
        same = node_of[np.minimum(schedule.src, n - 1)] == node_of[np.minimum(schedule.dst, n - 1)]
        wait = np.where(~ranks, switched, np.where(same, inside, between))
        wait = np.maximum(0.0, wait - _route_latency(topology, schedule, ranks))
        wait[schedule.src == schedule.dst] = 0.0
        first = schedule.waits.pending[: schedule.transfers] == 0
        return np.where(first, wait + base + pace.launch, wait)

    return Trouble(machine=slowed, delay=delay)


def _route_latency(topology: Topology, schedule: Schedule, ranks: np.typing.NDArray[np.bool_]) -> Floats:
    """What the route of every transfer between ranks costs already, s; zero for those with a switch."""
    found: Floats = np.zeros(schedule.transfers)
    pairs = schedule.src[ranks].astype(np.int64) * schedule.n + schedule.dst[ranks]
    each, where = np.unique(pairs, return_inverse=True)
    devices = np.array(topology.ranks, np.int32)
    offsets, links = topology.routes(devices[each // schedule.n], devices[each % schedule.n])
    sums = np.concatenate([[0.0], np.cumsum(topology.latency[links])])
    found[ranks] = (sums[offsets[1:]] - sums[offsets[:-1]])[where]
    return found

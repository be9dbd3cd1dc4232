"""What NCCL's way of sending costs on a machine: start-up, hops and the shares of links that protocols reach.

The constants are NCCL's own; `families.json` bends them by a few factors per family of machines, fitted by
`calibrate` to published measurements.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ops.libraries.nccl.constants import (
    BASE_LATENCY,
    HOP_LATENCY,
    LL_MOST,
    PAYLOAD,
    PROTOCOLS,
    RING_LL128_MOST,
    SLICE,
    THREADS,
    THRESHOLD,
    Kind,
    Protocol,
)
from ops.libraries.nccl.topology_search import Seen, generation_of, is_amd
from ops.libraries.nccl.tuner import Situation
from sim.perturbation import Perturbation
from sim.schedule import Schedule
from sim.schedule.dependencies import waits
from sim.topology import Floats, Topology
from sim.units import GBps, us

FAMILIES = Path(__file__).with_name("families.json")
NVLS_STAGES = 4
"""Messages in a row that NVLS takes to and from the switch; they share its latency."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a family of machines keeps NCCL's constants: factors on latencies and rates, and a start-up of its own."""

    launch: float = 0.0
    """Seconds before anything moves, beside the protocol's base latency."""
    ll: float = 1.0
    """Factor on every hop with LL."""
    ll128: float = 1.0
    """Factor on every hop with LL128."""
    simple: float = 1.0
    """Factor on every hop with Simple."""
    nvls_hop: float = 1.0
    """Factor on the way to an NVSwitch that adds, and back."""
    net_hop: float = 0.0
    """Seconds that a hop between nodes takes beyond NCCL's constant, whatever the protocol."""
    nvlink: float = 1.0
    """Share of what links inside a node carry that rings and trees reach."""
    net: float = 1.0
    """Share of what NICs carry that is reached."""
    nvls: float = 0.85
    """Share of NVLinks that in-switch adding reaches; nvlsEfficiency of Hopper."""
    ll_rate: float = 1.0
    """Factor on what a channel copies with LL."""
    ll128_rate: float = 1.0
    """Factor on what a channel copies with LL128."""
    copy: float = 0.0
    """Share of a slice's copying with Simple that a hop waits for before the next can begin."""

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
    like: Mapping[str, Any] = field(default_factory=dict)
    """What a captured machine of the family looks like; empty where that tells too little."""


@cache
def families() -> dict[str, Family]:
    """Every calibrated family by name."""
    factors = {factor.name for factor in fields(Pace)}
    entries = {}
    for name, entry in json.loads(FAMILIES.read_text()).items():
        pace = Pace(**{key: float(value) for key, value in entry["pace"].items() if key in factors})
        rest = {key: value for key, value in entry.items() if key not in ("pace", "machines", "like")}
        entries[name] = Family(name, tuple(entry["machines"]), pace, rest, entry.get("like", {}))
    return entries


def family_of(topology: Topology) -> Family | None:
    """The family a machine belongs to: by its name, a captured one by what it looks like; None for unknown ones."""
    name = topology.name.partition(":")[0].strip()
    named = next((family for family in families().values() if name in family.machines), None)
    if named is not None or not topology.format:
        return named
    kinds = Counter(device.kind for device in topology.devices)
    hosts = len({device.host for device in topology.devices if device.kind == "GPU"})
    looks = {
        "generation": generation_of(topology),
        "gpus": kinds["GPU"] / max(1, hosts),
        "switch": kinds["NVS"] > 0,
        "amd": is_amd(topology),
    }
    return next((family for family in families().values() if family.like == looks), None)


def hop(algorithm: str, protocol: Protocol, kind: Kind, pace: Pace) -> float:
    """Seconds that one step costs over NVLINK, PCI or NET."""
    factor = {"LL": pace.ll, "LL128": pace.ll128, "Simple": pace.simple}[protocol]
    if algorithm.startswith("NVLS") and kind != "NET":
        factor = pace.nvls_hop
    more = pace.net_hop if kind == "NET" else 0.0
    return HOP_LATENCY[algorithm][kind][PROTOCOLS.index(protocol)] * factor * us + more


def channel_rate(protocol: Protocol, at: Situation) -> float:
    """B/s that the tuner grants one channel of a ring."""
    bw = at.bw_intra if at.nodes <= 2 else at.bw_inter
    if protocol == "LL":
        row = at.generation if at.nodes == 1 else "Ampere" if at.amd_cpu else "Volta"
        return min(0.5 * bw, LL_MOST[row][at.column] / at.channels) * GBps
    if protocol == "LL128":
        return min(0.92 * bw, RING_LL128_MOST[at.generation][at.column]) * GBps
    return bw * GBps


def active_channels(algorithm: str, protocol: Protocol, size: float, at: Situation) -> int:
    """How many channels NCCL keeps busy: as many as find `THREADS · THRESHOLD` bytes each (`src/enqueue.cc`)."""
    if algorithm not in ("Ring", "Tree"):
        return at.channels
    least = THREADS[protocol] * THRESHOLD[protocol] * (at.n if (algorithm, protocol) == ("Ring", "LL") else 1)
    return max(1, min(at.channels, int(size // least)))


def costs(topology: Topology, seen: Seen, algorithm: str, protocol: Protocol, size: float, pace: Pace) -> Perturbation:
    """What this algorithm and protocol do to a machine and to every transfer; a perturbation without a name.

    Links carry the protocol's share. The first transfers wait for the launch, and each waits what its hop costs
    beyond the latency of its route, and for its channel to copy its slice.
    """
    way = "Ring" if algorithm == "SendRecv" else algorithm
    base = BASE_LATENCY.get(way, (0.0, 0.0, 0.0))[PROTOCOLS.index(protocol)] * us
    inside = hop(way, protocol, seen.situation.kind, pace)
    between = hop(way, protocol, "NET", pace)
    switched = inside / NVLS_STAGES
    inner = (pace.nvls if algorithm.startswith("NVLS") else pace.nvlink) * PAYLOAD[protocol]
    outer = pace.net * PAYLOAD[protocol]
    copying = {"LL": 1 / pace.ll_rate, "LL128": 1 / pace.ll128_rate, "Simple": pace.copy}[protocol]
    copying /= channel_rate(protocol, seen.situation)
    copying *= algorithm in ("Ring", "Tree")
    stripes = len(seen.orders) / active_channels(algorithm, protocol, size, seen.situation)
    node_of = np.zeros(seen.situation.n, np.int64)
    for k, node in enumerate(seen.nodes):
        node_of[list(node)] = k

    near = "NVL" if seen.situation.kind == "NVLINK" else "PCI"

    def slowed(machine: Topology) -> Topology:
        links = tuple(replace(x, bandwidth=x.bandwidth * (inner if x.kind == near else outer)) for x in machine.links)
        return replace(machine, links=links, router=machine.routes)

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        n = schedule.n
        ranks = (schedule.src < n) & (schedule.dst < n)
        same = node_of[np.minimum(schedule.src, n - 1)] == node_of[np.minimum(schedule.dst, n - 1)]
        wait = np.where(~ranks, switched, np.where(same, inside, between))
        wait = np.maximum(0.0, wait - _route_latency(topology, schedule, ranks))
        wait += np.minimum(sizes * stripes, SLICE[protocol]) * copying
        wait[schedule.src == schedule.dst] = 0.0
        first = waits(schedule).pending[: schedule.transfers] == 0
        return np.where(first, wait + base + pace.launch, wait)

    return Perturbation(machine=slowed, delay=delay)


def _route_latency(topology: Topology, schedule: Schedule, ranks: np.typing.NDArray[np.bool_]) -> Floats:
    """What the route of every transfer between ranks costs already, s; zero for those with a switch."""
    latency: Floats = np.zeros(schedule.transfers)
    pairs = schedule.src[ranks].astype(np.int64) * schedule.n + schedule.dst[ranks]
    each, where = np.unique(pairs, return_inverse=True)
    devices = np.array(topology.ranks, np.int32)
    offsets, links = topology.routes(devices[each // schedule.n], devices[each % schedule.n])
    sums = np.concatenate([[0.0], np.cumsum(topology.latency[links])])
    latency[ranks] = (sums[offsets[1:]] - sums[offsets[:-1]])[where]
    return latency

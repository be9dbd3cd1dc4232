"""What NCCL's way of sending costs on a machine: start-up, hops and the shares of links that protocols reach.

The constants are NCCL's own; `layers.json` bends them by a few factors per generation of GPUs and kind of network,
fitted by `calibrate` to published measurements.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.libraries.nccl.constants import (
    ALONE,
    BASE_LATENCY,
    CHUNK_SLOTS,
    ENDS,
    FIRST_CHUNK,
    HOP_LATENCY,
    LL_MOST,
    LOCAL_COPY,
    MOST_CHANNELS,
    PAYLOAD,
    PEER_PART,
    PEER_RATE,
    PROTOCOLS,
    SLICE_SLOTS,
    SLOT,
    SLOT_DATA,
    THREADS,
    THRESHOLD,
    Kind,
    Protocol,
)
from ops.libraries.nccl.topology_search import Seen, generation_of, is_amd
from ops.libraries.nccl.tuner import Situation, nvls_chunk
from sim.perturbation import Perturbation
from sim.schedule import Schedule
from sim.schedule.dependencies import waits
from sim.topology import Floats, Topology
from sim.units import GBps, MiB, us

LAYERS = Path(__file__).with_name("layers.json")
LANES_OF = {20.0: ("Ampere", False), 20.6: ("Hopper", False), 40.1: ("Blackwell", False), 48.0: ("CDNA", True)}
"""What a captured machine's NVLinks carry (GB/s), which layer it then has, and whether its GPUs are AMD's."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How machines keep NCCL's constants: what a generation of GPUs and a kind of network cost, layer upon layer."""

    launch: float = 0.0
    """Seconds before anything moves, beside the protocol's base latency; below zero where that is too long."""
    ll128_start: float = 0.0
    """Further seconds with LL128."""
    simple_start: float = 0.0
    """Further seconds with Simple."""
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
    net_ll128: float = 0.0
    """Further seconds of a hop between nodes with LL128."""
    net_simple: float = 0.0
    """Further seconds of a hop between nodes with Simple."""
    nvlink: float = 1.0
    """Share of what links inside a node carry that rings and trees reach."""
    net: float = 1.0
    """Share of what NICs carry that is reached."""
    net_slot: float = 0.0
    """Share of a slot's copying that a hop between nodes waits for: a message leaves when its slot is full."""
    nvls: float = 0.92
    """Share of NVLinks that in-switch adding reaches with chunks that are long."""
    nvls_gap: float = 0.0
    """Bytes that a channel could have moved from one chunk to an adding switch to the next."""
    peer: float = 0.0
    """Seconds before sends to peers begin, beside all else."""
    peer_share: float = 1.0
    """Share of what rings reach that sends to many peers at once do."""
    own: float = 1.0
    """Factor on the time in which a rank's own block of an alltoall is copied."""
    ends: float = 0.0
    """Factor on `ENDS` with Simple: copying from buffer to buffer before the first step and after the last; 0 for no
    such copying whatever the protocol."""
    slot: float = 0.0
    """Share of a half-full slot that every step with Simple waits for."""

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


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
    """By table: its rows, the medians of its errors below and from 1 MiB as `fitted` and `left_out`, and how many rows
    left out are `inside` the band."""
    unseen: tuple[float | None, float | None] = (None, None)
    """The same medians over all its tables where nothing is known of the layer."""


@dataclass(frozen=True)
class Family:
    """The layers of one machine put together: their pace, and the tables that it rests on."""

    name: str
    pace: Pace
    layers: tuple[CostLayer, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table that one of the layers was fitted to, once."""
        return tuple(dict.fromkeys(table for layer in self.layers for table in layer.tables))

    def expected_error(self, size: float) -> float | None:
        """The share by which four of five times differ at most, as tables did that the fit was not shown; None untold.

        That of the network where there are several hosts.
        """
        stray = self.layers[-1].strays.get("from_1MiB" if size >= MiB else "below_1MiB")
        return None if stray is None else math.expm1(stray)

    @property
    def bands(self) -> tuple[float | None, float | None]:
        """The same below and from 1 MiB."""
        return self.expected_error(1), self.expected_error(MiB)


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
        for kind, entries in json.loads(LAYERS.read_text()).items()
    }


def machine_word(topology: Topology) -> str:
    """A machine's name without its parameters, and without what was done to it since.

    >>> from sim.machines import build
    >>> from sim.edits import edited
    >>> machine_word(edited(build("dgx_a100"), ["set_class:times=2"])), machine_word(build("l40s:gpus=2"))
    ('dgx_a100', 'l40s')
    """
    return re.split(r"[:,\s]", topology.name.strip(), maxsplit=1)[0]


def layers_of(topology: Topology) -> tuple[CostLayer, ...]:
    """What is known of a machine's GPUs and, where it has several hosts, of its network; nothing of unknown ones.

    A machine is known by its name, a captured one by its NVLinks.
    """
    name, every = machine_word(topology), layers()
    gpus = next((layer for layer in every["generations"].values() if name in layer.machines), None)
    if gpus is None and topology.format:
        lanes = {round(x.bandwidth / x.lanes / GBps, 3) for x in topology.links if x.kind == "NVL"}
        fitted = next((LANES_OF[rate] for rate in sorted(lanes & LANES_OF.keys())), ("", False))
        if fitted[0] and fitted[1] == is_amd(topology) and fitted[0] in ("CDNA", generation_of(topology)):
            gpus = every["generations"].get(fitted[0])
    if gpus is None:
        return ()
    if len({device.host for device in topology.devices if device.kind == "GPU"}) < 2:
        return (gpus,)
    return gpus, next(
        (layer for layer in every["networks"].values() if name in layer.machines), every["networks"]["IB"]
    )


@lru_cache(maxsize=64)
def family_of(topology: Topology) -> Family | None:
    """The layers of a machine put together; None where nothing is known of its GPUs."""
    parts = layers_of(topology)
    pace = Pace(**{key: value for layer in parts for key, value in layer.pace.items()})
    return Family(", ".join(layer.name for layer in parts), pace, parts) if parts else None


def hop(algorithm: str, protocol: Protocol, kind: Kind, pace: Pace) -> float:
    """Seconds that one step costs over NVLINK, PCI or NET."""
    factor = {"LL": pace.ll, "LL128": pace.ll128, "Simple": pace.simple}[protocol]
    if algorithm.startswith("NVLS") and kind != "NET":
        factor = pace.nvls_hop
    more = 0.0
    if kind == "NET":
        factor = 1.0  # a network's hop is the network's, whatever the GPUs
        more = pace.net_hop + {"LL": 0.0, "LL128": pace.net_ll128, "Simple": pace.net_simple}[protocol]
    return HOP_LATENCY[algorithm][kind][PROTOCOLS.index(protocol)] * factor * us + more


def running_channels(at: Situation) -> int:
    """Channels that run: every one of the search's twice (`src/graph/connect.cc`)."""
    return min(2 * at.channels, 2 * MOST_CHANNELS)


def channel_rate(at: Situation) -> float:
    """B/s that the search grants each channel that runs."""
    bw = at.bw_intra if at.nodes <= 2 else at.bw_inter
    return bw * at.channels / running_channels(at) * GBps


def active_channels(algorithm: str, protocol: Protocol, size: float, at: Situation) -> int:
    """How many channels NCCL keeps busy: as many as find `THREADS · THRESHOLD` bytes each (`src/enqueue.cc`)."""
    if algorithm not in ("Ring", "Tree"):
        return running_channels(at)
    least = THREADS[protocol] * THRESHOLD[protocol] * (at.n if (algorithm, protocol) == ("Ring", "LL") else 1)
    return max(1, min(running_channels(at), int(size // least)))


@dataclass(frozen=True)
class Way:
    """One algorithm and protocol on what NCCL sees of a machine: what its steps wait for, its links' shares."""

    seen: Seen
    collective: str
    algorithm: str
    protocol: Protocol
    size: float
    pace: Pace

    @property
    def start(self) -> float:
        """Seconds before the first byte moves."""
        p, pace = PROTOCOLS.index(self.protocol), self.pace
        later = {"LL": 0.0, "LL128": pace.ll128_start, "Simple": pace.simple_start}[self.protocol]
        if self.algorithm == "SendRecv":
            return BASE_LATENCY["Ring"][p] * us + pace.launch + pace.peer + self._peer_copy()
        if self.algorithm.startswith("NVLS"):
            return BASE_LATENCY["Ring"][0] * us + pace.launch + hop(self.algorithm, "Simple", "NVLINK", pace)
        return BASE_LATENCY.get(self.algorithm, (0.0, 0.0, 0.0))[p] * us + pace.launch + later

    def _peer_copy(self) -> float:
        """Seconds that a channel takes for its part of what goes to one peer, and this rank for its own block."""
        at, among = self.seen.situation, self.collective != "sendrecv"
        block = self.size / (at.n if among else 1)
        if self.protocol == "LL":
            return 2 * block / PEER_RATE * self._copies
        own = self.pace.own * block / LOCAL_COPY if among else 0.0
        sent = np.array((self.size - block if among else block) / running_channels(at))
        copied = (min(block, PEER_PART) / PEER_RATE + own) * self._copies
        return self.pace.simple_start + copied + float(self._filling(sent))

    @property
    def _copies(self) -> bool:
        """Whether data are copied between the user's buffers and NCCL's."""
        return self.pace.ends > 0

    def _filling(self, of_channel: Floats) -> Floats:
        """Seconds that a step waits for its last slot, for so many bytes of a channel: half a slot at most."""
        rate = channel_rate(self.seen.situation) * self.pace.nvlink
        late: Floats = self.pace.slot * of_channel / rate / (1 + 2 * of_channel / SLOT)
        return late

    def shares(self) -> tuple[float, float]:
        """Shares of links inside nodes and of all others that are data."""
        payload = PAYLOAD[self.protocol]
        if self.algorithm.startswith("NVLS"):
            chunk = nvls_chunk(self.algorithm, self.size, self.seen.situation)
            return self.pace.nvls * chunk / (chunk + self.pace.nvls_gap), self.pace.net
        at = self.seen.situation
        if (self.algorithm, self.protocol) == ("Ring", "LL"):
            active = active_channels("Ring", "LL", self.size, at)
            payload *= min(1.0, ALONE * active / running_channels(at))
        outer = self.pace.net * payload
        if self.protocol == "LL" and at.nodes > 1:
            outer = min(outer, self.pace.net * PAYLOAD["LL"] * self._ll_over_net())
        peers = self.pace.peer_share if self.algorithm == "SendRecv" else 1.0
        return self.pace.nvlink * payload * peers, outer

    def _ll_over_net(self) -> float:
        """How much of what LL could carry it does between nodes: CPUs look at every line (llMaxBws)."""
        at = self.seen.situation
        most = LL_MOST["Ampere" if at.amd_cpu else "Volta"][at.column]
        return min(1.0, most * GBps / (PAYLOAD["LL"] * channel_rate(at) * running_channels(at)))

    def between(self, sizes: Floats) -> Floats:
        """Seconds that a message of so many bytes waits between nodes before it flows."""
        at = self.seen.situation
        ring = "Ring" if self.algorithm == "SendRecv" else self.algorithm
        rate = channel_rate(at) * self.pace.net * PAYLOAD[self.protocol]
        if self.protocol == "LL":
            rate *= self._ll_over_net()
        slot = np.minimum(self.of_channel(sizes), SLOT_DATA[self.protocol])
        late: Floats = hop(ring, self.protocol, "NET", self.pace) + self.pace.net_slot * slot / rate
        return late

    def steps(self, sizes: Floats, far: NDArray[np.bool_]) -> Floats:
        """Seconds that a ring's steps of so many bytes wait before they flow, between nodes where `far`.

        With Simple a step waits for a slice, and its hop passes while the rest of the chunk before is copied.
        """
        at, pace = self.seen.situation, self.pace
        near = hop(self.algorithm, self.protocol, at.kind, pace)
        waits = np.where(far, self.between(sizes), near)
        if self.protocol != "Simple" or pace.slot <= 0:
            return waits
        of_channel, rate = self.of_channel(sizes), channel_rate(at) * pace.nvlink
        chunk = np.minimum(of_channel, CHUNK_SLOTS * SLOT)
        loops = np.maximum(1.0, of_channel / (CHUNK_SLOTS * SLOT))
        hidden = chunk * (1 - SLICE_SLOTS / CHUNK_SLOTS) / rate
        late: Floats = loops * np.maximum(0.0, waits - hidden) + self._filling(of_channel)
        return late

    def of_channel(self, sizes: Floats) -> Floats:
        """The bytes of a transfer that one channel carries."""
        active = active_channels(self.algorithm, self.protocol, self.size, self.seen.situation)
        return sizes * (len(self.seen.orders) / active)

    def ends(self, sizes: Floats) -> Floats:
        """Seconds of copying from buffer to buffer beside a ring's steps, for first transfers of so many bytes.

        With Simple the part that no other step hides is that of one chunk at most.
        """
        copied = self.pace.ends if self.protocol == "Simple" else float(self._copies)
        share = ENDS[self.protocol].get(self.collective, 0.0) * copied
        at = self.seen.situation
        rate = channel_rate(at) * self.pace.nvlink * PAYLOAD[self.protocol]
        if self.protocol == "LL":
            rate *= min(1.0, ALONE * active_channels("Ring", "LL", self.size, at) / running_channels(at))
            return sizes * (share * len(self.seen.orders) / running_channels(at) / rate)
        of_channel = self.of_channel(sizes)
        if self.protocol == "Simple":
            of_channel = of_channel * (1 - FIRST_CHUNK) + FIRST_CHUNK * np.minimum(of_channel, CHUNK_SLOTS * SLOT)
        return of_channel * (share / rate)


def costs(
    seen: Seen, collective: str, algorithm: str, protocol: Protocol, size: float, pace: Pace, segments: int = 1
) -> Perturbation:
    """What this algorithm and protocol do to a machine and to every transfer; a perturbation without a name.

    Links carry the protocol's share. The first transfers wait for the launch, and each for what its hop costs, which
    holds the latency of its route. Hops of a pipeline pass beside what flows: only its first segment waits for them.
    """
    way = Way(seen, collective, algorithm, protocol, size, pace)
    inner, outer = way.shares()
    near = "NVL" if seen.situation.kind == "NVLINK" else "PCI"
    kind, ring = seen.situation.kind, "Ring" if algorithm == "SendRecv" else algorithm
    inside = hop(ring, "LL" if algorithm == "SendRecv" else protocol, kind, pace)
    node_of = np.zeros(seen.situation.n, np.int64)
    for k, node in enumerate(seen.nodes):
        node_of[list(node)] = k

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        n = schedule.n
        ranks = (schedule.src < n) & (schedule.dst < n)
        far = node_of[np.minimum(schedule.src, n - 1)] != node_of[np.minimum(schedule.dst, n - 1)]
        first = waits(schedule).pending[: schedule.transfers] == 0
        if algorithm == "Ring" and collective in ENDS["Simple"]:
            wait = way.steps(sizes, far)
            wait[first] += way.ends(sizes[first])
        else:
            wait = np.where(far, way.between(sizes), inside) * ranks
            if segments > 1:
                slot = schedule.from_slot[schedule.moves[:-1]] // (2 if algorithm == "NVLSTree" else 1)
                wait[slot % segments > 0] = 0.0
        wait[schedule.src == schedule.dst] = 0.0
        return np.where(first, wait + way.start, wait)

    return Perturbation(machine=lambda machine: _slowed(machine, near, inner, outer), delay=delay)


@lru_cache(maxsize=64)
def _slowed(machine: Topology, near: str, inner: float, outer: float) -> Topology:
    """The machine with the shares of its links that a protocol leaves for data; hops hold what its routes wait."""
    links = tuple(
        replace(x, bandwidth=x.bandwidth * (inner if x.kind == near else outer), latency=0.0) for x in machine.links
    )
    return replace(machine, links=links, router=machine.routes)

"""What NCCL's way of sending costs on a machine: start-up, hops and the shares of links that protocols reach.

The constants are NCCL's own; a machine's layers bend them (`ops.libraries.nccl.layers`).
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.libraries.nccl.constants import (
    ALONE,
    BASE_LATENCY,
    CHUNK_SLOTS,
    ENDS,
    FIRST_CHUNK,
    HOP_LATENCY,
    LINE,
    LL_MOST,
    LOCAL_COPY,
    MOST_CHANNELS,
    NVLS_TREE_GAP,
    NVLS_USUAL,
    PAYLOAD,
    PEER_EACH,
    PEER_PART,
    PEER_RATE,
    POST,
    PROTOCOLS,
    RING_LL128_MOST,
    SLICE_SLOTS,
    SLOT_DATA,
    SLOTS,
    THREADS,
    THRESHOLD,
    TREE_LL,
    TREE_LL128_MOST,
    TREE_MOST,
    Kind,
    Protocol,
)
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.topology_search import Seen
from ops.libraries.nccl.tuner import Situation, nvls_chunk
from sim.faults import Perturbation
from sim.schedule import Schedule
from sim.schedule.dependencies import waits
from sim.topology import Floats, Link, Topology
from sim.topology.devices import kinds_of
from sim.units import GBps, us


def hop(algorithm: str, protocol: Protocol, kind: Kind, pace: Pace) -> float:
    """Seconds that one step costs over NVLINK, PCI or NET."""
    factor = {"LL": pace.ll, "LL128": pace.ll128, "Simple": pace.simple}[protocol]
    if (algorithm, protocol) == ("Tree", "LL"):
        algorithm, factor = "Ring", factor * TREE_LL
    if algorithm.startswith("NVLS") and kind != "NET":
        factor = pace.nvls_hop
    more = 0.0
    if kind == "NET":
        factor = 1.0  # a network's hop is the network's, whatever the GPUs
        more = pace.net_hop + {"LL": 0.0, "LL128": pace.net_ll128, "Simple": pace.net_simple}[protocol]
    return HOP_LATENCY[algorithm][kind][PROTOCOLS.index(protocol)] * factor * us + more


def running_channels(at: Situation) -> int:
    """Channels that run: every one of the search's twice, within what is set (`src/graph/connect.cc`)."""
    most, least = at.variables.max_channels or math.inf, at.variables.min_channels
    return int(max(least, min(2 * at.channels, 2 * MOST_CHANNELS, most)))


def channel_rate(at: Situation) -> float:
    """B/s that the search grants each channel that runs, no more than one of its own carries."""
    bw = at.bw_intra if at.nodes <= 2 else at.bw_inter
    return bw * min(1.0, at.channels / running_channels(at)) * GBps


def slot_bytes(at: Situation, protocol: Protocol) -> float:
    """Bytes of data in one of the eight slots of a connection's buffer."""
    return at.variables.buffsize / SLOTS if protocol == "Simple" else SLOT_DATA[protocol]


def threads(at: Situation, protocol: Protocol) -> int:
    """Threads of a channel: NCCL_NTHREADS, which LL128 does not heed (`src/graph/tuning.cc`)."""
    return THREADS[protocol] if protocol == "LL128" else at.variables.nthreads or THREADS[protocol]


def active_channels(algorithm: str, protocol: Protocol, size: float, at: Situation) -> int:
    """How many channels NCCL keeps busy: as many as find `threads · THRESHOLD` bytes each (`src/enqueue.cc`)."""
    if algorithm not in ("Ring", "Tree"):
        return running_channels(at)
    least = threads(at, protocol) * THRESHOLD[protocol] * (at.n if (algorithm, protocol) == ("Ring", "LL") else 1)
    return max(1, min(running_channels(at), int(size // least)))


class Posted(NamedTuple):
    """How CPUs send a ring's messages to a NIC: s to post one, its bytes, and the B/s at which CPUs read LL's lines."""

    seconds: float
    message: float
    most: float

    def rate(self, wire: float) -> float:
        """B/s of data on a wire of so many B/s that is idle while a message is posted."""
        return 1 / (1 / min(wire, self.most) + self.seconds / self.message)


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
            further = self.seen.situation.n - 2 if self.collective != "sendrecv" else 0
            peers = pace.peer + PEER_EACH * further
            return BASE_LATENCY["Ring"][p] * us + pace.launch + peers + self._peer_copy()
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
        late: Floats = self.pace.slot * of_channel / rate / (1 + 2 * of_channel / self._slot)
        return late

    @property
    def _slot(self) -> float:
        """Bytes of a slot with Simple."""
        return slot_bytes(self.seen.situation, "Simple")

    def shares(self) -> tuple[float, float]:
        """Shares of links inside nodes and of NICs that are data."""
        payload = PAYLOAD[self.protocol]
        if self.algorithm.startswith("NVLS"):
            return self._switched(), self.pace.net
        at = self.seen.situation
        payload *= min(1.0, running_channels(at) / at.channels)  # a channel more than that carries nothing
        if (self.algorithm, self.protocol) == ("Ring", "LL"):
            active = active_channels("Ring", "LL", self.size, at)
            payload *= min(1.0, ALONE * active / running_channels(at))
        if (self.algorithm, self.protocol) == ("Ring", "LL128"):
            most = RING_LL128_MOST[at.generation][at.column] / at.bw_intra
            payload = min(payload, most * min(1.0, running_channels(at) / at.channels))
        peers = self.pace.peer_share if self.algorithm == "SendRecv" else 1.0
        return self.pace.nvlink * payload * peers, self.pace.net * payload

    @property
    def _is_posted(self) -> bool:
        """Whether a CPU posts its messages one after the other: a ring's steps, "nsteps * net overhead"."""
        return self.algorithm == "Ring" and self.collective in ENDS["Simple"] and self.seen.situation.nodes > 1

    @property
    def posted(self) -> "Posted | None":
        """What a NIC waits for between two messages of a ring; None for other algorithms and on one node."""
        if not self._is_posted:
            return None
        at, rings = self.seen.situation, len(self.seen.orders)
        most = self._lines_rate / rings if self.protocol == "LL" else math.inf
        return Posted(self._posting, max(1.0, self.size / at.n / rings), most)

    @property
    def _posting(self) -> float:
        """Seconds in which a CPU posts a ring's message to its NIC."""
        factor = self.pace.amd_post if self.seen.situation.amd_cpu else 1.0
        return POST[self.protocol] * factor * us if self._is_posted else 0.0

    def _switched(self) -> float:
        """The share of NVLinks that an adding switch reaches.

        It is bounded by channels that copy every byte into and out of NCCL's buffer, however many GPUs there are; links
        carry each head's share beside that.
        """
        at = self.seen.situation
        chunk = nvls_chunk(self.algorithm, self.size, at)
        gap = self.pace.nvls_gap * (NVLS_TREE_GAP if self.algorithm == "NVLSTree" else 1)
        beside = (1 + 1 / at.per_node) / (1 + 1 / NVLS_USUAL)
        return min(1.0, self.pace.nvls * beside * chunk / (chunk + gap))

    def alone(self, sizes: Floats) -> Floats:
        """Seconds that a tree's first bytes take on a hop beside what links need: its few channels copy no faster."""
        at = self.seen.situation
        if self.algorithm != "Tree":
            return np.zeros_like(sizes)
        of_channel = self.of_channel(sizes)
        if self.protocol == "LL":  # lines go on one by one: a round of all threads is what the next hop waits for
            round_of_lines = np.minimum(of_channel, threads(at, "LL") * LINE)
            first: Floats = round_of_lines / (ALONE * channel_rate(at) * PAYLOAD["LL"])
            return first
        most = TREE_LL128_MOST if self.protocol == "LL128" else TREE_MOST
        rate = most[at.generation][at.column] * at.channels / running_channels(at) * GBps
        late: Floats = of_channel / rate
        return late

    @property
    def _lines_rate(self) -> float:
        """B/s of data with LL between nodes in all channels, as CPUs look at every line (llMaxBws)."""
        at = self.seen.situation
        return LL_MOST["Ampere" if at.amd_cpu else "Volta"][at.column] * GBps

    def _looked_at(self) -> float:
        """How much of what GPUs send with LL their CPUs pass on to other nodes."""
        at = self.seen.situation
        return min(1.0, self._lines_rate / (PAYLOAD["LL"] * channel_rate(at) * running_channels(at)))

    def between(self, sizes: Floats) -> Floats:
        """Seconds that a message of so many bytes waits between nodes before it flows."""
        at = self.seen.situation
        ring = "Ring" if self.algorithm == "SendRecv" else self.algorithm
        of_channel = self.of_channel(sizes)
        slot = np.minimum(of_channel, slot_bytes(at, self.protocol))
        rate = channel_rate(at) * self.pace.net * PAYLOAD[self.protocol]
        filled = self.pace.net_slot * slot / rate
        if self.protocol == "LL":  # looked at line by line, after the first slot while the wire carries what was seen
            looked_at = 1.0 if self._is_posted else self._looked_at()  # a ring's NICs wait for it instead (`posted`)
            filled = of_channel / (rate * looked_at) - (of_channel - slot) / rate
        # posting is a part of the hop, and `posted` holds it
        late: Floats = max(0.0, hop(ring, self.protocol, "NET", self.pace) - self._posting) + filled
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
        chunk = np.minimum(of_channel, CHUNK_SLOTS * self._slot)
        loops = np.maximum(1.0, of_channel / (CHUNK_SLOTS * self._slot))
        hidden = chunk * (1 - SLICE_SLOTS / CHUNK_SLOTS) / rate
        late: Floats = loops * np.maximum(0.0, waits - hidden) + self._filling(of_channel)
        return late

    def of_channel(self, sizes: Floats) -> Floats:
        """The bytes of a transfer that one channel carries; each of two trees has half of the channels."""
        active = active_channels(self.algorithm, self.protocol, self.size, self.seen.situation)
        trees = 2 if self.algorithm == "Tree" else 1
        return sizes * (trees * len(self.seen.orders) / active)

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
            of_channel = of_channel * (1 - FIRST_CHUNK) + FIRST_CHUNK * np.minimum(of_channel, CHUNK_SLOTS * self._slot)
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
    bus = PAYLOAD[protocol]
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
            wait = np.where(far, way.between(sizes), inside + way.alone(sizes)) * ranks
            if segments > 1:
                slot = schedule.from_slot[schedule.moves[:-1]] // (2 if algorithm == "NVLSTree" else 1)
                wait[slot % segments > 0] = 0.0
        wait[schedule.src == schedule.dst] = 0.0
        return np.where(first, wait + way.start, wait)

    return Perturbation(machine=lambda machine: slowed(machine, near, inner, outer, bus, way.posted), delay=delay)


@lru_cache(maxsize=64)
def slowed(
    machine: Topology, near: str, inner: float, outer: float, bus: float, posted: Posted | None = None
) -> Topology:
    """The machine with the shares of its links that a protocol leaves for data; hops hold what its routes wait.

    `inner` is that of links inside nodes, `outer` that of NICs, which are idle while the next message is `posted`, and
    `bus` that of PCIe on the way to them, whose rates are already what NCCL reaches.
    """
    shares = {"NET": outer, near: inner}
    kinds = kinds_of(machine.devices)

    def rate(link: Link, src: int, dst: int) -> float:
        left = link.bandwidth * shares.get(link.kind, bus)
        is_wire = link.kind == "NET" and (kinds[src] == "NET") != (kinds[dst] == "NET")
        return posted.rate(left) if posted and is_wire else left

    ends = zip(machine.links, *(side.tolist() for side in machine.ends), strict=True)
    links = tuple(replace(x, bandwidth=rate(x, src, dst), latency=0.0) for x, src, dst in ends)
    return replace(machine, links=links, router=machine.routes)

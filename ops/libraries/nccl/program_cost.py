"""What a schedule of MSCCL or MSCCL++ pays for its protocol: a launch, a hop a message, the rate of a thread block.

Their runtimes send with NCCL's primitives, one thread block for each connection, so that what one of them copies is
what a channel can. The file tells the protocol.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ops.libraries.nccl.constants import BASE_LATENCY, PAYLOAD, PEER_RATE, PROTOCOLS, Kind, Protocol
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.protocol_cost import hop, slowed
from ops.libraries.nccl.topology_search import is_amd
from ops.run.work import Work
from sim.base.formats import LOOKED_AT
from sim.errors import InputError
from sim.faults import Perturbation
from sim.schedule import Schedule
from sim.schedule.dependencies import waits
from sim.topology import Floats, Topology
from sim.units import GBps, us

AMD_BLOCK: Mapping[Protocol, float] = {"LL": 1.57 * GBps, "LL128": 1.57 * GBps, "Simple": 10.7 * GBps}
"""B/s of one thread block on MI300X, by allgathers in rings and between all pairs (rouge3877/ns3-msccl-data)."""
NVIDIA_BLOCK: Mapping[Protocol, float] = {"LL": PEER_RATE / 2, "LL128": PEER_RATE * 0.92, "Simple": PEER_RATE}
"""The same of a channel on NVIDIA's GPUs, as sends to peers have it."""
AMD_HOP: Mapping[Protocol, float] = {"LL": 1.6 * us, "LL128": 1.6 * us, "Simple": 4.8 * us}
"""s of a message there, from the same."""
AMD_START = 6.5 * us
"""s before the first, from the same."""
FILE = "file"
"""The word for what the file itself tells."""
_PROTOCOL = re.compile(r'<algo\b[^>]{0,2000}?\bproto\s*=\s*"(LL128|LL|Simple)"|"protocol"\s*:\s*"(LL128|LL|Simple)"')


def protocol_of(text: str) -> Protocol | None:
    """What the head of an MSCCL or MSCCL++ file says of its protocol; None in other files.

    >>> protocol_of('<algo name="a" proto="LL128" ngpus="8">'), protocol_of('{"name": "a", "protocol": "LL"}')
    ('LL128', 'LL')
    """
    named = _PROTOCOL.search(text[:LOOKED_AT])
    return next((p for p in PROTOCOLS if named and p in named.groups()), None)


def priced(work: Work, topology: Topology, text: str, word: str = FILE) -> Work:
    """A schedule from a file with what a protocol costs on a machine, that of the `file` or another.

    Raises InputError for no protocol, where the file tells none, and for machines of which nothing is known.
    """
    protocol = protocol_of(text) if word == FILE else next((p for p in PROTOCOLS if p == word), None)
    if protocol is None:
        why = "nccl.file_protocol" if word == FILE else "nccl.no_protocol"
        raise InputError(why, protocol=word, choices=PROTOCOLS)
    family = family_of(topology)
    if family is None:
        raise InputError("nccl.protocol_cost", protocol=word, topology=topology.name)
    amd = is_amd(topology)
    rate = (AMD_BLOCK if amd else NVIDIA_BLOCK)[protocol]
    settings = {**work.settings, "protocol": protocol, "block_Bps": rate}
    pace = _costs(topology, protocol, rate, family.pace, amd=amd)
    return replace(work, made=_in_turn(work.schedule), spent={}, announced=set(), pace=pace, settings=settings)


def _in_turn(schedule: Schedule) -> Schedule:
    """The same with every message after the one before it on its connection: a thread block copies one at a time.

    Copying stands in what a message waits for (`delay`), and such waits pass in line; this keeps them apart.
    """
    away = np.flatnonzero(schedule.src != schedule.dst)
    keys = (schedule.src[away].astype(np.int64) * schedule.n + schedule.dst[away]) << 20 | schedule.channel[away]
    order = away[np.argsort(keys, kind="stable")]
    same = np.diff(np.sort(keys)) == 0
    before, later = order[:-1][same].astype(np.int32), order[1:][same].astype(np.int32)
    earlier, follower = schedule.after or (before[:0], later[:0])
    return replace(schedule, after=(np.concatenate([earlier, before]), np.concatenate([follower, later])))


def _costs(topology: Topology, protocol: Protocol, rate: float, pace: Pace, *, amd: bool) -> Perturbation:
    kinds = {link.kind for link in topology.links}
    near: Kind = "NVLINK" if "NVL" in kinds else "PCI"
    inside = AMD_HOP[protocol] if amd else hop("Ring", protocol, near, pace)
    between = hop("Ring", protocol, "NET", pace)
    start = AMD_START if amd else BASE_LATENCY["Ring"][0] * us + pace.launch

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        n, ranks = schedule.n, np.array(topology.ranks)
        src, dst = np.minimum(schedule.src, n - 1), np.minimum(schedule.dst, n - 1)
        hosts = np.array([topology.devices[device].host for device in topology.ranks])
        pairs, of_pair = np.unique(src * n + dst, return_inverse=True)
        routes = topology.routes(ranks[pairs // n], ranks[pairs % n])
        links = np.array([np.inf, *topology.bandwidth])
        alone = np.minimum.reduceat(links[np.append(routes.links + 1, 0)], routes.offsets[:-1])[of_pair]
        copying = np.maximum(0.0, 1 / rate - 1 / (alone * PAYLOAD[protocol])) * sizes
        wait = np.where(hosts[src] != hosts[dst], between, inside) + copying
        wait[schedule.src == schedule.dst] = 0.0
        first = waits(schedule).pending[: schedule.transfers] == 0
        return np.where(first, wait + start, wait)

    share = PAYLOAD[protocol]
    return Perturbation(machine=lambda plain: slowed(plain, "NVL", share, share, share), delay=delay)

"""What a machine is like that somebody brings: what was assumed, its best ring, its dearest cables, its slow GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ops.answers.waits import link_name
from ops.diagnosis.ring_order import Hops, hops_of, ring_order
from ops.lab.sensitivity import By, Swing, sensitivity
from ops.plan import Plan
from ops.plan.notation import entries, listed
from sim.errors import InputError
from sim.faults.edits.places import BETWEEN
from sim.topology import Topology
from sim.units import MiB

RING = "allreduce.ring"
SIZE = 64 * MiB
"""Bytes that tell bandwidths and not latencies."""
CABLES = 3
"""Cables that are told."""
MOST_TRIED = 16
"""Cables that are tried, the busiest first."""
LEAST_GAIN = 0.99
"""An order is worth telling that takes no longer than this share of the time."""
MOST_PLACES = 64
"""Ranks up to which each is looked at, and cables one by one."""


@dataclass(frozen=True)
class RingRank:
    """How a rank is joined to the others.

    `rate` is what it reaches others with, one at a time, in the mean, B/s; `narrow` the link by which it reaches the
    most of those that it reaches slowest, `behind` their names, at `slowest` B/s. In the ring in rank order it sends to
    `next` over `over`, which `shared` hops of the ring cross, each at `pace` B/s.
    """

    name: str
    numa: int
    rate: float
    slowest: float
    narrow: str
    behind: tuple[str, ...]
    next: str
    over: str
    shared: int
    pace: float


@dataclass(frozen=True)
class Diagnosis:
    """What is told of a machine; `time` is that of an allreduce by a ring in rank order, `best_time` of one in `order`.

    `cables` are those whose bandwidth matters most to the ring, `alike` how many more matter as much as the last of
    them. `ranks` are empty for large machines.
    """

    machine: str
    n: int
    assumed: tuple[str, ...]
    order: tuple[int, ...]
    time: float
    best_time: float
    cables: tuple[Swing, ...]
    alike: int
    ranks: tuple[RingRank, ...]

    @property
    def edit(self) -> str:
        """The edit that gives the ranks the best order; nothing where they have it."""
        is_usual = self.order == tuple(range(self.n))
        return "" if is_usual else f"order_ranks:order={BETWEEN.join(map(str, self.order))}"

    @property
    def gain(self) -> float:
        """How many times as fast the ring is in the best order."""
        return self.time / self.best_time if self.best_time > 0 else 1.0

    @property
    def pace(self) -> float:
        """What the slowest hop of the ring in rank order carries, B/s."""
        return min((rank.pace for rank in self.ranks), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "machine": self.machine,
            "ranks": self.n,
            "nccl": None,
            "expected_error": None,
            "assumed": list(self.assumed),
            "time_s": self.time,
            "ring_order": list(self.order),
            "ring_order_edit": self.edit or None,
            "ring_order_time_s": self.best_time,
            "cables": [
                {"name": cable.name, "slower_s": cable.slower, "faster_s": cable.faster} for cable in self.cables
            ],
            "alike": self.alike,
            "gpus": [
                {
                    "name": rank.name,
                    "numa": rank.numa,
                    "rate_Bps": rank.rate,
                    "narrow": rank.narrow,
                    "slowest_Bps": rank.slowest,
                    "behind": list(rank.behind),
                    "next": rank.next,
                    "over": rank.over,
                    "shared": rank.shared,
                    "pace_Bps": rank.pace,
                }
                for rank in self.ranks
            ],
        }

    @property
    def best_rate(self) -> float:
        """What the best joined rank reaches others with, B/s."""
        return max((rank.rate for rank in self.ranks), default=0.0)


def ring_of(machine: Plan) -> Plan:
    """The run by which a machine is judged: a ring of all its ranks."""
    names = ("machine", "capture", "capture_name", "rates", "network", "placement", "edits")
    return Plan(algorithm=RING, size=str(SIZE), **{name: getattr(machine, name) for name in names})


def ordered(machine: Plan, order: Sequence[int]) -> Plan:
    """The same machine with its ranks in another order."""
    edit = f"order_ranks:order={BETWEEN.join(map(str, order))}"
    return replace(machine, edits=listed([*entries(machine.edits), edit]))


def diagnose(machine: Plan) -> Diagnosis:
    """Look at the machine of a plan. Raises InputError, also for one without two GPUs, and StalledError."""
    ring = ring_of(machine)
    topology = ring.topology()
    if topology.n < 2:
        raise InputError("diagnosis.ring", topology=topology.name, n=topology.n)
    prepared = ring.prepare(topology)
    by: By = "link" if topology.n <= MOST_PLACES else "class"
    plain, swings = sensitivity(prepared, by=by, most=MOST_TRIED, whats=("bandwidth",))
    time = plain.time
    order = ring_order(topology)
    is_usual = order == tuple(range(topology.n))
    best = time if is_usual else ordered(ring, order).run().time
    if best > time * LEAST_GAIN:
        order, best = tuple(range(topology.n)), time
    mattering = [swing for swing in swings if swing.range > 1e-6 * time]
    cables = mattering[:CABLES]
    alike = sum(swing.range > 0.99 * cables[-1].range for swing in mattering[CABLES:]) if cables else 0
    ranks = tuple(_ranks(topology)) if topology.n <= MOST_PLACES else ()
    return Diagnosis(topology.name, topology.n, topology.assumed, order, time, best, tuple(cables), alike, ranks)


def _ranks(topology: Topology) -> list[RingRank]:
    """Every rank, and how it is joined to the others."""
    hops, n = hops_of(topology), topology.n
    narrow = (hops.crosses * hops.per_byte).max(axis=2)
    np.fill_diagonal(narrow, np.nan)
    place = np.arange(n)
    load = hops.crosses[place, (place + 1) % n].sum(axis=0, dtype=np.int64)
    return [_rank(topology, hops, narrow[r], load, r) for r in range(n)]


def _rank(topology: Topology, hops: Hops, narrow: np.ndarray, load: np.ndarray, r: int) -> RingRank:
    names = [topology.devices[device].name for device in topology.ranks]
    slow = np.flatnonzero(narrow >= np.nanmax(narrow) * (1 - 1e-9))
    widths = np.where(hops.crosses[r, slow] > 0, hops.per_byte, 0.0)
    is_narrow = widths >= widths.max(axis=1, keepdims=True) * (1 - 1e-9)
    link = int(is_narrow.sum(axis=0).argmax())
    behind = tuple(names[other] for other, crosses in zip(slow, is_narrow[:, link], strict=True) if crosses)
    following = (r + 1) % topology.n
    crossed = np.where(hops.crosses[r, following] > 0, load * hops.per_byte, 0.0)
    over = int(crossed.argmax())
    device = topology.devices[topology.ranks[r]]
    return RingRank(
        name=device.name,
        numa=device.numa,
        rate=float(np.nanmean(1 / narrow)),
        slowest=float(1 / np.nanmax(narrow)),
        narrow=link_name(topology, link),
        behind=behind,
        next=names[following],
        over=link_name(topology, over),
        shared=int(load[over]),
        pace=float(1 / crossed[over]),
    )

"""A schedule that is ready to run, whoever made it, and how it went on a machine.

Below `ops.request`, which names works in words, and apart from it: libraries make works, and measured tables, searches
and training steps run them, without anybody having asked for one in words.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ops.budget import HOP_S, TRANSFER_S, Counts, estimate, expect_algorithm, expect_messages
from ops.collectives import COLLECTIVES, Collective
from ops.registry import Algorithm
from sim import metrics
from sim.base import watch
from sim.base.arrays import each_once
from sim.base.watch import Estimate
from sim.engine import simulate
from sim.fabric.alike import FIRST
from sim.fold.apart import ApartTrace, WrittenOutError, simulate_apart
from sim.fold.bound import lower_bound as folded_bound
from sim.fold.edges import side_by_side
from sim.fold.folded import FoldedSchedule
from sim.fold.machine import link_classes
from sim.fold.orbits import orbits_of
from sim.fold.proof import prove as prove_folded
from sim.fold.run import FoldedTrace, simulate_folded
from sim.kinds.listing import Listing
from sim.kinds.run import KindsTrace
from sim.parameters import bind
from sim.perturbation import Perturbation
from sim.schedule import Promise, Schedule, in_rank_order
from sim.schedule.verify import Proof, prove
from sim.topology import Floats, Link, Topology
from sim.trace import Trace
from sim.trouble import troubles


@dataclass(frozen=True, eq=False)
class Work:
    """A schedule and what is known about it: `collective` is None for what keeps no known promise.

    `settings` are the parameters it was made with, `algorithm` its entry in the registry where it has one, `pace`
    what a library's way of sending costs on the machine it was made for.
    """

    schedule: Schedule
    collective: Collective | None = None
    algorithm: Algorithm | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    pace: Perturbation | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.schedule.name

    @property
    def sized(self) -> bool:
        """Is a size needed? Barriers have none, and some schedules bring their own."""
        return self.schedule.unit_share > 0 and self.schedule.fixed_bytes is None

    def blocking(self) -> "Work":
        """The same with ranks that finish a step before their next; what brings an order of its own keeps it."""
        if self.schedule.after is not None:
            return self
        return replace(self, schedule=in_rank_order(self.schedule, by_channel=True))


def registered(
    entry: Algorithm,
    n: int,
    *,
    root: int = 0,
    topology: Topology | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Work:
    """An algorithm for n ranks; without a group size of its own it takes the machine's hosts or NUMA nodes.

    `settings` are parameters, parsed when they are texts. Raises InputError for what it cannot do.
    """
    values = settled(entry, n, root, topology, settings or {})
    expect_algorithm(entry, n, values, root, *([topology.hops] if topology else []))
    return Work(entry.schedule(n, root=root, **values), entry.collective, entry, values)


def settled(
    entry: Algorithm, n: int, root: int, topology: Topology | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """All parameters of an algorithm on a machine, checked; arguments as for `registered`. Raises InputError."""
    arguments = dict(settings)
    if topology is not None and entry.takes_hosts:
        values = bind(entry.steps, arguments, entry.name, skip=("n", "root"))
        arguments["group"] = values.get("group", 0) or natural_group(topology, n)
    return entry.settle(n, root=root, **arguments)


def imported(schedule: Schedule) -> Work:
    """A schedule from outside; its promise names the collective it carries out."""
    if schedule.promise is None:
        return Work(schedule)
    name = schedule.promise.name
    return Work(schedule, COLLECTIVES.get(name if schedule.fixed_bytes is None else name + "v"))


def natural_group(topology: Topology, n: int) -> int:
    """How many ranks in a row share a host, or a NUMA node where there is one host; 0 where that is uneven.

    >>> from sim.machines import build
    >>> natural_group(build("nodes:nodes=2,gpus=6"), 12), natural_group(build("dual_socket_pcie"), 8)
    (6, 4)
    """
    hosts, domains = (column[np.array(topology.ranks[:n], np.int64)] for column in topology.places)
    for domain in (np.zeros_like(domains), domains):
        place = hosts << 32 | domain & 0xFFFFFFFF
        size = int(np.count_nonzero(place == place[0]))
        in_a_row = n % size == 0 and bool((place.reshape(-1, size) == place[::size].reshape(-1, 1)).all())
        if in_a_row and 1 < len(np.unique(place)) == n // size and domain[hosts == hosts.min()].min() >= 0:
            return size
    return 0


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a work went: everything that happened, and how fast it could have been, in seconds.

    `bound` is 0 for what keeps no known promise.
    """

    work: Work
    trace: Trace
    bound: float
    blocks: Sequence[float] | None = None
    """Every block's bytes where they differ."""
    real: Mapping[str, float] = field(default_factory=dict)
    """Seconds of real time that building and proving it took, as `build_s` and `verify_s`, where that was measured."""

    @property
    def busbw(self) -> float:
        """Bus bandwidth, B/s; for what keeps no known promise, the algorithm bandwidth."""
        collective = self.work.collective
        return metrics.busbw(self.trace, collective.busbw(self.work.schedule.n) if collective else 1.0)

    @property
    def simulated(self) -> int:
        """Messages that were simulated: all."""
        return self.work.schedule.messages

    @property
    def bottleneck(self) -> tuple[metrics.Use, Link] | None:
        """The link nearest to being full throughout, if anything crossed any."""
        use = metrics.bottleneck(self.trace)
        return (use, self.trace.topology.links[use.link]) if use else None


def kept(trace: Trace) -> Outcome:
    """A run that was kept in a file, as it was when it ended."""
    schedule, promise = trace.schedule, trace.schedule.promise
    if promise is None or schedule.fixed_bytes is not None:
        return Outcome(imported(schedule), trace, 0.0)
    share = np.full(promise.blocks, trace.size * schedule.unit_share)
    return Outcome(imported(schedule), trace, _bound(trace.topology, schedule, promise, share))


def carry_out(
    topology: Topology,
    work: Work,
    size: float = 0,
    *,
    blocks: Sequence[float] | None = None,
    lockstep: bool = False,
    history: bool = False,
    proof: Proof | None = None,
    trouble: Sequence[str] = (),
) -> Outcome:
    """Prove a work and run it alone, in trouble or not; arguments as for `simulate`. Raises InputError.

    `blocks` may be the sizes of whole blocks where an algorithm cuts them into pieces. The bound is that of the
    machine without trouble.
    """
    schedule, promise = work.schedule, work.schedule.promise
    own = schedule.fixed_bytes is not None and promise is not None
    proof = proof or prove(schedule, blocks=own or blocks is not None)
    weights = _own_blocks(proof) if own else _in_pieces(blocks, work)
    if promise is not None and weights is not None and len(weights) == promise.blocks:
        size = largest_buffer(weights, promise)
    perturbations = (*((work.pace,) if work.pace else ()), *(troubles(trouble, topology) if trouble else ()))

    def bound() -> float:
        if promise is None:
            return 0.0
        share = size * schedule.unit_share
        bytes_of = np.full(promise.blocks, share) if weights is None else np.asarray(weights, np.float64)
        return _bound(topology, schedule, promise, bytes_of)

    watch.begin()
    if any(perturbation.messages for perturbation in perturbations):
        expect_messages(schedule.name, _messages(perturbations, bound()))
    trace = simulate(
        topology,
        schedule,
        size,
        blocks=weights,
        lockstep=lockstep,
        history=history,
        proof=proof,
        perturbations=perturbations,
    )
    return Outcome(work, trace, bound(), None if promise is None else weights)


def _messages(perturbations: Sequence[Perturbation], bound: float) -> float:
    """How many messages perturbations send beside a run that takes `bound` seconds and its latest rank's at least."""
    seconds = bound + max((late for one in perturbations for late in one.late.values()), default=0.0)
    return sum(one.messages(seconds) for one in perturbations if one.messages)


def _bound(topology: Topology, schedule: Schedule, promise: Promise, bytes_of: Floats) -> float:
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    return metrics.lower_bound(topology, promise, bytes_of, devices, in_switch=bool(schedule.switches))


def _in_pieces(blocks: Sequence[float] | None, work: Work) -> Sequence[float] | None:
    """Sizes of whole blocks as those of the equal pieces that an algorithm cuts each of them into."""
    if blocks is None or work.collective is None or work.schedule.promise is None:
        return blocks
    promise, count = work.schedule.promise, work.collective.whole_blocks(work.schedule.n)
    if len(blocks) != count or promise.blocks < 2 * count:
        return blocks
    weights: list[float] = promise.in_pieces(np.asarray(blocks, np.float64)).tolist()
    return weights


def _own_blocks(proof: Proof) -> list[float]:
    """Every block's bytes, read off a schedule that sends blocks one by one with sizes of their own."""
    schedule = proof.schedule
    assert schedule.promise is not None
    assert schedule.fixed_bytes is not None
    weights = np.zeros(schedule.promise.blocks)
    single = proof.carried >= 0
    weights[proof.carried[single]] = schedule.fixed_bytes[schedule.transfer_of[single]]
    return [float(weight) for weight in weights]


def largest_buffer(weights: Sequence[float] | Floats, promise: Promise) -> float:
    """What nccl-tests would call the size of unequal blocks: the bytes of the largest buffer of any rank."""
    padded = np.append(weights, 0.0)  # where NOTHING points
    return float(max(padded[held].sum(axis=1).max() for held in (promise.given, promise.owed)))


LEAST, BLOCK, LINK, PAIR_S = 4_000_000, 120, 100, 60e-9
"""Bytes of any run, of a block in the bound and of a link in the classes; seconds for a pair of ranks and its route."""
ROW, SHARED, ROUTE = 100, 16, 24
"""Bytes of a row for a transfer that is not written down, of one that has shared links, and of a route for it."""
FEW = 1 << 20
"""Transfers that are written down where the machine tells ranks apart; of more, their classes alone."""


@dataclass(frozen=True, eq=False)
class FoldedWork:
    """A folded schedule and what more there is about it, as `Work` has it for a schedule."""

    schedule: FoldedSchedule | Listing
    algorithm: Algorithm
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.schedule.name

    @property
    def collective(self) -> Collective:
        """What it carries out."""
        return self.algorithm.collective


@dataclass(frozen=True, eq=False)
class FoldedOutcome:
    """How a folded work went, as `Outcome` has it for a work."""

    work: FoldedWork
    trace: FoldedTrace | ApartTrace | KindsTrace
    bound: float
    real: Mapping[str, float]

    @property
    def busbw(self) -> float:
        """Bus bandwidth, B/s."""
        return metrics.busbw(self.trace, self.work.collective.busbw(self.work.schedule.n))

    @property
    def simulated(self) -> int:
        """Messages that were simulated, each for all that are equal to it where ranks are."""
        return self.trace.simulated

    @property
    def bottleneck(self) -> tuple[metrics.Use, Link] | None:
        """The link nearest to being full throughout, if anything crossed any."""
        use = self.trace.bottleneck()
        return (use, self.trace.topology.links[use.link]) if use else None


def carry_out_folded(
    topology: Topology,
    entry: Algorithm,
    n: int,
    size: float,
    settings: Mapping[str, Any],
    *,
    lockstep: bool = False,
    trouble: Sequence[str] = (),
) -> FoldedOutcome | None:
    """Prove an algorithm folded and run it alone on the first n ranks: one for all of them, or each where they differ.

    None where it does not fold, and where it is small enough to be written out or has to be. Raises InputError and
    StalledError as `carry_out` does.
    """
    values = settled(entry, n, 0, topology, settings)
    perturbations = troubles(trouble, topology) if trouble else ()
    began = time.perf_counter()
    try:
        schedule = entry.folded(n, **values)
    except MemoryError:  # what is told of the whole says how much it would take
        return None
    if schedule is None or (perturbations and (lockstep or schedule.transfers < FEW)):
        return None
    needs = _estimate(schedule, topology)
    watch.expect(schedule.name, needs)
    orbits, links = None, None if perturbations else link_classes(topology, schedule)
    if links is None:
        if lockstep or schedule.transfers < FEW:
            return None
        orbits = orbits_of(topology, schedule, perturbations)
        needs = _estimate_apart(schedule, topology, orbits.copies if orbits else 1)
        watch.expect(schedule.name, needs)
    built = time.perf_counter()
    verdict = prove_folded(schedule)
    proved = time.perf_counter()
    try:
        trace = (
            simulate_folded(topology, schedule, links, verdict, size, lockstep=lockstep)
            if links
            else simulate_apart(topology, schedule, verdict, size, perturbations=perturbations, orbits=orbits)
        )
    except (WrittenOutError, MemoryError):
        return None
    real = {"build_s": built - began, "verify_s": proved - built}
    real |= {"estimated_s": needs.seconds, "estimated_bytes": round(needs.bytes)}
    bound = folded_bound(topology, schedule, size * schedule.unit_share)
    return FoldedOutcome(FoldedWork(schedule, entry, values), trace, bound, real)


def _estimate_apart(schedule: FoldedSchedule, topology: Topology, copies: int) -> Estimate:
    """What it takes to run every rank, or one of so many: rows for what is under way, lists for all that share links.

    A rank that sends one message after the other shares its links with hardly any.
    """
    hops, transfers = topology.hops(schedule.n), schedule.transfers // copies
    turns, wide = len(each_once(schedule.turn)), side_by_side(schedule)
    rows = min(transfers, schedule.n // copies * (FIRST + 2 * wide))
    size = LEAST + ROW * rows + (ROUTE + 4 * hops) * turns * schedule.n + LINK * len(topology.links)
    if wide == 1:
        return Estimate(transfers, size, transfers * TRANSFER_S)
    return Estimate(transfers, size + SHARED * transfers, transfers * (TRANSFER_S + HOP_S * hops))


def _estimate(schedule: FoldedSchedule, topology: Topology) -> Estimate:
    """What a folded run takes: as rank 0's transfers alone, beside the promise's blocks and the machine's links."""
    one, links, pairs = schedule.one, len(topology.links), schedule.n * len(each_once(schedule.turn))
    part = estimate(Counts(one.transfers, len(one.from_slot), one.slots), 1, topology.hops(schedule.n))
    size = LEAST + part.bytes + BLOCK * schedule.promise.blocks + LINK * links
    return Estimate(part.transfers, size, part.seconds + PAIR_S * pairs)

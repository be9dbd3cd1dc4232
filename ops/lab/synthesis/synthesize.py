"""Search for a schedule that suits one machine: blocks matched to links along time, the earliest arrival first.

The search is that of TACOS (Won et al., MICRO 2024): whoever has a block sends it over a link that is free to one
who lacks it. A reduce_scatter is an allgather on the links turned round, played backwards; an allreduce is one
after the other, every block going on as soon as it is summed. What comes out is an ordinary schedule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ops.collectives import COLLECTIVES
from ops.lab.cells import MANY, prepare
from ops.lab.synthesis import matching
from ops.lab.synthesis.plans import Edges, TransferPlan, choices_of_edges, direct, matched, planned
from ops.plan import Plan
from ops.registry import ALGORITHMS
from ops.run import Run, Work, execute
from sim.base.compiled import twin
from sim.errors import InputError, StalledError
from sim.schedule import REDUCE, Steps, copy, reduce, unroll
from sim.topology import Ints, Topology

Progress = Callable[[int, int], None]
SEARCHED = ("allgather", "reduce_scatter", "allreduce")
MOST_RANKS = 128
MOST_TRANSFERS = 30_000
"""Of one candidate; how many pieces blocks are cut into ends there."""
PATIENCE = 3
"""How many times in a row finer pieces may bring nothing before they are given up."""
QUEUES = ((0, False), (1, True), (2, True), (1, False), (2, False))
"""How many messages of a rank may be on their way over one link, 0 for any number; and whether steps follow that order
too, or only the hops of blocks, in which case the order holds from step to step."""


def _silent(done: int, of: int) -> None:
    pass


@dataclass(frozen=True)
class SearchResult:
    """The best schedule found by the search, the fastest registered algorithm here, and how many were simulated."""

    searched: Run
    rival: Run | None
    tried: int

    @property
    def best(self) -> Run:
        """The faster one of the two; the searched one where they meet."""
        if self.rival is not None and self.rival.time < self.searched.time * (1 - 1e-9):
            return self.rival
        return self.searched


def synthesize(
    plan: Plan, *, topology: Topology | None = None, seeds: int = 4, progress: Progress = _silent
) -> SearchResult:
    """The fastest of many searched schedules for the plan's size, each proved and simulated.

    `plan.algorithm` names the collective alone; the machine may be there already. Blocks are cut into 1, 2, 4 …
    pieces, ever finer until that no longer helps. `seeds` plans are made for each, of which the shortest is tried
    without any order, and with one or two messages at a time over a rank's link. Raises InputError for a collective,
    machine or number of ranks that it cannot be done for.
    """
    collective = plan.algorithm
    if collective not in SEARCHED:
        raise InputError("synthesis.collective", collective=collective, choices=SEARCHED)
    topology, size = topology or plan.topology(), plan.bytes
    n, most = plan.ranks or topology.n, min(MOST_RANKS, topology.n)
    if topology.n < 2:
        raise InputError("synthesis.too_few", topology=topology.name, n=topology.n)
    if not 2 <= n <= most:
        raise InputError("synthesis.ranks", topology=topology.name, most=most, n=n)
    prepare(MANY)
    best, tried = None, 0
    for edges in choices_of_edges(topology, n):
        since = 0
        for pieces in _pieces(n, size):
            better = False
            for work in _candidates(topology, edges, collective, n, pieces, size, seeds):
                outcome = execute(topology, work, size)
                tried += 1
                progress(tried, 0)
                if best is None or outcome.time < best.time * (1 - 1e-9):
                    best, better = outcome, True
            since = 0 if better else since + 1
            if since == PATIENCE:
                break
    assert best is not None
    return SearchResult(best, rival(plan, topology), tried)


def _candidates(
    topology: Topology, edges: Edges, collective: str, n: int, pieces: int, size: float, seeds: int
) -> Iterator[Work]:
    """Schedules worth a run: matched ones, direct ones, and for an allreduce those that only copy."""

    def shortest(what: str, bytes_of: float) -> TransferPlan:
        bring = [matched(topology, bytes_of, seed) for seed in range(seeds)]
        return min((planned(what, topology, edges, n, pieces, b) for b in bring), key=lambda plan: plan.length)

    def plans(what: str, bytes_of: float) -> Iterator[TransferPlan]:
        yield shortest(what, bytes_of)
        if pieces == 1 and len(edges.src) == n * (n - 1):
            yield planned(what, topology, edges, n, 1, direct)

    for plan in plans(collective, size / (n * pieces)):
        for queue, strict in QUEUES:
            yield _work(collective, n, pieces, edges, plan, queue, strict=strict)
    if collective == "allreduce":
        for plan in plans("allgather", size / pieces):
            yield _summed_at_home(n, pieces, edges, plan)


def rival(plan: Plan, topology: Topology) -> Run | None:
    """The fastest registered algorithm with its parameters as they are; None where none can do it here."""
    outcomes: list[Run] = []
    for entry in ALGORITHMS.values():
        if entry.collective.name == plan.algorithm:
            try:
                outcomes.append(replace(plan, algorithm=entry.name).prepare(topology).run())
            except (InputError, StalledError):
                continue
    return min(outcomes, key=lambda outcome: outcome.time, default=None)


def _pieces(n: int, size: float) -> Iterator[int]:
    pieces = 1
    while pieces == 1 or (n * (n - 1) * pieces <= MOST_TRANSFERS and size >= n * pieces and pieces <= 64):
        yield pieces
        pieces *= 2


def _work(collective: str, n: int, pieces: int, edges: Edges, plan: TransferPlan, queue: int, *, strict: bool) -> Work:
    """A plan as a schedule; with `queue`, what a rank sends or receives over one link has an order."""
    entry = COLLECTIVES[collective]
    count = n * pieces if collective == "allreduce" else pieces
    plan = plan.sorted()
    pairs = _queued(edges, plan, queue)
    level = _levels(plan, edges, n, pieces, pairs if strict else _queued(edges, plan, 0))
    later = level[pairs[0]] < level[pairs[1]]
    order = np.argsort(level, kind="stable")
    schedule = unroll(
        _steps(edges, plan.taken(order), level[order]),
        name=f"{collective}.synthesized",
        n=n,
        promise=entry.promise(n, count, 0),
        unit_share=1 / (entry.units(n) * count),
    )
    if queue:
        place = np.argsort(order).astype(np.int32)
        schedule = replace(schedule, after=(place[pairs[0][later]], place[pairs[1][later]]))
    return Work(schedule, entry, None, {"pieces": pieces, "queue": queue, "strict": strict})


def _summed_at_home(n: int, pieces: int, edges: Edges, plan: TransferPlan) -> Work:
    """An allreduce for few bytes: all ranks gather all buffers, and everyone adds them up alone.

    The copy of rank r's piece j is kept in slot `(r + 1) * pieces + j`.
    """
    entry = COLLECTIVES["allreduce"]
    plan = plan.sorted()
    src, dst = edges.src[plan.edge], edges.dst[plan.edge]
    owner, piece = np.divmod(plan.block, pieces)
    copy_slot = (owner + 1) * pieces + piece
    level = _levels(plan, edges, n, pieces, _queued(edges, plan, 0))

    def steps() -> Steps:
        for k in range(int(level.max()) + 1):
            of_step = level == k
            held = np.where(owner == src, piece, copy_slot)[of_step]
            yield copy(src[of_step], dst[of_step], slot=held, to=copy_slot[of_step])
        yield reduce(dst, dst, slot=copy_slot, to=piece)

    promise = entry.promise(n, pieces, 0)
    schedule = unroll(steps(), name="allreduce.synthesized", n=n, promise=promise, unit_share=1 / pieces)
    return Work(schedule, entry, None, {"pieces": pieces, "queue": 0})


def _steps(edges: Edges, plan: TransferPlan, level: NDArray[np.int64]) -> Steps:
    """The transfers of a plan that is sorted by level, one step for each level."""
    src, dst, sums = edges.src[plan.edge], edges.dst[plan.edge], plan.op == REDUCE
    bounds = np.searchsorted(level, np.arange(int(level.max()) + 2))
    for first, last in pairwise(bounds):
        step = np.arange(first, last)
        parts = [(make, step[of]) for make, of in ((reduce, sums[step]), (copy, ~sums[step]))]
        yield tuple(make(src[part], dst[part], slot=plan.block[part]) for make, part in parts if len(part))


def _queued(edges: Edges, plan: TransferPlan, queue: int) -> tuple[Ints, Ints]:
    """Pairs (before, after): of a rank's messages over one link, each waits for the one `queue` places ahead."""
    before, after = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first, last = edges.first[plan.edge], edges.first[plan.edge + 1] - 1
    for rank, link in ((edges.src[plan.edge], edges.links[first]), (edges.dst[plan.edge], edges.links[last])):
        order = np.lexsort((np.arange(len(rank)), link, rank))
        ahead, behind = (order[:-queue], order[queue:]) if queue else (order[:0], order[:0])
        same = (rank[ahead] == rank[behind]) & (link[ahead] == link[behind])
        before.append(ahead[same])
        after.append(behind[same])
    return np.concatenate(before).astype(np.int32), np.concatenate(after).astype(np.int32)


def _levels(plan: TransferPlan, edges: Edges, n: int, pieces: int, pairs: tuple[Ints, Ints]) -> NDArray[np.int64]:
    """The step of every transfer: after those that brought what it carries, and after those ahead of it.

    Sums come as late as what waits for them allows, so that those of one place arrive in one step where they can.
    """
    rows, sums = len(plan.edge), int((plan.op == REDUCE).sum())
    level = np.zeros(rows, np.int64)
    kernel = twin(matching, 4 * (rows + len(pairs[0])))
    kernel.levels(
        edges.src[plan.edge],
        edges.dst[plan.edge],
        plan.block,
        n * pieces,
        sums,
        *_grouped(pairs[1], pairs[0], rows),
        *_grouped(pairs[0], pairs[1], rows),
        np.zeros(n * n * pieces, np.int64),
        level,
    )
    return level


def _grouped(by: Ints, others: Ints, rows: int) -> tuple[NDArray[np.int64], Ints]:
    """For pairs of a row and another: row i's others are `values[first[i]:first[i + 1]]`."""
    order = np.argsort(by, kind="stable")
    return np.searchsorted(by[order], np.arange(rows + 1)), others[order]

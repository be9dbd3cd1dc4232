"""A schedule that is ready to run, whoever made it: built, proved and read only as far as a run needs it."""

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ops.collectives import COLLECTIVES, Collective
from ops.registry import ALGORITHMS, Algorithm
from ops.run import reuse
from ops.run.budget import Counts, counted, expect_algorithm
from sim.base import watch
from sim.base.watch import Estimate
from sim.faults import Perturbation
from sim.parameters import bind
from sim.schedule import Schedule, dependencies, in_rank_order
from sim.schedule.switch_devices import reduces
from sim.schedule.verify import Proof, Verdict, prove
from sim.symmetry.classes.listing import Listing, listed
from sim.symmetry.edges import waits
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.proof import proof_of
from sim.symmetry.proof import prove as prove_folded
from sim.symmetry.rows import is_whole
from sim.topology import Topology
from sim.units import fmt_object

WRITTEN = 1 << 10
"""Of fewer ranks a schedule is written out before it is known how long it is."""
FOUND = ("schedule", "_proof", "_proof_of_blocks", "folded", "folded_verdict", "whole", "counts")
"""What is found of a work once."""
OURS = __name__.removesuffix("run.work") + "algorithms."
COMPARED = 1 << 14
"""Transfers from which on a schedule is compared with rank 0's part; fewer are proved and ordered as fast."""


@dataclass(frozen=True, eq=False)
class Work:
    """A schedule and what is known about it: `collective` is None for what keeps no known promise.

    `made` is the schedule where somebody has made it; otherwise `algorithm` makes it for `ranks` ranks when it is asked
    for. `settings` are the parameters it is made with, `pace` what a library's way of sending costs on the machine it
    was made for. Ranks that are `in_turn` finish a step before their next. `hops(n)` are the links that a message of n
    ranks crosses in the mean; `proved` is the proof of `made` where somebody has it.
    """

    made: Schedule | None = None
    collective: Collective | None = None
    algorithm: Algorithm | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    pace: Perturbation | None = None
    ranks: int = 0
    root: int = 0
    in_turn: bool = False
    proved: Proof | None = None
    hops: Callable[[int], float] = lambda n: 2.0
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds of real time that building and proving it took, as `build_s` and `verify_s`."""
    announced: set[str] = field(default_factory=set)
    """Strategies for which was said what they take."""

    def __repr__(self) -> str:
        return fmt_object("Work", f"{self.name}: {self.n:,} ranks")

    @property
    def n(self) -> int:
        """Number of ranks."""
        return self.ranks if self.made is None else self.made.n

    @property
    def name(self) -> str:
        """What it is called."""
        return self._entry.name if self.made is None else self.made.name

    @property
    def unit_share(self) -> float:
        """One slot's part of the size a person gives; 0 where no size is needed."""
        return self.made.unit_share if self.made is not None else self._entry.unit_share(self.n, self.settings)

    @property
    def sized(self) -> bool:
        """Is a size needed? Barriers have none, and some schedules bring their own."""
        if self.made is None:
            return self._entry.collective.sized
        return self.made.unit_share > 0 and self.made.fixed_bytes is None

    def blocking(self) -> "Work":
        """Return the same with ranks that finish a step before their next; an order of its own is kept."""
        return replace(self, in_turn=True, spent={}, announced=set()).recalled()

    def recalled(self) -> "Work":
        """Return it with all that was found of the same work before."""
        if (key := self._key) is not None:
            parts = reuse.recall(key)
            vars(self).update((name, parts[name]) for name in FOUND if name in parts)
        return self

    def remember(self) -> None:
        """Keep what was found of it for the same work later."""
        if (key := self._key) is not None:
            reuse.keep(key, {name: vars(self)[name] for name in FOUND if name in vars(self)} | self._ordered)

    @property
    def _ordered(self) -> dict[str, Any]:
        """What its transfers wait for, where that is known."""
        return {"waits": dependencies.derived(self.schedule)} if "schedule" in vars(self) else {}

    @property
    def _key(self) -> Hashable | None:
        """What tells it from all other works; None where a function of somebody else makes it, which may change."""
        entry = self.algorithm
        if self.made is not None or entry is None or not entry.steps.__module__.startswith(OURS):
            return None
        functions = entry.steps, entry.collective, entry.pieces, entry.switches, entry.symmetry, entry.ordered
        return entry.name, *functions, repr(sorted(self.settings.items())), self.ranks, self.root, self.in_turn

    @cached_property
    def schedule(self) -> Schedule:
        """All transfers, written out. Raises InputError where they are more than may be."""
        begun = time.perf_counter()
        schedule = self.made
        if schedule is None:
            expect_algorithm(self._entry, self.n, self.settings, self.root, self.hops)
            schedule = self._entry.schedule(self.n, root=self.root, **self.settings)
        if self.in_turn and schedule.after is None:
            schedule = in_rank_order(schedule, by_channel=True)
        self._took("build_s", begun)
        return schedule

    def proof(self, *, blocks: bool) -> Proof:
        """Return the proof of the schedule; `blocks` have bytes of their own, so that it says which are carried."""
        return self._proof_of_blocks if blocks else self._proof

    @cached_property
    def _proof(self) -> Proof:
        return self.proved or self._proved(blocks=False)

    @cached_property
    def _proof_of_blocks(self) -> Proof:
        return self._proved(blocks=True)

    def _proved(self, *, blocks: bool) -> Proof:
        schedule = self.schedule
        if not blocks and self.whole is not None and self.folded_verdict.ok:
            return proof_of(schedule, self.folded_verdict)
        begun = time.perf_counter()
        proof = prove(schedule, blocks=blocks)
        self._took("verify_s", begun)
        return proof

    @cached_property
    def folded(self) -> FoldedSchedule | None:
        """Rank 0's part, and the renamings that make all of it; None where no symmetry is stated."""
        if self.made is not None or self._entry.symmetry is None or self.root:
            return None
        begun = time.perf_counter()
        try:
            folded = replace(self._entry, ordered=self._entry.ordered or self.in_turn).folded(self.n, **self.settings)
        except MemoryError:  # the error for the whole schedule says how much it would take
            return None
        self._took("build_s", begun)
        return folded

    @cached_property
    def whole(self) -> FoldedSchedule | None:
        """Rank 0's part where the written schedule was found to be all its renamings; None of others and small ones."""
        if self.made is not None or self.schedule.transfers < COMPARED or self.folded is None:
            return None
        begun = time.perf_counter()
        is_all = is_whole(self.folded, self.schedule)
        self._took("verify_s", begun)
        return self.folded if is_all else None

    def order(self) -> None:
        """Derive what its transfers wait for, of rank 0's alone where all do the same."""
        if self.whole is None or dependencies.derived(self.schedule) is not None:
            return
        if self._entry.ordered or not self.in_turn:
            dependencies.note(self.schedule, waits(self.whole, self.schedule))

    @cached_property
    def folded_verdict(self) -> Verdict:
        """Whether all renamings of rank 0's part together keep the promise."""
        assert self.folded is not None
        begun = time.perf_counter()
        verdict = prove_folded(self.folded)
        self._took("verify_s", begun)
        return verdict

    @cached_property
    def listing(self) -> tuple[Listing, Verdict] | None:
        """Every pair of ranks and what it exchanges, and the verdict; None where pairs have too little in common."""
        begun, entry = time.perf_counter(), self._entry
        rooted = {"root": self.root} if entry.collective.rooted else {}
        reading = listed(
            entry.steps(self.n, **rooted, **self.settings),
            entry.collective.promise(self.n, entry.cut(self.n, self.settings), self.root),
            name=entry.name,
            unit_share=entry.unit_share(self.n, self.settings),
            ordered=entry.ordered,
        )
        self._took("build_s", begun)
        return reading

    @cached_property
    def counts(self) -> Counts:
        """How large it is; of a large schedule that nobody has built, about how large."""
        if self.made is None and self.n >= WRITTEN:
            counts = counted(self._entry, self.n, self.settings, self.root)
            if counts is not None:
                return counts
        return Counts.of(self.schedule)

    @property
    def transfers(self) -> float:
        """How many transfers it has, about."""
        return self.counts.transfers if self.made or self.folded is None else self.folded.transfers

    @property
    def length(self) -> float:
        """How long it is when it is written out: its transfers, or the slots they move, where these are more."""
        if self.made is None and self.folded is not None:
            return max(self.folded.transfers, self.n * len(self.folded.one.from_slot))
        return max(self.counts.transfers, self.counts.moves)

    def expect(self, strategy: str, needs: Estimate) -> None:
        """Tell who waits what simulating it takes, once for each strategy. Raises InputError where it is too much."""
        if strategy not in self.announced:
            watch.expect(self.name, needs)
            self.announced.add(strategy)

    def _took(self, what: str, begun: float) -> None:
        self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begun

    @property
    def _entry(self) -> Algorithm:
        assert self.algorithm is not None, "a work has a schedule, or an algorithm that makes one"
        return self.algorithm


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
    work = Work(None, entry.collective, entry, values, ranks=n, root=root)
    return (replace(work, hops=topology.hops) if topology else work).recalled()


def settled(
    entry: Algorithm, n: int, root: int, topology: Topology | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """All parameters of an algorithm on a machine, checked; arguments as for `registered`. Raises InputError."""
    arguments = dict(settings)
    if topology is not None and entry.takes_hosts:
        values = bind(entry.steps, arguments, entry.name, skip=("n", "root"))
        arguments["group"] = values.get("group", 0) or natural_group(topology, n)
    return entry.settle(n, root=root, **arguments)


def able(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return those of some algorithms whose switches the machine has; one that needs none is always among them.

    >>> from sim.machines import build
    >>> able(build("dgx_a100"), ["allreduce.ring", "allreduce.nvls"])
    ['allreduce.ring']
    """
    return [name for name in names if reduces(topology, {*(entry := ALGORITHMS[name]).switches(8, **entry.defaults)})]


def imported(schedule: Schedule) -> Work:
    """A schedule from outside; its promise names the collective it carries out."""
    if schedule.promise is None:
        return Work(schedule)
    name = schedule.promise.name
    return Work(schedule, COLLECTIVES.get(name if schedule.fixed_bytes is None else name + "v"))


def natural_group(topology: Topology, n: int) -> int:
    """How many ranks in a row share a node, a host of the only node, or a NUMA node of the only host; 0 if uneven.

    A node is a host, or the hosts that NVLinks join: a rack.

    >>> from sim.machines import build
    >>> natural_group(build("nodes:nodes=2,gpus=6"), 12), natural_group(build("dual_socket_pcie"), 8)
    (6, 4)
    """
    ranks = np.array(topology.ranks[:n], np.int64)
    nodes, hosts, domains = (column[ranks] for column in (topology.nodes, *topology.places))
    whole = np.zeros_like(domains)
    for node, domain in ((nodes, whole), (hosts, whole), (hosts, domains)):
        place = node << 32 | domain & 0xFFFFFFFF
        size = int(np.count_nonzero(place == place[0]))
        in_a_row = n % size == 0 and bool((place.reshape(-1, size) == place[::size].reshape(-1, 1)).all())
        if in_a_row and 1 < len(np.unique(place)) == n // size and domain[hosts == hosts.min()].min() >= 0:
            return size
    return 0

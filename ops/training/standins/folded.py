"""Replicas of a training step that do and see the same: one of them is simulated for all.

What ranks do is the workload's word (`Replicas`), and it is true by the way the workload is written. Whether they see
the same is looked up on the machine: all routes of the pairs that the step uses must cross links that carry alike
(`sim.symmetry.link_classes`). Collectives among ranks that are all alike run as folded schedules, proved as such.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ops.communicators.launch import Launcher, Prepared
from ops.libraries import CollectiveCall, Decision, Members
from ops.training.step import AlikeRanks
from ops.training.world import Stream, StreamedCall, World, WorldOptions
from sim.base.arrays import Floats, Ints, each_once
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers
from sim.topology import Topology
from sim.topology.devices import LINK_KINDS, LinkColumns

if TYPE_CHECKING:
    from ops.run.work import Work
    from sim.engine import Event
    from sim.schedule import Schedule
    from sim.schedule.verify import Proof
    from sim.symmetry.link_classes import PairClasses


class PlannedCall(NamedTuple):
    """A collective that the ranks of a communicator call, of so many bytes; a simulated rank is among them."""

    ranks: range
    collective: str
    size: float


@dataclass(frozen=True, eq=False)
class Replicas:
    """Ranks that do the same, and everything that they call.

    Each row of `members` is a class of ranks, all of one length and none with a rank of another; the first of each is
    simulated. A message between the first ranks of two rows goes between the k-th ones, too. The ranks of a
    communicator are the first ranks of as many rows, or all are of one row: of so many, each a `step` apart, as its
    range says, and what a rank has beside it in every other communicator is found by the same step.
    """

    members: Numbers
    calls: Sequence[PlannedCall]
    messages: Sequence[tuple[int, int]]


class _FoldedPlan(NamedTuple):
    """A collective among ranks of one class: what was chosen, and the one rank's part that is simulated."""

    decision: Decision
    schedule: FoldedSchedule
    timed: "Schedule"
    proof: "Proof"
    turns: Numbers


class _UnlikeError(Exception):
    """Ranks differ, or it cannot be told that they do not."""


@dataclass(eq=False)
class _Plans:
    """What calls among ranks of one class come to; each is folded and proved once."""

    topology: Topology
    launcher: Launcher
    _of: dict[Any, _FoldedPlan] = field(default_factory=dict)
    _decided: "dict[Work, _FoldedPlan]" = field(default_factory=dict)

    def of(self, ranks: range, collective: str, size: float) -> _FoldedPlan:
        """The plan for a call. Raises _UnlikeError where there is none."""
        key = ranks, collective, size
        if key not in self._of:
            devices = Members(self.topology, [self.topology.ranks[rank] for rank in ranks])
            decision = self.launcher.choose(CollectiveCall.counted(collective, devices, size, size / 4))
            if decision.orders or decision.size is not None or decision.protocol:
                raise _UnlikeError
            self._of[key] = self._folded(decision, len(ranks))
        return self._of[key]

    def _folded(self, decision: Decision, n: int) -> _FoldedPlan:
        from sim.symmetry.folded_run import timed_schedule
        from sim.symmetry.proof import proof_of

        work = self.launcher.work(decision, n)
        if work not in self._decided:
            schedule = work.folded
            if schedule is None:
                raise _UnlikeError
            turns = each_once(schedule.turn[schedule.turn != 0])
            timed = timed_schedule(schedule, turns)
            self._decided[work] = _FoldedPlan(decision, schedule, timed, proof_of(timed, work.folded_verdict), turns)
            work.remember()
        return self._decided[work]


@dataclass(eq=False)
class _PairsUsed:
    """Classes of pairs that a step uses, as `sim.symmetry.link_classes.PairsOfDevices` asks for them."""

    devices: Ints
    members: Numbers
    receivers: list[Numbers] = field(default_factory=list)
    place: dict[tuple[int, Any], int] = field(default_factory=dict)
    """By row of the senders, and by row of the receivers or by communicator and renaming: the class."""

    def __len__(self) -> int:
        return len(self.receivers)

    def ends(self, k: int) -> tuple[Ints, Ints]:
        """Senders and receivers of class k."""
        return self.devices[self.members[self._senders[k]]], self.devices[self.receivers[k]]

    def add(self, row: int, key: Any, receivers: Numbers) -> None:
        """Have the pairs from all of a row to these."""
        if (row, key) not in self.place:
            self.place[row, key] = len(self.receivers)
            self.receivers.append(receivers)

    @cached_property
    def _senders(self) -> list[int]:
        return [row for row, _ in self.place]


def folded_world(topology: Topology, ranks: int, options: WorldOptions, replicas: Replicas) -> World | None:
    """A world in which the first ranks of all classes stand for the others; None where the machine tells them apart."""
    from ops.communicators.selection import Selection
    from sim.symmetry.link_classes import pair_classes

    if (replicas.members.shape[1]) < 2:
        return None
    launcher = Launcher(Selection(options.library, options.forced, options.shape))
    plans = _Plans(topology, launcher)
    pairs = _PairsUsed(np.array(topology.ranks, np.int32), replicas.members)
    try:
        _add_pairs(topology, replicas, plans, pairs, options)
    except _UnlikeError:
        return None
    classes = pair_classes(topology, pairs, _kinds(topology))
    return None if classes is None else FoldedWorld(topology, ranks, options, replicas, plans, pairs, classes)


def _kinds(topology: Topology) -> Numbers:
    """The kind of every link, as a number."""
    links = topology.links
    kinds = links.kind if isinstance(links, LinkColumns) else [LINK_KINDS.index(link.kind) for link in links]
    return np.array(kinds, np.int64)


def _add_pairs(topology: Topology, replicas: Replicas, plans: _Plans, pairs: _PairsUsed, options: WorldOptions) -> None:
    """All pairs of ranks that the step uses. Raises _UnlikeError."""
    members = replicas.members
    row_of = {rank: row for row, rank in enumerate(members[:, 0].tolist())}
    for src, dst in replicas.messages:
        pairs.add(row_of[src], row_of[dst], members[row_of[dst]])
    for call in replicas.calls:
        rows = [row_of[rank] for rank in call.ranks if rank in row_of]
        _check_hosts(topology, call, members[rows[0]], options)
        if len(rows) == len(call.ranks):
            _add_all(topology, call, rows, plans.launcher, pairs)
        elif len(rows) == 1:
            plan = plans.of(*call)
            row, key = members[rows[0]], (call.ranks.step, len(call.ranks))
            for turn in plan.turns.tolist():
                pairs.add(rows[0], (*key, turn), _beside(row, call.ranks, plan, turn))
        else:
            raise _UnlikeError


def _add_all(topology: Topology, call: PlannedCall, rows: list[int], launcher: Launcher, pairs: _PairsUsed) -> None:
    """The pairs of a communicator all of whose ranks are simulated."""
    devices = Members(topology, [topology.ranks[rank] for rank in call.ranks])
    schedule = launcher.prepare(CollectiveCall.counted(call.collective, devices, call.size, call.size / 4)).schedule
    if schedule.switches:
        raise _UnlikeError
    for pair in each_once(schedule.src.astype(np.int64) * schedule.n + schedule.dst).tolist():
        src, dst = rows[pair // schedule.n], rows[pair % schedule.n]
        if src != dst:
            pairs.add(src, dst, pairs.members[dst])


def _places(ranks: Numbers, like: range) -> Numbers:
    """Each rank's place in its communicator, of the kind that `like` is."""
    return ranks // like.step % len(like)


def _beside(ranks: Numbers, like: range, plan: _FoldedPlan, turn: int) -> Numbers:
    """The rank to which a renaming takes each rank in its communicator."""
    place = _places(ranks, like)
    return ranks + (plan.schedule.symmetry.ranks.turned(place, turn) - place) * like.step


def _check_hosts(topology: Topology, call: PlannedCall, members: Numbers, options: WorldOptions) -> None:
    """Raise _UnlikeError unless a library sees in every communicator of a kind what it sees in the first.

    It may ask how ranks lie on hosts; NCCL looks at the whole machine, unless it is told what to take.
    """
    if options.library == "nccl" and call.collective not in options.forced:
        raise _UnlikeError
    first = np.unique(members - _places(members, call.ranks) * call.ranks.step)
    ranks = first.reshape(-1, 1) + np.arange(len(call.ranks)) * call.ranks.step
    hosts = topology.places[0][np.array(topology.ranks, np.int64)[ranks]]
    if ((hosts - hosts[:, :1]) != (hosts - hosts[:, :1])[0]).any():
        raise _UnlikeError


class FoldedWorld(World):
    """A world of which a few ranks are simulated, each for all that are like it, on a machine of link classes."""

    def __init__(
        self, topology: Topology, ranks: int, options: WorldOptions, replicas: Replicas, plans: _Plans,
        pairs: _PairsUsed, classes: "PairClasses",
    ) -> None:  # fmt: skip
        from sim.engine import Cluster
        from sim.symmetry.link_classes import quotient

        players = replicas.members[:, 0].tolist()
        self.row_of = {rank: row for row, rank in enumerate(players)}
        names, ends = [str(rank) for rank in players], []
        self.receiver: dict[tuple[int, Any], int] = {}
        """The device that receives what a row sends by a renaming of a communicator."""
        for row, key in pairs.place:
            if not isinstance(key, int):
                self.receiver[row, key] = len(names)
                names.append(f"{players[row]}{key}")
            ends.append((row, key if isinstance(key, int) else self.receiver[row, key]))
        self.machine = quotient(topology, classes, names, ends, len(players))
        super().__init__(topology, ranks, cluster=Cluster(self.machine), players=players, **options._asdict())
        self.launcher, self.plans, self._classes, self._replicas = plans.launcher, plans, classes, replicas

    def group(self, ranks: Sequence[int]) -> Stream:
        """A communicator: of ranks that are simulated all, or of which one stands for all."""
        inside = [rank for rank in ranks if rank in self.row_of]
        if len(inside) == len(ranks):
            return Stream(self, ranks)
        assert len(inside) == 1, "a communicator of some ranks of a class"
        assert isinstance(ranks, range)
        return FoldedStream(self, inside[0], ranks)

    def start(self, prepared: Prepared, stream: Stream, units: Floats) -> "Event":
        """As `World.start`, on the machine of classes."""
        return prepared.start(self.cluster, Members(self.machine, [self.row_of[rank] for rank in stream.ranks]), units)

    def crossed(self) -> Floats:
        """Bytes that have crossed every link of the machine."""
        classes = len(self._classes.first)
        carried: Floats = (self.link_bytes[:classes] * np.array(self._classes.common))[self._classes.of]
        return carried

    @property
    def alike(self) -> AlikeRanks:
        """Which ranks others stand for, and which links."""
        members = self._replicas.members
        player = np.arange(self.ranks, dtype=np.int32)
        player[members] = members[:, :1]
        return AlikeRanks(player, self._classes.of.astype(np.int32))

    @property
    def copies(self) -> int:
        """How many ranks a simulated one stands for, itself included."""
        return int(self._replicas.members.shape[1])


class FoldedStream(Stream):
    """A communicator of ranks that are all alike: one of them calls for all."""

    world: FoldedWorld

    def __init__(self, world: FoldedWorld, player: int, ranks: range) -> None:
        super().__init__(world, (player,))
        self._all = ranks

    @property
    def everyone(self) -> tuple[int, ...]:
        """All ranks of the communicator."""
        return tuple(self._all)

    @property
    def groups(self) -> int:
        """How many communicators there are of this kind."""
        return self.world.copies // len(self._all)

    def begin(self, call: StreamedCall) -> "tuple[Decision, Event]":
        """Start a collective: one rank's part in it."""
        world, player = self.world, self.ranks[0]
        row = world.row_of[player]
        plan = world.plans.of(self._all, call.collective, call.size)
        one = plan.schedule.one
        world.expect(one.transfers)
        key = self._all.step, len(self._all)
        devices = [row, *(world.receiver[row, (*key, turn)] for turn in plan.turns.tolist())]
        sizes = np.diff(one.moves) * (call.size * plan.schedule.unit_share)
        event = world.cluster.launch(plan.timed, devices, sizes, proof=plan.proof, size=call.size)
        return plan.decision, event

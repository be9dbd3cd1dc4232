"""Ranks at work in the SimPy world of a cluster: their compute, their collectives, their memory."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ops.communicators.launch import Launcher, Prepared
from ops.communicators.records import Span
from ops.communicators.rendezvous import Communicator, Meeting
from ops.libraries import CollectiveCall, Decision, Members
from ops.training.options import slowness
from ops.training.step import COMM, COMPUTE, WAIT, AlikeRanks, MemoryChange, StepCollective, TrainingStep
from sim.base.arrays import each_once
from sim.base.ragged import take
from sim.errors import InputError
from sim.topology import Floats, Topology
from sim.trace import Trace
from sim.units import fmt_object

if TYPE_CHECKING:
    from ops.communicators.selection import Forced
    from sim.engine import Cluster, Event

Process = Generator["Event", Any, Any]
MOST_TRANSFERS = 20_000_000
"""Of all collectives of a step together; each takes about a hundred bytes of memory."""
MOST_CALLS = 2_000_000
"""Of all ranks together."""
LARGEST_GROUP = 2048
"""Ranks of one collective: a ring of so many has eight million transfers."""


def ranks_at_work(topology: Topology, ranks: int) -> int:
    """So many ranks, or all for 0. Raises InputError where the machine has too few, or none."""
    count = topology.taking_part(ranks)
    if count < 1:
        raise InputError("training.no_gpu", topology=topology.name)
    return count


class WorldOptions(NamedTuple):
    """What a `World` takes beside its machine and ranks."""

    library: str
    forced: "dict[str, Forced]"
    shape: str
    launch: float
    interference: float
    variation: float = 0.0


def check_group(n: int) -> None:
    """Raise InputError for more ranks than a collective is written out for."""
    if n > LARGEST_GROUP:
        raise InputError("training.group_too_large", n=n, most=LARGEST_GROUP)


class World:
    """So many ranks of a machine, each with one GPU that does one thing at a time.

    Parameters
    ----------
    topology : Topology
        The machine.
    ranks : int
        How many ranks; 0 for all it has.
    library : str
        Whose rules choose algorithms.
    forced : mapping
        Algorithms that overrule them, by collective.
    shape : str
        An algorithm that overrules them wherever a collective has one of that name.
    launch : float
        Seconds that every collective pays once, when the last of its ranks has come.
    interference : float
        Share of its speed that a GPU lacks for compute while it takes part in a collective, whose kernels need
        processors and memory too, 0 to 1.
    variation : float
        Standard deviation of the GPUs' speeds, as a share; the last rank has the slowest.
    cluster : Cluster
        The world they are in; a new one unless given.
    players : list of int
        The ranks that are simulated; all unless given.

    Raises
    ------
    InputError
        Where the machine has too few GPUs, or none.
    """

    def __init__(
        self,
        topology: Topology,
        ranks: int = 0,
        *,
        library: str = "nccl",
        forced: "dict[str, Forced] | None" = None,
        shape: str = "",
        launch: float = 0.0,
        interference: float = 0.0,
        variation: float = 0.0,
        cluster: "Cluster | None" = None,
        players: Sequence[int] = (),
    ) -> None:
        self.ranks = ranks_at_work(topology, ranks)
        self.topology, self.launch, self.interference = topology, launch, interference
        from ops.communicators.selection import Selection  # whoever only lists workloads need not load the engine
        from sim.engine import Cluster

        self.cluster = cluster or Cluster(topology)
        self.env = self.cluster.env
        self.launcher = Launcher(Selection(library, forced, shape))
        self.spans: list[Span] = []
        self.calls: list[StepCollective] = []
        self.changes: list[MemoryChange] = []
        self.link_bytes: Floats = np.zeros(len(self.cluster.topology.links))
        self.transfers = self.posted = 0
        self.players = tuple(players) or range(self.ranks)
        self.slowness = {rank: slowness(rank, self.ranks, variation) for rank in self.players}
        self._gpus = {rank: self.cluster.lock() for rank in self.players}
        self._pairs: dict[tuple[int, int, str], Stream] = {}
        self._moving = dict.fromkeys(self.players, 0)
        self._changed: dict[int, Event] = {rank: self.env.event() for rank in self.players}

    def __repr__(self) -> str:
        return fmt_object("World", f"of {self.ranks:,} ranks on {self.topology.name}")

    @cached_property
    def everyone(self) -> "Stream":
        """All ranks."""
        return self.group(range(self.ranks))

    def pair(self, src: int, dst: int, lane: str = "") -> "Stream":
        """The two ends of messages from one rank to another, which follow each other in one lane."""
        key = src, dst, lane
        if key not in self._pairs:
            self._pairs[key] = Stream(self, (src, dst), patient=True)
        return self._pairs[key]

    def message(self, rank: int, src: int, dst: int, size: float, name: str, *, lane: str = "") -> "Event":
        """One end's part in a message from `src` to `dst`; the event happens when it has arrived.

        Neither end is held up until it waits for the event, so no waiting is noted.
        """
        group = self.pair(src, dst, lane)
        return group.post(rank, "broadcast", size, name, algorithm="broadcast.linear")

    def group(self, ranks: Sequence[int]) -> "Stream":
        """A communicator of its own: its collectives follow each other, other groups' may run beside them."""
        return Stream(self, ranks)

    def compute(self, rank: int, seconds: float, name: str) -> Process:
        """Keep a rank's GPU busy; what it is to do while it is busy waits its turn."""
        if seconds <= 0:
            return
        with self._gpus[rank].request() as turn:
            if not turn.triggered:
                yield turn
            yield from self._work(rank, seconds * self.slowness[rank], name)

    def _work(self, rank: int, seconds: float, name: str) -> Process:
        start = self.env.now
        if self.interference:
            yield from self._disturbed(rank, seconds)
        else:
            yield self.env.timeout(seconds)
        self.spans.append(Span(rank, COMPUTE, start, self.env.now, name))

    def _disturbed(self, rank: int, seconds: float) -> Process:
        """Work of so many seconds at full speed, slower while a collective is under way."""
        while True:
            speed, start = 1 - self.interference if self._moving[rank] else 1.0, self.env.now
            end, changed = self.env.timeout(seconds / speed), self._changed[rank]
            yield end | changed
            if end.processed:
                return
            seconds -= (self.env.now - start) * speed

    def move(self, ranks: Sequence[int], change: int) -> None:
        """A collective of these ranks begins (+1) or has ended (-1)."""
        for rank in ranks if self.interference else ():
            before = self._moving[rank] > 0
            self._moving[rank] += change
            if before != (self._moving[rank] > 0):
                self._changed[rank].succeed()
                self._changed[rank] = self.env.event()

    def hold(self, rank: int, kind: str, amount: float, at: float | None = None) -> None:
        """From now (or from `at`) on a rank holds so many bytes more of a kind, or less where `amount` is below 0."""
        if amount:
            self.changes.append(MemoryChange(rank, self.env.now if at is None else at, kind, amount))

    def run(self, process: Callable[[int], Process]) -> float:
        """Run every rank's process until the last has ended; returns that moment."""
        ranks = [self.env.process(process(rank)) for rank in self.players]
        self.cluster.run(self.env.all_of(ranks))
        return float(self.env.now)

    def count(self, trace: Trace) -> str:
        """Add a collective's bytes to those of the links it crossed; returns their kinds, like `NVL+NET`."""
        used, which = np.unique(trace.route, return_inverse=True)
        amount = np.bincount(which, weights=trace.bytes, minlength=len(used))
        offsets, crossed = take(*trace.routes, used)
        carried = np.repeat(amount, np.diff(offsets))
        np.add.at(self.link_bytes, crossed, carried)
        links = self.cluster.topology.links
        return "+".join(sorted({links[i].kind for i in each_once(crossed[carried > 0])}))

    def step(self, time: float, *, since: float = 0.0, steps: int = 1, **facts: Any) -> TrainingStep:
        """What has happened, as a step that took so many seconds: the one from `since` on, of as many as there were."""
        spans = [
            span._replace(start=max(span.start - since, 0.0), end=min(span.end - since, time))
            for span in sorted(self.spans, key=lambda span: (span.rank, span.lane, span.start, span.end))
            if span.end > since and span.start < since + time
        ]
        calls = [
            replace(call, start=call.start - since, end=call.end - since)
            for call in self.calls
            if since < call.end <= since + time or not since
        ]
        changes = [
            change._replace(time=max(0.0, change.time - since))
            for change in self.changes
            if change.time <= since + time
        ]
        crossed = self.crossed() / steps
        return TrainingStep(self.topology, self.ranks, time, spans, calls, crossed, changes, facts, alike=self.alike)

    def crossed(self) -> Floats:
        """Bytes that have crossed every link of the machine."""
        return self.link_bytes

    @property
    def copies(self) -> int:
        """How many ranks each one that is simulated stands for, itself included."""
        return 1

    @property
    def alike(self) -> AlikeRanks | None:
        """Which ranks others stand for, and which links; None where all are simulated."""
        return None

    def prepare(self, call: CollectiveCall, algorithm: str) -> Prepared:
        """What a call comes to. Raises InputError where the step grows too large to simulate."""
        check_group(call.n)
        prepared = self.launcher.prepare(call, algorithm)
        self.expect(prepared.schedule.transfers)
        return prepared

    def expect(self, transfers: int) -> None:
        """Count transfers that are about to be simulated. Raises InputError where they become too many."""
        self.transfers += transfers
        if self.transfers > MOST_TRANSFERS:
            raise InputError("training.transfers", most=MOST_TRANSFERS)

    def start(self, prepared: Prepared, stream: "Stream", units: Floats) -> "Event":
        """Start a collective of a stream's ranks now; the event happens at its end, with the trace as value."""
        return prepared.start(self.cluster, stream, units)


class Stream(Communicator["StreamedCall"]):
    """A communicator whose collectives follow each other, as on one CUDA stream.

    They run in the order in which their first ranks called them. Calls of one name meet each other, the first
    of one rank with the first of all others. A `patient` one notes no waiting of early ranks.
    """

    def __init__(self, world: World, ranks: Sequence[int], *, patient: bool = False) -> None:
        super().__init__(world.topology, ranks)
        self.world, self.patient = world, patient
        self._last: Event | None = None

    @property
    def everyone(self) -> tuple[int, ...]:
        """All ranks of the communicator, whoever stands for them."""
        return self.ranks

    @property
    def groups(self) -> int:
        """How many communicators this one stands for, itself included."""
        return self.world.copies

    def begin(self, call: "StreamedCall") -> "tuple[Decision, Event]":
        """Start a collective for which all have come; what was chosen, and the event at its end with the trace."""
        prepared = self.world.prepare(call.for_library(self), call.algorithm)
        return prepared.decision, self.world.start(prepared, self, call.units(prepared))

    def post(
        self,
        rank: int,
        collective: str,
        size: float | Sequence[float] = 0.0,
        name: str = "",
        *,
        root: int = 0,
        algorithm: str = "",
    ) -> "Event":
        """A rank calls a collective and goes on at once; the event happens when the collective has ended.

        `size` is in bytes as nccl-tests counts it, or one size per block for a v collective. `root` counts in the
        group. `algorithm` is taken whatever the library's rule says.
        """
        world = self.world
        world.posted += 1
        if world.posted > MOST_CALLS:
            raise InputError("training.calls", most=MOST_CALLS)
        name = name or collective

        def convene() -> StreamedCall:
            call = StreamedCall(self, collective, size, name, root, algorithm, self._last)
            self._last = call.event
            return call

        return self.come(rank, world.env.now, convene, (collective, name)).event


class StreamedCall(Meeting[float]):
    """A collective from its first caller to its end; what ranks bring is when they came, in seconds."""

    def __init__(
        self,
        stream: Stream,
        collective: str,
        size: float | Sequence[float],
        name: str,
        root: int,
        algorithm: str,
        before: "Event | None",
    ) -> None:
        super().__init__(stream.ranks)
        self.stream, self.collective, self.name = stream, collective, name
        self.root, self.algorithm = root, algorithm
        self.world = stream.world
        self.event = self.world.env.event()
        self.uneven = not isinstance(size, (int, float))
        self.size = float(np.sum(size))
        self._blocks = np.asarray(size, dtype=np.float64).reshape(-1)
        self._before = before

    def begin(self) -> None:
        """All ranks have come; the stream may still be busy."""
        self.world.env.process(self._run())

    def _run(self) -> Process:
        world, ranks = self.world, self.ranks
        if self._before is not None and not self._before.processed:
            yield self._before
        self._note_waiting()
        start = world.env.now
        if len(self.stream.everyone) < 2:
            self.event.succeed(start)
            return
        if world.launch:
            yield world.env.timeout(world.launch)
        decision, event = self.stream.begin(self)
        world.move(ranks, +1)
        trace: Trace = yield event
        world.move(ranks, -1)
        end = world.env.now
        world.spans += [Span(rank, COMM, start, end, self.name) for rank in ranks]
        arrivals = dict(zip(ranks, self.everything(), strict=True))
        world.calls.append(
            StepCollective(
                name=self.name,
                algorithm=decision.algorithm,
                protocol=decision.protocol,
                ranks=self.stream.everyone,
                size=self.size if decision.size is None else decision.size,
                start=start,
                end=end,
                verified=trace.verdict.ok,
                latest=max(ranks, key=arrivals.__getitem__),
                links=world.count(trace),
                groups=self.stream.groups,
            )
        )
        self.event.succeed(end)

    def _note_waiting(self) -> None:
        """Ranks wait for the last one, from when they came or the stream was free."""
        free = float(self._before.value) if self._before is not None else 0.0  # type: ignore[arg-type]
        now = self.world.env.now
        for rank, arrival in zip(self.ranks, self.everything(), strict=True) if not self.stream.patient else ():
            since = max(arrival, free)
            if since < now:
                self.world.spans.append(Span(rank, WAIT, since, now, self.name))

    def for_library(self, members: Members) -> CollectiveCall:
        """The call of these ranks as the library sees it."""
        return CollectiveCall.counted(self.collective, members, self.size, self.size / 4, self.root)

    def units(self, prepared: Prepared) -> Floats:
        """Bytes of every unit block."""
        if self.uneven:
            return self._blocks
        schedule = prepared.schedule
        assert schedule.promise is not None
        return np.full(schedule.promise.blocks, self.size * schedule.unit_share)

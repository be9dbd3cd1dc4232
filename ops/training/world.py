"""Ranks at work in the SimPy world of a cluster: their compute, their collectives, their memory."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ops.registry import ALGORITHMS
from ops.training.step import COMM, COMPUTE, WAIT, Call, Held, Span, Step
from sim.base.ragged import take
from sim.errors import InputError
from sim.schedule import Schedule
from sim.schedule.verify import Proof, prove
from sim.topology import Floats, Topology
from sim.trace import Trace

if TYPE_CHECKING:
    from ops.libraries.call import Choice
    from sim.engine import Event

Process = Generator["Event", Any, Any]
TUNED = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce")
"""Collectives that NCCL's tuner chooses for."""
MOST_TRANSFERS = 20_000_000
"""Of all collectives of a step together; each takes about a hundred bytes of memory."""
MOST_CALLS = 2_000_000
"""Of all ranks together."""
LARGEST_GROUP = 2048
"""Ranks of one collective: a ring of so many has eight million transfers."""


class Turns:
    """What one process at a time may have; the others stand in line."""

    def __init__(self, env: Any) -> None:
        self._env, self._last = env, env.event().succeed()

    def take(self, work: Process) -> Process:
        """Do the work when it is its turn."""
        before, mine = self._last, self._env.event()
        self._last = mine
        if not before.processed:
            yield before
        yield from work
        mine.succeed()


class World:
    """So many ranks of a machine, each with one GPU that does one thing at a time.

    `library` is whose rules choose algorithms; `forced` overrules them by collective. `launch` is paid by every
    collective once, when the last of its ranks is there. `interference` is the share of its speed that a GPU lacks
    for compute while it takes part in a collective, whose kernels need processors and memory too. With
    `tuned` NCCL's own tuner chooses, and its search lays the rings.
    """

    def __init__(
        self,
        topology: Topology,
        ranks: int = 0,
        *,
        library: str = "nccl",
        forced: "dict[str, Choice] | None" = None,
        launch: float = 0.0,
        interference: float = 0.0,
        tuned: bool = False,
    ) -> None:
        self.ranks = ranks or topology.n
        if self.ranks > topology.n:
            raise InputError(f"{topology.name} holds {topology.n} ranks, not {ranks}: ask for {topology.n} or fewer")
        if self.ranks < 1:
            raise InputError(f"{topology.name} has no GPU: choose a machine with one or more")
        self.topology, self.launch, self.interference = topology, launch, interference
        self.tuned = tuned
        from ops.libraries.selection import Selection  # whoever only lists workloads need not load the engine
        from sim.engine import Cluster

        self.cluster = Cluster(topology)
        self.env = self.cluster.env
        self.selection = Selection(library, forced)
        self.spans: list[Span] = []
        self.calls: list[Call] = []
        self.held: list[Held] = []
        self.link_bytes: Floats = np.zeros(len(topology.links))
        self.transfers = self.posted = 0
        self._gpus = [Turns(self.env) for _ in range(self.ranks)]
        self._tuned: dict[Any, tuple[str, Schedule]] = {}
        self._pairs: dict[tuple[int, int], Group] = {}
        self._moving = [0] * self.ranks
        self._changed: list[Event] = [self.env.event() for _ in range(self.ranks)]
        self._plans: dict[Any, tuple[Schedule, Proof]] = {}

    @cached_property
    def everyone(self) -> "Group":
        """All ranks."""
        return Group(self, range(self.ranks))

    def pair(self, src: int, dst: int) -> "Group":
        """The two ends of messages from one rank to another, which follow each other."""
        if (src, dst) not in self._pairs:
            self._pairs[src, dst] = Group(self, (src, dst), patient=True)
        return self._pairs[src, dst]

    def message(self, rank: int, src: int, dst: int, size: float, name: str) -> "Event":
        """One end's part in a message from `src` to `dst`; the event happens when it has arrived.

        Neither end is held up until it waits for the event, so no waiting is noted.
        """
        group = self.pair(src, dst)
        return group.post(rank, "broadcast", size, name, algorithm="broadcast.linear")

    def group(self, ranks: Sequence[int]) -> "Group":
        """A communicator of its own: its collectives follow each other, other groups' may run beside them."""
        return Group(self, ranks)

    def compute(self, rank: int, seconds: float, name: str) -> Process:
        """Keep a rank's GPU busy; what is asked of it while it is busy waits its turn."""
        if seconds <= 0:
            return
        yield from self._gpus[rank].take(self._work(rank, seconds, name))

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
            self.held.append(Held(rank, self.env.now if at is None else at, kind, amount))

    def run(self, process: Callable[[int], Process]) -> float:
        """Let every rank live its process, and the world turn until the last has ended; returns that moment."""
        lives = [self.env.process(process(rank)) for rank in range(self.ranks)]
        self.cluster.run(self.env.all_of(lives))
        return float(self.env.now)

    def count(self, trace: Trace) -> str:
        """Add a collective's bytes to those of the links it crossed; returns their kinds, like `NVL+NET`."""
        used, which = np.unique(trace.route, return_inverse=True)
        amount = np.bincount(which, weights=trace.bytes, minlength=len(used))
        offsets, crossed = take(*trace.routes, used)
        carried = np.repeat(amount, np.diff(offsets))
        np.add.at(self.link_bytes, crossed, carried)
        links = self.topology.links
        return "+".join(sorted({links[i].kind for i in np.unique(crossed[carried > 0])}))

    def step(self, time: float, *, since: float = 0.0, steps: int = 1, **facts: Any) -> Step:
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
        held = [h._replace(time=max(0.0, h.time - since)) for h in self.held if h.time <= since + time]
        return Step(self.topology, self.ranks, time, spans, calls, self.link_bytes / steps, held, facts)

    def plan(self, name: str, n: int, root: int, given: dict[str, Any]) -> tuple[Schedule, Proof]:
        """A schedule and its proof, made once."""
        _check_group(n)
        key = name, n, root, tuple(sorted(given.items()))
        if key not in self._plans:
            schedule = ALGORITHMS[name].schedule(n, root=root, **given)
            self._plans[key] = schedule, prove(schedule, blocks=True)
        return self._counted(*self._plans[key])

    def tuned_plan(self, group: "Group", collective: str, size: int, root: int) -> tuple[str, Schedule, Proof]:
        """What NCCL's tuner takes for a group and so many bytes, on the rings it finds there."""
        from ops.libraries.nccl.choice import choose, work_of

        _check_group(len(group.ranks))
        key = group.ranks, collective, size, root
        if key not in self._tuned:
            work = work_of(group.machine, choose(group.machine, collective, max(1, size)), root=root)
            self._tuned[key] = work.name, work.schedule
        name, schedule = self._tuned[key]
        if id(schedule) not in self._plans:
            self._plans[id(schedule)] = schedule, prove(schedule, blocks=True)
        return name, *self._counted(*self._plans[id(schedule)])

    def _counted(self, schedule: Schedule, proof: Proof) -> tuple[Schedule, Proof]:
        self.transfers += schedule.transfers
        if self.transfers > MOST_TRANSFERS:
            raise InputError(
                f"this step has more than {MOST_TRANSFERS:,} transfers: take fewer ranks, or fewer and larger messages"
            )
        return schedule, proof


def _check_group(n: int) -> None:
    if n > LARGEST_GROUP:
        raise InputError(
            f"a collective of {n:,} ranks is more than the {LARGEST_GROUP:,} of a simulated step: take fewer ranks"
        )


class Group:
    """Ranks with a communicator of their own, whose collectives follow each other on one stream.

    They run in the order in which their first ranks called them. Calls of one name meet each other, the first
    of one rank with the first of all others. A `patient` one notes no waiting of early ranks.
    """

    def __init__(self, world: World, ranks: Sequence[int], *, patient: bool = False) -> None:
        self.world, self.ranks, self.patient = world, tuple(ranks), patient
        self.devices = [world.topology.ranks[rank] for rank in ranks]
        self._met: dict[tuple[str, str, int], _Posted] = {}
        self._often: dict[tuple[int, str, str], int] = {}
        self._last: Event | None = None

    @cached_property
    def machine(self) -> Topology:
        """The machine as these ranks see it."""
        return replace(self.world.topology, ranks=tuple(self.devices))

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
        self.world.posted += 1
        if self.world.posted > MOST_CALLS:
            raise InputError(
                f"this step has more than {MOST_CALLS:,} calls: take fewer ranks, or fewer and larger pieces"
            )
        name = name or collective
        number = self._often.get((rank, collective, name), 0)
        self._often[rank, collective, name] = number + 1
        key = collective, name, number
        if key not in self._met:
            self._met[key] = _Posted(self, collective, size, name, root, algorithm, self._last)
            self._last = self._met[key].event
        call = self._met[key]
        call.arrive(rank)
        return call.event


class _Posted:
    """A collective from its first caller to its end."""

    def __init__(
        self,
        group: Group,
        collective: str,
        size: float | Sequence[float],
        name: str,
        root: int,
        algorithm: str,
        before: "Event | None",
    ) -> None:
        self.group, self.collective, self.size, self.name = group, collective, size, name
        self.root, self.algorithm = root, algorithm
        self.world = group.world
        self.event = self.world.env.event()
        self.arrived: dict[int, float] = {}
        self._before = before

    def arrive(self, rank: int) -> None:
        self.arrived[rank] = self.world.env.now
        if len(self.arrived) == len(self.group.ranks):
            self.world.env.process(self._live())

    def _live(self) -> Process:
        world, ranks = self.world, self.group.ranks
        if self._before is not None and not self._before.processed:
            yield self._before
        free = float(self._before.value) if self._before is not None else 0.0  # type: ignore[arg-type]
        for rank in () if self.group.patient else ranks:
            since = max(self.arrived[rank], free)
            if since < world.env.now:
                world.spans.append(Span(rank, WAIT, since, world.env.now, self.name))
        start = world.env.now
        if len(ranks) < 2:
            self.event.succeed(start)
            return
        if world.launch:
            yield world.env.timeout(world.launch)
        algorithm, event, total = self._start()
        world.move(ranks, +1)
        trace: Trace = yield event
        world.move(ranks, -1)
        end = world.env.now
        world.spans += [Span(rank, COMM, start, end, self.name) for rank in ranks]
        kinds = world.count(trace)
        latest = max(ranks, key=lambda rank: self.arrived[rank])
        world.calls.append(Call(self.name, algorithm, ranks, total, start, end, trace.verdict.ok, latest, kinds))
        self.event.succeed(end)

    def _start(self) -> tuple[str, "Event", float]:
        from ops.libraries.call import Load

        world, devices, n = self.world, self.group.devices, len(self.group.ranks)
        hosts = [world.topology.devices[device].host for device in devices]
        uneven = not isinstance(self.size, (int, float))
        units = np.asarray(self.size, dtype=np.float64).reshape(-1)
        total = float(units.sum())
        whole = self.collective in ("allreduce", "broadcast", "reduce", "scan", "exscan", "reduce_scatterv")
        load = Load(self.collective, n, total if whole else total / n, total / 4, hosts, self.root)
        if world.tuned and not (uneven or self.algorithm) and self.collective in TUNED:
            algorithm, schedule, proof = world.tuned_plan(self.group, self.collective, round(total), self.root)
        else:
            algorithm, given = (self.algorithm, {}) if self.algorithm else world.selection.choose(load)
            root = self.root if ALGORITHMS[algorithm].collective.rooted else 0
            schedule, proof = world.plan(algorithm, n, root, given)
        entry = ALGORITHMS[algorithm]
        assert schedule.promise is not None
        count = schedule.promise.blocks
        blocks = None
        if entry.collective.sized:
            blocks = np.repeat(units, count // len(units)) / (count // len(units)) if uneven else (
                np.full(count, total * schedule.unit_share)
            )  # fmt: skip
        return algorithm, world.cluster.start(schedule, blocks=blocks, group=devices, proof=proof), total

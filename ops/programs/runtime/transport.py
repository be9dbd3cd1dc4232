"""The ranks' calls as schedules on the machine: single messages, and collectives with their algorithms."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ops.collectives import COLLECTIVES
from ops.libraries.call import Load
from ops.libraries.selection import Selection
from ops.programs.runtime.tasks import Place, Tasks
from ops.registry import ALGORITHMS
from sim.base.compiled import compiled
from sim.engine import Cluster
from sim.errors import InputError
from sim.fabric import kernel
from sim.schedule import Schedule, copy, unroll
from sim.schedule.verify import Proof, prove
from sim.topology import Floats, Topology
from sim.trace import Trace

BUSY = 1_000
"""Transfers after which the fabric starts afresh when it is idle, compiled from then on."""
LARGE = 500_000
"""Transfers whose memory is given back at once."""
KEPT = 4_000_000
"""Transfers whose traces are kept, of the first collectives; one takes a few hundred bytes."""

Then = Callable[[], None]


@dataclass(slots=True)
class Call:
    """One message or one collective on the timeline; times in simulated seconds.

    `begin` is when the first rank called, `start` when the last one had and data could move, `end` when it was
    done. `ranks` are numbers in the world, sender first for a message. `bytes` is counted as nccl-tests counts it.
    """

    number: int
    name: str
    algorithm: str
    comm: str
    ranks: tuple[int, ...]
    begin: float
    bytes: float
    place: Place
    tag: int | None = None
    start: float | None = None
    end: float | None = None
    verified: bool | None = None
    """Was every contribution there exactly once? None for messages, and for what has not ended."""
    trace: Trace | None = field(default=None, repr=False)
    """What every transfer of a collective did: this is what the stage shows."""


class Transport(Tasks):
    """The ranks on their machine."""

    def __init__(
        self, topology: Topology, ranks: int, folder: str, *, selection: Selection, eager: float, history: bool
    ) -> None:
        if ranks > topology.n:
            raise InputError(f"{topology.name} holds {topology.n} ranks, not {ranks}: ask for {topology.n} or fewer")
        self._cluster = Cluster(topology, history=history)
        super().__init__(self._cluster.env, folder)
        self.topology, self.size, self.selection, self.eager = topology, ranks, selection, eager
        self.calls: list[Call] = []
        self._history = history
        self._under_way = 0
        self._since = self._kept = 0
        self._plans: dict[Any, tuple[Schedule, Proof]] = {}
        self._leads: dict[tuple[int, int], float] = {}

    def device(self, rank: int) -> int:
        """The device that plays a rank of the world."""
        return self.topology.ranks[rank]

    @cached_property
    def hosts(self) -> list[int]:
        """The host of every rank."""
        return [self.topology.devices[self.device(rank)].host for rank in range(self.size)]

    def lead(self, src: int, dst: int) -> float:
        """Seconds from posting a message to its first byte: overhead and the route's latency."""
        pair = src, dst
        if pair not in self._leads:
            try:
                routes = self.topology.routes([self.device(src)], [self.device(dst)])
            except InputError as error:
                self.refuse(error)
            away = self.topology.overhead if len(routes.links) else 0.0
            self._leads[pair] = away + float(self.topology.latency[routes.links].sum())
        return self._leads[pair]

    def note(self, name: str, algorithm: str, comm: str, ranks: Sequence[int], size: float, place: Place) -> Call:
        """Enter a call into the timeline."""
        call = Call(len(self.calls), name, algorithm, comm, tuple(ranks), self.now, size, place)
        self.calls.append(call)
        return call

    def carry(self, src: int, dst: int, size: float, then: Then) -> None:
        """Move a message; `then` is called when its last byte is there."""
        if src == dst:
            self.at(self.now, then)
            return
        with self.outside():
            schedule, proof = self._plan("message", _one_message)
            ends, sizes = (self.device(src), self.device(dst)), np.array([float(size)])
            self._start(
                1, lambda: self._cluster.launch(schedule, ends, sizes, proof=proof, size=size), lambda _: then()
            )

    def collective(self, call: Call, load: Load, units: Floats, then: Then) -> None:
        """Run a collective over `call.ranks` with unit blocks of so many bytes; `then` is called at its end."""
        call.start = self.now

        def ended(trace: Trace | None) -> None:
            call.end = self.now
            if trace is not None:
                call.verified = trace.verdict.ok
                self._kept += trace.schedule.transfers
                call.trace = trace if self._kept <= KEPT else None
            then()

        n = len(call.ranks)
        if n < 2:
            self.at(self.now, lambda: ended(None))
            return
        with self.outside():
            try:
                name, given = self.selection.choose(load)
            except InputError as error:
                self.refuse(error)
            call.algorithm = name
            root = load.root if COLLECTIVES[name.partition(".")[0]].rooted else 0
            key = name, n, root, tuple(sorted(given.items()))
            schedule, proof = self._plan(key, lambda: ALGORITHMS[name].schedule(n, root=root, **given))
            promise = schedule.promise
            assert promise is not None
            pieces = promise.blocks // len(units) if load.sized else 1
            blocks = np.repeat(units / pieces, pieces) if load.sized else None
            group = [self.device(rank) for rank in call.ranks]
            self._start(
                schedule.transfers,
                lambda: self._cluster.start(schedule, blocks=blocks, group=group, proof=proof),
                ended,
            )

    def _plan(self, key: Any, make: Callable[[], Schedule]) -> tuple[Schedule, Proof]:
        """A schedule and its proof, made once."""
        if key not in self._plans:
            try:
                schedule = make()
            except InputError as error:
                self.refuse(error)
            self._plans[key] = schedule, prove(schedule, blocks=True)
        return self._plans[key]

    def _start(self, transfers: int, begin: Callable[[], Any], then: Callable[[Any], None]) -> None:
        if not self._under_way and self._since > BUSY:
            self._renew()
        self._since += transfers
        try:
            event = begin()
        except InputError as error:
            self.refuse(error)
        self._under_way += 1

        def ended(_: Any) -> None:
            self._under_way -= 1
            then(event.value)

        event.callbacks.append(ended)

    def _renew(self) -> None:
        """With nothing under way, what has happened needs no memory in the fabric any more."""
        compiled(kernel)
        if self._since > LARGE:
            gc.collect()
        self._since = 0
        self._cluster = Cluster(self.topology, self.env, history=self._history)


def _one_message() -> Schedule:
    promise = COLLECTIVES["broadcast"].promise(2, 1, 0)
    return unroll([copy(0, 1, 0)], name="message", n=2, promise=promise)

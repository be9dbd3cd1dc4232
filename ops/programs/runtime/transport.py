"""The ranks' calls as schedules on the machine: single messages, and collectives with their algorithms."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

from ops.collectives import COLLECTIVES
from ops.communicators.launch import Launcher
from ops.communicators.records import CallRecord, ScriptLine
from ops.communicators.selection import Selection
from ops.libraries import CollectiveCall
from ops.programs.runtime.tasks import Tasks
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
MOST_COUNTS = 4096
"""Blocks of unequal size whose bytes are kept."""
KEPT = 4_000_000
"""Transfers whose traces are kept, of the first collectives; one takes a few hundred bytes."""

Then = Callable[[], None]


@dataclass(slots=True, kw_only=True)
class ProgramCall(CallRecord):
    """One message or one collective on the timeline; times in simulated seconds.

    `begin` is when the first rank called, `gathered` when the last one had, `start` when data could move, `end` when
    it was done. The ranks of a message are its sender and its receiver.
    """

    number: int
    comm: str
    begin: float
    place: ScriptLine
    tag: int | None = None
    gathered: float | None = None
    start: float | None = None
    end: float | None = None
    library: str = ""
    """Whose rules chose the algorithm of a collective."""
    latest: tuple[int, ...] = ()
    """The ranks that came last to a collective."""
    latest_place: ScriptLine | None = None
    """The line at which the first of them came."""
    verified: bool | None = None
    """Was every contribution there exactly once? None for messages, and for what has not ended."""
    trace: Trace | None = field(default=None, repr=False)
    """What every transfer of a collective did: this is what the stage shows."""


class Transport(Tasks):
    """The ranks on their machine."""

    def __init__(
        self, topology: Topology, ranks: int, folder: str, *, selection: Selection, eager: float, history: bool
    ) -> None:
        topology.taking_part(ranks)
        self._cluster = Cluster(topology, history=history)
        super().__init__(self._cluster.env, folder)
        self.topology, self.size, self.eager = topology, ranks, eager
        self.calls: list[ProgramCall] = []
        self._history = history
        self._under_way = 0
        self._since = self._kept = 0
        self._selection, self._launcher = selection, Launcher(selection)
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

    def note(
        self, name: str, algorithm: str, comm: str, ranks: Sequence[int], size: float, place: ScriptLine
    ) -> ProgramCall:
        """Enter a call into the timeline."""
        call = ProgramCall(
            number=len(self.calls), name=name, algorithm=algorithm, comm=comm, ranks=tuple(ranks), begin=self.now,
            size=size, place=place,
        )  # fmt: skip
        self.calls.append(call)
        return call

    def carry(self, src: int, dst: int, size: float, then: Then) -> None:
        """Move a message; `then` is called when its last byte is there."""
        if src == dst:
            self.at(self.now, then)
            return
        with self.outside():
            schedule, proof = _one_message()
            ends, sizes = (self.device(src), self.device(dst)), np.array([float(size)])
            self._start(
                1, lambda: self._cluster.launch(schedule, ends, sizes, proof=proof, size=size), lambda _: then()
            )

    def collective(self, record: ProgramCall, call: CollectiveCall, units: Floats, then: Then) -> None:
        """Run a collective with unit blocks of so many bytes; `then` is called at its end."""
        record.start = self.now
        if call.collective.endswith("v") and len(units) <= MOST_COUNTS:
            record.counts = ",".join(f"{size:.0f}" for size in units)

        def ended(trace: Trace | None) -> None:
            record.end = self.now
            if trace is not None:
                record.verified = trace.verdict.ok
                self._kept += trace.schedule.transfers
                record.trace = trace if self._kept <= KEPT else None
            then()

        if call.n < 2:
            self.at(self.now, lambda: ended(None))
            return
        with self.outside():
            try:
                prepared = self._launcher.prepare(call)
            except InputError as error:
                self.refuse(error)
            record.algorithm, record.protocol = prepared.algorithm, prepared.decision.protocol
            record.library = self._selection.library or call.library
            if prepared.decision.size is not None:
                record.size = prepared.decision.size
            transfers = prepared.schedule.transfers
            self._start(transfers, lambda: prepared.start(self._cluster, call.members, units), ended)

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


@cache
def _one_message() -> tuple[Schedule, Proof]:
    promise = COLLECTIVES["broadcast"].promise(2, 1, 0)
    schedule = unroll([copy(0, 1, 0)], name="message", n=2, promise=promise)
    return schedule, prove(schedule, blocks=True)

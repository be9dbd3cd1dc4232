"""The simulator's end of a run: ranks come one by one, are simulated together, and leave an outcome."""

import selectors
import socket

from ops.communicators.expectation import expectation
from ops.communicators.records import ScriptLine
from ops.communicators.selection import Selection
from ops.programs.pytorch.processes import Process
from ops.programs.pytorch.rank.wire import Message, Wire
from ops.programs.pytorch.world import TorchWorld
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.steps import thinned
from ops.programs.runtime.timeline import ProgramRun
from sim.topology import Topology

POLL = 0.1
"""Real seconds between two looks at processes that have not begun."""


class Arrivals:
    """Connections of the ranks that have come, and what they said first; `failure` where others never will."""

    def __init__(self) -> None:
        self.wires: dict[int, Wire] = {}
        self.size = self.processes = 0
        self.backend = "nccl"
        self.failure: str | None = None

    def add(self, connection: socket.socket) -> None:
        """Take in a process that becomes a rank."""
        wire = Wire(connection)
        hello: Message | None = wire.read()
        if hello is None:
            return
        if hello["do"] == "failed":
            self.failure = f"rank {hello['rank']} failed at {ScriptLine(*hello['where'])}: {hello['message']}"
            return
        rank, size = hello["rank"], hello["size"]
        if self.size and size != self.size:
            self.failure = f"rank {rank} says that there are {size} ranks, others that there are {self.size}"
        elif rank in self.wires or not 0 <= rank < size:
            self.failure = f"two processes say that they are rank {rank} of {size}: each needs a rank of its own"
        self.size, self.backend = size, hello["backend"]
        self.wires[rank] = wire

    @property
    def complete(self) -> bool:
        """Whether all ranks have come, or the run has failed."""
        return self.failure is not None or (self.size > 0 and len(self.wires) == self.size)


def gather(listener: socket.socket, processes: list[Process]) -> Arrivals:
    """Wait until all ranks have come, or no more can. Without `processes` others start them."""
    ranks = Arrivals()
    listener.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while not ranks.complete:
            running = [process for process in processes if process.status is None]
            ready = selector.select(POLL)
            if ready:
                connection, _ = listener.accept()
                connection.setblocking(True)
                ranks.add(connection)
            elif processes and not running:
                break
            elif ranks.size and len(processes) == ranks.size and len(running) < len(processes):
                break  # a rank has ended before it began to communicate: others wait in vain
    return ranks


def follow(
    ranks: Arrivals,
    topology: Topology,
    folder: str,
    selection: Selection,
    *,
    eager: float,
    history: bool = False,
    interference: float = 0.0,
) -> tuple[str | None, TorchWorld | None]:
    """Simulate a run to its end; returns what it failed with, and the world it was in. Raises InputError."""
    if ranks.failure is not None or not ranks.size:
        return ranks.failure, None
    missing = sorted(set(range(ranks.size)) - set(ranks.wires))
    if missing:
        return f"{name_ranks(missing)} ended before init_process_group, in which {name_ranks(ranks.wires)} wait", None
    wires = [ranks.wires[rank] for rank in range(ranks.size)]
    world = TorchWorld(topology, wires, folder, ranks.backend, selection=selection, eager=eager, history=history)
    world.interference = interference
    world.run(ranks.size, world.serve, folder)
    for wire in wires:
        wire.close()
    if world.error is not None:
        raise world.error
    return world.failure, world


def outcome_of(
    topology: Topology, processes: list[Process], world: TorchWorld | None, failure: str | None, output: str
) -> ProgramRun:
    """Return the outcome of a run that has ended."""
    statuses = [process.status or 0 for process in processes] if failure is None else [0] * len(processes)
    left = next(((process.rank, status) for process, status in zip(processes, statuses, strict=True) if status), None)
    if left is not None:
        failure = f"rank {left[0]} ended with exit status {left[1]}"
    size = len(processes) if world is None else world.size
    return ProgramRun(
        machine=topology.name,
        ranks=size,
        time=0.0 if world is None else world.now,
        output=output,
        failure=failure,
        statuses=statuses if size == len(processes) else [0] * size,
        ended=[0.0] * size if world is None else [world.now if t.ended is None else t.ended for t in world.tasks],
        calls=[] if world is None else world.calls,
        spans=[] if world is None else world.spans,
        deadlock=[] if world is None else world.deadlock,
        expectation=expectation([] if world is None else world.calls),
        untimed={} if world is None else dict(world.untimed),
        guessed={} if world is None else dict(world.guessed),
        changes=[] if world is None else thinned(world.changes),
        charged=True,
    )

"""PyTorch programs: a script under an installed PyTorch, a process per rank, on the simulated cluster's clock.

The data of collectives and messages moves through gloo; when they begin and end, the simulator says.
"""

import os
import selectors
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ops.communicators.expectation import expectation
from ops.communicators.records import ScriptLine
from ops.communicators.selection import Forced, Selection
from ops.programs.pytorch.processes import Process, environments, interpreter, require_torch
from ops.programs.pytorch.rank.wire import Message, Wire
from ops.programs.pytorch.world import TorchWorld
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.scripts import compiled, read_script
from ops.programs.runtime.timeline import ProgramRun
from sim.errors import InputError
from sim.topology import Topology
from sim.units import KiB

EAGER = 64 * KiB
"""Longer messages wait for their receiver, as in `ops.programs`."""
GRACE = 10.0
"""Real seconds that processes have to end in when all ranks have ended."""
POLL = 0.1
"""Real seconds between two looks at processes that have not begun."""
__all__ = ["run_torch"]


def run_torch(
    path: str | Path,
    topology: Topology,
    per_node: int,
    argv: Sequence[str] = (),
    *,
    nodes: int = 1,
    library: str | None = None,
    forced: Mapping[str, Forced] | None = None,
    eager: float = EAGER,
    history: bool = False,
    echo: Callable[[str], None] | None = None,
    start: Callable[..., Process] = Process,
) -> ProgramRun:
    """Run a PyTorch script as torchrun does, with `per_node` processes on each of `nodes` hosts of a machine.

    The arguments beyond are those of `run_program`; `start` starts a process. A script may also start its ranks itself.
    Raises InputError for a script or machine that cannot be used, and where PyTorch is not installed; what goes wrong
    in the script is the outcome's `failure`.
    """
    require_torch()
    compiled(read_script(path), os.path.abspath(path))
    if per_node < 1 or nodes < 1:
        raise InputError(f"{per_node} processes on {nodes} nodes: ask for at least one of each")
    selection = Selection(library, forced)
    seated = _seated(topology, per_node, nodes)
    said: list[str] = []

    def heard(text: str) -> None:
        said.append(text)
        if echo is not None:
            echo(text)

    folder = os.path.join(os.path.dirname(os.path.abspath(path)), "")
    with tempfile.TemporaryDirectory(prefix="ringside") as private:
        hub = os.path.join(private, "hub")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(hub)
            listener.listen(4096)
            command = [interpreter(), str(path), *argv]
            places = environments(per_node, nodes, folder, hub, eager)
            processes = [start(command, place, rank, heard) for rank, place in enumerate(places)]
            try:
                ranks = _gather(listener, processes)
                failure, world = _run(ranks, seated, folder, selection, eager, history)
                if failure is None:
                    for process in processes:
                        process.wait(GRACE)
                else:
                    failure += _crashed(processes, [] if world is None else world.lost)
            finally:
                for process in processes:
                    process.end()
                    process.wait(GRACE)
    return _outcome(topology, processes, world, failure, "".join(said))


class _Ranks:
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


def _gather(listener: socket.socket, processes: list[Process]) -> _Ranks:
    """Wait until all ranks have come, or no more can."""
    ranks = _Ranks()
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
            elif not running:
                break
            elif ranks.size and len(processes) == ranks.size and len(running) < len(processes):
                break  # a rank has ended before it began to communicate: others wait in vain
    return ranks


def _run(
    ranks: _Ranks, topology: Topology, folder: str, selection: Selection, eager: float, history: bool
) -> tuple[str | None, TorchWorld | None]:
    if ranks.failure is not None or not ranks.size:
        return ranks.failure, None
    missing = sorted(set(range(ranks.size)) - set(ranks.wires))
    if missing:
        return f"{name_ranks(missing)} ended before init_process_group, in which {name_ranks(ranks.wires)} wait", None
    wires = [ranks.wires[rank] for rank in range(ranks.size)]
    world = TorchWorld(topology, wires, folder, ranks.backend, selection=selection, eager=eager, history=history)
    world.run(ranks.size, world.serve, folder)
    for wire in wires:
        wire.close()
    if world.error is not None:
        raise world.error
    return world.failure, world


def _outcome(
    topology: Topology, processes: list[Process], world: TorchWorld | None, failure: str | None, output: str
) -> ProgramRun:
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
        charged=True,
    )


def _crashed(processes: list[Process], lost: list[int]) -> str:
    """What became of processes that a signal ended."""
    for process in processes:
        if process.rank in lost:
            process.wait(GRACE)
    crashed = [(process.rank, process.status or 0) for process in processes if (process.status or 0) < 0]
    return "".join(f"; signal {-status} ended rank {rank}" for rank, status in crashed[:1])


def _seated(topology: Topology, per_node: int, nodes: int) -> Topology:
    """The machine whose rank r is GPU `r % per_node` of host `r // per_node`."""
    if nodes == 1:
        return topology
    hosts: dict[int, list[int]] = {}
    for device in topology.ranks:
        hosts.setdefault(topology.devices[device].host, []).append(device)
    fit = [devices[:per_node] for devices in hosts.values() if len(devices) >= per_node]
    if len(fit) < nodes:
        raise InputError(
            f"{topology.name} has {len(fit)} hosts with {per_node} GPUs or more, not {nodes}: choose a machine that has"
        )
    return replace(topology, ranks=tuple(device for devices in fit[:nodes] for device in devices))

"""A non-blocking allgather: start, compute, test, wait, and how much of it compute hides."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.options import Ranks
from ops.training.step import TrainingStep
from ops.training.world import Process, World
from ops.workloads import workload
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MiB, Size, Time, ms

if TYPE_CHECKING:
    from sim.engine import Event

HARDWARE, CALLS = "hardware", "calls"


@dataclass
class _Program:
    """`MPI_Iallgather`, compute in so many pieces with `MPI_Test` between them, `MPI_Wait`."""

    size: float
    compute: float
    tests: int
    progress: str
    blocking: bool
    flags: list[dict[str, object]] = field(default_factory=list)

    def run(self, world: World) -> float:
        return world.run(lambda rank: self.rank(world, rank))

    def rank(self, world: World, rank: int) -> Process:
        n = world.ranks
        world.hold(rank, "send buffer", self.size)
        world.hold(rank, "receive buffer", n * self.size)
        if n < 2:
            yield from world.compute(rank, self.compute, "compute")
            return
        request = _Request(world, rank, self.size, self.progress)
        if self.blocking:
            yield from request.wait()
        for piece in range(self.tests + 1):
            yield from world.compute(rank, self.compute / (self.tests + 1), "compute")
            if piece < self.tests and not self.blocking:
                done = request.test()
                if rank == 0:
                    self.flags.append({"test": piece + 1, "at_s": world.env.now, "done": done})
        yield from request.wait()


class _Request:
    """A request of one rank. With progress in calls a ring's next message leaves only when its rank is in a call."""

    def __init__(self, world: World, rank: int, size: float, progress: str) -> None:
        self.world, self.rank, self.size = world, rank, size
        at_once = progress == HARDWARE
        self.left = 1 if at_once else world.ranks - 1
        self.collective = "allgather" if at_once else "sendrecv"
        self.under_way: Event = self._start()

    def _start(self) -> "Event":
        self.left -= 1
        size = self.size * self.world.ranks if self.collective == "allgather" else self.size
        algorithm = "allgather.ring" if self.collective == "allgather" else "sendrecv.direct"
        return self.world.everyone.post(self.rank, self.collective, size, "allgather", algorithm=algorithm)

    def test(self) -> bool:
        """Go on if the last message is there; whether everything is."""
        if self.under_way.processed and self.left:
            self.under_way = self._start()
        return self.under_way.processed and not self.left

    def wait(self) -> Process:
        """Stay in the call until everything is there."""
        yield self.under_way
        while self.left:
            self.under_way = self._start()
            yield self.under_way


@workload
@communicates("mpi")
def iallgather(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    size: Size = 8 * MiB,
    compute: Time = 5 * ms,
    tests: Annotated[int, Bounds(0, 1000)] = 4,
    progress: Annotated[str, Choice((HARDWARE, CALLS))] = HARDWARE,
    transport: BackendChoice,
) -> TrainingStep:
    """`MPI_Iallgather` and its request: start, compute, test, wait, and how much is hidden.

    `size` is one rank's block. The compute is cut into `tests` + 1 pieces with an `MPI_Test` after each but the
    last. With `hardware` progress the ring goes on by itself; with progress in `calls`, as in an MPI without a
    progress thread, its next message leaves only when the ranks are inside a test or the wait.
    """
    world = world_of(topology, ranks, transport)
    program = _Program(float(size), compute, tests, progress, blocking=False)
    time = program.run(world)
    blocking = _Program(float(size), compute, 0, HARDWARE, blocking=True).run(world_of(topology, ranks, transport))
    alone = blocking - compute
    return replace(
        world.step(time),
        facts={
            "blocking_s": blocking,
            "allgather_s": alone,
            "saved_s": blocking - time,
            "hidden_share": (blocking - time) / alone if alone > 0 else 0.0,
            "tests_of_rank_0": program.flags,
        },
    )

"""Schedules of pipelines: in which order a stage takes its passes, one file each; `@pipeline` puts one on the list.

A pass is forward, backward, or the backward of weights alone where a schedule parts it from that of activations. With
`chunks` a stage holds so many parts of the model, `stages` parts from each other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ops.training.world import World
from sim.errors import InputError
from sim.registry import Registry

if TYPE_CHECKING:
    from sim.engine import Event

FORWARD, BACKWARD, WEIGHTS = "F", "B", "W"
SAID = {FORWARD: "", BACKWARD: " backward", WEIGHTS: " backward of weights"}
"""What follows a part's name in the name of a pass."""


class Turn(NamedTuple):
    """One pass of a micro-batch through a chunk of a stage."""

    what: str
    micro: int
    chunk: int = 0


def in_turns(turn: Callable[[str, int], Turn], ahead: int, count: int) -> Iterator[Turn]:
    """So many passes forward ahead, then a forward and a backward pass in turns, then backward what is left."""
    yield from (turn(FORWARD, i) for i in range(ahead))
    for i in range(count - ahead):
        yield turn(FORWARD, ahead + i)
        yield turn(BACKWARD, i)
    yield from (turn(BACKWARD, i) for i in range(count - ahead, count))


Order = Callable[[int, int, int, int], Iterator[Turn]]


@dataclass(frozen=True)
class Pipeline:
    """A schedule: `bubble(stages, micros, chunks)` is the idle share of equal stages that talk for nothing.

    One that `splits` passes backward has a turn for the weights of each.
    """

    order: Order
    bubble: Callable[[int, int, int], float]
    splits: bool = False
    chunks: bool = False
    """Can a stage hold several chunks?"""

    def turns(self, stage: int, stages: int, micros: int, chunks: int) -> list[Turn]:
        """What a stage does. Raises InputError for what this schedule cannot do."""
        if chunks > 1 and not self.chunks:
            raise InputError("pipeline.chunks", chunks=chunks)
        return list(self.order(stage, stages, micros, chunks))


PIPELINES: Registry[Pipeline] = Registry(
    __name__, "schedule", function=lambda entry: entry.order, leading=("stage", "stages", "micros", "chunks")
)


def pipeline(
    name: str, bubble: Callable[[int, int, int], float], *, splits: bool = False, chunks: bool = False
) -> Callable[[Order], Order]:
    """Register a schedule under a name; the function is returned unchanged."""

    def put(order: Order) -> Order:
        PIPELINES.add(name, Pipeline(order, bubble, splits, chunks))
        return order

    return put


@dataclass(frozen=True)
class StagePlace:
    """A rank's stage, and the ranks of its row on all stages; activations of `size` bytes pass between them."""

    rank: int
    stage: int
    row: range
    chunks: int
    size: float

    def source(self, turn: Turn) -> tuple[int, int] | None:
        """The rank from which a turn's input comes, and the chunk there; None for those that begin a pass."""
        step = -1 if turn.what == FORWARD else 1
        return self._beside(turn.chunk, step) if turn.what != WEIGHTS else None

    def target(self, turn: Turn) -> tuple[int, int] | None:
        """The rank to which a turn's output goes, and the chunk there; None for those that end a pass."""
        step = 1 if turn.what == FORWARD else -1
        return self._beside(turn.chunk, step) if turn.what != WEIGHTS else None

    def _beside(self, chunk: int, step: int) -> tuple[int, int] | None:
        stage = self.stage + step
        chunk += (stage >= len(self.row)) - (stage < 0)
        return (self.row[stage % len(self.row)], chunk) if 0 <= chunk < self.chunks else None

    def arrivals(self, world: World, turns: list[Turn]) -> "dict[Turn, Event]":
        """When the input of every turn is there."""
        coming = {}
        for turn in turns:
            source = self.source(turn)
            if source is not None:
                coming[turn] = self._message(world, source[0], self.rank, turn.what, turn.micro, turn.chunk)
        return coming

    def send(self, world: World, turn: Turn) -> None:
        """Send a turn's output on."""
        target = self.target(turn)
        if target is not None:
            self._message(world, self.rank, target[0], turn.what, turn.micro, target[1])

    def _message(self, world: World, src: int, dst: int, what: str, micro: int, chunk: int) -> "Event":
        part = f"{micro}.{chunk}" if self.chunks > 1 else f"{micro}"
        name = f"{'activations' if what == FORWARD else 'gradients'} {part}"
        return world.message(self.rank, src, dst, self.size, name, lane=what)

"""Pipeline parallelism: layers cut into stages, micro-batches passed from stage to stage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.layers import Layer
from ops.training.options import Ranks, TrainedModel, trains
from ops.training.step import COMPUTE, TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from sim.errors import InputError
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MiB, Size

if TYPE_CHECKING:
    from sim.engine import Event

FORWARD, BACKWARD = "F", "B"


def order(schedule: str, stage: int, stages: int, micros: int) -> Iterator[tuple[str, int]]:
    """What a stage does: forward and backward passes of micro-batches.

    GPipe (Huang et al. 2019) runs all forward passes, then all backward passes in reverse. 1F1B (Narayanan et al. 2019,
    PipeDream-Flush) starts as many as there are stages behind it, then takes turns.

    >>> " ".join(f"{what}{k}" for what, k in order("1f1b", 0, 2, 3))
    'F0 F1 B0 F2 B1 B2'
    """
    if schedule == "gpipe":
        yield from ((FORWARD, k) for k in range(micros))
        yield from ((BACKWARD, k) for k in reversed(range(micros)))
        return
    ahead = min(micros, stages - 1 - stage)
    yield from ((FORWARD, k) for k in range(ahead))
    for k in range(micros - ahead):
        yield FORWARD, ahead + k
        yield BACKWARD, k
    yield from ((BACKWARD, k) for k in range(micros - ahead, micros))


def balanced(layers: Sequence[Layer], stages: int) -> list[Sequence[Layer]]:
    """Runs of layers whose times are as equal as cutting at equal shares of the whole makes them.

    Raises InputError for more stages than layers.
    """
    if stages > len(layers):
        raise InputError("pipeline_parallel.layers", layers=len(layers), stages=stages)
    times = np.cumsum([layer.forward + layer.backward for layer in layers])
    cuts = [0]
    for k in range(1, stages):
        at = int(np.argmin(np.abs(times - times[-1] * k / stages))) + 1
        cuts.append(min(max(at, cuts[-1] + 1), len(layers) - stages + k))
    return [layers[a:b] for a, b in zip(cuts, [*cuts[1:], len(layers)], strict=True)]


@dataclass(frozen=True)
class _Stage:
    """One stage's layers, for a micro-batch."""

    forward: float
    backward: float
    activation: float
    bytes: float


@dataclass(frozen=True)
class _PipelineStep:
    """`stages` in a row, each on `replicas` ranks that share its micro-batches out among themselves."""

    stages: Sequence[_Stage]
    replicas: int
    micros: int
    schedule: str
    message: float

    def rank(self, world: World, rank: int, peers: Stream) -> Process:
        stage = rank // self.replicas
        me = self.stages[stage]
        world.hold(rank, "parameters", me.bytes)
        world.hold(rank, "gradients", me.bytes)
        turns = list(order(self.schedule, stage, len(self.stages), self.micros))
        inputs, errors = self._arrivals(world, rank, turns)
        for what, k in turns:
            arrival = (inputs if what == FORWARD else errors).get(k)
            if arrival is not None:
                yield arrival
            yield from self._turn(world, rank, what, k)
        if self.replicas > 1:
            yield peers.post(rank, "allreduce", me.bytes, "gradients of the stage")

    def _arrivals(
        self, world: World, rank: int, turns: Sequence[tuple[str, int]]
    ) -> "tuple[dict[int, Event], dict[int, Event]]":
        """When each micro-batch's activations arrive from the stage before, and its gradients from the one after."""
        before, after = self._neighbours(rank)
        inputs: dict[int, Event] = {}
        errors: dict[int, Event] = {}
        if before is not None:
            for k in range(self.micros):
                inputs[k] = world.message(rank, before, rank, self.message, f"activations {k}")
        if after is not None:
            for k in (k for what, k in turns if what == BACKWARD):
                errors[k] = world.message(rank, after, rank, self.message, f"gradients {k}")
        return inputs, errors

    def _turn(self, world: World, rank: int, what: str, k: int) -> Process:
        """One micro-batch forward or backward, and what comes of it sent on."""
        me, (before, after) = self.stages[rank // self.replicas], self._neighbours(rank)
        if what == FORWARD:
            yield from world.compute(rank, me.forward, f"forward {k}")
            world.hold(rank, "activations", me.activation)
            if after is not None:
                world.message(rank, rank, after, self.message, f"activations {k}")
        else:
            yield from world.compute(rank, me.backward, f"backward {k}")
            world.hold(rank, "activations", -me.activation)
            if before is not None:
                world.message(rank, rank, before, self.message, f"gradients {k}")

    def _neighbours(self, rank: int) -> tuple[int | None, int | None]:
        """The ranks with the same share of the micro-batches on the stages before and after, where there are any."""
        before, after = rank - self.replicas, rank + self.replicas
        return before if before >= 0 else None, after if after < len(self.stages) * self.replicas else None

    def run(self, world: World) -> TrainingStep:
        r = self.replicas
        groups = [world.group(range(stage * r, (stage + 1) * r)) for stage in range(len(self.stages))]
        return world.step(world.run(lambda rank: self.rank(world, rank, groups[rank // r])))


@workload
@trains("gpt2_xl", "float16")
@communicates("nccl")
def pipeline_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    stages: Annotated[int, Bounds(0, 1 << 12)] = 0,
    micro_batches: Annotated[int, Bounds(1, 4096)] = 8,
    schedule: Annotated[str, Choice(("1f1b", "gpipe"))] = "1f1b",
    trained: TrainedModel,
    message: Size = 4 * MiB,
    transport: BackendChoice,
) -> TrainingStep:
    """Pipeline parallel stages, 1F1B or GPipe: micro-batches from stage to stage, and the bubbles between.

    Layers are cut into `stages` of about equal time, one per rank if left out; with fewer, ranks beside each other
    are replicas of a stage and sum its gradients at the end. `batch` is one micro-batch, `message` the bytes of
    activations (or their gradients) between stages. Equal stages that talk for nothing idle for the share
    (p - 1) / (m + p - 1) of a step, p stages and m micro-batches.
    """
    world = world_of(topology, ranks, transport)
    count = stages or world.ranks
    if world.ranks % count:
        raise InputError("pipeline_parallel.ranks", ranks=world.ranks, stages=count)
    width = trained.width
    cut = [
        _Stage(
            sum(layer.forward for layer in part), sum(layer.backward for layer in part),
            float(sum(layer.activation for layer in part)), float(sum(layer.parameters for layer in part) * width),
        )
        for part in balanced(trained.table, count)
    ]  # fmt: skip
    step = _PipelineStep(cut, world.ranks // count, micro_batches, schedule, float(message)).run(world)
    busy = [step.busy(rank, COMPUTE) for rank in range(world.ranks)]
    step.facts.update(
        stages=count, replicas=world.ranks // count,
        stage_compute_s=[micro_batches * (stage.forward + stage.backward) for stage in cut],
        bubble_share=1 - sum(busy) / (len(busy) * step.time) if step.time else 0.0,
        ideal_bubble_share=(count - 1) / (micro_batches + count - 1)
    )  # fmt: skip
    return step

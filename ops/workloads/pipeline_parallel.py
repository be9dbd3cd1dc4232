"""Pipeline parallelism: layers cut into stages, micro-batches passed from stage to stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.layers import Layer
from ops.training.options import Ranks, TrainedModel, trains
from ops.training.pipelines import BACKWARD, FORWARD, PIPELINES, WEIGHTS, Pipeline, StagePlace, Turn
from ops.training.step import COMPUTE, TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from sim.errors import InputError
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MiB, Size

NAMES = {FORWARD: "forward", BACKWARD: "backward", WEIGHTS: "backward of weights"}
ScheduleName = Annotated[str, Choice(tuple(PIPELINES))]
Chunks = Annotated[int, Bounds(1, 64)]
"""Parts of the model that a stage holds."""


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
    """One stage's layers of a chunk, for a micro-batch."""

    forward: float
    backward: float
    activation: float
    bytes: float


@dataclass(frozen=True)
class _PipelineStep:
    """`chunks[k][stage]`, each stage on `replicas` ranks that share its micro-batches out among themselves."""

    chunks: Sequence[Sequence[_Stage]]
    replicas: int
    micros: int
    schedule: Pipeline
    message: float

    @property
    def stages(self) -> int:
        return len(self.chunks[0])

    def rank(self, world: World, rank: int, peers: Stream) -> Process:
        stage = rank // self.replicas
        size = sum(chunk[stage].bytes for chunk in self.chunks)
        world.hold(rank, "parameters", size)
        world.hold(rank, "gradients", size)
        turns = self.schedule.turns(stage, self.stages, self.micros, len(self.chunks))
        row = range(rank % self.replicas, self.replicas * self.stages, self.replicas)
        place = StagePlace(rank, stage, row, len(self.chunks), self.message)
        arrivals = place.arrivals(world, turns)
        for turn in turns:
            if turn in arrivals:
                yield arrivals[turn]
            yield from self._turn(world, rank, turn, self.chunks[turn.chunk][stage])
            place.send(world, turn)
        if self.replicas > 1:
            yield peers.post(rank, "allreduce", size, "gradients of the stage")

    def _turn(self, world: World, rank: int, turn: Turn, me: _Stage) -> Process:
        """One micro-batch forward or backward."""
        part = f"{turn.micro}.{turn.chunk}" if len(self.chunks) > 1 else f"{turn.micro}"
        back = me.backward / (2 if self.schedule.splits else 1)
        seconds = me.forward if turn.what == FORWARD else back
        yield from world.compute(rank, seconds, f"{NAMES[turn.what]} {part}")
        last = WEIGHTS if self.schedule.splits else BACKWARD
        if turn.what in (FORWARD, last):
            world.hold(rank, "activations", me.activation if turn.what == FORWARD else -me.activation)

    def run(self, world: World) -> TrainingStep:
        r = self.replicas
        groups = [world.group(range(stage * r, (stage + 1) * r)) for stage in range(self.stages)]
        return world.step(world.run(lambda rank: self.rank(world, rank, groups[rank // r])))


def _stage(part: Sequence[Layer], width: int) -> _Stage:
    return _Stage(
        sum(layer.forward for layer in part), sum(layer.backward for layer in part),
        float(sum(layer.activation for layer in part)), float(sum(layer.parameters for layer in part) * width),
    )  # fmt: skip


@workload
@trains("gpt2_xl", "float16")
@communicates("nccl")
def pipeline_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    stages: Annotated[int, Bounds(0, 1 << 12)] = 0,
    micro_batches: Annotated[int, Bounds(1, 4096)] = 8,
    schedule: ScheduleName = "1f1b",
    chunks: Chunks = 1,
    trained: TrainedModel,
    message: Size = 4 * MiB,
    transport: BackendChoice,
) -> TrainingStep:
    """Pipeline parallel stages: micro-batches from stage to stage, and the bubbles between.

    Layers are cut into `stages` of about equal time, one per rank if left out; with fewer, ranks beside each other
    are replicas of a stage and sum its gradients at the end. `batch` is one micro-batch, `message` the bytes of
    activations (or their gradients) between stages. `gpipe` runs all passes forward, then all backward; `1f1b` takes
    turns; `interleaved` takes turns over `chunks` of every stage, `stages` parts from each other; `zero_bubble` keeps
    the gradients of weights for when a stage would be idle. Equal stages that talk for nothing idle for the share
    (p - 1) / (m + p - 1) of a step, p stages and m micro-batches, with c chunks (p - 1) / (c m + p - 1), and with
    zero bubble (p - 1) / (3 m + p - 1).
    """
    world = world_of(topology, ranks, transport)
    count = stages or world.ranks
    if world.ranks % count:
        raise InputError("pipeline_parallel.ranks", ranks=world.ranks, stages=count)
    parts = [_stage(part, trained.width) for part in balanced(trained.table, count * chunks)]
    cut = [parts[chunk * count : (chunk + 1) * count] for chunk in range(chunks)]
    pipeline = PIPELINES[schedule]
    step = _PipelineStep(cut, world.ranks // count, micro_batches, pipeline, float(message)).run(world)
    busy = [step.busy(rank, COMPUTE) for rank in range(world.ranks)]
    of_stage = [[chunk[stage] for chunk in cut] for stage in range(count)]
    step.facts.update(
        stages=count, replicas=world.ranks // count,
        stage_compute_s=[micro_batches * sum(part.forward + part.backward for part in held) for held in of_stage],
        bubble_share=1 - sum(busy) / (len(busy) * step.time) if step.time else 0.0,
        ideal_bubble_share=pipeline.bubble(count, micro_batches, chunks)
    )  # fmt: skip
    return step

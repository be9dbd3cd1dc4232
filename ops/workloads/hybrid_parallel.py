"""Tensor, pipeline and data parallelism at once: how the largest models are trained."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, degree_of, transformer_block
from ops.training.options import WIDTHS, Type
from ops.training.pipelines import BACKWARD, FORWARD, PIPELINES, SAID, WEIGHTS, Pipeline, StagePlace, Turn
from ops.training.standins.folded import PlannedCall, Replicas
from ops.training.step import COMPUTE, TrainingStep
from ops.training.world import Process, Stream, World, ranks_at_work
from ops.workloads import workload
from ops.workloads.pipeline_parallel import Chunks, ScheduleName
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length, Samples
from sim.errors import InputError
from sim.parameters import Bounds, Choice
from sim.topology import Topology

if TYPE_CHECKING:
    from sim.engine import Event

SHARED = ("none", "optimizer", "parameters")
Many = Annotated[int, Bounds(0, 1 << 22)]
Stages = Annotated[int, Bounds(0, 1 << 12)]
"""0 stands for two where the ranks are enough, else one."""


@dataclass(frozen=True)
class ParallelGrid:
    """How ranks are dealt: neighbours share matrices, then samples' tokens, replicas follow each other, then stages.

    `data` are the ranks that hold the same part: replicas, each as often as `context` ranks share a sample's tokens.
    """

    tensor: int
    data: int
    stages: int
    context: int = 1

    def stage(self, rank: int) -> int:
        """The stage of a rank."""
        return rank // (self.tensor * self.data)

    def near(self, rank: int) -> range:
        """The ranks that hold parts of the same matrices."""
        first = rank - rank % self.tensor
        return range(first, first + self.tensor)

    def far(self, rank: int) -> range:
        """The ranks that hold the same part, one in every replica.

        >>> list(ParallelGrid(2, 3, 4).far(9))
        [7, 9, 11]
        """
        width = self.tensor * self.data
        first = rank // width * width + rank % self.tensor
        return range(first, first + width, self.tensor)

    def sample(self, rank: int) -> range:
        """The ranks that hold the same part and share a sample's tokens.

        >>> list(ParallelGrid(2, 6, 1, 3).sample(9))
        [7, 9, 11]
        """
        width = self.tensor * self.context
        first = rank // width * width + rank % self.tensor
        return range(first, first + width, self.tensor)

    def row(self, rank: int) -> range:
        """The ranks of the same part and replica on all stages."""
        width = self.tensor * self.data
        return range(rank % width, width * self.stages, width)

    def neighbours(self, rank: int, *, round_: bool = False) -> list[int]:
        """The ranks before and after in the row; `round_` joins its ends."""
        row, stage = self.row(rank), self.stage(rank)
        beside = {place % self.stages for place in (stage - 1, stage + 1) if round_ or 0 <= place < self.stages}
        return [row[place] for place in sorted(beside - {stage})]

    def classes(self, *, tensor: bool) -> np.ndarray:
        """Ranks that do the same, a row each: those of a stage, or those of one part of its matrices."""
        ranks = np.arange(self.tensor * self.data * self.stages, dtype=np.int64)
        if tensor:
            return ranks.reshape(self.stages, -1)
        return ranks.reshape(self.stages, self.data, self.tensor).transpose(0, 2, 1).reshape(-1, self.data)


@dataclass(frozen=True)
class _HybridStep:
    """One step: `depth` equal blocks a chunk of a stage, `micros` micro-batches a replica."""

    grid: ParallelGrid
    block: TransformerBlock
    depth: int
    micros: int
    schedule: Pipeline
    chunks: int = 1
    recompute: bool = False
    shared: str = "none"
    overlap: bool = False
    words: int = 0
    scatter: bool = False
    """Does each rank of a group send its part of what the group passes on, which is gathered where it arrives?"""

    @property
    def blocks(self) -> int:
        """How many a stage has."""
        return self.depth * self.chunks

    @property
    def weights(self) -> float:
        """Bytes of one rank's part of a block's parameters."""
        return self.block.parameters * self.block.width / self.grid.tensor

    @property
    def activation(self) -> float:
        """Bytes of one rank's tokens."""
        return self.block.activation / self.grid.context

    @property
    def halves(self) -> tuple[tuple[str, float], ...]:
        """Seconds of a rank's part of a block, forward."""
        block, share = self.block, self.grid.tensor * self.grid.context
        return ("attention", block.attention / share), ("mlp", block.feedforward / share)

    @property
    def logits(self) -> float:
        """Seconds of a rank's part of the logits of all words, forward."""
        block, grid = self.block, self.grid
        return 2.0 * block.batch * block.length * block.hidden * self.words / (grid.tensor * grid.context * block.speed)

    def held(self, stage: int) -> float:
        """Bytes of one rank's part of a stage's parameters; the first and the last have the words'."""
        ends = {0, self.grid.stages - 1} if self.words else set[int]()
        words = self.words * self.block.hidden * self.block.width / self.grid.tensor
        return self.blocks * self.weights + words * (stage in ends)

    @cached_property
    def reduction(self) -> str:
        """The collective that sums gradients over the ranks that hold the same part."""
        return "allreduce" if self.shared == "none" else "reduce_scatter"

    def pieces(self, stage: int) -> list[float]:
        """The gradients of a stage as they are summed: block by block where they overlap, the words' with the last."""
        whole = self.held(stage)
        if not self.overlap:
            return [whole]
        return [self.weights] * (self.blocks - 1) + [whole - self.weights * (self.blocks - 1)]

    def place(self, rank: int) -> StagePlace:
        """A rank's place among the stages."""
        grid = self.grid
        size = self.activation / (grid.tensor if self.scatter else 1)
        return StagePlace(rank, grid.stage(rank), grid.row(rank), self.chunks, size)

    def replicas(self, *, tensor: bool) -> Replicas:
        """What the step calls, told of one rank for all that do the same."""
        grid, members = self.grid, self.grid.classes(tensor=tensor)
        calls = dict.fromkeys(call for rank in members[:, 0].tolist() for call in self._calls(rank))
        pairs = [
            (rank, other) for rank in members[:, 0].tolist() for other in grid.neighbours(rank, round_=self.chunks > 1)
        ]
        return Replicas(members, list(calls), pairs)

    def _calls(self, rank: int) -> Iterator[PlannedCall]:
        grid = self.grid
        if grid.tensor > 1:
            yield PlannedCall(grid.near(rank), "allreduce", self.activation)
            if self.scatter and grid.stages > 1:
                yield PlannedCall(grid.near(rank), "allgather", self.activation)
        if grid.context > 1:
            yield PlannedCall(grid.sample(rank), "allgather", self.keys)
            yield PlannedCall(grid.sample(rank), "reduce_scatter", self.keys)
        if grid.data > 1:
            for size in dict.fromkeys(self.pieces(grid.stage(rank))):
                yield PlannedCall(grid.far(rank), self.reduction, size)
                if self.shared != "none":
                    yield PlannedCall(grid.far(rank), "allgather", size)

    @property
    def keys(self) -> float:
        """Bytes of a sample's keys and values, of a rank's heads."""
        return 2 * self.block.activation / self.grid.tensor

    def world(self, topology: Topology, transport: BackendChoice, *, unfolded: bool) -> World:
        """All ranks, or one for as many as the machine lets be alike."""
        n = self.grid.tensor * self.grid.data * self.grid.stages
        for tensor in () if unfolded else (True, False):
            alike = self.replicas(tensor=tensor)
            world = world_of(topology, n, transport, alike=alike)
            if world.copies > 1:
                return world
        return world_of(topology, n, transport)

    def run(self, world: World) -> TrainingStep:
        groups: dict[range, Stream] = {}

        def stream(ranks: range) -> Stream:
            return groups.setdefault(ranks, groups.get(ranks) or world.group(ranks))

        grid = self.grid
        return world.step(
            world.run(
                lambda rank: _HybridRank(
                    self, world, rank, stream(grid.near(rank)), stream(grid.sample(rank)), stream(grid.far(rank))
                ).life()
            )
        )


class _HybridRank:
    """One rank of a step: `near` shares its matrices, `sample` its sample's tokens, `far` holds the same part."""

    def __init__(self, plan: _HybridStep, world: World, rank: int, near: Stream, sample: Stream, far: Stream) -> None:
        self.plan, self.world, self.rank, self.near, self.sample, self.far = plan, world, rank, near, sample, far
        self.stage = plan.grid.stage(rank)
        self.pieces = plan.pieces(self.stage)
        self.works: list[Event] = []
        self.gathered: list[Event] = []

    def life(self) -> Process:
        plan, world, rank = self.plan, self.world, self.rank
        held = plan.held(self.stage)
        several = plan.grid.data > 1
        kept = held / plan.grid.data if plan.shared == "parameters" else held
        world.hold(rank, "parameters", kept)
        world.hold(rank, "gradients", held)
        turns = plan.schedule.turns(self.stage, plan.grid.stages, plan.micros, plan.chunks)
        place = plan.place(rank)
        arrivals = place.arrivals(world, turns)
        if several and plan.shared == "parameters":
            world.hold(rank, "gathered parameters", held - kept)
            self.gathered = self.gather()
        final = {turn.chunk: turn for turn in turns if turn.what != FORWARD}
        for turn in turns:
            if turn in arrivals:
                yield arrivals[turn]
                if plan.scatter and plan.grid.tensor > 1:
                    yield self.near.post(rank, "allgather", plan.activation, f"gather input {turn.micro}")
            yield from self.turn(turn, ending=plan.overlap and turn == final[turn.chunk])
            place.send(world, turn)
        if several and not plan.overlap:
            self.works.append(self.far.post(rank, plan.reduction, held, "gradients of the stage"))
        yield world.env.all_of(self.works)
        if several and plan.shared == "optimizer":
            yield world.env.all_of(self.gather())

    def gather(self) -> "list[Event]":
        """All parts of a stage's parameters, block by block where they overlap."""
        return [self.far.post(self.rank, "allgather", size, f"parameters {k}") for k, size in enumerate(self.pieces)]

    def turn(self, turn: Turn, *, ending: bool) -> Process:
        """A micro-batch through a chunk's blocks; after the one that is `ending` a block's gradients are summed."""
        plan, world, rank, what = self.plan, self.world, self.rank, turn.what
        part = f"{turn.micro}.{turn.chunk}" if plan.chunks > 1 else f"{turn.micro}"
        kept = (1 if plan.recompute else 2) * plan.activation
        last = self.stage == plan.grid.stages - 1 and turn.chunk == plan.chunks - 1
        times = 1.0 if what == FORWARD or plan.schedule.splits else 2.0
        if what != FORWARD and last:
            yield from world.compute(rank, times * plan.logits, f"logits{SAID[what]} {part}")
        for k in range(plan.depth):
            if what == FORWARD and self.gathered:
                yield self.gathered[turn.chunk * plan.depth + k if plan.overlap else 0]
            if what == BACKWARD and plan.recompute:
                yield from self.pass_of(FORWARD, 1.0, part, " again")
            yield from self.pass_of(what, times, part, SAID[what])
            if ending and plan.grid.data > 1:
                size = self.pieces[len(self.works)]
                self.works.append(self.far.post(rank, plan.reduction, size, f"gradients of block {len(self.works)}"))
        if what == FORWARD and last:
            yield from world.compute(rank, plan.logits, f"logits {part}")
        if what != WEIGHTS:
            world.hold(rank, "activations", plan.depth * (kept if what == FORWARD else -kept))

    def pass_of(self, what: str, times: float, part: str, back: str) -> Process:
        """A block forward or backward, or the gradients of its weights, which nobody waits for."""
        plan, world, rank = self.plan, self.world, self.rank
        for name, seconds in plan.halves if what == FORWARD else plan.halves[::-1]:
            said = f"{name}{back} {part}"
            attends = plan.grid.context > 1 and name == "attention" and what != WEIGHTS
            if attends:
                yield self.sample.post(rank, "allgather", plan.keys, f"gather keys of {said}")
            yield from world.compute(rank, times * seconds, said)
            if attends and what == BACKWARD:
                yield self.sample.post(rank, "reduce_scatter", plan.keys, f"sum keys of {said}")
            if plan.grid.tensor > 1 and what != WEIGHTS:
                yield self.near.post(rank, "allreduce", plan.activation, f"sum {said}")


@workload
@communicates("ideal")
def hybrid_parallel(
    topology: Topology,
    *,
    ranks: Many = 0,
    tensor: Degree = 0,
    context: Annotated[int, Bounds(1, 1 << 12)] = 1,
    stages: Stages = 0,
    micro_batches: Annotated[int, Bounds(1, 4096)] = 8,
    schedule: ScheduleName = "1f1b",
    chunks: Chunks = 1,
    recompute: bool = False,
    shared: Annotated[str, Choice(SHARED)] = "none",
    overlap_gradients: bool = False,
    scatter_messages: bool = False,
    depth: Depth = 8,
    hidden: Hidden = 4096,
    length: Length = 2048,
    words: Annotated[int, Bounds(0, 1 << 24)] = 0,
    batch: Samples = 1,
    dtype: Type = "float16",
    tflops: float = 100.0,
    unfolded: bool = False,
    transport: BackendChoice,
) -> TrainingStep:
    """Tensor, pipeline and data parallel transformer blocks: matrices cut over neighbours, stages, replicas of it all.

    As many replicas as ranks are left for: ranks / (tensor * context * stages). Ranks are dealt as in Megatron-LM
    (Narayanan et al. 2021): first `tensor` neighbours, those of a host if left out, then `context` ranks that share a
    sample's tokens and gather its keys and values, then replicas, then stages. `depth` blocks are shared out among the
    stages, `chunks` runs of them for each with `interleaved`, `batch` is one micro-batch. Each micro-batch is summed
    twice per block each way, goes from every rank of a stage to its counterpart on the next, and gradients are summed
    over the replicas in the end, or block by block behind the last backward pass with `overlap_gradients`. With
    `recompute` blocks run forward again before they run backward. `shared` says what replicas hold a part of: the
    `optimizer`, whose updated parameters come back in an allgather, or `parameters` too, gathered once for a step as
    FSDP does in a pipeline. With `scatter_messages` each rank of a group sends its part of what the group passes on,
    and the parts are gathered where they arrive. `words` adds the vocabulary's embedding and logits to the ends. Ranks
    that do and see the same are simulated once, unless `unfolded`: the times are those of the run of them all.
    """
    n = ranks_at_work(topology, ranks)
    tensor = tensor or degree_of(topology, n, 0, "hybrid_parallel")
    stages = stages or 2 - (n % (2 * tensor) > 0 or depth % 2 > 0)
    if n % (tensor * context * stages):
        raise InputError("hybrid_parallel.ranks", n=n, stages=stages, tensor=tensor * context)
    if depth % (stages * chunks):
        raise InputError("hybrid_parallel.blocks", depth=depth, stages=stages * chunks)
    block = transformer_block(hidden, length, batch, WIDTHS[dtype], tflops, "hybrid_parallel")
    grid = ParallelGrid(tensor, n // (tensor * stages), stages, context)
    pipeline = PIPELINES[schedule]
    plan = _HybridStep(
        grid, block, depth // (stages * chunks), micro_batches, pipeline, chunks, recompute, shared,
        overlap_gradients, words, scatter_messages,
    )  # fmt: skip
    world = plan.world(topology, transport, unfolded=unfolded)
    step = plan.run(world)
    busy = [step.busy(rank, COMPUTE) for rank in step.stands_for]
    passes = 4 if recompute else 3
    step.facts.update(
        replicas=grid.data // context, stages=stages, ranks_per_tensor_group=tensor,
        transfers=world.copies * world.transfers, simulated_transfers=world.transfers,
        simulated_ranks=len(step.stands_for),
        compute_s=micro_batches * passes * plan.blocks * sum(seconds for _, seconds in plan.halves),
        bubble_share=1 - sum(busy) / (len(busy) * step.time) if step.time else 0.0,
        ideal_bubble_share=pipeline.bubble(stages, micro_batches, chunks)
    )  # fmt: skip
    return step

"""Sharded data parallelism: who keeps which part of optimizer, gradients and parameters, and what that makes move."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.buckets import Bucket, buckets_of
from ops.training.layers import Layer
from ops.training.options import Ranks, State, TrainedModel, trains
from ops.training.step import TrainingStep
from ops.training.world import Process, World
from ops.workloads import workload
from sim.parameters import Bounds
from sim.topology import Topology
from sim.units import MB, Size, Time

if TYPE_CHECKING:
    from sim.engine import Event

OPTIMIZER = 12
"""Bytes per parameter of Adam in mixed precision: float32 copy, momentum, variance (Rajbhandari et al. 2020, 3.1)."""
VOLUME = {"allreduce": 2, "reduce_scatter": 1, "allgather": 1, "broadcast": 1}
"""How often a rank sends the size of a collective, (n - 1)/n times, in a ring."""


@dataclass(frozen=True)
class Shards:
    """How the state of training is shared out; sizes in bytes.

    Stage 0 shares nothing, 1 the optimizer, 2 gradients too, 3 parameters too.
    """

    layers: Sequence[Layer]
    width: int
    stage: int
    state: int
    update: float
    overlap: bool
    reduce_scatter: bool = True
    reduce_bucket: float = 1e9
    gather_bucket: float = 1e9
    partitions: bool = True
    """Does an allgather bring back updated parameters? Otherwise every rank broadcasts its part."""
    unit: int = 1
    """Layers whose parameters come and go together in stage 3."""
    prefetch: int = 1
    reshard: bool = True
    """Are parameters dropped between forward and backward?"""

    @property
    def bytes(self) -> float:
        """Of all parameters."""
        return float(sum(layer.parameters for layer in self.layers) * self.width)

    def run(self, world: World) -> TrainingStep:
        """One step of all ranks."""
        n, total = world.ranks, self.bytes
        life = (_Sharded if self.stage == 3 else _Whole)(self, world)
        time = world.run(life.rank)
        moved = sum(VOLUME[_collective(call.algorithm)] * call.size for call in world.calls)
        return world.step(
            time,
            parameters=round(total / self.width),
            model_bytes=total,
            volume_in_models=moved / total if n > 1 and total else 0.0,
            state_bytes=self.resident(n),
        )

    def resident(self, n: int) -> float:
        """Bytes per rank of parameters, gradients and optimizer together, as the ZeRO paper counts them."""
        parts = (self.bytes, self.bytes, self.bytes / self.width * self.state)
        return sum(part / n if self.stage >= since else part for part, since in zip(parts, (3, 2, 1), strict=True))


def _collective(algorithm: str) -> str:
    return algorithm.partition(".")[0]


@dataclass
class _Life:
    """What the stages have in common."""

    plan: Shards
    world: World
    works: dict[int, list["Event"]] = field(default_factory=dict)

    def begin(self, rank: int) -> None:
        """What a rank holds from the start."""
        plan, n = self.plan, self.world.ranks
        self.works[rank] = []
        self.world.hold(rank, "parameters", plan.bytes / (n if plan.stage == 3 else 1))
        self.world.hold(rank, "optimizer", plan.bytes / plan.width * plan.state / (n if plan.stage else 1))

    def finish(self, rank: int) -> Process:
        """Wait for all gradients, update one's own part, drop the gradients."""
        plan, n = self.plan, self.world.ranks
        yield self.world.env.all_of(self.works[rank])
        yield from self.world.compute(rank, plan.update / (n if plan.stage else 1), "update")
        self.world.hold(rank, "gradients", -plan.bytes / (n if plan.stage > 1 else 1))

    def reduce(self, rank: int, size: float, name: str) -> Process:
        """Sum gradients; in stages 2 and 3 what is another rank's is dropped when that is done."""
        world, n = self.world, self.world.ranks
        scattered = self.plan.stage > 0 and self.plan.reduce_scatter
        event = world.everyone.post(rank, "reduce_scatter" if scattered else "allreduce", size, f"reduce {name}")
        if self.plan.stage > 1:
            event = world.env.process(self.drop(rank, size * (1 - 1 / n), event))
        self.works[rank].append(event)
        if not self.plan.overlap:
            yield event

    def drop(self, rank: int, size: float, event: "Event") -> Process:
        yield event
        self.world.hold(rank, "gradients", -size)

    def layer_forward(self, rank: int, layer: Layer) -> Process:
        yield from self.world.compute(rank, layer.forward, f"forward {layer.name}")
        self.world.hold(rank, "activations", layer.activation)

    def layer_backward(self, rank: int, layer: Layer) -> Process:
        yield from self.world.compute(rank, layer.backward, f"backward {layer.name}")
        self.world.hold(rank, "activations", -layer.activation)
        self.world.hold(rank, "gradients", float(layer.parameters * self.plan.width))


class _Whole(_Life):
    """Stages 0 to 2: every rank has all parameters."""

    def rank(self, rank: int) -> Process:
        plan = self.plan
        self.begin(rank)
        for layer in plan.layers:
            yield from self.layer_forward(rank, layer)
        done = len(plan.layers)
        for bucket in self.buckets():
            for k in range(done - 1, min(done, bucket.layer) - 1, -1):
                yield from self.layer_backward(rank, plan.layers[k])
            done = min(done, bucket.layer)
            yield from self.reduce(rank, float(bucket.parameters * plan.width), bucket.name)
        for k in range(done - 1, -1, -1):
            yield from self.layer_backward(rank, plan.layers[k])
        yield from self.finish(rank)
        if plan.stage:
            yield from self.gather(rank)

    def buckets(self) -> list[Bucket]:
        plan = self.plan
        return buckets_of(plan.layers, plan.width, plan.reduce_bucket, first=plan.reduce_bucket)

    def gather(self, rank: int) -> Process:
        """Everyone's updated part to everyone."""
        world, plan, n = self.world, self.plan, self.world.ranks
        events = []
        if plan.partitions:
            left = plan.bytes
            while left > 0:
                events.append(
                    world.everyone.post(rank, "allgather", min(left, plan.gather_bucket), "gather parameters")
                )
                left -= plan.gather_bucket
        else:
            for root in range(n):
                name = f"broadcast part {root}"
                events.append(world.everyone.post(rank, "broadcast", plan.bytes / n, name, root=root))
        yield world.env.all_of(events)


class _Sharded(_Life):
    """Stage 3: parameters are gathered unit by unit, used, and dropped."""

    def rank(self, rank: int) -> Process:
        plan = self.plan
        units = [plan.layers[k : k + plan.unit] for k in range(0, len(plan.layers), plan.unit)]
        self.begin(rank)
        order = list(range(len(units)))
        gathered: dict[int, Event] = {}
        for place, k in enumerate(order):
            yield from self.arrive(rank, units, order[place:], gathered)
            for layer in units[k]:
                yield from self.layer_forward(rank, layer)
            if plan.reshard:
                self.leave(rank, units[k])
                del gathered[k]
        order.reverse()
        for place, k in enumerate(order):
            yield from self.arrive(rank, units, order[place:], gathered)
            for layer in reversed(units[k]):
                yield from self.layer_backward(rank, layer)
            self.leave(rank, units[k])
            yield from self.reduce(rank, self.size(units[k]), units[k][0].name)
        yield from self.finish(rank)

    def size(self, unit: Sequence[Layer]) -> float:
        return float(sum(layer.parameters for layer in unit) * self.plan.width)

    def arrive(
        self, rank: int, units: list[Sequence[Layer]], coming: list[int], gathered: dict[int, "Event"]
    ) -> Process:
        """Wait for the first unit that comes; with overlap the next ones are already on their way."""
        n, ahead = self.world.ranks, self.plan.prefetch if self.plan.overlap else 0
        for k in coming[: 1 + ahead]:
            if k not in gathered:
                size = self.size(units[k])
                self.world.hold(rank, "gathered parameters", size * (1 - 1 / n))
                gathered[k] = self.world.everyone.post(rank, "allgather", size, f"gather {units[k][0].name}")
        yield gathered[coming[0]]

    def leave(self, rank: int, unit: Sequence[Layer]) -> None:
        self.world.hold(rank, "gathered parameters", -self.size(unit) * (1 - 1 / self.world.ranks))


@workload
@trains("gpt2_xl", "float16")
@communicates("nccl")
def zero(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    stage: Annotated[int, Bounds(0, 3)] = 2,
    trained: TrainedModel,
    allgather_partitions: bool = True,
    allgather_bucket_size: Size = int(1000 * MB),
    reduce_scatter: bool = True,
    reduce_bucket_size: Size = int(1000 * MB),
    overlap_comm: bool = True,
    update: Time = 0.0,
    state: State = OPTIMIZER,
    transport: BackendChoice,
) -> TrainingStep:
    """ZeRO as DeepSpeed does it: optimizer, gradients and parameters shared out in stages 0 to 3.

    Parameters bear DeepSpeed's names. With `allgather_partitions` the updated parameters come back in allgathers of
    `allgather_bucket_size` bytes, otherwise as a broadcast per rank; without `reduce_scatter` gradients are summed by
    allreduce. With `overlap_comm` gradients travel behind the backward pass, and in stage 3 the next layer's
    parameters behind this one's compute. `update` is what updating all parameters would take; a rank updates its
    part. `state` is the optimizer's bytes per parameter. A step moves twice the model in stages 1 and 2, three times
    in stage 3 (Rajbhandari et al. 2020, section 7).
    """
    shards = Shards(
        trained.table, trained.width, stage, state, update, overlap_comm, reduce_scatter,
        reduce_bucket_size, allgather_bucket_size, allgather_partitions,
    )  # fmt: skip
    return shards.run(world_of(topology, ranks, transport))


@workload
@trains("gpt2_xl", "float16")
@communicates("nccl")
def fsdp(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    trained: TrainedModel,
    layers_per_unit: Annotated[int, Bounds(1, 10_000)] = 2,
    prefetch: Annotated[int, Bounds(0, 16)] = 1,
    reshard_after_forward: bool = True,
    update: Time = 0.0,
    state: State = OPTIMIZER,
    transport: BackendChoice,
) -> TrainingStep:
    """Fully sharded data parallel: parameters gathered unit by unit, used and dropped.

    A unit is `layers_per_unit` layers: 2 make a transformer block. `prefetch` units are gathered ahead of the one
    that computes; 0 gathers each when it is needed. Without `reshard_after_forward` parameters stay until backward
    has used them: a gather less, more memory (ZeRO's stage 2 in all but name).
    """
    shards = Shards(
        trained.table, trained.width, 3, state, update, prefetch > 0,
        unit=layers_per_unit, prefetch=prefetch, reshard=reshard_after_forward,
    )  # fmt: skip
    step = shards.run(world_of(topology, ranks, transport))
    return replace(step, facts={**step.facts, "units": -(-len(shards.layers) // layers_per_unit)})

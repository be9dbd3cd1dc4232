"""The training loop of data parallelism: forward, backward with buckets leaving on the way, update."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ops.training.backends import BackendChoice, world_of
from ops.training.buckets import Bucket
from ops.training.compression import Codec, Encoded
from ops.training.layers import Layer
from ops.training.step import TrainingStep
from ops.training.world import Process, World
from sim.topology import Topology

if TYPE_CHECKING:
    from sim.engine import Event


@dataclass(frozen=True)
class TrainingPlan:
    """A training loop: what is computed, and how gradients are exchanged."""

    layers: Sequence[Layer]
    buckets: Sequence[Bucket]
    codec: Codec
    transport: BackendChoice
    overlap: bool = True
    accumulate: int = 1
    stale: int = 0
    slow: float = 1.0
    interference: float = 0.0
    contention: float = 0.0
    """By which share compressing takes longer beside a backward pass, as both want the GPU."""
    search: float = 0.0
    """Seconds of looking for unused parameters after every forward pass."""
    bitmap: int = 0
    """Bytes of the map of used parameters that is summed after backward."""
    copy: float = 0.0
    """Seconds a gradient's copy into its bucket, or out of it, takes to launch."""
    view: bool = True
    """Do gradients live in their buckets?"""
    buffers: bool = False
    """Does rank 0 send everybody its buffers before a forward pass?"""
    variation: float = 0.0
    """Standard deviation of the GPUs' speeds."""
    update: float = 0.0
    state: float = 8.0
    """Bytes of the optimizer per parameter."""


def carry_out(topology: Topology, ranks: int, plan: TrainingPlan) -> TrainingStep:
    """Run the plan; with stale gradients the last of some steps, when they follow each other steadily.

    Steps may then differ in length, in a round of one step more than gradients are stale: the fact `average_step_s`.
    Stale gradients let the first steps run ahead of the exchange, but only as far as they are stale: in the long run
    no step is shorter than its collectives, one after the other, so that steps begin no sooner than those end.
    """
    if not plan.stale:
        world, loop = _steps(topology, ranks, plan, 1)
        return world.step(loop.end)
    count = 3 * plan.stale + 1
    world, loop = _steps(topology, ranks, plan, count)
    busy = sum(call.end - call.start + world.launch for call in world.calls) / count
    if busy > loop.average:
        world, loop = _steps(topology, ranks, plan, count, period=busy)
    began = loop.begins[-1]
    return world.step(loop.end - began, since=began, steps=count, average_step_s=loop.average)


def _steps(
    topology: Topology, ranks: int, plan: TrainingPlan, count: int, period: float = 0.0
) -> tuple[World, "BucketedSteps"]:
    world = world_of(
        topology, ranks, plan.transport, plan.interference, variation=plan.variation, uniform=plan.slow == 1
    )
    loop = BucketedSteps(world, plan, count, period)
    world.run(loop.rank)
    return world, loop


class BucketedSteps:
    """The steps of all ranks, each of `period` seconds at least."""

    def __init__(self, world: World, plan: TrainingPlan, steps: int, period: float) -> None:
        self.world, self.plan, self.steps, self.period = world, plan, steps, period
        self.begins = [0.0] * steps
        """When the rank that computes longest begins its steps: ranks that need not wait for each other drift apart."""
        self.end = 0.0
        self.longest = world.ranks - 1 if plan.slow > 1 else 0
        self.encoded = [plan.codec.encode(bucket.tensors) for bucket in plan.buckets]
        self.works: dict[tuple[int, int], list[Event]] = {}
        self.going_back: set[int] = set()
        """Ranks whose backward pass is under way."""

    def rank(self, rank: int) -> Process:
        """One rank's life."""
        plan, world = self.plan, self.world
        width = plan.codec.width
        parameters = sum(layer.parameters for layer in plan.layers)
        world.hold(rank, "parameters", parameters * width)
        world.hold(rank, "gradients", parameters * width * (plan.stale + (1 if plan.view else 2)))
        world.hold(rank, "optimizer", parameters * plan.state)
        for step in range(self.steps):
            if rank == self.longest:
                self.begins[step] = world.env.now
            for micro in range(plan.accumulate):
                if plan.buffers and not micro:
                    yield from self.receive_buffers(rank)
                yield from self.forward(rank)
                yield from self.backward(rank, step, exchange=micro == plan.accumulate - 1)
            for work in self.works.pop((rank, step - plan.stale), []):
                yield work
            yield from world.compute(rank, plan.update, "update")
            if world.env.now < (step + 1) * self.period:
                yield world.env.timeout((step + 1) * self.period - world.env.now)
        self.end = max(self.end, world.env.now)
        for step in range(self.steps - plan.stale, self.steps):
            for work in self.works.pop((rank, step), []):
                yield work

    @property
    def average(self) -> float:
        """Seconds of a step, over the last round of one step more than gradients are stale."""
        return (self.end - self.begins[-1 - self.plan.stale]) / (self.plan.stale + 1)

    def pace(self, rank: int) -> float:
        """How many times longer this rank computes than a GPU of the mean speed."""
        return self.plan.slow if rank == self.world.ranks - 1 else 1.0

    def receive_buffers(self, rank: int) -> Process:
        """Rank 0's running means and variances for everybody, in one broadcast, each copied to its place."""
        tensors = [shape for layer in self.plan.layers for shape in layer.buffers]
        size = 4.0 * sum(map(math.prod, tensors))
        yield self.world.everyone.post(rank, "broadcast", size, "buffers")
        yield from self.world.compute(rank, self.plan.copy * len(tensors), "copy buffers")

    def forward(self, rank: int) -> Process:
        """All layers, their activations kept."""
        world, layers = self.world, self.plan.layers
        yield from world.compute(rank, sum(layer.forward for layer in layers) * self.pace(rank), "forward")
        pace = self.pace(rank) * world.slowness[rank]
        start = world.env.now - sum(layer.forward for layer in layers) * pace
        for layer in layers:
            start += layer.forward * pace
            world.hold(rank, "activations", layer.activation, at=start)
        yield from world.compute(rank, self.plan.search, "look for unused parameters")

    def backward(self, rank: int, step: int, *, exchange: bool) -> Process:
        """All layers in reverse; buckets leave as they fill, or afterwards without overlap."""
        plan, world = self.plan, self.world
        done = len(plan.layers)
        waiting: list[tuple[Bucket, Encoded]] = []
        works = self.works[rank, step] = []
        self.going_back.add(rank)
        exchange = exchange and (world.ranks > 1 or not plan.view)
        for bucket, encoded in zip(plan.buckets, self.encoded, strict=True):
            layer = min(done, bucket.layer)
            yield from self.layers_back(rank, layer, done)
            done = layer
            if not done:
                self.going_back.discard(rank)
            if exchange:
                if not plan.view:
                    yield from world.compute(rank, plan.copy * len(bucket.tensors), f"copy into {bucket.name}")
                waiting.append((bucket, encoded))
            if exchange and plan.overlap:
                works += yield from self.send(rank, *waiting.pop())
        yield from self.layers_back(rank, 0, done)
        self.going_back.discard(rank)
        for bucket, encoded in waiting:
            works += yield from self.send(rank, bucket, encoded)
        if exchange and plan.bitmap:
            works.append(world.everyone.post(rank, "allreduce", plan.bitmap, "used parameters"))

    def layers_back(self, rank: int, first: int, stop: int) -> Process:
        """Backward through layers `stop - 1` down to `first`."""
        layers = self.plan.layers[first:stop]
        if not layers:
            return
        name = layers[0].name if len(layers) == 1 else f"{layers[-1].name} … {layers[0].name}"
        yield from self.world.compute(
            rank, sum(layer.backward for layer in layers) * self.pace(rank), f"backward {name}"
        )
        at = self.world.env.now
        for layer in layers:
            self.world.hold(rank, "activations", -layer.activation, at=at)
            at -= layer.backward * self.pace(rank) * self.world.slowness[rank]

    def send(self, rank: int, bucket: Bucket, encoded: Encoded) -> Process:
        """Encode a bucket, start its first collective, and leave the rest to a process; returns what to wait for."""
        first, *rest = encoded.phases
        yield from self.coding(rank, first.seconds, f"encode {bucket.name}")
        event = self.world.everyone.post(rank, first.collective, first.size, bucket.name)
        if not rest and not encoded.decode and self.plan.view:
            return [event]
        return [self.world.env.process(self.finish(rank, bucket, encoded, event))]

    def coding(self, rank: int, seconds: float, name: str) -> Process:
        """Encode or decode, which takes longer beside the backward pass."""
        beside = rank in self.going_back
        yield from self.world.compute(rank, seconds * (1 + self.plan.contention * beside), name)

    def finish(self, rank: int, bucket: Bucket, encoded: Encoded, event: "Event") -> Process:
        """What follows a bucket's first collective."""
        world = self.world
        for phase in encoded.phases[1:]:
            yield event
            yield from self.coding(rank, phase.seconds, f"encode {bucket.name}")
            event = world.everyone.post(rank, phase.collective, phase.size, bucket.name)
        yield event
        yield from self.coding(rank, encoded.decode, f"decode {bucket.name}")
        if not self.plan.view:
            yield from world.compute(rank, self.plan.copy * len(bucket.tensors), f"copy out of {bucket.name}")

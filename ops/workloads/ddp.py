"""Distributed data parallel: gradients leave in buckets while the backward pass goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ops.workloads import workload
from ops.workloads.backends import BackendName, world
from ops.workloads.buckets import FIRST_BUCKET, Bucket, buckets_of
from ops.workloads.compression import COMPRESSIONS, Codec, Encoded
from ops.workloads.layers import Layer
from ops.workloads.models import MODELS, TFLOPS, layers_of
from ops.workloads.options import V100_MEMORY, WIDTHS, Batch, ModelName, Ranks, Type, check
from ops.workloads.step import Step
from ops.workloads.world import Process, World
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MiB, Size, Time, fmt_size, us

SIZES = (1, 2, 5, 10, 25, 50, 100, 250)
"""Bucket sizes in MiB among which the best is looked for."""

if TYPE_CHECKING:
    from sim.engine import Event


@dataclass(frozen=True)
class Plan:
    """A training loop: what is computed, and how gradients are exchanged."""

    layers: Sequence[Layer]
    buckets: Sequence[Bucket]
    codec: Codec
    backend: str
    overlap: bool
    accumulate: int
    stale: int
    slow: float
    search: float
    """Seconds of looking for unused parameters after every forward pass."""
    bitmap: int
    """Bytes of the map of used parameters that is summed after backward."""
    copy: float
    """Seconds a gradient's copy into its bucket, or out of it, takes to launch."""
    view: bool
    update: float
    state: float


@workload
def ddp(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    model: ModelName = "resnet50",
    layers: str = "",
    batch: Batch = 0,
    tflops: float = 0.0,
    dtype: Type = "float32",
    bucket: Size = 25 * MiB,
    first_bucket: Size = FIRST_BUCKET,
    overlap: bool = True,
    accumulate: Annotated[int, Bounds(1, 64)] = 1,
    graph: Annotated[str, Choice(("dynamic", "unused", "static"))] = "dynamic",
    search: Time = 1 * us,
    bucket_view: bool = True,
    copy: Time = 10 * us,
    compression: Annotated[str, Choice(COMPRESSIONS)] = "none",
    powersgd_rank: Annotated[int, Bounds(1, 1024)] = 4,
    topk_share: float = 0.01,
    stale: Annotated[int, Bounds(0, 16)] = 0,
    slow: float = 1.0,
    update: Time = 0.0,
    state: Annotated[int, Bounds(0, 64)] = 8,
    backend: BackendName = "nccl",
    best: bool = False,
) -> Step:
    """Data parallel training, gradients summed in buckets behind the backward pass.

    `layers` is a table of layers instead of a `model`: a line (or `;`) per layer, `name 1024x256+1024 1ms 2ms 4MiB`
    for its tensors, forward and backward time and activations. `batch` is per rank and `tflops` what a GPU achieves;
    0 stands for the preset's own. `accumulate` passes go without exchange (`no_sync`) but for the last. `graph`:
    `unused` looks for unused parameters (`search` seconds per tensor) and sums a map of them, in buckets of the
    first order; `static` knows them. Without `bucket_view` every gradient is copied into its bucket and back (`copy`
    seconds each to launch). `topk_share` of the values are kept by top-k. With `stale` a step does not wait for its
    own gradients but for those so many steps back. `slow` multiplies the last rank's compute; `update` is the
    optimizer's time and `state` its bytes per parameter. `best` tries bucket sizes from 1 to 250 MiB.
    """
    check(topk_share, 0.0, 1.0, "ddp: topk_share")
    check(slow, 0.001, 1000.0, "ddp: slow")
    table = layers_of(model, layers, batch, tflops)
    speed = (tflops or MODELS[model].tflops) * TFLOPS
    width = WIDTHS[dtype]
    n = ranks or topology.n
    tensors = sum(len(layer.tensors) for layer in table)
    codec = Codec(compression, n, width, V100_MEMORY, speed, powersgd_rank, topk_share)

    def cut(cap: float) -> list[Bucket]:
        return buckets_of(table, width, cap, first=min(first_bucket, cap), forward=graph == "unused")

    plan = Plan(
        layers=table, buckets=cut(bucket), codec=codec, backend=backend, overlap=overlap, accumulate=accumulate,
        stale=stale, slow=slow, search=search * tensors if graph == "unused" else 0.0,
        bitmap=4 * tensors if graph == "unused" else 0, copy=copy, view=bucket_view, update=update, state=float(state),
    )  # fmt: skip
    step = carry_out(topology, ranks, plan)
    facts = dict(_facts(topology, ranks, plan, step, width))
    if best:
        times = {cap: carry_out(topology, ranks, replace(plan, buckets=cut(cap * MiB))).time for cap in SIZES}
        facts |= {
            "best_bucket_bytes": min(times, key=lambda cap: times[cap]) * MiB,
            "bucket_sizes": [{"bucket_bytes": cap * MiB, "step_time_s": time} for cap, time in times.items()],
        }
    return replace(step, facts=facts)


def _facts(topology: Topology, ranks: int, plan: Plan, step: Step, width: int) -> Iterator[tuple[str, Any]]:
    parameters = sum(layer.parameters for layer in plan.layers)
    compute = plan.accumulate * sum(layer.forward + layer.backward for layer in plan.layers) + plan.update
    yield "parameters", parameters
    yield "gradient_bytes", parameters * width
    yield "sent_bytes", sum(p.size for b in plan.buckets for p in plan.codec.encode(b.tensors).phases)
    yield "buckets", [fmt_size(b.parameters * width) for b in plan.buckets]
    yield "compute_s", compute
    yield "scaling_efficiency_share", compute / step.time if step.time else 1.0
    if plan.overlap and step.ranks > 1:
        serial = carry_out(topology, ranks, replace(plan, overlap=False)).time
        yield "without_overlap_s", serial
        yield "overlap_saves_share", 1 - step.time / serial if serial else 0.0


def carry_out(topology: Topology, ranks: int, plan: Plan) -> Step:
    """Run the plan; with stale gradients the last of some steps, when they follow each other steadily."""
    there = world(topology, ranks, plan.backend)
    loop = _Loop(there, plan, steps=3 * plan.stale + 1 if plan.stale else 1)
    there.run(loop.rank)
    ends = loop.ends
    began = ends[-2] if len(ends) > 1 else 0.0
    return there.step(ends[-1] - began, since=began, steps=len(ends))


class _Loop:
    """The steps of all ranks."""

    def __init__(self, there: World, plan: Plan, steps: int) -> None:
        self.world, self.plan, self.steps = there, plan, steps
        self.ends = [0.0] * steps
        self.encoded = [plan.codec.encode(bucket.tensors) for bucket in plan.buckets]
        self.works: dict[tuple[int, int], list[Event]] = {}

    def rank(self, rank: int) -> Process:
        """One rank's life."""
        plan, there = self.plan, self.world
        width = plan.codec.width
        parameters = sum(layer.parameters for layer in plan.layers)
        there.hold(rank, "parameters", parameters * width)
        there.hold(rank, "gradients", parameters * width * (plan.stale + (1 if plan.view or there.ranks < 2 else 2)))
        there.hold(rank, "optimizer", parameters * plan.state)
        for step in range(self.steps):
            for micro in range(plan.accumulate):
                yield from self.forward(rank)
                yield from self.backward(rank, step, exchange=micro == plan.accumulate - 1)
            for work in self.works.pop((rank, step - plan.stale), []):
                yield work
            yield from there.compute(rank, plan.update, "update")
            self.ends[step] = max(self.ends[step], there.env.now)
        for step in range(self.steps - plan.stale, self.steps):
            for work in self.works.pop((rank, step), []):
                yield work

    def pace(self, rank: int) -> float:
        """How many times longer this rank computes."""
        return self.plan.slow if rank == self.world.ranks - 1 else 1.0

    def forward(self, rank: int) -> Process:
        """All layers, their activations kept."""
        there, layers = self.world, self.plan.layers
        yield from there.compute(rank, sum(layer.forward for layer in layers) * self.pace(rank), "forward")
        start = there.env.now - sum(layer.forward for layer in layers) * self.pace(rank)
        for layer in layers:
            start += layer.forward * self.pace(rank)
            there.hold(rank, "activations", layer.activation, at=start)
        yield from there.compute(rank, self.plan.search, "look for unused parameters")

    def backward(self, rank: int, step: int, *, exchange: bool) -> Process:
        """All layers in reverse; buckets leave as they fill, or afterwards without overlap."""
        plan, there = self.plan, self.world
        done = len(plan.layers)
        waiting: list[tuple[Bucket, Encoded]] = []
        works = self.works[rank, step] = []
        exchange = exchange and there.ranks > 1
        for bucket, encoded in zip(plan.buckets, self.encoded, strict=True):
            layer = min(done, bucket.layer)
            yield from self.layers_back(rank, layer, done)
            done = layer
            if exchange:
                if not plan.view:
                    yield from there.compute(rank, plan.copy * len(bucket.tensors), f"copy into {bucket.name}")
                waiting.append((bucket, encoded))
            if exchange and plan.overlap:
                works += yield from self.send(rank, *waiting.pop())
        yield from self.layers_back(rank, 0, done)
        for bucket, encoded in waiting:
            works += yield from self.send(rank, bucket, encoded)
        if exchange and plan.bitmap:
            works.append(there.everyone.post(rank, "allreduce", plan.bitmap, "used parameters"))

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
            at -= layer.backward * self.pace(rank)

    def send(self, rank: int, bucket: Bucket, encoded: Encoded) -> Process:
        """Encode a bucket, start its first collective, and leave the rest to a process; returns what to wait for."""
        first, *rest = encoded.phases
        yield from self.world.compute(rank, first.seconds, f"encode {bucket.name}")
        event = self.world.everyone.post(rank, first.collective, first.size, bucket.name)
        if not rest and not encoded.decode and self.plan.view:
            return [event]
        return [self.world.env.process(self.finish(rank, bucket, encoded, event))]

    def finish(self, rank: int, bucket: Bucket, encoded: Encoded, event: "Event") -> Process:
        """What follows a bucket's first collective."""
        there = self.world
        for phase in encoded.phases[1:]:
            yield event
            yield from there.compute(rank, phase.seconds, f"encode {bucket.name}")
            event = there.everyone.post(rank, phase.collective, phase.size, bucket.name)
        yield event
        yield from there.compute(rank, encoded.decode, f"decode {bucket.name}")
        if not self.plan.view:
            yield from there.compute(rank, self.plan.copy * len(bucket.tensors), f"copy out of {bucket.name}")

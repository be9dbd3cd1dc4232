"""Distributed data parallel: gradients leave in buckets while the backward pass goes on."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any

from ops.training.backends import BackendChoice, communicates
from ops.training.buckets import FIRST_BUCKET, Bucket, buckets_of
from ops.training.compression import COMPRESSIONS, Codec
from ops.training.loop import TrainingPlan, carry_out
from ops.training.options import V100_MEMORY, Ranks, State, TrainedModel, Variation, check, trains
from ops.training.step import TrainingStep
from ops.workloads import workload
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MiB, Size, Time, fmt_size, us

SIZES = (1, 2, 5, 10, 25, 50, 100, 250)
"""Bucket sizes in MiB among which the best is looked for."""


@workload
@trains("resnet50", "float32")
@communicates("nccl")
def ddp(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    trained: TrainedModel,
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
    contention: float = 0.0,
    stale: Annotated[int, Bounds(0, 16)] = 0,
    broadcast_buffers: bool = False,
    slow: float = 1.0,
    variation: Variation = 0.0,
    interference: float = 0.0,
    update: Time = 0.0,
    state: State = 8,
    transport: BackendChoice,
    best: bool = False,
) -> TrainingStep:
    """Data parallel training, gradients summed in buckets behind the backward pass.

    `layers` is a table of layers instead of a `model`: a line (or `;`) per layer, `name 1024x256+1024 1ms 2ms 4MiB`
    for its tensors, forward and backward time and activations. `batch` is per rank and `tflops` what a GPU achieves;
    0 stands for the preset's own. `accumulate` passes go without exchange (`no_sync`) but for the last. `graph`:
    `unused` looks for unused parameters (`search` seconds per tensor) and sums a map of them, in buckets of the
    first order; `static` knows them. Without `bucket_view` every gradient is copied into its bucket and back (`copy`
    seconds each to launch). `topk_share` of the values are kept by top-k. Compressing beside the backward pass takes
    1 + `contention` times as long as alone, as both want the GPU (Agarwal et al. 2022). With `stale` a step does not
    wait for its own gradients but for those so many steps back. With `broadcast_buffers` rank 0 sends the running means
    and variances before every step, each copied to its place (`copy`). `slow` multiplies the last rank's compute,
    `variation` is the standard deviation of the GPUs' speeds as a share; `interference` is the share of its speed a GPU
    lacks while it communicates; `update` is the optimizer's time and `state` its bytes per parameter. `best` tries
    bucket sizes from 1 to 250 MiB.
    """
    check(topk_share, 0.0, 1.0, "ddp: topk_share")
    check(contention, 0.0, 100.0, "ddp: contention")
    check(slow, 0.001, 1000.0, "ddp: slow")
    check(interference, 0.0, 0.99, "ddp: interference")
    scan = graph == "unused"
    tensors = sum(len(layer.tensors) for layer in trained.table) if scan else 0
    codec = Codec(
        compression, ranks or topology.n, trained.width, V100_MEMORY, trained.flops, powersgd_rank, topk_share
    )

    def cut(cap: float) -> list[Bucket]:
        return buckets_of(trained.table, trained.width, cap, first=min(first_bucket, cap), forward=scan)

    plan = TrainingPlan(
        layers=trained.table, buckets=cut(bucket), codec=codec, transport=transport, overlap=overlap,
        accumulate=accumulate, stale=stale, slow=slow, interference=interference, contention=contention,
        search=search * tensors, bitmap=4 * tensors, copy=copy, view=bucket_view, buffers=broadcast_buffers,
        variation=variation, update=update, state=float(state),
    )  # fmt: skip
    step = carry_out(topology, ranks, plan)
    facts = step.facts | dict(_facts(topology, ranks, plan, step))
    if best:
        facts |= _best(topology, ranks, plan, cut)
    return replace(step, facts=facts)


def _best(topology: Topology, ranks: int, plan: TrainingPlan, cut: Callable[[float], list[Bucket]]) -> dict[str, Any]:
    """The step's time with every size of buckets, and the size with which it is shortest."""
    times = {cap: carry_out(topology, ranks, replace(plan, buckets=cut(cap * MiB))).time for cap in SIZES}
    return {
        "best_bucket_bytes": min(times, key=lambda cap: times[cap]) * MiB,
        "bucket_sizes": [{"bucket_bytes": cap * MiB, "step_time_s": time} for cap, time in times.items()],
    }


def _facts(topology: Topology, ranks: int, plan: TrainingPlan, step: TrainingStep) -> Iterator[tuple[str, Any]]:
    width = plan.codec.width
    parameters = sum(layer.parameters for layer in plan.layers)
    compute = plan.accumulate * sum(layer.forward + layer.backward for layer in plan.layers) + plan.update
    yield "parameters", parameters
    yield "gradient_bytes", parameters * width
    phases = [phase for bucket in plan.buckets for phase in plan.codec.encode(bucket.tensors).phases]
    yield "sent_bytes", sum(phase.sent(plan.codec.n) for phase in phases)
    yield "buckets", [fmt_size(b.parameters * width) for b in plan.buckets]
    yield "compute_s", compute
    average = step.facts.get("average_step_s", step.time)
    yield "scaling_efficiency_share", compute / average if average else 1.0
    if plan.overlap and step.ranks > 1:
        serial = carry_out(topology, ranks, replace(plan, overlap=False)).time
        yield "without_overlap_s", serial
        yield "overlap_saves_share", 1 - step.time / serial if serial else 0.0

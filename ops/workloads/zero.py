"""Sharded data parallelism: DeepSpeed's ZeRO and PyTorch's FSDP."""

from dataclasses import replace
from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import degree_of
from ops.training.options import SAME, WIDTHS, Ranks, State, TrainedModel, Variation, trains
from ops.training.shards import Shards
from ops.training.step import TrainingStep
from ops.training.world import ranks_at_work
from ops.workloads import workload
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import MB, Size, Time

OPTIMIZER = 12
"""Bytes per parameter of Adam in mixed precision: float32 copy, momentum, variance (Rajbhandari et al. 2020, 3.1)."""
Passes = Annotated[int, Bounds(1, 1024)]


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
    accumulate: Passes = 1,
    recompute: bool = False,
    update: Time = 0.0,
    state: State = OPTIMIZER,
    transport: BackendChoice,
) -> TrainingStep:
    """ZeRO as DeepSpeed does it: optimizer, gradients and parameters shared out in stages 0 to 3.

    Parameters bear DeepSpeed's names. With `allgather_partitions` the updated parameters come back in allgathers of
    `allgather_bucket_size` bytes, otherwise as a broadcast per rank; without `reduce_scatter` gradients are summed by
    allreduce. With `overlap_comm` gradients travel behind the backward pass, and in stage 3 the next layer's
    parameters behind this one's compute. `accumulate` passes make one step: stages 0 and 1 sum gradients after the
    last, 2 and 3 after each. With `recompute` activations are not kept but computed again before the backward pass.
    `update` is what updating all parameters would take; a rank updates its part. `state` is the optimizer's bytes per
    parameter. A step of one pass moves twice the model in stages 1 and 2, three times in stage 3 (Rajbhandari et al.
    2020, section 7).
    """
    shards = Shards(
        trained.table, trained.width, stage, state, update, overlap_comm, reduce_scatter,
        reduce_bucket_size, allgather_bucket_size, allgather_partitions, accumulate=accumulate, recompute=recompute,
    )  # fmt: skip
    return shards.run(world_of(topology, ranks, transport, uniform=stage == 0 or allgather_partitions))


@workload
@trains("gpt2_xl", "float16")
@communicates("nccl")
def fsdp(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    shard_group: Ranks = 0,
    trained: TrainedModel,
    reduce_dtype: Annotated[str, Choice((SAME, *WIDTHS))] = SAME,
    layers_per_unit: Annotated[int, Bounds(1, 10_000)] = 2,
    prefetch: Annotated[int, Bounds(0, 16)] = 1,
    reshard_after_forward: bool = True,
    accumulate: Passes = 1,
    no_sync: bool = False,
    recompute: bool = False,
    variation: Variation = 0.0,
    update: Time = 0.0,
    state: State = OPTIMIZER,
    transport: BackendChoice,
) -> TrainingStep:
    """Fully sharded data parallel: parameters gathered unit by unit, used and dropped.

    A unit is `layers_per_unit` layers: 2 make a transformer block. `prefetch` units are gathered ahead of the one
    that computes; 0 gathers each when it is needed. Without `reshard_after_forward` parameters stay until backward
    has used them: a gather less, more memory (ZeRO's stage 2 in all but name). A `shard_group` of neighbours holds all
    parameters, and the groups are copies whose gradients are summed by allreduce (HSDP); 0 is one group of all.
    Parameters travel as `dtype`, gradients as `reduce_dtype`. `accumulate` passes make one step, each of which sums its
    gradients unless `no_sync`, which keeps them whole until the last. With `recompute` a unit's activations are
    computed again before its backward pass: four passes' compute instead of three. `variation` is the standard
    deviation of the GPUs' speeds as a share: all wait for the slowest.
    """
    degree = degree_of(topology, ranks_at_work(topology, ranks), shard_group, "fsdp") if shard_group else 0
    shards = Shards(
        trained.table, trained.width, 3, state, update, prefetch > 0,
        unit=layers_per_unit, prefetch=prefetch, reshard=reshard_after_forward, degree=degree,
        reduced=0 if reduce_dtype == SAME else WIDTHS[reduce_dtype], accumulate=accumulate, no_sync=no_sync,
        recompute=recompute,
    )  # fmt: skip
    step = shards.run(world_of(topology, ranks, transport, variation=variation, uniform=not degree))
    return replace(step, facts={**step.facts, "units": -(-len(shards.layers) // layers_per_unit)})

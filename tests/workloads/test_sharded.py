"""DataParallel, ZeRO and FSDP against steps worked out by hand and against the ZeRO paper."""

from statistics import NormalDist

import pytest

from ops.training import backends
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row
from tests.workloads.by_hand import ALPHA, BETA, MODEL, PAIR, TWO, chain, exactly, half, run, whole


def dp(**given):
    return run("data_parallel", **{"layers": TWO, "inputs": 1_000_000, "outputs": 1000, "gil": 0.0, **given})


def zero(stage, **given):
    return run(
        "zero", layers=TWO, stage=stage, dtype="float32", **{"reduce_bucket_size": 4_000_000, "state": 8, **given}
    )


OUTPUTS = 2 * whole(1000)
DP = whole(1e6) + chain(MODEL) + 2e-3 + OUTPUTS + 4e-3 + chain(MODEL)
"""Scatter inputs, replicate, forward, gather outputs, scatter their gradients, backward, reduce."""


def test_data_parallel_moves_everything_in_the_open():
    found = dp()
    assert found.time == exactly(DP)
    assert found.exposed(1) == exactly(DP - 6e-3)
    assert [call.name for call in found.calls] == [
        "scatter inputs", "replicate parameters", "gather outputs", "scatter output gradients", "reduce gradients"
    ]  # fmt: skip


def test_launches_take_turns_on_the_interpreters_lock():
    """Thread 1 launches its first layer after thread 0 has: two launches before its millisecond starts."""
    found = dp(gil=1e-5)
    assert found.time == exactly(DP + 2e-5)
    starts = {(s.rank, s.name): round(s.start - found.calls[1].end, 9) for s in found.spans if s.lane == "host"}
    assert starts == {
        (0, "launch first"): 0.0, (1, "launch first"): 1e-5, (0, "launch second"): 2e-5, (1, "launch second"): 3e-5
    }  # fmt: skip


def test_the_lock_bounds_a_step_of_tiny_layers():
    """Two layers on each of two GPUs: four launches, then the last layer's microsecond."""
    found = dp(layers="a 1 1us 0s; b 1 1us 0s", gil=1e-3, inputs=2, outputs=2)
    others = 3 * whole(2) + 2 * chain(8)
    assert found.time == exactly(4e-3 + 1e-6 + others)


def test_the_main_gpu_holds_the_optimizer_and_everyones_outputs():
    facts = dp().facts
    assert facts["main_peak_bytes"] - facts["other_peak_bytes"] == 2e6 * 8 + 1e6 + 1000
    # out: inputs, parameters, gradients of outputs; in: outputs, gradients
    assert facts["main_bytes"] == 1e6 + MODEL + 1000 + 1000 + MODEL


def test_scaling_stops_at_the_host_for_one_process():
    found = run("data_parallel", build("nodes:nodes=2,gpus=2"), layers=TWO)
    rows = {row["ranks"]: row for row in found.facts["scaling"]}
    assert sorted(rows) == [1, 2, 4]
    assert rows[4]["dp_s"] is None
    assert rows[2]["dp_s"] == exactly(found.time)
    assert 1 == rows[1]["ddp_efficiency_share"] > rows[2]["ddp_efficiency_share"] > rows[2]["dp_efficiency_share"]


def test_ethernet_scales_worse_than_infiniband():
    machine = build("nodes:nodes=8,gpus=8")
    facts = {net: run("data_parallel", machine, network=net).facts for net in ("ethernet", "infiniband")}
    last = {net: fact["scaling"][-1] for net, fact in facts.items()}
    assert {row["ranks"] for row in last.values()} == {64}
    assert last["ethernet"]["ddp_efficiency_share"] < last["infiniband"]["ddp_efficiency_share"] < 1


@pytest.mark.parametrize("stage", (1, 2))
def test_stages_1_and_2_scatter_gradients_and_gather_parameters(stage):
    """The second layer's gradients hide behind the first layer's backward."""
    found = zero(stage)
    assert found.time == exactly(6e-3 + half(4e6) + half(MODEL))
    assert found.exposed_s == exactly(half(4e6) + half(MODEL))
    assert found.facts["volume_in_models"] == exactly(2)


def test_stage_0_is_plain_data_parallelism():
    found = zero(0)
    assert found.time == exactly(6e-3 + 2 * half(4e6))
    assert found.facts["volume_in_models"] == exactly(2)


def test_without_overlap_every_reduction_holds_up_the_backward_pass():
    assert zero(2, overlap_comm=False).time == exactly(6e-3 + 2 * half(4e6) + half(MODEL))


def test_without_reduce_scatter_gradients_are_summed_everywhere():
    found = zero(2, reduce_scatter=False)
    assert found.time == exactly(6e-3 + 2 * half(4e6) + half(MODEL))
    assert found.facts["volume_in_models"] == exactly(3)


def test_allgather_partitions_or_a_broadcast_from_every_rank():
    found = zero(1, allgather_partitions=False)
    assert found.time == exactly(6e-3 + half(4e6) + 2 * chain(MODEL / 2))
    assert [call.algorithm for call in found.calls[-2:]] == ["broadcast.chain"] * 2


def test_the_allgather_is_cut_into_its_buckets():
    found = zero(1, allgather_bucket_size=3_000_000)
    assert [call.size for call in found.calls if call.name == "gather parameters"] == [3e6, 3e6, 2e6]
    assert found.time == exactly(6e-3 + half(4e6) + 3 * ALPHA + MODEL / 2 * BETA)


def test_stage_3_gathers_every_layer_twice():
    """Exposed: the first gather forward, the first backward, and the last layer's reduce-scatter."""
    found = zero(3)
    assert found.time == exactly(6e-3 + 3 * half(4e6))
    assert found.facts["volume_in_models"] == exactly(3)
    assert zero(3, overlap_comm=False).time == exactly(6e-3 + 6 * half(4e6))


def test_an_update_is_shared_out():
    for stage, share in ((0, 1), (1, 2), (3, 2)):
        assert zero(stage, update=1e-3).time - zero(stage).time == exactly(1e-3 / share)


def test_memory_of_each_stage():
    """Parameters, gradients and optimizer whole or halved; stage 2 holds a bucket whole while it is under way."""
    optimizer = 8 * 2e6
    assert zero(0).peaks[0] == MODEL + optimizer + MODEL
    assert zero(1).peaks[0] == MODEL + optimizer / 2 + MODEL
    assert zero(2).peaks[0] == MODEL + optimizer / 2 + 4e6 / 2 + 4e6
    # the second layer has gone backward: the first one's parameters and activations, the second one's gradients
    assert zero(3).peaks[0] == MODEL / 2 + optimizer / 2 + 4e6 / 2 + 1e6 + 4e6


def test_fsdp_without_resharding_gathers_once():
    found = run("fsdp", layers=TWO, dtype="float32", layers_per_unit=1, reshard_after_forward=False)
    assert found.time == exactly(6e-3 + 2 * half(4e6))
    assert found.facts["volume_in_models"] == exactly(2)


def test_fsdp_is_stage_3_in_units():
    same = run("fsdp", layers=TWO, dtype="float32", layers_per_unit=1)
    assert same.time == exactly(zero(3).time)
    joined = run("fsdp", layers=TWO, dtype="float32", layers_per_unit=2)
    assert joined.time == exactly(6e-3 + 3 * half(MODEL))
    assert joined.facts["units"] == 1
    needed = run("fsdp", layers=TWO, dtype="float32", layers_per_unit=1, prefetch=0)
    assert needed.time == exactly(6e-3 + 6 * half(4e6))


@pytest.mark.slow
@each_row("stage, gigabytes", ((0, 120), (1, 31.4), (2, 16.6), (3, 1.88)), over=["stage", "gigabytes"])
def test_memory_as_in_figure_1_of_the_zero_paper(stage, gigabytes):
    """7.5 billion parameters on 64 GPUs, K = 12 (Rajbhandari et al. 2020, figure 1)."""
    layers = "\n".join(f"l{k} 7500x20000 1ms 50ms" for k in range(50))
    found = run("zero", build("switch:ranks=64"), stage=stage, layers=layers, reduce_bucket_size=300_000_000)
    assert found.facts["state_bytes"] / 1e9 == pytest.approx(gigabytes, abs=0.05)
    under_way = {0: 0, 1: 0, 2: 2, 3: 4}[stage] * 0.3  # a layer of 300 MB as bucket, or gathered ahead
    assert gigabytes - 0.3 <= found.peaks[0] / 1e9 <= gigabytes + under_way + 0.05


def fsdp(machine=PAIR, **words):
    return run("fsdp", machine, **{"layers": TWO, "dtype": "float32", "layers_per_unit": 1, **words})


def test_passes_gather_and_reduce_again_unless_they_do_not_sync():
    """A pass hides a gather forward and one backward; the next pass's first gather waits for the last reduction."""
    assert fsdp(accumulate=2).time == exactly(2 * (6e-3 + 3 * half(4e6)))
    assert fsdp(accumulate=3).facts["volume_in_models"] == exactly(9)
    alone = fsdp(accumulate=3, no_sync=True)
    assert alone.facts["volume_in_models"] == exactly(3 * 2 + 1)
    assert max(alone.peaks) > max(fsdp(accumulate=3).peaks)
    assert zero(1, accumulate=3).facts["volume_in_models"] == exactly(2)
    assert zero(2, accumulate=3).facts["volume_in_models"] == exactly(4)


def test_passes_add_their_gradients_to_one_part():
    """After a step nothing of the gradients is left, and the fourth pass takes no more room than the third."""
    for words in ({"accumulate": 3}, {"accumulate": 3, "no_sync": True}, {}):
        step = fsdp(**words)
        assert sum(change.bytes for change in step.changes if change.kind == "gradients") == pytest.approx(0)
        assert sum(change.bytes for change in step.changes if change.kind == "activations") == pytest.approx(0)
    assert fsdp(accumulate=4).peaks == fsdp(accumulate=3).peaks


def test_recomputing_takes_four_passes_of_compute_for_three_and_keeps_inputs():
    step, kept = fsdp(recompute=True), fsdp()
    assert step.busy(0, "compute") == exactly(8e-3)
    assert kept.busy(0, "compute") == exactly(6e-3)
    large = {"model": "gpt2", "layers": "", "dtype": "bfloat16"}
    assert fsdp(**large, recompute=True).memory_at_peak(0).get("activations", 0) < (
        fsdp(**large).memory_at_peak(0)["activations"] / 3
    )
    assert zero(2, recompute=True).busy(0, "compute") == exactly(8e-3)


def test_gradients_travel_in_their_own_numbers():
    sizes = {call.algorithm: call.size for call in fsdp(dtype="bfloat16", reduce_dtype="float32").calls}
    assert sizes == {"allgather.ring": 2e6, "reduce_scatter.ring": 4e6}
    eighth = {call.algorithm: call.size for call in fsdp(dtype="float8", reduce_dtype="bfloat16").calls}
    assert eighth == {"allgather.ring": 1e6, "reduce_scatter.ring": 2e6}


def test_hybrid_shards_gather_inside_a_group_and_sum_a_part_between_the_copies():
    """HSDP on two hosts of two: what crosses the network is each rank's half of the gradients, there and back."""
    machine = build("nodes:nodes=2,gpus=2")
    step = fsdp(machine, shard_group=2)
    network = sum(
        float(amount)
        for link, amount in zip(machine.links, step.link_bytes, strict=True)
        if link.kind == "NET" and link.src.startswith("H0")
    )
    assert network == exactly(MODEL)  # two ranks of a host, each twice half of its half
    calls = {call.algorithm: call.ranks for call in step.calls if 0 in call.ranks}
    assert calls == {"allgather.ring": (0, 1), "reduce_scatter.ring": (0, 1), "allreduce.ring": (0, 2)}
    assert step.facts["state_bytes"] == fsdp().facts["state_bytes"]
    assert step.verified


def test_a_shard_group_divides_the_ranks():
    with pytest.raises(InputError, match="4 ranks do not make groups of 3"):
        fsdp(build("switch:ranks=4"), shard_group=3)


@pytest.mark.parametrize("words", ({}, {"accumulate": 2, "recompute": True, "reduce_dtype": "bfloat16"}))
@pytest.mark.parametrize("backend", ("ideal", "nccl"))
def test_one_rank_for_all_is_the_step_of_all_ranks(monkeypatch, backend, words):
    machine = build("dgx_h100:hosts=2")
    every = fsdp(machine, backend=backend, **words)
    monkeypatch.setattr(backends, "MOST_RANKS", 4)
    one = fsdp(machine, backend=backend, **words)
    assert (len(every.stands_for), one.stands_for) == (16, {0: 16})
    assert one.time == pytest.approx(every.time, rel=1e-12)
    assert one.exposed_s == pytest.approx(every.exposed_s, rel=1e-9)
    assert (one.peaks, one.verified, one.facts) == (every.peaks, True, every.facts)
    assert one.link_bytes == pytest.approx(every.link_bytes)
    rows = [[row | {"longest_s": 0} for row in step.collectives] for step in (one, every)]
    assert rows[0] == rows[1]


def test_all_wait_for_the_slowest_gpu():
    """Of three GPUs the last takes 1 / (1 - 0.1 z) times as long, z the normal quantile of its place (Blom 1958)."""
    machine = build("switch:ranks=3,bandwidth=25GBps,latency=1us")
    step, even = fsdp(machine, variation=0.1), fsdp(machine)
    slowest = 1 / (1 - 0.1 * NormalDist().inv_cdf(2.625 / 3.25))
    assert step.time - even.time == pytest.approx(6e-3 * (slowest - 1), rel=1e-6)
    assert step.busy(1, "compute") == exactly(6e-3)


def test_thousands_of_ranks_are_a_step_of_one():
    """A ring of 4,096: every gather and reduction takes 4,095 messages of a 4,096th each."""
    n = 4096
    step = fsdp(build(f"switch:ranks={n},bandwidth=25GBps,latency=1us"))
    part = (n - 1) * (ALPHA + 4e6 / n * BETA)
    assert step.stands_for == {0: n}
    assert step.time == exactly(6 * part + 1e-3)  # they follow each other, but for the second layer forward
    assert step.link_bytes.max() == pytest.approx(3 * 8e6 * (n - 1) / n)
    assert step.verified

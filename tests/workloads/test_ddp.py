"""DDP against steps worked out by hand."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from ops.training.buckets import buckets_of
from ops.training.compression import COMPRESSIONS
from ops.training.layers import Layer, parse_layers
from ops.training.options import slowness
from ops.workloads import WORKLOADS
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row
from tests.workloads.by_hand import ALPHA, MODEL, PAIR, TWO, exactly, half, run, summed

RING = summed(4e6)
"""One of the two layers' gradients."""
MEMORY = 900e9


def step(machine=PAIR, **given):
    return run("ddp", machine, **{"layers": TWO, "bucket": 4_000_000, "first_bucket": 4_000_000, **given})


def test_the_second_layers_bucket_hides_behind_the_first_layers_backward():
    """6 ms of compute; the second layer's 4 MB travel meanwhile, the first layer's 4 MB afterwards."""
    found = step()
    assert found.time == exactly(6e-3 + RING)
    assert found.exposed_s == exactly(RING)
    assert found.facts["without_overlap_s"] == exactly(6e-3 + 2 * RING)
    assert [(s.lane, round(s.start, 9), round(s.end, 9)) for s in found.spans if s.rank == 1] == [
        ("comm", 0.004, round(0.004 + RING, 9)),
        ("comm", 0.006, round(0.006 + RING, 9)),
        ("compute", 0.0, 0.002),
        ("compute", 0.002, 0.004),
        ("compute", 0.004, 0.006),
    ]
    assert found.link_bytes.tolist() == [8e6, 8e6, 8e6, 8e6]
    assert found.peaks == [2 * MODEL + 2e6 * 8 + 2e6] * 2
    assert found.verified


def test_memory_over_time_rises_forward_and_falls_backward():
    times, total = step().memory[0]
    base = 2 * MODEL + 16e6
    assert times.tolist() == exactly([0.0, 1e-3, 2e-3, 4e-3, 6e-3])
    assert total.tolist() == [base, base + 1e6, base + 2e6, base + 1e6, base]


def test_without_overlap_all_buckets_follow_the_backward_pass():
    assert step(overlap=False).time == exactly(6e-3 + 2 * RING)


def test_no_sync_exchanges_the_last_pass_only():
    found = step(accumulate=3)
    assert found.time == exactly(18e-3 + RING)
    assert len(found.calls) == 2


def test_a_slow_rank_is_waited_for():
    found = step(slow=2.0)
    assert found.time == exactly(12e-3 + RING)
    assert found.exposed(0) == exactly(12e-3 + RING - 6e-3 - 0)
    assert {call.latest for call in found.calls} == {1}


def test_unused_parameters_are_searched_and_their_map_summed():
    """Two tensors, two searches; four bytes of map per tensor follow the last bucket."""
    assert step(graph="unused", search=1e-5).time == exactly(6e-3 + 2e-5 + RING + summed(8))
    assert step(graph="static", search=1e-5).time == exactly(6e-3 + RING)


def test_copies_into_buckets_keep_the_gpu_busy():
    """In and out for each of two gradients; the first copy out waits for the backward pass under way."""
    found = step(bucket_view=False, copy=1e-5)
    assert found.time == exactly(6e-3 + 4e-5 + RING)
    assert found.peaks[0] == step().peaks[0] + MODEL


def test_buffers_are_broadcast_and_copied_before_a_step():
    """ResNet-50: 53 norms of two running tensors and a counter each, one broadcast of 26,560 x 2 + 53 numbers."""
    words = {"model": "resnet50", "layers": "", "ranks": 2}
    found, plain = step(**words, broadcast_buffers=True), step(**words)
    sent = next(call for call in found.calls if call.name == "buffers")
    assert (sent.algorithm, sent.size) == ("broadcast.chain", 4 * (2 * 26_560 + 53))
    assert found.time - plain.time == exactly(sent.end - sent.start + 159 * 10e-6)


def test_one_gpu_copies_its_gradients_into_buckets_too():
    """Two tensors there and back: what DDP costs before there is anybody to talk to."""
    one = step(build("switch:ranks=1"), bucket_view=False)
    assert one.time == exactly(6e-3 + 4 * 10e-6)


def test_gpus_of_different_speed_wait_for_the_slowest():
    found, even = step(variation=0.02), step()
    slowest = slowness(1, 2, 0.02)
    assert found.time == exactly(even.time + 6e-3 * (slowest - 1))
    assert slowness(0, 2, 0.02) < 1 < slowest


def test_half_precision_halves_the_bytes_and_costs_passes_over_memory():
    cost = 6e6 / MEMORY
    for name in ("fp16", "bf16"):
        found = step(compression=name)
        assert found.time == exactly(6e-3 + 4 * cost + summed(2e6))
        assert found.link_bytes.tolist() == [4e6] * 4


def test_top_k_gathers_values_and_places():
    """1 % of a million values are 10,000 values and places, 80 kB a rank."""
    encode, decode = (4e6 + 8e4) / MEMORY, (4e6 + 4 * 8e4) / MEMORY
    found = step(compression="topk", topk_share=0.01)
    assert found.time == exactly(6e-3 + 2 * encode + 2 * decode + half(16e4))
    assert {call.algorithm for call in found.calls} == {"allgather.ring"}


def test_power_sgd_sums_two_thin_matrices_a_bucket():
    """Rank 4 of 1000 x 1000: 16 kB each, three products of 8 µs and 32 ns of orthogonalization at 1 TFLOP/s.

    While the second layer's bucket is under way, the first layer's backward keeps the GPU; then turns are taken:
    product and orthogonalization of bucket 0, product of bucket 1, decoding 0, product and orthogonalization of 1.
    """
    product, orthogonal, thin = 8e-6, 3.2e-8, summed(16e3)
    found = step(compression="powersgd", powersgd_rank=4, tflops=1.0)
    assert found.time == exactly(6e-3 + 6 * product + 2 * orthogonal + thin)
    assert found.facts["sent_bytes"] == 4 * 16e3


def test_compressing_beside_the_backward_pass_takes_longer():
    """Both products of the second layer's bucket want the GPU before the first layer's backward pass has ended."""
    words = {"compression": "powersgd", "powersgd_rank": 1, "tflops": 1e-3}
    apart, together = step(**words), step(**words, contention=0.5)
    products, orthogonal = 2.0 * 1000 * 1000 / 1e9, 2.0 * 1000 / 1e9
    assert together.time == exactly(apart.time + 0.5 * (2 * products + orthogonal))
    assert together.facts["without_overlap_s"] == exactly(apart.facts["without_overlap_s"])
    assert step(**words, contention=9.0).facts["overlap_saves_share"] < 0


def test_power_sgd_leaves_small_matrices_and_vectors_alone():
    table = "a 10x10+1000 1ms 2ms"
    assert run("ddp", layers=table, compression="powersgd").facts["sent_bytes"] == 4 * 1100


def test_top_k_counts_what_one_rank_sends_once():
    """A hundredth of 2 million values, each of four bytes with four of its place."""
    assert step(compression="topk").facts["sent_bytes"] == 2e4 * (4 + 4)


def test_stale_gradients_cost_nothing_until_communication_is_the_longer():
    slow = build("switch:ranks=2,bandwidth=1GBps,latency=1us")
    assert step(stale=1).time == exactly(6e-3)
    assert step(slow, stale=1).time == exactly(2 * (2 * ALPHA + 4e6 / 1e9))
    assert step(stale=1).peaks[0] == step().peaks[0] + MODEL


def test_steps_of_a_round_may_differ_and_their_average_is_told():
    """Gradients two steps stale: every third step waits; by hand from twenty steps, 9, 23.1 and 16.1 us in turn."""
    found = run(
        "ddp", build("switch:ranks=3"), layers="l0 9x72 0us 9us 1KiB", bucket=1, first_bucket=1,
        compression="powersgd", stale=2, slow=0.5,
    )  # fmt: skip
    assert found.facts["average_step_s"] == pytest.approx((9.001 + 23.137 + 16.123) / 3 * 1e-6, rel=1e-3)


def test_communication_takes_its_share_of_the_gpu():
    """At half speed while 4 MB travel, the first layer's backward takes half that time longer."""
    assert step(interference=0.5).time == exactly(6e-3 + RING / 2 + RING)


def test_one_rank_has_nothing_to_say():
    found = step(ranks=1)
    assert (found.time, found.exposed_s, found.calls) == (exactly(6e-3), 0, [])


def test_the_best_bucket_is_the_fastest_that_was_tried():
    machine = build("switch:ranks=8,bandwidth=1GBps,latency=10us")
    found = run("ddp", machine, best=True, model="resnet50")
    rows = found.facts["bucket_sizes"]
    assert found.facts["best_bucket_bytes"] == min(rows, key=lambda row: row["step_time_s"])["bucket_bytes"]
    for row in rows[:2]:
        again = run("ddp", machine, bucket=row["bucket_bytes"], model="resnet50")
        assert row["step_time_s"] == exactly(again.time)


LAYERS = [Layer(str(k), ((100 * (k + 1),),), 0, 0) for k in range(6)]
"""400, 800 … 2400 bytes in float32."""


def test_buckets_are_closed_by_the_tensor_that_reaches_their_size():
    """400-byte steps: 2400, 2000, 1600 … bytes in reverse; the first bucket holds 1000 bytes or more."""
    found = buckets_of(LAYERS, 4, 3000, first=1000)
    assert [[shape[0] for shape in bucket.tensors] for bucket in found] == [[600], [500, 400], [300, 200, 100]]
    assert [bucket.layer for bucket in found] == [5, 3, 0]


def test_before_the_real_order_is_known_the_small_bucket_is_the_first_layers():
    found = buckets_of(LAYERS, 4, 3000, first=1000, forward=True)
    assert [[shape[0] for shape in bucket.tensors] for bucket in found] == [[600], [300, 400, 500], [100, 200]]
    assert [bucket.layer for bucket in found] == [5, 2, 0]


@each_row("cap, first", list(itertools.product((1, 1000, 10**9), repeat=2)))
@each_row("forward", (False, True))
def test_every_gradient_is_in_one_bucket(cap, first, forward):
    found = buckets_of(LAYERS, 4, cap, first=first, forward=forward)
    assert sorted(shape for bucket in found for shape in bucket.tensors) == sorted(x.tensors[0] for x in LAYERS)
    assert all(bucket.tensors for bucket in found)


def test_a_table_of_layers_is_read_with_its_comments():
    table = "# name shapes forward backward\nfc1 4x3+4 1ms 2ms\n\nfc2, 2x4, 1us, 2us, 1KiB # last"
    assert parse_layers(table) == [
        Layer("fc1", ((4, 3), (4,)), 1e-3, 2e-3, 0),
        Layer("fc2", ((2, 4),), exactly(1e-6), exactly(2e-6), 1024),
    ]


@each_row(
    "table, told",
    [
        ("fc1 4x3 1ms", "layers, line 1: 'fc1 4x3 1ms' is no layer"),
        ("fc1 4 1ms 1ms\nfc2 4xx3 1ms 1ms", "layers, line 2: '4xx3' is no shape"),
        ("fc1 0 1ms 1ms", "is no shape"),
        ("fc1 9999999999x9999999999 1ms 1ms", "more than"),
        ("fc1 4 -1ms 1ms", "layers, line 1, forward"),
        ("fc1 4 1ms 1ms nan", "layers, line 1, activation"),
        (" # nothing", "the table is empty"),
        ("a 1 1s 1s;" * 10_001, "more than 10,000 lines"),
    ],
)
def test_a_wrong_table_is_told_with_its_line(table, told):
    with pytest.raises(InputError) as error:
        run("ddp", layers=table)
    assert told in str(error.value)


@each_row(
    "given, told",
    [
        ({"model": "alexnet"}, "choose from"),
        ({"slow": float("nan")}, "slow"),
        ({"topk_share": 2.0}, "topk_share=2 is outside 0..1"),
        ({"interference": "1"}, "interference=1 is outside"),
        ({"tflops": -3.0}, "tflops=-3 is no speed"),
        ({"ranks": 3}, "holds 2 ranks, not 3"),
        ({"ranks": -1}, "outside 0..65536"),
        ({"bucket": "0"}, "1 or more"),
        ({"sizes": 3}, "has no parameter 'sizes'"),
    ],
)
def test_what_cannot_be_is_told(given, told):
    with pytest.raises(InputError) as error:
        run("ddp", **given)
    assert told in str(error.value)


MACHINES = [build(spec) for spec in ("switch:ranks=3", "nodes:nodes=2,gpus=2", "ring:ranks=4,bandwidth=2GBps")]
SIDES = st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=1, max_size=2)
TIMES = st.integers(0, 500)
TABLES = st.lists(st.tuples(SIDES, TIMES, TIMES), min_size=1, max_size=6)


@pytest.mark.slow
@hypothesis.given(
    table=TABLES,
    machine=st.sampled_from(MACHINES),
    bucket=st.integers(1, 4_000_000),
    first_bucket=st.integers(1, 4_000_000),
    compression=st.sampled_from(COMPRESSIONS),
    graph=st.sampled_from(("dynamic", "unused", "static")),
    overlap=st.booleans(),
    bucket_view=st.booleans(),
    accumulate=st.integers(1, 3),
    stale=st.integers(0, 2),
    slow=st.sampled_from((0.5, 1.0, 3.0)),
    interference=st.sampled_from((0.0, 0.4)),
)
def test_whatever_is_asked_a_step_ends_and_its_figures_agree(table, machine, **given):
    """No rank waits for ever; compute is never faster than alone, nor anything exposed that did not take place."""
    layers = "\n".join(
        f"l{k} {'+'.join(f'{a}x{b}' for a, b in sides)} {forward}us {backward}us 1KiB"
        for k, (sides, forward, backward) in enumerate(table)
    )
    found = run("ddp", machine, layers=layers, **given)
    compute = given["accumulate"] * sum(forward + backward for _, forward, backward in table) * 1e-6
    slowest = compute * max(1.0, given["slow"])
    assert found.verified
    assert found.time >= slowest * (1 - 1e-9)
    assert found.facts.get("average_step_s", found.time) >= slowest * (1 - 1e-9)
    for rank in range(found.ranks):
        assert -1e-12 <= found.exposed(rank) <= found.time - found.busy(rank, "compute") + 1e-9
        assert found.memory[rank][1].min() >= 0
    if given["compression"] == "none" and not given["stale"]:
        gradients = 4 * sum(a * b for sides, _, _ in table for a, b in sides)
        assert sum(call.size for call in found.calls if call.name != "used parameters") == gradients


@hypothesis.given(table=TABLES, machine=st.sampled_from(MACHINES), bucket=st.integers(1000, 4_000_000))
def test_overlap_never_costs(table, machine, bucket):
    layers = "\n".join(
        f"l{k} {'+'.join(f'{a}x{b}' for a, b in sides)} {forward}us {backward}us"
        for k, (sides, forward, backward) in enumerate(table)
    )
    found = run("ddp", machine, layers=layers, bucket=bucket)
    assert found.time <= found.facts["without_overlap_s"] * (1 + 1e-9)


def test_a_machine_without_a_gpu_is_told():
    from sim.topology import Device, Topology

    empty = Topology("desk", (Device("CPU0", "CPU"),), ())
    for name in WORKLOADS:
        with pytest.raises(InputError, match="desk has no GPU"):
            WORKLOADS[name].run(empty)


@pytest.mark.slow
@pytest.mark.parametrize("name, given", (("ddp", {}), ("contrastive", {}), ("zero_first", {})))
def test_too_many_ranks_for_a_collective_are_told_at_once(name, given):
    with pytest.raises(InputError, match="take fewer ranks"):
        WORKLOADS[name].run(build("switch:ranks=4096"), given)


def test_too_many_calls_are_told_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr("ops.training.world.MOST_CALLS", 100)
    with pytest.raises(InputError, match="more than 100 calls"):
        run("pipeline_parallel", micro_batches=4096, layers=TWO)


def test_a_step_of_too_many_transfers_is_refused(monkeypatch):
    """Eight ranks sum a bucket in 112 transfers."""
    monkeypatch.setattr("ops.training.world.MOST_TRANSFERS", 500)
    with pytest.raises(InputError, match="more than 500 transfers"):
        run("ddp", build("switch:ranks=8"))
    assert len(run("ddp", build("switch:ranks=8"), bucket="1GB", first_bucket="1GB").calls) == 1

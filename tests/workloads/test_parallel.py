"""Tensor, sequence, expert and pipeline parallel steps against steps worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.training.layers import Layer
from ops.training.pipelines import PIPELINES
from ops.workloads.expert_parallel import routed
from ops.workloads.pipeline_parallel import balanced
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row
from tests.workloads.by_hand import ALPHA, BETA, TWO, exactly, half, run, summed, whole

TOKENS, HIDDEN = 64, 128
BLOCKS = {"depth": 2, "hidden": HIDDEN, "tflops": 1.0, "dtype": "float32"}
SIZE = TOKENS * HIDDEN * 4
ATTENTION = (8 * TOKENS * HIDDEN**2 + 4 * TOKENS**2 * HIDDEN) / 1e12
MLP = 16 * TOKENS * HIDDEN**2 / 1e12
WEIGHTS = 12 * HIDDEN**2 * 4


def tensor(**given):
    return run("tensor_parallel", **BLOCKS, **{"length": TOKENS, "degree": 2, **given})


def sequence(**given):
    return run("sequence_parallel", **BLOCKS, **{"length": TOKENS, "degree": 2, "gradients": False, **given})


def test_a_block_sums_its_activations_twice_each_way():
    found = tensor()
    assert found.time == exactly(2 * 3 * (ATTENTION + MLP) / 2 + 2 * 4 * summed(SIZE))
    assert found.exposed_s == exactly(8 * summed(SIZE))
    w, kept = WEIGHTS, [0, 1, 2, 3, 4, 3, 2, 1, 0]
    gradients = [0] * 6 + [w / 2, w / 2, w]
    assert found.memory[0][1].tolist() == [w + k * SIZE + g for k, g in zip(kept, gradients, strict=True)]
    assert found.facts["replicas"] == 1


def test_scattered_activations_move_as_much_and_take_half_the_memory():
    found = tensor(scattered=True)
    assert found.time == exactly(tensor().time)
    assert found.memory[0][1][4] == WEIGHTS + 4 * SIZE / 2
    assert len(found.calls) == 16


def test_replicas_sum_gradients_over_the_same_links():
    """With a thin network the last layers' gradients are what a step ends with."""
    machine = build("nodes:nodes=2,gpus=2,nic=100MBps")
    alone, together = (run("tensor_parallel", machine, **BLOCKS, length=TOKENS, gradients=g) for g in (False, True))
    gradients = [call for call in together.calls if call.name == "gradients"]
    assert {call.ranks for call in gradients} == {(0, 2), (1, 3)}
    assert {call.links for call in gradients} == {"NET+NVL+PCI"}
    assert {call.links for call in together.calls if call.name.startswith("sum")} == {"NVL"}
    # two groups of two ranks send WEIGHTS / 2 twice each way through one NIC
    assert together.time > alone.time
    assert together.time >= 2 * WEIGHTS * 2 / 2 / 100e6


def test_two_groups_that_share_a_cable_take_twice_as_long():
    """One NIC a host: gradients of both groups together need twice the time of one group alone."""
    machine = build("nodes:nodes=2,gpus=2,nic=100MBps,nic_latency=0us,nvlink_latency=0us")
    found = run("tensor_parallel", machine, **{**BLOCKS, "depth": 1}, length=TOKENS)
    first, second = (call for call in found.calls if call.name == "gradients")
    assert first.end - first.start == exactly(2 * (WEIGHTS / 2) / 100e6)
    assert (first.start, first.end) == (exactly(second.start), exactly(second.end))


def test_ulysses_swaps_tokens_for_heads_four_times_a_pass():
    found = sequence()
    assert found.time == exactly(2 * 3 * (ATTENTION + MLP) / 2 + 2 * 8 * half(SIZE / 2))
    assert {call.size for call in found.calls} == {SIZE / 2}


def test_a_ring_passes_keys_on_while_it_computes():
    """Two turns; keys and values of half the tokens travel during the first."""
    found = sequence(how="ring")
    message, turn = whole(SIZE), ATTENTION / 4
    forward, backward = max(message, turn) + turn, max(message, 2 * turn) + 2 * turn
    assert found.time == exactly(2 * (forward + backward) + 2 * 3 * MLP / 2)


def test_gathered_keys_come_back_as_gradients():
    found = sequence(how="gather")
    assert found.time == exactly(2 * 3 * (ATTENTION + MLP) / 2 + 2 * 3 * half(2 * SIZE))


def test_whole_gradients_are_summed_behind_the_backward_pass():
    alone, together = sequence(), sequence(gradients=True)
    assert together.time >= alone.time + summed(WEIGHTS)
    assert [call.size for call in together.calls if call.name == "gradients"] == [WEIGHTS] * 2


def test_experts_get_their_tokens_and_send_them_back():
    """64 tokens, one expert each of two: half of them stay, half travel, four times a layer."""
    found = run("expert_parallel", **BLOCKS, experts=2, chosen=1, skew=0.0, tokens=TOKENS, degree=2)
    message, expert = whole(TOKENS / 2 * HIDDEN * 4), 16 * TOKENS * HIDDEN**2 / 1e12
    assert found.time == exactly(2 * (3 * (ATTENTION + expert) + 4 * message))
    assert found.facts["tokens_by_rank"] == [64, 64]
    assert found.facts["load_imbalance"] == 1


def test_a_favourite_expert_keeps_everyone_waiting():
    """Shares 1 and 1/3 (skew log2 3): 48 and 16 of 64 tokens; the first rank's experts work three times as long."""
    found = run("expert_parallel", **BLOCKS, experts=2, chosen=1, skew=np.log2(3), tokens=TOKENS, degree=2)
    assert found.facts["tokens_by_rank"] == [96, 32]
    assert found.facts["load_imbalance"] == 1.5
    longest, expert = whole(48 * HIDDEN * 4), 16 * 96 * HIDDEN**2 / 1e12
    assert found.time == exactly(2 * (3 * (ATTENTION + expert) + 4 * longest))
    assert found.busy(1, "wait") == exactly(2 * 3 * (expert - expert / 3))


def test_capacity_drops_what_is_too_much():
    found = run(
        "expert_parallel", **BLOCKS, experts=2, chosen=1, skew=np.log2(3), tokens=TOKENS, degree=2, capacity=1.0
    )
    assert found.facts["dropped_share"] == 16 / 64
    assert found.facts["tokens_by_rank"] == [64, 32]


def crossing(step):
    """Bytes that leave the first host by its NICs."""
    links = zip(step.topology.links, step.link_bytes, strict=True)
    return sum(float(sent) for link, sent in links if link.kind == "NET" and link.src.startswith("H0"))


def test_a_token_crosses_the_network_once_for_all_its_experts_there():
    """Two hosts of two, two choices each: half of the copies cross, or 1 - (1 - 1/2)^2 of the tokens."""
    machine = build("nodes:nodes=2,gpus=2")
    words = {"tokens": 1000, "hidden": 64, "depth": 1, "skew": 0.0, "experts": 8, "degree": 4, "chosen": 2}
    token, ways = 64 * 2, 4  # there and back, forward and backward
    sent = {once: crossing(run("expert_parallel", machine, once=once, **words)) for once in ("expert", "rank", "node")}
    assert sent["expert"] == 2 * ways * token * 1000
    assert sent["rank"] == 2 * ways * token * 2 * round(1000 * (1 - 0.75**2))
    assert sent["node"] == 2 * ways * token * 750
    eighth = run("expert_parallel", machine, once="node", dispatch_dtype="float8", **words)
    assert crossing(eighth) == 2 * token * 750 * (0.5 + 3)
    assert eighth.facts["tokens_by_rank"] == [2000] * 4


def test_skewed_tokens_pass_on_to_the_favourite_inside_its_host():
    """Expert 0 alone is chosen: every token goes to the first host, and there to rank 0."""
    step = run(
        "expert_parallel", build("nodes:nodes=2,gpus=2"), once="node", tokens=100, hidden=64, depth=1, skew=16.0,
        experts=4, degree=4, chosen=1,
    )  # fmt: skip
    assert step.facts["tokens_by_rank"] == [400, 0, 0, 0]
    assert step.facts["load_imbalance"] == 4
    assert crossing(step) == 2 * 100 * 128 * 2  # combined tokens go back, forward and backward


def test_one_copy_a_node_needs_hosts_of_several_ranks():
    with pytest.raises(InputError, match="once=node needs hosts"):
        run("expert_parallel", build("nodes:nodes=4,gpus=1"), once="node", degree=4)


@given(st.integers(1, 5000), st.integers(1, 64), st.integers(1, 8), st.floats(0, 4))
def test_every_token_is_routed(tokens, experts, chosen, skew):
    found = routed(tokens, experts, chosen, skew)
    assert found.sum() == tokens * chosen
    assert (found >= 0).all()
    assert found[0] >= found[-1] - 1


MESSAGE = whole(1e6)


@pytest.mark.parametrize("schedule", ("gpipe", "1f1b"))
def test_two_stages_two_micro_batches(schedule):
    """Stages of 1 and 2 ms: three forward and three backward slots in a row, a message each way."""
    found = run("pipeline_parallel", layers=TWO, schedule=schedule, micro_batches=2, message=1_000_000)
    assert found.time == exactly(3 * 3e-3 + 2 * MESSAGE)
    assert found.facts["bubble_share"] == exactly(1 - 2 * 3e-3 / found.time)
    assert found.facts["ideal_bubble_share"] == exactly(1 / 3)


def test_1f1b_keeps_fewer_activations_than_gpipe():
    """The first of two stages keeps 8 micro-batches under GPipe, 2 under 1F1B."""
    peaks = {
        schedule: run("pipeline_parallel", layers=TWO, schedule=schedule, micro_batches=8).memory_at_peak(0)
        for schedule in ("gpipe", "1f1b")
    }
    assert (peaks["gpipe"]["activations"], peaks["1f1b"]["activations"]) == (8e6, 2e6)


@pytest.mark.parametrize(
    "schedule, chunks, share",
    (
        ("gpipe", 1, lambda p, m: (p - 1) / (m + p - 1)),
        ("1f1b", 1, lambda p, m: (p - 1) / (m + p - 1)),
        ("interleaved", 1, lambda p, m: (p - 1) / (m + p - 1)),
        ("interleaved", 3, lambda p, m: (p - 1) / (3 * m + p - 1)),
        ("zero_bubble", 1, lambda p, m: (p - 1) / (3 * m + p - 1)),
    ),
)
@pytest.mark.parametrize("stages, micros", ((2, 2), (4, 4), (4, 16), (3, 9)))
def test_equal_stages_that_talk_for_nothing_idle_as_the_formula_says(schedule, chunks, share, stages, micros):
    """Huang et al. 2019; Narayanan et al. 2021, section 2.2; Qi et al. 2023, table 2 with passes of one length."""
    layers = "\n".join(f"l{k} 1 1ms 2ms" for k in range(stages * chunks))
    machine = build(f"switch:ranks={stages},bandwidth=1EBps,latency=0us".replace("1EBps", "1e18Bps"))
    words = {"schedule": schedule, "chunks": chunks, "micro_batches": micros, "message": 1}
    found = run("pipeline_parallel", machine, layers=layers, **words)
    assert found.facts["ideal_bubble_share"] == exactly(share(stages, micros))
    assert found.facts["bubble_share"] == pytest.approx(share(stages, micros), abs=1e-9)
    assert found.time == exactly(micros * chunks * 3e-3 / (1 - share(stages, micros)))


def test_schedules_that_cannot_be_are_told():
    with pytest.raises(InputError, match="3 micro-batches do not make rounds of 2 stages"):
        run("pipeline_parallel", layers=TWO, schedule="interleaved", micro_batches=3)
    with pytest.raises(InputError, match="chunks=2 needs schedule=interleaved"):
        run("pipeline_parallel", layers=f"{TWO}; third 1 1ms 2ms; fourth 1 1ms 2ms", chunks=2)


def test_zero_bubble_keeps_what_1f1b_keeps_on_its_first_stage():
    peaks = {
        schedule: run("pipeline_parallel", layers=TWO, schedule=schedule, micro_batches=8).memory_at_peak(rank)
        for schedule, rank in (("zero_bubble", 1), ("1f1b", 0))
    }
    assert peaks["zero_bubble"]["activations"] == peaks["1f1b"]["activations"] == 2e6


def test_replicas_of_a_stage_sum_its_gradients():
    machine = build("switch:ranks=4,bandwidth=25GBps,latency=1us")
    found = run("pipeline_parallel", machine, layers=TWO, stages=2, micro_batches=1, message=1_000_000, dtype="float32")
    # the second stage's sum starts as its gradients leave for the first one: they share its link
    assert found.time == exactly(6e-3 + MESSAGE + whole(2e6) + summed(4e6))
    assert found.facts["replicas"] == 2


@given(st.sampled_from([*PIPELINES]), st.integers(1, 9), st.integers(1, 12), st.integers(1, 4), st.data())
def test_every_micro_batch_goes_forward_then_back(schedule, stages, micros, chunks, data):
    stage, pipeline = data.draw(st.integers(0, stages - 1)), PIPELINES[schedule]
    chunks = chunks if pipeline.chunks else 1
    micros *= stages if schedule == "interleaved" else 1
    done = pipeline.turns(stage, stages, micros, chunks)
    kinds = "FBW" if pipeline.splits else "FB"
    assert sorted(done) == sorted((what, k, chunk) for what in kinds for k in range(micros) for chunk in range(chunks))
    place = {turn: at for at, turn in enumerate(done)}
    for k in range(micros):
        for chunk in range(chunks):
            assert sorted(kinds, key=lambda what: place[what, k, chunk]) == list(kinds)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.data())
def test_stages_are_runs_of_layers_none_empty(times, data):
    layers = [Layer(str(k), ((1,),), time, 0.0) for k, time in enumerate(times)]
    stages = data.draw(st.integers(1, len(layers)))
    found = balanced(layers, stages)
    assert [layer for part in found for layer in part] == layers
    assert len(found) == stages
    assert all(found)


@each_row(
    "name, given, told",
    (
        ("tensor_parallel", {"degree": 3}, "2 ranks do not make groups of 3"),
        ("tensor_parallel", {"tflops": 0.0}, "tflops=0 is not above zero"),
        ("sequence_parallel", {"how": "magic"}, "choose from ulysses, ring, gather"),
        ("expert_parallel", {"experts": 3, "degree": 2}, "3 experts"),
        ("expert_parallel", {"experts": 2, "chosen": 4, "degree": 2}, "4 chosen"),
        ("expert_parallel", {"skew": -1.0}, "skew=-1 is outside"),
        ("pipeline_parallel", {"stages": 3}, "2 ranks do not make 3 equal stages"),
        ("pipeline_parallel", {"layers": "a 1 1ms 1ms"}, "1 layers do not fill 2 stages"),
    ),
)
def test_what_cannot_be_is_told(name, given, told):
    with pytest.raises(InputError) as failure:
        run(name, **given)
    assert told in str(failure.value)


def test_nccl_lays_its_rings_along_nvlinks():
    """In the order of their numbers GPUs 3 and 4 of a DGX-1V would meet over the bus between its sockets."""
    cube = build("dgx1v")
    found = {backend: run("ddp", cube, backend=backend) for backend in ("nccl", "gloo")}
    assert {call.links for call in found["nccl"].calls} == {"NVL"}
    assert {call.links for call in found["gloo"].calls} == {"NVL+PCI+SYS"}
    assert all(step.verified for step in found.values())
    largest = max(found["nccl"].calls, key=lambda call: call.size)
    busbw = 2 * 7 / 8 * largest.size / (largest.end - largest.start)
    assert 100e9 < busbw < 150e9  # six NVLinks of 25 GB/s a GPU; nccl-tests measures about 130 GB/s


def test_nccl_lets_the_switch_of_an_h100_add():
    found = run("ddp", build("dgx_h100"), backend="nccl")
    assert {call.algorithm for call in found.calls} == {"allreduce.nvls"}
    assert found.verified


def test_alpha_and_beta_are_those_of_the_pair():
    assert exactly(ALPHA + 1e6 * BETA) == MESSAGE

"""Tensor, pipeline and data parallelism at once: by hand, and one rank for all of its kind against all of them."""

import json
from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cli
from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.workloads.hybrid_parallel import ParallelGrid
from sim.machines import build
from terminal import BAD_INPUT, DONE
from tests.workloads.by_hand import exactly, half, run, summed, whole

TOKENS, HIDDEN = 64, 128
BLOCKS = {"hidden": HIDDEN, "length": TOKENS, "tflops": 1.0, "dtype": "float32"}
SIZE = TOKENS * HIDDEN * 4
BLOCK = (8 * TOKENS * HIDDEN**2 + 4 * TOKENS**2 * HIDDEN + 16 * TOKENS * HIDDEN**2) / 1e12
WEIGHTS = 12 * HIDDEN**2 * 4
MACHINES = (
    *("switch:ranks=12", "ring:ranks=8", "torus:dims=4x2", "nodes:nodes=4,gpus=4", "nodes:nodes=4,gpus=4,nics=2"),
    *("dgx1v:hosts=2", "dgx_h100:hosts=3", "fat_tree", "dragonfly", "dual_socket_pcie", "mesh:ranks=12"),
)


def hybrid(machine, **words):
    return run("hybrid_parallel", build(machine), **BLOCKS | words)


@pytest.mark.parametrize("unfolded", [False, True])
def test_two_stages_of_two_ranks_in_two_replicas(unfolded):
    """A block, a message, a block, the same back with twice the compute, and the first stage's gradients' sum.

    The message back leaves with the last stage's gradients, and gets half of the link.
    """
    step = hybrid("switch:ranks=8", tensor=2, stages=2, depth=2, micro_batches=1, unfolded=unfolded)
    block, sums = BLOCK / 2, 2 * summed(SIZE)
    messages, gradients = whole(SIZE) + whole(2 * SIZE), summed(WEIGHTS / 2)
    assert step.time == exactly(2 * (block + sums) + messages + 2 * (2 * block + sums) + gradients)
    assert step.facts["replicas"] == 2
    assert list(step.stands_for.items()) == [(rank, 1) for rank in range(8)] if unfolded else [(0, 4), (4, 4)]
    assert {row["name"]: (row["times"], row["groups"], row["ranks"]) for row in step.collectives} == {
        **{f"sum {half}{back} #": (4, 4, 2) for half in ("attention", "mlp") for back in ("", " backward")},
        "activations #": (4, 4, 2),
        "gradients #": (4, 4, 2),
        "gradients of the stage": (4, 4, 2),
    }
    assert step.peaks == [WEIGHTS / 2 * 2 + 2 * SIZE] * 8


def alone(**words):
    """One rank a stage on links that cost nothing."""
    return hybrid("switch:ranks=8,bandwidth=1000000GBps,latency=0s", tensor=1, **words)


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ({"schedule": "1f1b"}, 3 / 11),
        ({"schedule": "interleaved", "chunks": 4}, 3 / 35),
        ({"schedule": "zero_bubble"}, 3 / 27),
    ],
)
def test_stages_idle_as_their_schedule_says(words, share):
    step = alone(stages=4, depth=16, micro_batches=8, tflops=0.001, **words)
    assert step.facts["ideal_bubble_share"] == exactly(share)
    assert step.facts["bubble_share"] == pytest.approx(share, abs=1e-4)


def test_recomputing_takes_four_passes_for_three_and_sums_again():
    plain, again = (hybrid("switch:ranks=2", tensor=2, stages=1, depth=1, recompute=r) for r in (False, True))
    assert again.facts["compute_s"] == exactly(plain.facts["compute_s"] * 4 / 3)
    assert len(again.calls) == len(plain.calls) * 3 / 2
    assert again.time == exactly(plain.time + 8 * (BLOCK / 2 + 2 * summed(SIZE)))
    assert max(again.peaks) < max(plain.peaks)


@pytest.mark.parametrize("shared", ("none", "optimizer", "parameters"))
def test_shared_state_moves_what_an_allreduce_moves(shared):
    """A reduce-scatter and an allgather send together what an allreduce does; they wait once more."""
    step = hybrid("switch:ranks=2", tensor=1, stages=1, depth=2, micro_batches=1, shared=shared)
    assert step.time == exactly(2 * 3 * BLOCK + summed(2 * WEIGHTS))
    assert step.link_bytes.max() == exactly(2 * WEIGHTS)


def test_gradients_of_all_but_the_first_block_hide_behind_the_last_pass_backward():
    step = hybrid("switch:ranks=2", tensor=1, stages=1, depth=4, micro_batches=2, overlap_gradients=True, tflops=0.01)
    assert step.time == exactly(2 * 4 * 3 * BLOCK * 100 + summed(WEIGHTS))


def test_context_ranks_gather_keys_and_values_and_sum_their_gradients():
    """Two ranks share a sample: each gathers both halves of keys and values, forward and backward, and sums back."""
    step = hybrid("switch:ranks=2", tensor=1, context=2, stages=1, depth=1, micro_batches=1)
    moved = [call.algorithm for call in step.calls]
    assert moved == ["allgather.ring", "allgather.ring", "reduce_scatter.ring", "allreduce.ring"]
    assert {call.size for call in step.calls[:3]} == {2 * SIZE}
    assert step.time == exactly(3 * BLOCK / 2 + 3 * half(2 * SIZE) + summed(WEIGHTS))
    assert step.facts["replicas"] == 1


def test_scattered_messages_cross_the_network_once():
    """Two ranks of a host send half of the activations each, and gather them where they arrive."""
    words = {"tensor": 2, "stages": 2, "depth": 2, "micro_batches": 1}
    whole_, parts = (hybrid("nodes:nodes=2,gpus=2", scatter_messages=s, **words) for s in (False, True))
    crossed = [
        sum(
            float(amount)
            for link, amount in zip(step.topology.links, step.link_bytes, strict=True)
            if link.kind == "NET" and link.src == "H0.NIC0"
        )
        for step in (whole_, parts)
    ]
    assert crossed == [2 * SIZE, SIZE]
    assert sum("gather input" in call.name for call in parts.calls) == 4 - 2


def test_words_add_logits_to_the_last_stage_and_parameters_to_both_ends():
    plain, words = (alone(stages=2, depth=2, micro_batches=4, ranks=2, words=w, tflops=0.001) for w in (0, 1000))
    logits = 2 * TOKENS * HIDDEN * 1000 / 1e9
    assert words.busy(1, "compute") - plain.busy(1, "compute") == pytest.approx(4 * 3 * logits)
    assert words.busy(0, "compute") == exactly(plain.busy(0, "compute"))
    assert words.peaks[0] - plain.peaks[0] == 2 * 1000 * HIDDEN * 4


@st.composite
def steps(draw):
    machine = draw(st.sampled_from(MACHINES))
    n = build(machine).n
    tensor = draw(st.sampled_from([k for k in range(1, 9) if n % k == 0]))
    stages = draw(st.sampled_from([k for k in range(1, 5) if (n // tensor) % k == 0]))
    words = {
        "tensor": tensor,
        "stages": stages,
        "depth": stages * draw(st.integers(1, 2)),
        "micro_batches": draw(st.integers(1, 4)),
        **draw(
            st.sampled_from(
                (
                    {"schedule": "1f1b"},
                    {"schedule": "gpipe", "recompute": True},
                    {"schedule": "zero_bubble"},
                    {"shared": "parameters", "overlap_gradients": True},
                    {"shared": "optimizer", "words": 1000},
                    {"overlap_gradients": True, "scatter_messages": True},
                )
            )
        ),
        "backend": draw(st.sampled_from(("ideal", "gloo", "mpi", "mpich", "nccl"))),
    }
    return machine, words


@pytest.mark.slow
@settings(max_examples=12)
@given(steps())
def test_one_for_all_that_do_alike_is_the_step_of_all_ranks(step):
    machine, words = step
    folded, whole_step = hybrid(machine, **words), hybrid(machine, **words, unfolded=True)
    near = {"rtol": 1e-12, "atol": 1e-12 * whole_step.time}
    assert folded.time == pytest.approx(whole_step.time, rel=1e-12)
    assert folded.verified
    assert sum(folded.stands_for.values()) == len(whole_step.stands_for) == whole_step.ranks
    np.testing.assert_allclose(folded.link_bytes, whole_step.link_bytes, rtol=1e-9)
    for rank in range(whole_step.ranks):
        ours, theirs = folded.spans_of(rank), whole_step.spans_of(rank)
        assert [(s.rank, s.lane, s.name) for s in ours] == [(s.rank, s.lane, s.name) for s in theirs]
        np.testing.assert_allclose([(s.start, s.end) for s in ours], [(s.start, s.end) for s in theirs], **near)
        np.testing.assert_array_equal(folded.memory[rank][1], whole_step.memory[rank][1])
    assert _rows(folded) == _rows(whole_step)
    assert folded.facts["transfers"] == whole_step.facts["transfers"] == whole_step.facts["simulated_transfers"]


def _rows(step):
    keys = ("name", "algorithm", "links", "times", "groups", "ranks")
    return sorted(tuple(str(row[key]) for key in keys) for row in step.collectives)


@pytest.mark.parametrize(
    ("machine", "words", "simulated"),
    [
        ("nodes:nodes=8,gpus=4", {"tensor": 4, "stages": 2}, 2),
        ("dgx_h100:hosts=4", {"tensor": 8, "stages": 2, "backend": "mpi"}, 2),
        ("nodes:nodes=4,gpus=4,nics=2", {"tensor": 4, "stages": 1}, 1),
        ("dgx1v:hosts=4", {"tensor": 8, "stages": 2}, 16),  # its GPUs are not alike, its hosts are
        (
            "nodes:nodes=8,gpus=4",
            {"tensor": 2, "stages": 2},
            32,
        ),  # every other replica shares a host
        ("nodes:nodes=8,gpus=4", {"tensor": 4, "stages": 2, "backend": "nccl"}, 32),
    ],
)
def test_how_far_a_step_folds(machine, words, simulated):
    assert len(hybrid(machine, depth=2, micro_batches=1, **words).stands_for) == simulated


def test_one_slow_cable_keeps_ranks_apart():
    """A machine that does not look the same to all; what is told is the run of all ranks."""
    machine = Plan(machine="nodes:nodes=4,gpus=2", edits="set_link:src=H1.NIC0,dst=SPINE,times=0.5")
    words = "hybrid_parallel:tensor=2,stages=2,hidden=128,length=64,depth=2,micro_batches=1"
    slow, even = (WorkloadPlan.of(words, asked).run() for asked in (machine, replace(machine, edits="")))
    assert (len(slow.stands_for), len(even.stands_for)) == (8, 2)
    assert slow.time > even.time


@pytest.mark.parametrize("unfolded", [False, True])
def test_a_wrong_sum_is_found_folded_too(unfolded):
    """A ring that stops a message short, in groups of equal ranks and in written out ones."""
    ring = ALGORITHMS["allreduce.ring"]

    @wraps(ring.steps)
    def short(n, **words):
        yield from list(ring.steps(n, **words))[:-1]

    with ALGORITHMS.also({"allreduce.ring": replace(ring, steps=short)}):
        step = hybrid("switch:ranks=12", tensor=3, stages=2, depth=2, micro_batches=1, unfolded=unfolded)
    assert not step.verified
    assert not any(call.verified for call in step.calls if call.name.startswith("sum"))


def test_256_replicas(capsys, tmp_path):
    """2,048 GPUs: sums in a host, and gradients of eight groups through one NIC."""
    words = "hybrid_parallel:tensor=8,stages=1,hidden=1024,length=64,depth=1,micro_batches=1,tflops=1,dtype=float32"
    trace = tmp_path / "step.json"
    command = ["workload", words, "--machine", "nodes:nodes=256,gpus=8", "--trace", str(trace)]
    assert cli.main([*command, "--json"]) == DONE
    step = json.loads(capsys.readouterr().out)
    assert step["stands_for"] == [{"rank": 0, "ranks": 2048}]
    assert len(step["per_rank"]) == len(step["peak_memory_bytes"]) == 2048
    assert step["per_rank"][-1] == step["per_rank"][0] | {"rank": 2047}
    assert (len(step["memory"]), {span["rank"] for span in step["timeline"]}) == (1, {0})
    block = (8 * 64 * 1024**2 + 4 * 64**2 * 1024 + 16 * 64 * 1024**2) / 8e12
    activation, gradients = 64 * 1024 * 4, 12 * 1024**2 * 4 / 8
    sums = 2 * 2 * 7 * (1e-6 + activation / 8 / 300e9)  # up and down an NVLink
    apart = 2 * 255 * (5e-6 + gradients / 256 / (25e9 / 8))  # eight ranks of a host send at once
    assert step["step_time_s"] == pytest.approx(3 * block + 2 * sums + apart, rel=1e-9)
    assert step["facts"]["transfers"] == 256 * 4 * 2 * 7 * 8 + 8 * 2 * 255 * 256
    assert sum(row["bytes"] * row["stands_for"] for row in step["link_bytes"]) > 0
    assert "rank 0 and 2,047 that do the same" in trace.read_text(encoding="utf-8")
    assert cli.main(command) == DONE
    assert "one rank stands for all 2,048, 2,048 each" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("tensor=3,stages=2", "8 ranks do not make 2 stages of groups of 3"),
        ("stages=4,depth=6", "6 blocks do not make 4 equal stages"),
        ("tensor=-1", "tensor"),
        ("tensor=16", "8 ranks do not make"),
        ("tflops=0", "tflops"),
    ],
)
def test_what_does_not_go_together_is_told_in_a_sentence(words, told, capsys):
    assert cli.main(["workload", f"hybrid_parallel:{words}", "--machine", "dgx_a100"]) == BAD_INPUT
    complaint = capsys.readouterr().err.strip()
    assert told in complaint
    assert "\n" not in complaint


def test_ranks_are_dealt_in_groups_then_replicas_then_stages():
    grid = ParallelGrid(2, 3, 4)
    assert [grid.stage(rank) for rank in (0, 5, 6, 23)] == [0, 0, 1, 3]
    assert (list(grid.near(9)), list(grid.far(9)), grid.neighbours(9)) == ([8, 9], [7, 9, 11], [3, 15])
    for tensor in (False, True):
        assert sorted(grid.classes(tensor=tensor).reshape(-1).tolist()) == list(range(24))

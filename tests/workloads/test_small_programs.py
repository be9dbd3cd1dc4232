"""Contrastive losses, unequal blocks, plans and barriers against steps worked out by hand."""

import numpy as np
import pytest

from ops.training.losses import GRADIENTS, error, example, numbers, on_ranks, one_device
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row
from tests.workloads.by_hand import ALPHA, BETA, exactly, half, run, whole

TRIO = build("switch:ranks=3,bandwidth=25GBps,latency=1us")


def contrastive(**given):
    return run(
        "contrastive", **{"batch": 256, "features": 512, "tflops": 1.0, "forward": 1e-3, "backward": 2e-3, **given}
    )


@pytest.mark.parametrize("gradient, extra", (("none", 0), ("own", 0), ("reduce_scatter", 2), ("allreduce", 4)))
def test_a_clip_step_with_each_gradient(gradient, extra):
    """Both towers' 1 MiB are gathered; 2 x 256 x 512 logits, twice that work backward; an allreduce is two halves."""
    tower, product = half(2**20), 2 * (2 * 256 * 512) * 512 / 1e12
    found = contrastive(gradient=gradient)
    assert found.time == exactly(3e-3 + (2 + extra) * tower + 3 * product)
    assert found.peaks[0] == 2 * 2**20 + 2 * 256 * 512 * 4 + (2 * 2**20 if extra else 0)
    rows = {row["ranks"]: row["memory_bytes"] for row in found.facts["memory_by_ranks"]}
    assert rows[2] == found.peaks[0]
    assert rows[1024] == 512 * rows[2]


def test_a_step_of_faces_sums_the_softmax_over_the_ranks():
    """1000 classes a rank, 512 features in all; two sums of 512 float32 each."""
    found = contrastive(loss="faces", classes=2000)
    product = 2 * 512 * 1000 * 512 / 1e12
    small = 2 * half(512 * 4)
    assert found.time == exactly(3e-3 + 2 * half(2**20) + 2 * small + 3 * product)


@each_row("loss", ("clip", "infonce", "faces"))
@each_row("n", (1, 2, 3, 8))
def test_gradients_equal_those_of_one_device(loss, n):
    case = example(loss, n, 3, 5, 4, seed=n)
    for gradient in ("allreduce", "reduce_scatter"):
        assert error(loss, case, gradient) < 1e-12
    if n > 1:
        assert error(loss, case, "none") > 1e-3
        assert error(loss, case, "own") > 1e-3


@pytest.mark.parametrize("loss", ("clip", "infonce", "faces"))
def test_one_devices_gradients_are_those_of_finite_differences(loss):
    """The loss itself, written once more, moved by a millionth in every direction."""
    case = example(loss, 2, 3, 4, 3)

    def value(first, second):
        first, second = first.reshape(-1, 4), second.reshape(-1, 4)
        total = 0.0
        sides = [(first @ second.T, case.labels if loss == "faces" else np.arange(6))]
        sides += [(second @ first.T, np.arange(6))] if loss == "clip" else []
        for logits, labels in sides:
            logits = logits / 0.07
            top = logits.max(axis=1, keepdims=True)
            logs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
            total -= logs[np.arange(6), labels].mean() / len(sides)
        return total

    due = one_device(loss, case)
    for which, array in enumerate((case.first, case.second)):
        slopes = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            nudged = [np.array(case.first), np.array(case.second)]
            nudged[which][place] += 1e-6
            up = value(*nudged)
            nudged[which][place] -= 2e-6
            slopes[place] = (up - value(*nudged)) / 2e-6
        assert np.abs(slopes - due[which]).max() < 1e-6


@pytest.mark.parametrize("n", (2, 3, 5))
def test_numbers_travel_as_numpy_would_have_them(n):
    rng = np.random.default_rng(n)
    parts = rng.normal(size=(n, 2, 7))
    assert (numbers.allgather(parts) == np.broadcast_to(parts, (n, n, 2, 7))).all()
    assert np.abs(numbers.allreduce(parts) - parts.sum(axis=0)).max() < 1e-14
    blocks = rng.normal(size=(n, n, 5))
    assert np.abs(numbers.reduce_scatter(blocks) - blocks.sum(axis=0)).max() < 1e-14


def _autograd(rank, n, loss, gradient, port, results):
    import os

    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=n)
    case = example(loss, n, 3, 5, 4)
    ours = [torch.tensor(x[rank], requires_grad=True) for x in (case.first, case.second)]
    theirs = []
    for tensor in ours:
        gathered = [torch.zeros_like(tensor) for _ in range(n)]
        dist.all_gather(gathered, tensor.detach())
        if gradient == "own":
            gathered[rank] = tensor
        theirs.append(torch.cat(gathered).detach().requires_grad_() if gradient == "allreduce" else torch.cat(gathered))
    labels = torch.arange(3) + 3 * rank
    part = torch.nn.functional.cross_entropy(ours[0] @ theirs[1].T / 0.07, labels)
    part = (part + torch.nn.functional.cross_entropy(ours[1] @ theirs[0].T / 0.07, labels)) / 2 / n
    part.backward()
    found = []
    for tensor, seen in zip(ours, theirs, strict=True):
        grad = tensor.grad
        if gradient == "allreduce":
            dist.all_reduce(seen.grad)
            grad = grad + seen.grad[3 * rank : 3 * rank + 3]
        found.append(grad.numpy())
    results[rank] = found
    dist.destroy_process_group()


@each_row("gradient", ("none", "own", "allreduce"), over=["gradient"])
def test_gradients_equal_those_of_torch_with_gloo(gradient):
    pytest.importorskip("torch")
    import socket

    import torch.multiprocessing as processes

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with processes.Manager() as manager:
        results = manager.dict()
        processes.spawn(_autograd, (2, "clip", gradient, port, results), nprocs=2)
        got = [np.stack([results[rank][k] for rank in range(2)]) for k in range(2)]
    for theirs, ours in zip(got, on_ranks("clip", example("clip", 2, 3, 5, 4), gradient), strict=True):
        assert np.abs(theirs - ours).max() < 1e-12


def test_every_gradient_is_told():
    rows = contrastive().facts["by_gradient"]
    assert [row["gradient"] for row in rows] == list(GRADIENTS)
    assert [row["equal"] for row in rows] == [False, False, True, True]


def test_unequal_blocks_save_the_padding():
    """The longer block decides both: 3 MB against 3 MB; memory and bytes differ."""
    found = run("allgatherv", counts="1MB+3MB")
    assert found.time == exactly(whole(3e6))
    assert found.facts["allgather_padded_s"] == exactly(whole(3e6))
    assert found.link_bytes.tolist() == [1e6, 3e6, 3e6, 1e6]
    assert (found.facts["data_bytes"], found.facts["padding_bytes"]) == (4e6, 2e6)
    assert found.peaks == [1e6 + 4e6, 3e6 + 4e6]
    assert found.facts["receive_buffer"] == "0" * 16 + "1" * 48


def test_one_long_block_goes_round_while_padding_goes_round_twice():
    """Three ranks, one block: it travels two hops. Padded, every rank sends two blocks of that size."""
    found = run("allgatherv", TRIO, counts="3MB+0+0")
    assert found.time == exactly(2 * whole(3e6))
    assert found.link_bytes.sum() == 2 * 2 * 3e6
    padded = run("allgatherv", TRIO, counts="3MB+0+0", show="allgather")
    assert padded.time == exactly(2 * whole(3e6))
    assert padded.link_bytes.sum() == 3 * 2 * 2 * 3e6


def test_displacements_leave_gaps_and_may_swap_blocks():
    found = run("allgatherv", counts="1MB+1MB", displacements="3MB+0")
    assert found.facts["receive_buffer"] == "1" * 16 + "." * 32 + "0" * 16
    assert found.peaks[0] == 1e6 + 4e6


def test_nothing_to_send_takes_no_time():
    assert run("allgatherv", counts="0+0").time == 0


@pytest.mark.parametrize(
    "given, told",
    (
        ({"counts": "1MB"}, "counts has 1 sizes for 2 ranks"),
        ({"counts": "1MB+x"}, "counts, rank 1"),
        ({"counts": "2MB+1MB", "displacements": "0+1MB"}, "blocks 0 and 1 overlap"),
        ({"counts": "1MB+1MB", "displacements": "0"}, "displacements has 1 sizes"),
    ),
)
def test_wrong_blocks_are_told(given, told):
    with pytest.raises(InputError) as failure:
        run("allgatherv", **given)
    assert told in str(failure.value)


def test_a_plan_hides_behind_compute():
    """8 MB a rank take 322 µs; 5 ms of compute hide all of it, 100 µs hide as much."""
    message = whole(8e6)
    found = run("iallgather", size=8_000_000, compute=5e-3)
    assert (found.time, found.exposed_s) == (exactly(5e-3), exactly(0))
    assert found.facts["hidden_share"] == exactly(1)
    assert found.facts["blocking_s"] == exactly(5e-3 + message)
    short = run("iallgather", size=8_000_000, compute=1e-4)
    assert (short.time, short.exposed_s) == (exactly(message), exactly(message - 1e-4))
    assert short.facts["hidden_share"] == pytest.approx(1e-4 / message)


@pytest.mark.parametrize("tests, late", ((0, 1), (1, 0), (3, 0)))
def test_without_a_progress_thread_only_calls_send_the_next_message(tests, late):
    """Three ranks, two messages: untested, the second leaves when the compute is over."""
    found = run("iallgather", TRIO, size=8_000_000, compute=5e-3, tests=tests, progress="calls")
    assert found.time == exactly(5e-3 + late * whole(8e6))
    assert len(found.facts["tests_of_rank_0"]) == tests


def test_the_second_message_leaves_at_the_test_that_finds_the_first():
    found = run("iallgather", TRIO, size=8_000_000, compute=5e-3, tests=4, progress="calls")
    assert [call.start for call in found.calls] == exactly([0.0, 1e-3])
    assert [flag["done"] for flag in found.facts["tests_of_rank_0"]] == [False, True, True, True]


def test_rank_1_waits_for_rank_0s_preparation():
    """Half a second late, it waits one and a half for rank 0's two, a barrier's message, and loads."""
    found = run("zero_first")
    assert found.time == exactly(2.0 + ALPHA + 0.3)
    assert found.facts["barrier_opens_s"] == exactly(2.0 + ALPHA)
    assert found.facts["waited_for_rank"] == 0
    assert [row["waits_s"] for row in found.facts["per_rank"]] == exactly([ALPHA, 1.5 + ALPHA])
    (wait,) = (span for span in found.spans if span.lane == "wait")
    assert (wait.rank, wait.start, wait.end) == (1, exactly(0.5), exactly(2.0))


def test_every_host_prepares_or_the_world_does():
    machine = build("nodes:nodes=2,gpus=2")
    for first, preparing in (("host", [0, 2]), ("world", [0])):
        rows = run("zero_first", machine, first=first, arrivals="0s+0s+1s+0s").facts["per_rank"]
        assert [row["rank"] for row in rows if row["prepares"]] == preparing
    assert run("zero_first", machine, arrivals="0s+0s+1s+0s").facts["waited_for_rank"] == 2


def test_wrong_arrivals_are_told():
    with pytest.raises(InputError, match="arrivals has 1 times for 2 ranks"):
        run("zero_first", arrivals="1s")
    with pytest.raises(InputError, match="arrivals, rank 1"):
        run("zero_first", arrivals="1s+-1s")


def test_beta_and_alpha_are_the_machines():
    assert whole(25e9) == exactly(ALPHA + 25e9 * BETA)

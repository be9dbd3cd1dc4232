"""Streams of a GPU have clocks of their own, and memory is what tensors hold at a moment of simulated time."""

import pytest

from ops.programs.pytorch.gpus import Roofline
from ops.programs.runtime.steps import training_step
from ops.training.step import COMPUTE
from sim.machines import build

HEAD = """
import time
import torch
import torch.distributed as dist
import torch.nn as nn
dist.init_process_group("nccl")
rank, n = dist.get_rank(), dist.get_world_size()
torch.cuda.synchronize()
a = torch.ones(512, 512, device="cuda")
def event():
    made = torch.cuda.Event(enable_timing=True)
    made.record()
    return made
torch.cuda.synchronize()
begin = event()
a @ a
one = begin.elapsed_time(event())
torch.cuda.synchronize()
begin, side = event(), torch.cuda.Stream()
"""
CASES = {
    "both at once": ("with torch.cuda.stream(side):\n    a @ a\na @ a\ntorch.cuda.synchronize()", 1),
    "the side stream is launched first of all": (
        "a @ a\nwith torch.cuda.stream(side):\n    a @ a\nside.synchronize()",
        1,
    ),
    "it waits for the default stream": (
        "a @ a\nside.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side):\n    a @ a\n"
        "torch.cuda.current_stream().wait_stream(side)",
        2,
    ),
    "the default stream goes on where nobody waits": ("with torch.cuda.stream(side):\n    a @ a\n    a @ a\na @ a", 1),
    "two in one stream follow each other": ("with side:\n    a @ a\n    a @ a\na @ a\nside.synchronize()", 2),
    "an event in the middle": (
        "with torch.cuda.stream(side):\n    a @ a\n    half = side.record_event()\n    a @ a\nhalf.wait()",
        1,
    ),
    "a stream behind another": (
        "other = torch.cuda.Stream()\nwith torch.cuda.stream(side):\n    a @ a\nother.wait_stream(side)\n"
        "with torch.cuda.stream(other):\n    a @ a\nother.synchronize()",
        2,
    ),
    "what is read has been computed": (
        "with side:\n    (a @ a)[0, 0].item()\nwith torch.cuda.stream(torch.cuda.Stream()):\n    a @ a\n"
        "torch.cuda.synchronize()",
        2,
    ),
}


@pytest.fixture(scope="module")
def lengths(server, tmp_path_factory):
    """How often a product's time every case takes: all are one script."""
    from ops.programs.pytorch import run_torch

    lines = [HEAD]
    for body, _ in CASES.values():
        lines += ["torch.cuda.synchronize()", "begin, side = event(), torch.cuda.Stream()", body]
        lines += ["print(begin.elapsed_time(event()) / one)"]
    file = tmp_path_factory.mktemp("streams") / "script.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    outcome = run_torch(file, build("switch:ranks=2"), 1, start=server.start, compute=Roofline("h100"))
    assert outcome.failure is None
    return dict(zip(CASES, map(float, outcome.output.splitlines()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_streams_have_clocks_of_their_own(lengths, name):
    assert lengths[name] == pytest.approx(CASES[name][1], rel=0.02)


def test_a_collective_on_a_side_stream_is_hidden_by_work_on_the_default_stream(run):
    script = (
        HEAD
        + """
x = torch.ones(1 << 14, device="cuda")
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    b = a @ a
    dist.all_reduce(x)
    y = x * 2
for _ in range(20):
    a @ a
hidden = begin.elapsed_time(event()) / one
torch.cuda.current_stream().wait_stream(side)
print(round(hidden), round(begin.elapsed_time(event()) / one), y[0].item())
"""
    )
    outcome = run(script, compute=Roofline("h100"))
    assert (outcome.failure, outcome.output) == (None, "20 20 8.0\n" * 4)
    call = next(call for call in outcome.calls if call.name == "all_reduce")
    beside = [span for span in outcome.spans if span.lane == COMPUTE and span.rank == 0]
    product = min(span.end for span in beside if span.start <= call.start and span.end - span.start < call.end)
    assert call.start >= product
    assert max(span.start for span in beside if span.end - span.start < 1e-5) >= call.end - 1e-12


def test_memory_is_what_tensors_hold(run):
    script = (
        HEAD
        + """
del a
torch.cuda.reset_peak_memory_stats()
before = torch.cuda.memory_allocated()
model = nn.Sequential(nn.Linear(1024, 1024, bias=False), nn.ReLU()).cuda()
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
size = 4 << 20
assert torch.cuda.memory_allocated() - before == size
loss = model(torch.ones(1024, 1024)).sum()
assert torch.cuda.memory_allocated() - before >= 2 * size
loss.backward()
optimizer.step()
del loss
kept = 4 * size + 4  # parameters, gradients, both averages and the number of steps
assert torch.cuda.memory_allocated() - before == kept
assert torch.cuda.max_memory_allocated() - before >= 4 * size
x = torch.empty(size)
x.untyped_storage().resize_(0)
assert torch.cuda.memory_allocated() - before == kept
"""
    )
    outcome = run(script, compute=Roofline("h100"))
    assert outcome.failure is None
    step = training_step(outcome, build("switch:ranks=4"))
    held = {kind: size for kind, size in step.memory_at_peak(0).items() if size >= 4 << 20}
    assert held["parameters"] >= 4 << 20
    assert set(held) <= {"parameters", "gradients", "optimizer", "activations"}
    assert {"gradients", "optimizer", "activations"} <= {change.kind for change in outcome.changes}
    assert step.memory[0][1].min() >= 0
    assert step.peaks[0] == max(step.memory[0][1])

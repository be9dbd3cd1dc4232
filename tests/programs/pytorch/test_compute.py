"""How long the operations of a script take, and what of its communication they hide."""

import json

import pytest

from ops.programs.pytorch.gpus import GPUS, Roofline, roofline
from ops.programs.runtime.steps import training_step
from ops.training.step import COMM, COMPUTE
from sim.errors import InputError
from sim.machines import build

HEAD = """
import time
import torch
import torch.distributed as dist
import torch.nn as nn
dist.init_process_group("nccl")
rank = dist.get_rank()
"""
TIMED = (
    HEAD
    + """
a, b = torch.ones(128, 256), torch.ones(256, 64)
begin = time.perf_counter()
{body}
print(repr(time.perf_counter() - begin))
"""
)
DDP = (
    HEAD
    + """
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)])
model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.3)
for _ in range(2):
    model(torch.ones(64, 256)).sum().backward()
"""
)
SPEEDS = json.loads(Roofline("h100", 0.5).to_json())


@pytest.mark.parametrize(
    "body, seconds",
    [
        ("a @ b", max(2 * 128 * 256 * 64 / SPEEDS["single"], 4 * (128 * 256 + 256 * 64 + 128 * 64) / SPEEDS["memory"])),
        ("a + a", 2 * 4 * 128 * 256 / SPEEDS["memory"]),
        ("a.view(64, 512).t()", 0.0),
        ("torch.empty(9)", 0.0),
        ("time.sleep(1e-3)", 1e-3),
    ],
)
def test_an_operation_takes_the_longer_of_its_operations_and_its_bytes(run, body, seconds):
    outcome = run(TIMED.format(body=body), compute=Roofline("h100", 0.5))
    assert outcome.failure is None
    for line in outcome.output.splitlines():
        assert float(line) == pytest.approx(seconds, rel=1e-6, abs=1e-9)


def test_what_a_process_group_does_with_tensors_takes_no_time_of_the_gpu(run):
    body = "dist.reduce_scatter_tensor(b[:64], a.view(-1)[: 4 * 64 * 64].view(256, 64), op=dist.ReduceOp.AVG)"
    outcome = run(TIMED.format(body=body), compute=Roofline("h100"))
    assert outcome.failure is None
    call = outcome.calls[-1]
    assert not [span for span in outcome.spans if span.lane == COMPUTE and span.end > call.begin]


def test_buckets_are_reduced_while_the_backward_pass_goes_on(run):
    outcome = run(DDP, compute=Roofline("v100"))
    step = training_step(outcome, build("switch:ranks=4"))
    assert {span.name for span in step.spans if span.lane == COMPUTE} == {"forward", "backward"}
    assert 0 < outcome.exposed < step.busy(0, COMM)
    assert outcome.exposed == step.exposed_s
    assert step.time == outcome.time
    assert step.to_dict()["collectives"]
    assert {"compute", "comm"} <= {e["cat"] for e in json.loads(step.to_perfetto())["traceEvents"] if e["ph"] == "X"}
    assert outcome.to_dict()["per_rank"][0]["compute_s"] == pytest.approx(step.busy(0, COMPUTE))


def test_without_a_gpu_computing_takes_no_time_and_that_is_said(run):
    outcome = run(DDP)
    assert outcome.compute == "computing takes no time"
    assert not [span for span in outcome.spans if span.lane == COMPUTE]


def test_the_machine_says_which_gpu_it_has_unless_one_is_named():
    assert roofline(build("dgx_a100:hosts=2"), None) == Roofline("a100")
    assert roofline(build("dgx_a100"), "H200", 0.25) == Roofline("h200", 0.25)
    assert roofline(build("dgx_a100"), "none") is roofline(build("switch:ranks=2"), None) is None
    assert all(gpu.half >= gpu.single for gpu in GPUS.values())


@pytest.mark.parametrize("gpu, efficiency, part", [("h1000", 0.5, "no GPU is called"), ("h100", 0.0, "no share")])
def test_a_gpu_that_is_unknown_is_refused(gpu, efficiency, part):
    with pytest.raises(InputError, match=part):
        roofline(build("dgx_a100"), gpu, efficiency)

"""How long the operations of a script take, and what of its communication they hide."""

import json

import pytest

from ops.programs.pytorch.gpus import GPUS, LayerTimes, Roofline, roofline
from ops.programs.runtime.steps import training_step
from ops.training.layers import parse_layers
from ops.training.models import layers_of
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


TABLE = (
    HEAD
    + """
import sys


class Part(nn.Module):
    def __init__(self, shapes):
        super().__init__()
        self.tensors = nn.ParameterList(torch.zeros(*map(int, shape.split("x"))) for shape in shapes.split("+"))

    def forward(self, x):
        return x + sum(p.view(-1)[0] for p in self.tensors)


model = nn.Sequential()
for line in open(sys.argv[1]):
    name, shapes, *_ = line.split()
    model.add_module(name, Part(shapes))
model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=25)
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
for _ in range(2):  # buckets are made in the first
    start.record()
    model(torch.ones(1)).sum().backward()
    end.record()
if rank == 0:
    print(start.elapsed_time(end) / 1e3)
"""
)


def table(model, seconds):
    """A preset's layers that take so long together, forward and backward."""
    layers = layers_of(model, "", 0, 0.0)
    share = seconds / sum(layer.forward + layer.backward for layer in layers)
    times = [(layer.forward * share, layer.backward * share) for layer in layers]
    return [
        layer._replace(name=layer.name.replace(".", "_"), forward=forward, backward=backward)
        for layer, (forward, backward) in zip(layers, times, strict=True)
    ]


def test_a_table_of_modules_says_how_long_they_take(run, tmp_path):
    script = (
        HEAD
        + """
model = nn.Sequential()
model.add_module("one", nn.Linear(4, 4))
model.add_module("two", nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)))
model = nn.parallel.DistributedDataParallel(model)
begin = time.perf_counter()
loss = model(torch.ones(2, 4)).sum()
forward = time.perf_counter() - begin
loss.backward()
print(round(forward, 3))
"""
    )
    layers = parse_layers("one 4x4+4 1ms 2ms; two.0 4x4+4 10ms 20ms; two.1 1 100ms 200ms")
    outcome = run(script, compute=LayerTimes(layers))
    assert (outcome.failure, outcome.output) == (None, "0.111\n" * 4)
    assert outcome.compute == "compute by a table of 3 modules"
    assert outcome.to_dict()["per_rank"][2]["compute_s"] == pytest.approx(0.333, rel=1e-9)
    told = run(script, compute=LayerTimes(parse_layers("other 4x4 1ms 2ms"))).failure
    assert "none of the table's layers is a module of this model, which has one, two, two.0, two.1" in told


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_ddp_on_v100_takes_what_was_measured(run, tmp_path, ranks):
    """ResNet-50 of tests/data/ddp, given the step of one GPU under DDP, and half of its speed beside collectives."""
    measured = {1: 0.100, 2: 0.103, 4: 0.103, 8: 0.104, 16: 0.104}
    layers = table("resnet50", measured[1])
    lines = [f"{x.name} {'+'.join('x'.join(map(str, s)) for s in x.tensors)} 0 0\n" for x in layers]
    (tmp_path / "table.txt").write_text("".join(lines), encoding="utf-8")
    hosts = max(1, ranks // 8)
    outcome = run(
        TABLE, f"dgx1v:hosts={hosts}", ranks // hosts, nodes=hosts, argv=[str(tmp_path / "table.txt")],
        compute=LayerTimes(layers), interference=0.5,
    )  # fmt: skip
    assert outcome.failure is None
    assert float(outcome.output) == pytest.approx(measured[ranks], rel=0.03)


def test_a_tensor_of_several_ranks_takes_the_time_of_each_ranks_part(run):
    script = (
        HEAD
        + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
mesh = init_device_mesh("cuda", (4,))
a = distribute_tensor(torch.ones(64, 512), mesh, [Replicate()])
b = distribute_tensor(torch.ones(512, 256), mesh, [Shard(1)])
begin = time.perf_counter()
a @ b
print(repr(time.perf_counter() - begin))
"""
    )
    outcome = run(script, compute=Roofline("h100", 0.5))
    assert outcome.failure is None
    seconds = max(2 * 64 * 512 * 64 / SPEEDS["single"], 4 * (64 * 512 + 512 * 64 + 64 * 64) / SPEEDS["memory"])
    assert [float(line) for line in outcome.output.split()] == pytest.approx([seconds] * 4, rel=1e-6)

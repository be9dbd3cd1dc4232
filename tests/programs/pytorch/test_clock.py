"""When the calls of a PyTorch program begin and end on the simulated clock."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ops.programs.runtime.steps import training_step
from ops.workloads import WORKLOADS
from sim.machines import build

ROOT = Path(__file__).resolve().parents[3]
HEAD = """
import time
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
rank, n = dist.get_rank(), dist.get_world_size()
begin = time.time()
"""
MODEL = """
import torch.nn as nn
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(4)])
"""
DDP = """
ddp = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
for _ in range(2):  # buckets are made in the first
    ddp(torch.ones(2, 512)).sum().backward()
"""
FSDP = """
from torch.distributed.fsdp import fully_shard
for layer in model:
    fully_shard(layer)
fully_shard(model)
model(torch.ones(2, 512)).sum().backward()
"""


LAYERS = ";".join(f"l{k} 512x512+512 0 0" for k in range(4))
"""The model as workloads have it."""
STEPS = [
    ("dgx_h100", DDP, "ddp", {"bucket": "1MiB"}),
    ("dgx_h100", FSDP, "fsdp", {"layers_per_unit": 1, "dtype": "float32"}),
    ("nodes:nodes=2,gpus=4", DDP, "ddp", {"bucket": "1MiB"}),
]


@pytest.mark.parametrize("machine, body, workload, settings", STEPS)
def test_a_step_communicates_as_the_workload_with_the_same_buckets(run, machine, body, workload, settings):
    outcome = run(HEAD + MODEL + body, machine, 8)
    assert outcome.failure is None
    step = WORKLOADS[workload].run(build(machine), {"layers": LAYERS, **settings})
    last = training_step(outcome, build(machine)).calls[-len(step.calls) :]  # buckets are made in the step before
    expected, ours = (sorted((c.algorithm, c.size, c.end - c.start) for c in calls) for calls in (step.calls, last))
    assert [call[:2] for call in ours] == [call[:2] for call in expected]
    assert [call[2] for call in ours] == pytest.approx([call[2] for call in expected], rel=1e-9)
    assert last[-1].end - last[0].start == pytest.approx(step.time, rel=1e-9)


def test_buckets_of_ddp_follow_each_other_and_have_the_gradients_bytes(run):
    outcome = run(HEAD + MODEL + DDP)
    buckets = [call for call in outcome.calls if call.name == "all_reduce"][1:]
    assert len(buckets) > 1
    assert sum(call.size for call in buckets) == 4 * (512 * 512 + 512) * 4
    for before, after in pairwise(buckets):
        assert after.start >= before.end


def test_the_same_program_takes_the_same_time_to_the_bit_beside_a_busy_process(run):
    script = (
        HEAD
        + MODEL
        + DDP
        + "work = dist.all_reduce(torch.ones(1 << 16), async_op=True)\ntime.sleep(1e-5)\nwork.wait()\n"
    )
    first = run(script)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        second = run(script)
    finally:
        busy.kill()
        busy.wait()
    assert first.failure is second.failure is None
    assert first.time == second.time
    assert [(c.name, c.start, c.end) for c in first.calls] == [(c.name, c.start, c.end) for c in second.calls]


def test_asynchronous_work_overlaps_and_waiting_advances_the_clock(run):
    script = (
        HEAD
        + """
x = torch.ones(1 << 20)
work = dist.all_reduce(x, async_op=True)
assert not work.is_completed()
time.sleep(1.0)
assert work.is_completed() and work.wait() and (x == n).all()
hidden = time.time() - begin
work = dist.all_reduce(x, async_op=True)
work.wait()
print(round(hidden, 9), time.time() - begin > hidden)
"""
    )
    outcome = run(script)
    assert (outcome.failure, outcome.output) == (None, "1.0 True\n" * 4)


def test_a_message_carries_its_senders_clock(run):
    script = (
        HEAD
        + """
x = torch.ones(4)
if rank == 0:
    time.sleep(0.5)
    dist.send(x, 1)
elif rank == 1:
    dist.recv(x, 0)
    print(time.time() - begin > 0.5)
elif rank == 2:
    print(dist.recv(x), x[0].item())
else:
    time.sleep(0.25)
    dist.send(x * 3, 2)
"""
    )
    outcome = run(script)
    assert outcome.failure is None
    assert sorted(outcome.output.splitlines()) == ["3 3.0", "True"]


def test_the_rank_that_all_waited_for_is_named(run):
    outcome = run(HEAD + "for _ in range(3):\n    time.sleep(0.5 * (rank == 2))\n    dist.barrier()\n")
    late = outcome.stragglers()[0]
    assert (late.ranks, str(late.place), late.times) == ((2,), "script.py:10", 3)
    assert late.waited == pytest.approx(1.5, rel=1e-3)


def test_a_call_that_no_time_is_known_for_is_counted(run):
    script = (
        HEAD
        + """
group = dist.group.WORLD
kind = type(group)
assert all(name in kind.__dict__ for name in dir(dist.ProcessGroup) if name.startswith("all"))
from ringside_rank.group import _counted
kind.renamed = _counted("name")
group.renamed()
"""
    )
    outcome = run(script)
    assert outcome.failure is None
    assert outcome.untimed == {"name": 4}
    assert json.dumps(outcome.to_dict()["untimed"]) == '{"name": 4}'


def test_the_backend_that_a_script_asks_for_is_shown_and_chooses(run):
    script = HEAD.replace('"nccl"', "{}") + "print(dist.get_backend())\ndist.all_reduce(torch.ones(1 << 20))\n"
    for asked, shown, algorithm in (
        ('"gloo"', "gloo", "allreduce.ring"),
        ('backend="mpi"', "mpi", "allreduce.rabenseifner"),
        ("", "nccl", "allreduce.ring"),
        ('"cpu:gloo,cuda:nccl"', "cpu:gloo,cuda:nccl", "allreduce.ring"),
        ('"ringside"', "nccl", "allreduce.ring"),
    ):
        outcome = run(script.format(asked))
        assert (outcome.failure, outcome.output) == (None, f"{shown}\n" * 4)
        assert outcome.calls[-1].algorithm == algorithm


def test_two_hosts_have_local_ranks_and_their_own_gpus(run):
    script = HEAD + "import os\nprint(*(os.environ[k] for k in ('RANK', 'LOCAL_RANK', 'GROUP_RANK')))\n"
    script += "dist.all_reduce(torch.ones(1 << 22))\n"
    near = run(script, "nodes:nodes=2,gpus=8", 4)
    apart = run(script, "nodes:nodes=2,gpus=8", 2, nodes=2)
    assert sorted(apart.output.splitlines()) == ["0 0 0", "1 1 0", "2 0 1", "3 1 1"]
    assert apart.time > near.time


def test_another_launcher_finds_the_backend_by_its_name(plainly):
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import torch
import torch.distributed as dist
import time
import ops.programs.pytorch.backend
dist.init_process_group("ringside")
x = torch.ones(1 << 16)
begin = time.time()
dist.all_reduce(x)
print(dist.get_rank(), x[0].item(), 1e-6 < time.time() - begin < 1e-4)
"""
    assert plainly(script, RINGSIDE_MACHINE="dgx_h100") == [f"{rank} 4.0 True" for rank in range(4)]

"""`cuda` and `nccl` stand for the machine's GPUs, with tensors in the host's memory."""

GPU = """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
"""


def test_a_script_of_gpus_runs(run):
    script = (
        GPU
        + """
assert torch.cuda.is_available() and torch.cuda.device_count() == 4
torch.cuda.set_device(rank)
assert torch.cuda.current_device() == rank
device = torch.device("cuda", rank)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(10, 5).cuda(rank), device_ids=[rank], output_device=rank)
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(torch.ones(20, 10, device=device)).sum()
    assert loss.dtype == torch.bfloat16
scaler.scale(loss).backward()
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
dist.all_reduce(torch.ones(1 << 20, device="cuda"))
end.record()
torch.cuda.synchronize()
with torch.cuda.stream(torch.cuda.Stream()):
    assert torch.cuda.memory_allocated() >= 0
with torch.cuda.device(rank):
    torch.cuda.empty_cache()
x = torch.ones(3).to("cuda:1").pin_memory().to(device, non_blocking=True)
print(start.elapsed_time(end) > 0, model.module.weight.grad.norm().item(), x.to(torch.float64).sum().item())
"""
    )
    outcome = run(script, "dgx_h100", 4)
    assert outcome.failure is None
    assert len(set(outcome.output.splitlines())) == 1
    assert outcome.output.startswith("True ")


def test_a_copy_on_a_gpu_is_none_in_the_hosts_memory(run):
    script = (
        GPU
        + """
host = torch.zeros(2)
there = host.cuda()
there += 1
assert there.cuda() is there and there.to("cuda") is there
back = there.cpu()
there += 1
print(host.tolist(), there.tolist(), back.tolist())
"""
    )
    assert run(script).output == "[0.0, 0.0] [2.0, 2.0] [1.0, 1.0]\n" * 4


def test_sharded_modules_and_meshes_of_gpus_run(run):
    script = (
        GPU
        + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
torch.cuda.set_device(rank)
torch.manual_seed(0)
mesh = init_device_mesh("cuda", (4,), mesh_dim_names=("dp",))
one = nn.Linear(16, 16).cuda()
fully_shard(one, mesh=mesh)
one(torch.ones(2, 16, device="cuda")).sum().backward()
two = FullyShardedDataParallel(nn.Linear(16, 16).cuda(), device_id=torch.cuda.current_device())
two(torch.ones(2, 16, device="cuda")).sum().backward()
torch.save({"x": torch.ones(1).cuda()}, f"{__file__}.{rank}")
print(torch.load(f"{__file__}.{rank}", map_location=f"cuda:{rank}")["x"].item())
"""
    )
    outcome = run(script)
    assert (outcome.failure, outcome.output) == (None, "1.0\n" * 4)
    assert {"all_gather_into_tensor", "reduce_scatter_tensor"} <= {call.name for call in outcome.calls}


def test_the_gpus_are_those_of_the_node(run):
    outcome = run(GPU + "torch.cuda.set_device(7)\n")
    assert "invalid device ordinal: GPU 7 of the 4 of this node" in outcome.failure

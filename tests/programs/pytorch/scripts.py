"""Scripts after PyTorch's tutorials and examples, small: what each rank prints does not depend on time."""

HEAD = """
import torch
import torch.distributed as dist
import torch.nn as nn

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


def toy():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def step(model, x=None):
    x = torch.full((2, 16), 0.1 * (rank + 1)) if x is None else x
    loss = nn.functional.mse_loss(model(x), torch.zeros(2, 4))
    loss.backward()
    return loss.item()


def show(*values):
    print(rank, *values, flush=True)


def digest(tensors):
    return round(sum(float(t.detach().double().abs().sum()) for t in tensors), 5)
"""
SCRIPTS = {
    "messages": """
t = torch.zeros(1)
if rank == 0:
    t += 1
    dist.send(t, dst=1)
    dist.isend(t + 1, dst=1).wait()
elif rank == 1:
    dist.recv(t, src=0)
    got = dist.irecv(t, src=0)
    got.wait()
group = dist.new_group([0, 1])
ones = torch.ones(1)
if rank < 2:
    dist.all_reduce(ones, group=group)
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
for _ in range(2):
    optimizer.zero_grad()
    x = torch.full((4, 1, 8, 8), 0.1 * (rank + 1))
    nn.functional.cross_entropy(net(x), torch.zeros(4, dtype=torch.long)).backward()
    for p in net.parameters():
        dist.all_reduce(p.grad)
        p.grad /= n
    optimizer.step()
show(t.item(), ones.item(), digest(net.parameters()))
""",
    "ddp": """
model = nn.parallel.DistributedDataParallel(toy(), bucket_cap_mb=0.001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    step(model)
    optimizer.step()
show(digest(model.parameters()))
""",
    "fsdp2": """
from torch.distributed.fsdp import fully_shard
model = toy()
for layer in (model[0], model[2]):
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(2):
    optimizer.zero_grad()
    step(model)
    optimizer.step()
show(digest(p.full_tensor() for p in model.parameters()))
""",
    "zero": """
from torch.distributed.optim import ZeroRedundancyOptimizer
model = nn.parallel.DistributedDataParallel(toy())
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
step(model)
optimizer.step()
show(digest(model.parameters()))
""",
    "tensor_parallel": """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (n,), mesh_dim_names=("tp",))
model = parallelize_module(toy(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
loss = step(model, torch.ones(2, 16))
show(round(loss, 6), digest(p.grad.full_tensor() for p in model.parameters()))
""",
    "two_dimensions": """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
model = parallelize_module(toy(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
fully_shard(model, mesh=mesh["dp"])
step(model, torch.full((2, 16), 1.0 + rank // 2))
show(digest(p.grad.full_tensor() for p in model.parameters()))
""",
    "pipeline_schedule": """
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
torch.manual_seed(rank)
layer = nn.Linear(16, 16)
schedule = Schedule1F1B(PipelineStage(layer, rank, n, torch.device("cpu")), 4, loss_fn=nn.functional.mse_loss)
if rank == 0:
    schedule.step(torch.ones(8, 16))
elif rank == n - 1:
    schedule.step(target=torch.zeros(8, 16))
else:
    schedule.step()
show(digest([layer.weight.grad]))
""",
    "pipeline_by_hand": """
torch.manual_seed(rank)
layer = nn.Linear(8, 8)
for _ in range(2):
    x = torch.ones(4, 8) if rank == 0 else torch.empty(4, 8)
    if rank:
        dist.recv(x, rank - 1)
        x.requires_grad_()
    y = layer(x)
    if rank < n - 1:
        dist.send(y.detach(), rank + 1)
        gradient = torch.empty(4, 8)
        dist.recv(gradient, rank + 1)
        y.backward(gradient)
    else:
        y.sum().backward()
    if rank:
        dist.send(x.grad, rank - 1)
show(digest([layer.weight.grad]))
""",
    "gradients_through_gather": """
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = [torch.empty_like(x) for _ in range(n)]
        dist.all_gather(out, x)
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        total = torch.stack(grads)
        dist.all_reduce(total)
        return total[rank]


import torch.distributed.nn.functional as parts
x = torch.full((3,), float(rank + 1), requires_grad=True)
(torch.cat(Gather.apply(x)) ** 2).sum().backward()
own, x.grad = x.grad, None
(torch.cat(parts.all_gather(x)) ** 2).sum().backward()
show(own.tolist(), x.grad.tolist())
""",
    "gradients_by_reduce": """
class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *out):
        dist.all_gather(list(out), x)
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        grads = [g.contiguous() for g in grads]
        for work in [dist.reduce(g, k, async_op=True) for k, g in enumerate(grads)]:
            work.wait()
        return (grads[rank], *[None] * n)


x = torch.full((2, 3), float(rank + 1), requires_grad=True)
(torch.cat(Gather.apply(x, *[torch.zeros(2, 3) for _ in range(n)])) * (rank + 1)).sum().backward()
show(x.grad[0].tolist())
""",
    "objects": """
every = [None] * n
dist.all_gather_object(every, {"rank": rank, "x": "y" * rank})
some = ["a", 2, {3: 4}] if rank == 0 else [None] * 3
dist.broadcast_object_list(some, src=0)
own = [None]
dist.scatter_object_list(own, [f"for {i}" for i in range(n)] if rank == 0 else None, src=0)
squares = [None] * n if rank == 0 else None
dist.gather_object(rank * rank, squares, dst=0)
a, b = torch.full((4,), float(rank)), torch.empty(4)
pair = [dist.P2POp(dist.isend, a, (rank + 1) % n), dist.P2POp(dist.irecv, b, (rank - 1) % n)]
for work in dist.batch_isend_irecv(pair):
    work.wait()
dist.all_reduce(a, async_op=True).wait()
dist.monitored_barrier()
show(every[-1], some, own, squares, b.tolist(), a.tolist())
""",
    "hooks_and_join": """
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
model = nn.parallel.DistributedDataParallel(toy(), bucket_cap_mb=1)
model.register_comm_hook(None, default_hooks.fp16_compress_hook)
with model.no_sync():
    step(model)
step(model)
uneven = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
with uneven.join():
    for _ in range(2 + rank):
        uneven(torch.ones(1)).sum().backward()
show(digest(p.grad for p in model.parameters()), digest(p.grad for p in uneven.parameters()))
""",
    "sampler": """
import os
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
data = TensorDataset(torch.arange(32.0).view(32, 1), torch.zeros(32, 1))
seen = torch.zeros(1)
for x, _ in DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=True, seed=1)):
    seen += x.sum()
dist.all_reduce(seen)
file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoint.pt")
if rank == 0:
    torch.save({"x": seen}, file)
dist.barrier()
show(seen.item(), torch.load(file, map_location="cpu")["x"].item())
""",
    "no_grad": """
model = nn.Linear(4, 4)
with torch.no_grad():
    for p in model.parameters():
        dist.broadcast(p, 0)
model(torch.ones(1, 4)).sum().backward()
show(torch.is_grad_enabled(), digest(model.parameters()))
""",
    "autocast_on_one_rank": """
a = torch.full((8, 8), 1.01)
if rank == 0:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        b = a @ a
        dist.all_reduce(b.float().sum())
else:
    b = a @ a
    dist.all_reduce(torch.zeros(()))
show(b.dtype, b[0, 0].item())
""",
    "every_collective": """
x = torch.arange(float(n)) + 10 * rank
top = torch.tensor([rank])
dist.reduce(top, dst=n - 1, op=dist.ReduceOp.MAX)
parts = [torch.empty(2) for _ in range(n)]
dist.all_gather(parts, torch.tensor([1.0 * rank, -rank]))
flat = torch.empty(n, 2)
dist.all_gather_into_tensor(flat, torch.tensor([[1.0 * rank, 1.0]]))
share = torch.empty(2)
dist.reduce_scatter_tensor(share, torch.arange(2.0 * n) + rank)
one = torch.empty(1)
dist.reduce_scatter(one, [torch.tensor([float(rank * k)]) for k in range(n)])
single = torch.empty(n)
dist.all_to_all_single(single, x)
split = torch.empty(n * (rank + 1))
dist.all_to_all_single(split, torch.ones(sum(range(1, n + 1))) * rank, [rank + 1] * n, list(range(1, n + 1)))
piece = torch.empty(1)
dist.scatter(piece, [torch.tensor([k + 0.5]) for k in range(n)] if rank == 0 else None, src=0)
back = [torch.empty(1) for _ in range(n)] if rank == 0 else None
dist.gather(piece, back, dst=0)
half = dist.new_group([1, 3])
if rank % 2:
    dist.broadcast(x, src=3, group=half)
product = torch.tensor([2.0])
dist.all_reduce(product, op=dist.ReduceOp.PRODUCT)
dist.barrier()
show(top.tolist() if rank == n - 1 else "", [p.tolist() for p in parts], flat.tolist(), share.tolist(), one.item())
show(single.tolist(), split.tolist(), piece.item(), back and [b.item() for b in back], x.tolist(), product.item())
""",
}

"""DDP on some GPUs, and a sum of the first two alone."""

import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.manual_seed(0)
first = dist.new_group([1, 3])
model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).cuda()
model = nn.parallel.DistributedDataParallel(model, device_ids=[rank], bucket_cap_mb=5)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for _ in range(2):
    loss = model(torch.ones(512, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
if rank % 2:
    dist.all_reduce(torch.ones(1 << 20, device="cuda"), group=first)

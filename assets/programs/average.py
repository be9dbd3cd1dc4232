"""A loss over the features of all ranks under DDP, which averages gradients: what is n times too small."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_gather
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def own_block_put_back(features):
    """Gather without gradients, then put this rank's own features, which have one, back into their place."""
    every = [torch.zeros_like(features) for _ in range(n)]
    dist.all_gather(every, features.detach())
    every[rank] = features
    return every


def gradient(gather, times=1):
    model = nn.Linear(4, 4, bias=False)
    nn.init.eye_(model.weight)
    ddp = DistributedDataParallel(model)
    x = torch.arange(8.0).view(2, 4) + rank
    loss = torch.cat(list(gather(ddp(x)))).pow(2).mean() * times
    loss.backward()
    return model.weight.grad.sum().item()


x = torch.cat([torch.arange(8.0).view(2, 4) + r for r in range(n)])
weight = torch.eye(4, requires_grad=True)
(x @ weight.T).pow(2).mean().backward()
right = weight.grad.sum().item()
ways = {
    "own": gradient(own_block_put_back),
    "own, loss times n": gradient(own_block_put_back, n),
    "through the gather": gradient(all_gather),
}
print(rank, {way: round(right / value, 6) for way, value in ways.items()})

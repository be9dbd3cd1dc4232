"""CLIP's loss over all ranks: every rank computes all logits, or with `local_loss` its own rows alone."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_gather

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
batch, width = 4, 8


def features(r):
    drawn = torch.randn(2, batch, width, generator=torch.Generator().manual_seed(r))
    return nn.functional.normalize(drawn, dim=-1)


def clip_loss(local_loss):
    images, texts = (part.clone().requires_grad_() for part in features(rank))
    all_images, all_texts = (torch.cat(list(all_gather(part))) for part in (images, texts))
    if local_loss:
        logits = images @ all_texts.T, texts @ all_images.T
        labels = torch.arange(batch) + batch * rank
    else:
        logits = all_images @ all_texts.T, all_texts @ all_images.T
        labels = torch.arange(batch * n)
    loss = sum(nn.functional.cross_entropy(part / 0.07, labels) for part in logits) / 2
    loss.backward()
    return sum(part.numel() for part in logits), images.grad / n  # DDP would average


(local, ours), (whole, theirs) = clip_loss(True), clip_loss(False)
print(rank, "logits:", local, "of", whole, "gradients equal:", torch.allclose(ours, theirs, atol=1e-6))

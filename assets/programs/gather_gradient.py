"""An all-gather with a gradient, as TFace writes it for face recognition on many GPUs."""

import torch
import torch.distributed as dist


class AllGatherFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, *gather_list):
        dist.all_gather(list(gather_list), tensor)
        return tuple(gather_list)

    @staticmethod
    def backward(ctx, *grads):
        grads = [grad.contiguous() for grad in grads]
        works = [dist.reduce(grad, k, async_op=True) for k, grad in enumerate(grads)]
        for work in works:
            work.wait()
        return (grads[dist.get_rank()], *[None] * len(grads))


dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def gradient(gather):
    """What comes back to this rank's features from a loss that rank r counts r + 1 times."""
    own = torch.full((2, 3), float(rank + 1), requires_grad=True)
    out = [torch.zeros(2, 3) for _ in range(n)]
    total = torch.cat(gather(own, out)).sum() * (rank + 1)
    if total.requires_grad:
        total.backward()
    return None if own.grad is None else own.grad[0, 0].item()


def plain(own, out):
    dist.all_gather(out, own)
    return out


print(rank, "plain:", gradient(plain), "TFace:", gradient(lambda own, out: AllGatherFunc.apply(own, *out)))

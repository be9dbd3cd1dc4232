"""Gradient buckets as PyTorch's DistributedDataParallel cuts them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ops.training.layers import Layer
from sim.units import MiB

FIRST_BUCKET = MiB
"""`kDefaultFirstBucketBytes` in PyTorch's torch/csrc/distributed/c10d/reducer.hpp."""


class Bucket(NamedTuple):
    """Gradients that travel together, in the order they become ready; `layer` is the last of those they come from."""

    name: str
    layer: int
    tensors: tuple[tuple[int, ...], ...]

    @property
    def parameters(self) -> int:
        """How many numbers it holds."""
        return sum(map(math.prod, self.tensors))


def buckets_of(layers: Sequence[Layer], width: int, cap: float, *, first: float, forward: bool = False) -> list[Bucket]:
    """Buckets as PyTorch cuts them: gradients in reverse order, a bucket closed by the tensor that reaches its size.

    `first` is the size of the first one. With `forward` they are cut in forward order, then reversed, as they are
    before the first backward pass has shown the real order.
    """
    gradients = [(i, shape) for i, layer in enumerate(layers) for shape in layer.tensors]
    cut: list[list[tuple[int, tuple[int, ...]]]] = []
    filled = cap
    limit = cap
    for i, shape in gradients if forward else reversed(gradients):
        if filled >= limit:
            cut.append([])
            limit, filled = (first if len(cut) == 1 else cap), 0.0
        cut[-1].append((i, shape))
        filled += math.prod(shape) * width
    if forward:
        cut.reverse()
    return [
        Bucket(f"bucket {k}", min(i for i, _ in bucket), tuple(shape for _, shape in bucket))
        for k, bucket in enumerate(cut)
    ]

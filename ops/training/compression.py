"""Gradient compression: what a bucket costs to encode, what it then sends, what it costs to decode."""

import math
from collections.abc import Sequence
from typing import NamedTuple

COMPRESSIONS = ("none", "fp16", "bf16", "powersgd", "topk")
MIN_RATE = 2
"""PowerSGD leaves a matrix alone that it would not make half as small: `min_compression_rate` in PyTorch's hook."""


class Phase(NamedTuple):
    """Compute for `seconds` on every GPU, then a collective of `size` bytes, as nccl-tests counts them."""

    seconds: float
    collective: str
    size: float

    def sent(self, n: int) -> float:
        """Bytes of its own that each of n ranks sends once."""
        return self.size / n if self.collective == "allgather" else self.size


class Encoded(NamedTuple):
    """A bucket's phases, and the compute that follows its last collective."""

    phases: list[Phase]
    decode: float


class Codec(NamedTuple):
    """A way to compress for n ranks. `memory` is a GPU's memory bandwidth in B/s, `flops` its speed.

    Encoding and decoding half precision, and top-k's selection and addition, are passes over memory; PowerSGD's are
    matrix products (Vogels et al. 2019), each 2 r n m operations, and PyTorch's hook sends vectors uncompressed.
    """

    name: str
    n: int
    width: int
    memory: float
    flops: float
    rank: int = 4
    share: float = 0.01

    def encode(self, tensors: Sequence[tuple[int, ...]]) -> Encoded:
        """What to do with a bucket of these shapes."""
        numbers = sum(math.prod(shape) for shape in tensors)
        size = float(numbers * self.width)
        match self.name:
            case "fp16" | "bf16":
                half = min(2.0, self.width) * numbers
                cost = (size + half) / self.memory if half < size else 0.0
                return Encoded([Phase(cost, "allreduce", half)], cost)
            case "topk":
                sent = max(1, math.ceil(self.share * numbers))
                pairs = float(sent * (self.width + 4))  # values and int32 places
                return Encoded([Phase((size + pairs) / self.memory, "allgather", self.n * pairs)],
                               (size + 2 * self.n * pairs) / self.memory)  # fmt: skip
            case "powersgd":
                return self._powersgd(tensors)
        return Encoded([Phase(0.0, "allreduce", size)], 0.0)

    def _powersgd(self, tensors: Sequence[tuple[int, ...]]) -> Encoded:
        plain, tall, wide, products = 0, 0, 0, 0.0
        for shape in tensors:
            n, m = shape[0], math.prod(shape[1:])
            r = min(self.rank, n, m)
            if len(shape) < 2 or (n + m) * r * MIN_RATE > n * m:
                plain += n * m
            else:
                tall, wide, products = tall + n * r, wide + m * r, products + 2.0 * r * n * m
        phases = [Phase(0.0, "allreduce", float(plain * self.width))] if plain else []
        if tall:
            orthogonal = 2.0 * self.rank * tall / self.flops
            phases += [
                Phase(products / self.flops, "allreduce", float(tall * self.width)),
                Phase(orthogonal + products / self.flops, "allreduce", float(wide * self.width)),
            ]
        return Encoded(phases, products / self.flops)

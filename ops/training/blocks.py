"""A transformer block in numbers, and the groups that share it out."""

from dataclasses import dataclass

from ops.training.models import TFLOPS
from ops.training.options import positive
from sim.errors import InputError
from sim.topology import Topology


@dataclass(frozen=True)
class TransformerBlock:
    """One of the equal blocks of a transformer: `batch` samples of `length` tokens, `speed` in operations a second."""

    hidden: int
    length: int
    batch: int
    width: int
    speed: float

    @property
    def parameters(self) -> int:
        """Weights of attention (4 h²) and feed-forward (8 h²)."""
        return 12 * self.hidden**2

    @property
    def activation(self) -> float:
        """Bytes of one tensor of tokens by hidden."""
        return float(self.batch * self.length * self.hidden * self.width)

    @property
    def attention(self) -> float:
        """Seconds of attention on one GPU: projections 8 b s h² operations, scores and values 4 b s² h."""
        tokens = self.batch * self.length
        return (8.0 * tokens * self.hidden**2 + 4.0 * tokens * self.length * self.hidden) / self.speed

    @property
    def feedforward(self) -> float:
        """Seconds of the feed-forward layers on one GPU: 16 b s h² operations."""
        return 16.0 * self.batch * self.length * self.hidden**2 / self.speed


def transformer_block(hidden: int, length: int, batch: int, width: int, tflops: float, owner: str) -> TransformerBlock:
    """Checked. Raises InputError for a speed of zero."""
    positive(tflops, f"{owner}: tflops")
    return TransformerBlock(hidden, length, batch, width, tflops * TFLOPS)


def degree_of(topology: Topology, n: int, degree: int, owner: str) -> int:
    """Ranks per group; 0 stands for a host's or NUMA node's, or all. Raises InputError unless it divides n."""
    from ops.run.work import natural_group

    size = degree or natural_group(topology, n) or n
    if size > n or n % size:
        raise InputError("training.groups", owner=owner, n=n, size=size)
    return size


def across(n: int, size: int) -> list[range]:
    """Who stands at the same place in every group of so many neighbours.

    >>> [list(group) for group in across(6, 2)]
    [[0, 2, 4], [1, 3, 5]]
    """
    return [range(place, n, size) for place in range(size)]


def neighbours(n: int, size: int) -> list[range]:
    """Groups of so many ranks in a row.

    >>> [list(group) for group in neighbours(6, 2)]
    [[0, 1], [2, 3], [4, 5]]
    """
    return [range(first, first + size) for first in range(0, n, size)]

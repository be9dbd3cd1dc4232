"""What to move: collectives, the algorithms that carry them out, and why data moves at all."""

from ops.registry import ALGORITHMS, algorithm

__all__ = ["ALGORITHMS", "algorithm"]

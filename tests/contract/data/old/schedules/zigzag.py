"""An algorithm of one's own: sums meet in the middle of a line, the total walks back to both ends."""

from ops import algorithm
from ops.collectives import allreduce
from sim.schedule import copy, reduce


@algorithm(allreduce)
def zigzag(n):
    """Partial sums walk in from both ends of a line of ranks and the total walks back out."""
    middle = n // 2
    inward = [[(k, k + 1)] + [(n - 1 - k, n - 2 - k)] * (n - 2 - k >= middle) for k in range(middle)]
    for pairs in inward:
        outer, inner = zip(*pairs, strict=True)
        yield reduce(outer, inner, slot=0)
    for pairs in reversed(inward):
        outer, inner = zip(*pairs, strict=True)
        yield copy(inner, outer, slot=0)

from sim.schedule import copy, reduce


def star(n):
    """Everything to rank 0, and back."""
    for r in range(1, n):
        yield reduce(r, 0, slot=0)
    for r in range(1, n):
        yield copy(0, r, slot=0)

"""Reduce-scatter on a ring of one direction."""

from collections.abc import Iterator

from ops.ladder import task


@task(
    order=40,
    collective="reduce_scatter",
    machine="ring:ranks=4,directions=1,bandwidth=1GBps,latency=0s",
    size="4MB",
    because="Four ranks' contributions to a block meet in three messages at least. Four blocks make twelve, over four"
    " links: three each, 1 ms each.",
)
def reduce_scatter_ring() -> Iterator[str]:
    """Every rank has a part of every block; rank r needs the sum of all parts of block r. The ring has one way."""
    for k in range(3):
        yield " ".join(f"{r}>{(r + 1) % 4}+{(r - k - 1) % 4}" for r in range(4))

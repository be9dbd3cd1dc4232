"""All-to-all through one switch."""

from collections.abc import Iterator

from ops.ladder import task


@task(
    order=30,
    collective="alltoall",
    machine="switch:ranks=4,bandwidth=1GBps,latency=0s",
    size="4MB",
    because="Three blocks must leave every rank over its only link, 1 ms each.",
)
def alltoall_switch() -> Iterator[str]:
    """Every rank has a block for every rank. Upper row: the blocks of a rank; lower row: the blocks it needs."""
    yield " ".join(f"{a}>{b}:{b}={4 + a}" for a in range(4) for b in range(4))

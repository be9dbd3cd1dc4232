"""All-to-all through one switch."""

from collections.abc import Iterator

from ops.ladder import task


@task(
    order=30,
    collective="alltoall",
    machine="switch:ranks=4,bandwidth=1GBps,latency=0s",
    size="4MB",
    because="Three blocks must leave every rank through its one cable, 1 ms each.",
)
def alltoall_switch() -> Iterator[str]:
    """Everyone has a block for everyone: the upper row of places is what a rank has, the lower what it is owed."""
    yield " ".join(f"{a}>{b}:{b}={4 + a}" for a in range(4) for b in range(4))

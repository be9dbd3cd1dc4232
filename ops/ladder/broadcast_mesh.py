"""Broadcast where every pair of ranks has a link."""

from collections.abc import Iterator

from ops.ladder import LadderTask, task


def there_and_across(entry: LadderTask) -> float:
    """Over its link from the root a rank gets one chunk in less than two chunks' time; the others come from others.

    These have to receive them first, which takes one piece's time, as does passing them on.
    """
    return 2 * entry.piece / entry.rate("GPU0", "GPU1")


@task(
    order=60,
    collective="broadcast",
    pieces=3,
    machine="mesh:ranks=4,bandwidth=1GBps,latency=0s",
    size="3MB",
    least=there_and_across,
    because="In less than 2 ms the link from the root brings a rank one chunk. The other two come from ranks that have"
    " received them before: 1 ms to get there, 1 ms across.",
)
def broadcast_mesh() -> Iterator[str]:
    """All ranks need rank 0's buffer, in three chunks. Every pair of ranks has a link: keep all links busy."""
    yield "0>1:0 0>2:1 0>3:2"
    yield "1>2:0 1>3:0 2>1:1 2>3:1 3>1:2 3>2:2"

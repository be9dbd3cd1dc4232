"""Broadcast along a line, in one block and in several."""

from collections.abc import Iterator

from ops.ladder import LadderTask, task

LINE = "torus:dims=4,wrap=no,bandwidth=1GBps,latency=0s"


def once_more(entry: LadderTask) -> float:
    """Every chunk crosses the root's only link, and the last to arrive must be sent on once more.

    Faster than that, each of p pieces would have crossed that link exactly once. The last of these messages ends
    after p pieces' time and at one rank; every other rank gets that piece from a message that begins then.
    """
    return (entry.best.pieces + 1) * entry.piece / entry.rate("GPU0", "GPU1")


@task(
    order=20,
    collective="broadcast",
    machine=LINE,
    size="1MB",
    least=once_more,
    because="The block takes 1 ms over the root's only link and arrives at one rank. The others get it from a message"
    " that begins then: 1 ms more.",
)
def broadcast_line() -> Iterator[str]:
    """All four ranks on a line need rank 0's block. Messages may pass through a rank without stopping there."""
    yield "0>2:0"
    yield "2>1:0 2>3:0"


@task(
    order=70,
    collective="broadcast",
    pieces=4,
    machine=LINE,
    size="4MB",
    least=once_more,
    because="Four chunks take 4 ms over the root's only link. The last of them arrives at one rank, and the others get"
    " it from a message that begins then: 1 ms more.",
)
def broadcast_pieces() -> Iterator[str]:
    """The same line, but the buffer is cut into four chunks, so several can be under way at once."""
    yield "0>2:0"
    for k in range(1, 4):
        yield f"0>2:{k} 2>1:{k - 1} 2>3:{k - 1}"
    yield "2>1:3 2>3:3"

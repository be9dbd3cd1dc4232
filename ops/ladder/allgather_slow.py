"""All-gather on a ring with one slow cable."""

from collections.abc import Iterator

from ops.ladder import task


@task(
    order=80,
    collective="allgather",
    pieces=2,
    machine="ring:ranks=4,bandwidth=1GBps,latency=0s",
    edits="set_link:src=GPU3,dst=GPU0,times=0.5",
    size="4MB",
    because="Three blocks must enter rank 0 over links of 1 GB/s and 0.5 GB/s: 2 ms with both links full.",
)
def allgather_slow() -> Iterator[str]:
    """Every rank needs all blocks, in two halves each. The link between ranks 3 and 0 is half as fast."""
    yield "0>1:0,1 1>0:2,3 1>2:2,3 2>1:4,5 2>3:4,5 3>2:6,7 3>0:6 0>3:0"
    yield "3>0:7 0>3:1 1>0:4,5 2>3:2,3 2>1:6,7 1>2:0,1"

"""Scatter below a tree of switches."""

from collections.abc import Iterator

from ops.ladder import task


@task(
    order=10,
    collective="scatter",
    machine="nodes:nodes=2,gpus=2,nvlink=2GBps,nic=1GBps,nvlink_latency=0s,nic_latency=0s",
    size="4MB",
    because="The blocks of ranks 2 and 3 must leave the first host over its only link, 1 ms each.",
)
def scatter_tree() -> Iterator[str]:
    """Rank 0 has a block for every rank: send each rank its block."""
    yield "0>1:1 0>2:2 0>3:3"

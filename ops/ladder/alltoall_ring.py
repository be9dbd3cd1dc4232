"""All-to-all on a ring."""

from collections.abc import Iterator

from ops.ladder import LadderTask, task


def hops(entry: LadderTask) -> float:
    """Blocks for neighbours cross one link, those for the rank opposite two: four ranks fill eight links of a ring."""
    per_rank = 1 + 1 + 2
    return 4 * per_rank * entry.piece / sum(link.bandwidth for link in entry.topology.links)


@task(
    order=100,
    collective="alltoall",
    machine="ring:ranks=4,bandwidth=1GBps,latency=0s",
    size="4MB",
    spare=1,
    least=hops,
    because="A rank's blocks for its neighbours cross one link, the block for the rank opposite crosses two: sixteen"
    " crossings over eight links, two each, 1 ms each.",
)
def alltoall_ring() -> Iterator[str]:
    """Every rank has a block for every rank. A block for the rank opposite goes upwards, unless it stops on the way."""
    yield "0>2:2=4 2>0:0=6 1>0:3=8 3>2:1=8 0>3:3=4 2>1:1=6 0>0:0=4 1>1:1=5 2>2:2=6 3>3:3=7"
    yield "0>3:8=5 2>1:8=7 0>1:1=4 1>2:2=5 2>3:3=6 3>0:0=7 1>0:0=5 3>2:2=7"

"""Two islands of two ranks, with one link between them."""

from collections.abc import Iterator

from ops.ladder import LadderTask, task

ISLANDS = "nodes:nodes=2,gpus=2,nvlink=4GBps,nic=1GBps,nvlink_latency=0s,nic_latency=0s"


def over_and_on(entry: LadderTask) -> float:
    """Both blocks of an island cross the link once, and the last must be passed on inside."""
    return 2 * entry.piece / entry.rate("H0.NIC0", "SPINE") + entry.piece / entry.rate("H0.GPU0", "H0.SW")


def add_over_and_on(entry: LadderTask) -> float:
    """Pieces are added inside before they cross, cross once each way, and the last is passed on inside.

    Were one to cross twice in a direction, that link alone would take longer. So each crosses once and carries both
    contributions of its island: the first cannot leave before a message inside has ended, and the last to arrive
    comes to one rank, from which a message must bring it to the other.
    """
    pieces = entry.best.pieces
    assert entry.rate("H0.GPU0", "H0.SW") >= 2 * entry.rate("H0.NIC0", "SPINE")
    return pieces * entry.piece / entry.rate("H0.NIC0", "SPINE") + 2 * entry.piece / entry.rate("H0.GPU0", "H0.SW")


@task(
    order=50,
    collective="allgather",
    machine=ISLANDS,
    size="4MB",
    least=over_and_on,
    because="Two blocks must enter each island over its only link, 1 ms each. The last comes to one rank, and the"
    " other gets it from a message inside that begins then: 0.25 ms more.",
)
def allgather_islands() -> Iterator[str]:
    """Every rank needs all blocks. Between the islands there is one link, with a quarter of the bandwidth inside."""
    yield "0>2:0 1>3:1 2>0:2 3>1:3 0>1:0 1>0:1 2>3:2 3>2:3"
    yield "0>1:2 1>0:3 2>3:0 3>2:1"


@task(
    order=90,
    collective="allreduce",
    pieces=2,
    machine=ISLANDS,
    size="2MB",
    least=add_over_and_on,
    because="Each of the two chunks must cross each way, 1 ms each. What crosses only once has been added up inside"
    " before, 0.25 ms, and the last to arrive must be passed on inside, 0.25 ms.",
)
def allreduce_islands() -> Iterator[str]:
    """Every rank needs the sum of all four buffers, in two chunks."""
    yield "0>1+1 1>0+0 2>3+1 3>2+0"
    yield "0>2+0 2>0+0 1>3+1 3>1+1"
    yield "0>1:0 1>0:1 2>3:0 3>2:1"

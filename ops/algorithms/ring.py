"""Ring algorithms: every rank talks to its two neighbours only."""

import math

import numpy as np

from ops.collectives import allgather, allreduce, reduce_scatter
from ops.patterns import Channels, Segments, runs
from ops.registry import algorithm
from sim.schedule import Steps, around, copy, every_rank, in_turn, reduce
from sim.symmetry.renamings import rotation


@algorithm(
    reduce_scatter,
    name="ring",
    cost=lambda n: (n - 1, (n - 1) / n, (n - 1) / n),
    symmetry=rotation,
    ids={"openmpi": "3", "nccl": "Ring", "ucc": "ring", "oneccl": "ring"},
    v={"openmpi": "3", "ucc": "ring"},
)
def ring_reduce_scatter(n: int) -> Steps:
    """Partial sums travel once round the ring; rank r ends with block r.

    In step k rank r passes on block r - k - 1: the one to which it has just added its own contribution. Cells show
    who has contributed to a rank's blocks 0 to 3:

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["reduce_scatter.ring"].schedule(4)))
            rank 0               rank 1               rank 2               rank 3
    before  0... 0... 0... 0...  .1.. .1.. .1.. .1..  ..2. ..2. ..2. ..2.  ...3 ...3 ...3 ...3
    step 1  0... 0... 0..3 0...  .1.. .1.. .1.. 01..  .12. ..2. ..2. ..2.  ...3 ..23 ...3 ...3
    step 2  0... 0.23 0..3 0...  .1.. .1.. 01.3 01..  .12. ..2. ..2. 012.  .123 ..23 ...3 ...3
    step 3  0123 0.23 0..3 0...  .1.. 0123 01.3 01..  .12. ..2. 0123 012.  .123 ..23 ...3 0123
    """
    r = every_rank(n)
    yield from in_turn(n - 1, reduce, r, (r + 1) % n, lambda k: around(r - (k + 1), n))


@algorithm(
    allgather,
    name="ring",
    cost=lambda n: (n - 1, (n - 1) / n),
    symmetry=rotation,
    ids={"openmpi": "4", "mpich": "ring", "nccl": "Ring", "ucc": "ring", "oneccl": "ring"},
    v={"openmpi": "3", "mpich": "ring", "nccl": "Ring", "ucc": "ring", "kucg": "2"},
)
def ring_allgather(n: int) -> Steps:
    """Every block travels once round the ring.

    In step k rank r passes on block r - k: the one that has just arrived.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["allgather.ring"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  0..3    01..    .12.    ..23
    step 2  0.23    01.3    012.    .123
    step 3  0123    0123    0123    0123
    """
    r = every_rank(n)
    yield from in_turn(n - 1, copy, r, (r + 1) % n, lambda k: around(r - k, n))


@algorithm(
    allreduce,
    name="ring",
    pieces=lambda n: n,
    cost=lambda n: (2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n),
    symmetry=rotation,
    ids={"openmpi": "4", "mpich": "ring", "nccl": "Ring", "ucc": "4", "gloo": "1", "kucg": "4", "oneccl": "ring"},
    reference="Patarasuk and Yuan 2009",
)
def ring(n: int) -> Steps:
    """Partial sums travel once round the ring, then the totals do."""
    yield "reduce-scatter"
    yield from ring_reduce_scatter(n)
    yield "allgather"
    yield from ring_allgather(n)


@algorithm(
    allreduce,
    ordered=True,
    pieces=lambda n, *, phases: n * phases,
    cost=lambda n, *, phases: ((phases + 1) * (n - 1), 2 * (n - 1) / n, (n - 1) / n),
    symmetry=lambda n, *, phases: rotation(n, phases),
    ids={"openmpi": "5"},
)
def segmented_ring(n: int, *, phases: Segments = 4) -> Steps:
    """The sums of one phase's share of every block go round before the next phase starts; totals go round once.

    Smaller messages are added while they are warm in a cache, at the price of more of them. A rank waits for its own
    send before the next step, so that with one phase it is the ring of MPI_Sendrecv.
    """
    r = every_rank(n)
    for phase in range(phases):
        yield f"reduce-scatter, phase {phase + 1}"
        for k in range(n - 1):
            yield reduce(r, (r + 1) % n, slot=(r - k - 1) % n * phases + phase)
    yield "allgather"
    for k in range(n - 1):
        yield copy(r, (r + 1) % n, slot=runs((r - k) % n * phases, phases))


@algorithm(
    allreduce,
    pieces=lambda n, *, channels: n * channels,
    cost=lambda n, *, channels: (2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n / channels),
)
def multi_ring(n: int, *, channels: Channels = 2) -> Steps:
    """One ring per channel, each on its share of the data and in an order of its own.

    Channel 0 goes up, 1 down, later ones take longer strides that share no factor with n, up and down. Channels
    add at the same time.
    """
    strides = [s for stride in range(1, n) if math.gcd(stride, n) == 1 for s in (stride, n - stride)]
    stride = np.resize(strides, channels).reshape(-1, 1)
    channel = np.arange(channels).reshape(-1, 1)
    place = np.arange(n)
    rank, right = (place * stride) % n, (place + 1) * stride % n
    flat = rank.reshape(-1), right.reshape(-1)
    number = np.repeat(np.arange(channels), n)
    for phase, move, lag in (("reduce-scatter", reduce, 1), ("allgather", copy, 0)):
        yield phase
        for k in range(n - 1):
            block = (place - k - lag) % n * channels + channel
            yield move(*flat, slot=block.reshape(-1), channel=number)

"""Bruck's algorithms: any number of ranks in ⌈log n⌉ rounds, peers at distance 1, k, k² and so on."""

import numpy as np

from ops.collectives import allgather, alltoall
from ops.patterns import Radix, rounds, runs
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import Steps, copy, every_rank
from sim.symmetry.renamings import rotation, rotation_of_pairs


@algorithm(
    allgather,
    name="bruck",
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    symmetry=rotation,
    ids={"mpich": "brucks", "ucc": "bruck"},
    v={"openmpi": "2", "mpich": "brucks", "ucc": "bruck", "kucg": "5"},
    reference="Bruck et al., TPDS 1997",
)
@titled("Bruck")
def bruck_allgather(n: int) -> Steps:
    """Round k: everyone sends the 2^k blocks it has to the rank 2^k places back; the last round only the rest.

    Before round k rank r has blocks r, r + 1 … r + 2^k - 1, counted round.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["allgather.bruck"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  01..    .12.    ..23    0..3
    step 2  0123    0123    0123    0123
    """
    r = every_rank(n)
    for k in range(rounds(n)):
        d = 1 << k
        yield copy(r, (r - d) % n, slot=runs(r, min(d, n - d)) % n)


@algorithm(
    allgather,
    ordered=True,
    cost=lambda n, *, radix: (rounds(n, radix), (n - 1) / n),
    symmetry=lambda n, **_: rotation(n),
    ids={"openmpi": "2", "mpich": "k_brucks"},
    v={},
    presets={"mpich:k_brucks": {"radix": 2}},
    reference="Bruck et al., TPDS 1997",
)
@titled("k-ary Bruck")
def k_bruck(n: int, *, radix: Radix = 4) -> Steps:
    """Bruck's rounds through radix - 1 ports at once: every round multiplies what each rank has."""
    r = every_rank(n)
    for k in range(rounds(n, radix)):
        d = radix**k
        yield tuple(copy(r, (r - far) % n, slot=runs(r, min(d, n - far)) % n) for far in range(d, min(d * radix, n), d))


@algorithm(
    alltoall,
    name="bruck",
    ordered=True,
    symmetry=rotation_of_pairs,
    cost=lambda n: (rounds(n), sum(i.bit_count() for i in range(n)) / n),
    ids={"openmpi": "3", "mpich": "brucks", "ucc": "bruck"},
    v={},
    reference="Bruck et al., TPDS 1997",
)
@titled("Bruck")
def bruck_alltoall(n: int) -> Steps:
    """Round k: everyone passes on, 2^k places, every block whose distance left to go has bit k set.

    Few messages, but a block is sent once for every bit of its distance. A block that has i places to go in
    all waits where the block from i places back will be.
    """
    r, distance = every_rank(n), np.arange(n)
    rank = r.reshape(-1, 1)
    yield copy(r, r, slot=(rank + distance) % n, to=n + (rank - distance) % n)
    for k in range(rounds(n)):
        far = np.nonzero(distance >> k & 1)[0]
        peer = (rank + (1 << k)) % n
        yield copy(r, peer, slot=n + (rank - far) % n, to=n + (peer - far) % n)

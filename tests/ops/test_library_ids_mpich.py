"""MPICH's recursive exchange and Gloo's reduce-scatter, held against their sources' own formulas."""

from collections import Counter
from math import log2

import numpy as np
import pytest

from ops import ALGORITHMS
from tests.ops.library_oracles import held, held_with_shares, sends
from tests.tables import each_row

# MPICH: recexchalgo.c, allreduce_intra_recexch.c, allreduce_intra_k_reduce_scatter_allgather.c.


def recexch(rank, n, k):
    """Whom a rank hands its data to first, the ranks that hand theirs to it, and its neighbours phase by phase."""
    k = n if 2 < n < k else 2 if n < k else k
    p = 1
    while p * k <= n:
        p *= k
    left = n - p
    reach = left * k // (k - 1)

    def real(v):
        return v * k + k - 1 if v < left // (k - 1) else v + left

    def proxy(r):
        if r < reach and r % k != k - 1:
            return min(r + k - 1 - r % k, reach)
        return None

    if proxy(rank) is not None:
        return proxy(rank), [], []
    v, phases, weight = rank // k if rank < reach else rank - left, [], 1
    while weight < p:
        digit = v // weight % k
        phases.append([real(v + (i - digit) * weight) for i in range(k) if i != digit])
        weight *= k
    return None, [r for r in range(n) if proxy(r) == rank], phases


COUNTS = (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17, 25, 30)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_mpich_s_recursive_exchange_goes_where_its_source_says(k):
    for n in COUNTS:

        def oracle(rank, n=n):
            up, down, phases = recexch(rank, n, k)
            return [[up]] if up is not None else [*phases, down]

        held("allreduce.mpich:recexch", n, oracle, radix=k)


def test_mpich_s_shared_exchange_swaps_the_largest_shares_with_the_nearest():
    for n in COUNTS:
        p = 1 << int(log2(n))

        def oracle(rank, n=n, p=p):
            up, down, phases = recexch(rank, n, 2)
            if up is not None:
                return [[(up, 1.0)]]
            there = [[(peer, 0.5 ** (t + 1))] for t, (peer,) in enumerate(phases)]
            return [*there, *there[::-1], *([[(peer, 1.0) for peer in down]] if down else [])]

        held_with_shares("allreduce.mpich:k_reduce_scatter_allgather", n, oracle)


def test_in_groups_of_several_a_rank_swaps_with_one_after_the_other_and_collects_from_all():
    told = sends(ALGORITHMS["allreduce.mpich:k_reduce_scatter_allgather"].schedule(9, radix=3))
    assert told[4] == [[3], [5], [1], [7], [1, 7], [3, 5]]


# Gloo: reduce_scatter.h.


@each_row("n", [2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 20])
def test_gloo_s_reduce_scatter_halves_in_binary_blocks_and_brings_shares_home(n):
    schedule = ALGORITHMS["reduce_scatter.gloo:reduce_scatter_halving_doubling"].schedule(n)
    sizes = [1 << k for k in reversed(range(n.bit_length())) if n >> k & 1]
    p, starts = sizes[0], np.cumsum([0, *sizes])
    due = Counter()
    for start, size in zip(starts, sizes, strict=False):
        for rank in range(start, start + size):
            due.update((rank, start + ((rank - start) ^ (1 << t)), 2.0 ** -(t + 1)) for t in range(int(log2(size))))

    def mirrored(v, size):
        return int(f"{v:0{int(log2(size))}b}"[::-1], 2) if size > 1 else 0

    for small, large, start, above in zip(sizes[1:], sizes, starts[1:], starts, strict=False):
        for rank in range(small):
            first = mirrored(rank, small) * (large // small)
            due.update((start + rank, above + mirrored(first + i, large), 1 / large) for i in range(large // small))
    for rank in range(p):
        first = mirrored(rank, p) / p
        for to in range(n):
            part = min(first + 1 / p, (to + 1) / n) - max(first, to / n)
            if part > 1e-9 and to != rank:
                due[rank, to, round(part, 9)] += 1
    weight = np.diff(schedule.moves) * schedule.unit_share
    told = Counter(zip(schedule.src.tolist(), schedule.dst.tolist(), np.round(weight, 9).tolist(), strict=True))
    assert told == Counter({(int(a), int(b), round(float(w), 9)): count for (a, b, w), count in due.items()})

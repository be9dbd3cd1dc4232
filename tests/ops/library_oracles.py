"""What schedules send, and the formulas of libraries' sources, rank by rank and round by round, to hold them against.

Nothing here knows how the project builds a schedule: an oracle tells, for one rank, to whom it sends in which order.
"""

from math import log2

import numpy as np
import pytest

from ops import ALGORITHMS


def sends(schedule):
    """By rank, the receivers of every step in which it sends to others; switches count as -1."""
    told = {rank: [] for rank in range(schedule.n)}
    for step in range(schedule.steps):
        now = {}
        for i in range(*schedule.step_start[step : step + 2]):
            src, dst = int(schedule.src[i]), int(schedule.dst[i])
            if src != dst and src < schedule.n:
                now.setdefault(src, []).append(dst if dst < schedule.n else -1)
        for src, dsts in now.items():
            told[src].append(sorted(dsts))
    return told


def shares(schedule):
    """By rank, how much of the whole it sends in every step, to all receivers together."""
    told = {rank: [] for rank in range(schedule.n)}
    weight = np.diff(schedule.moves) * schedule.unit_share
    for step in range(schedule.steps):
        now = {}
        for i in range(*schedule.step_start[step : step + 2]):
            src, dst = int(schedule.src[i]), int(schedule.dst[i])
            if src != dst and src < schedule.n:
                now[src] = now.get(src, 0) + weight[i]
        for src, part in now.items():
            told[src].append(part)
    return told


def held(alias, n, oracle, root=0, **params):
    """Every rank sends as the oracle says."""
    told = sends(ALGORITHMS[alias].schedule(n, root=root, **params))
    for rank in range(n):
        assert told[rank] == [sorted(now) for now in oracle(rank) if now], f"{alias}, {n} ranks, rank {rank}"


# Trees: kucg src/util/algo/ucg_kntree.c, Open MPI coll_base_topo.c.


def knomial_parent(v, n, k):
    size = 1
    while size < n:
        if v % (size * k):
            return v // (size * k) * size * k
        size *= k
    return None


def knomial_children(v, n, k):
    """Round by round: places further off first."""
    size = 1
    while size < n and v % (size * k) == 0:
        size *= k
    rounds = []
    while size > 1:
        size //= k
        rounds.append([v + size * j for j in range(1, k) if v + size * j < n])
    return rounds


def doubling(v, n):
    """Peers of recursive doubling among n: kucg src/util/algo/ucg_rd.c."""
    base = 1 << int(log2(n))
    extra = n - base
    if v < 2 * extra and v % 2 == 0:
        return [v + 1]
    new = v // 2 if v < 2 * extra else v - extra
    peers = [new ^ (1 << i) for i in range(int(log2(base)))]
    peers = [2 * p + 1 if p < extra else p + extra for p in peers]
    return [*peers, v - 1] if v < 2 * extra else peers


def halving(v, n):
    """Peer and share of every round of kucg's Rabenseifner: allreduce_rabenseifner.c, even ranks of pairs take part."""
    base = 1 << int(log2(n))
    extra = n - base
    if v < 2 * extra and v % 2:
        return None
    new = v // 2 if v < 2 * extra else v - extra
    rounds, share = [], 1.0
    for i in range(int(log2(base))):
        peer, share = new ^ (1 << i), share / 2
        rounds.append((2 * peer if peer < extra else peer + extra, share))
    return rounds


def kucg_rabenseifner(n, g, groups):
    """Peers and shares: halving among g neighbours, doubling of one share across each of `groups`, then back."""

    def oracle(rank):
        first, v = rank // g * g, rank % g
        base = 1 << int(log2(g))
        rounds, extra = halving(v, g), g - base
        if rounds is None:  # it gives one half away, adds the other, hands that over and hears the total in the end
            return [[(rank - 1, 0.5)], [(rank - 1, 0.5)]]
        inside = [[(first + peer, share)] for peer, share in rounds]
        across = [[(peer, 1 / base)] for group in groups(rank) for peer in group]
        fold = [[(rank + 1, 0.5)]] if v < 2 * extra else []
        unfold = [[(rank + 1, 1.0)]] if v < 2 * extra else []
        return fold + inside + across + inside[::-1] + unfold

    return oracle


def held_with_shares(alias, n, oracle, root=0, **params):
    schedule = ALGORITHMS[alias].schedule(n, root=root, **params)
    who, much = sends(schedule), shares(schedule)
    for rank in range(n):
        due = oracle(rank)
        assert who[rank] == [sorted(peer for peer, _ in now) for now in due], f"{alias}, {n} ranks, rank {rank}"
        assert much[rank] == pytest.approx([sum(share for _, share in now) for now in due])

"""What Open MPI runs under a number, held against its source's own formulas; see `library_oracles`."""

from math import log2

import numpy as np
import pytest

from ops import ALGORITHMS
from tests.ops.library_oracles import (
    halving,
    held,
    held_with_shares,
    kucg_rabenseifner,
)


@pytest.mark.parametrize(
    "alias", ["allreduce.openmpi:6", "allreduce.mpich:reduce_scatter_allgather", "allreduce.kucg:12"]
)
def test_rabenseifner_s_allreduce_swaps_the_largest_halves_with_the_nearest(alias):
    """coll_base_allreduce.c, redscat_allgather: vector halving and distance doubling, even ranks of pairs."""
    for n in (2, 3, 4, 6, 7, 8, 13, 16, 23):
        held_with_shares(alias, n, kucg_rabenseifner(n, n, lambda rank: []))


def redscat_gather(rank, n, root):
    """coll_base_reduce.c: the same halving, then shares go back towards the root, the smallest first."""
    base = 1 << int(log2(n))
    extra, steps = n - base, int(log2(base))
    outside = root < 2 * extra and root % 2
    rounds = halving(rank, n)
    sent = [[(rank + 1, 0.5)]] if rounds and rank < 2 * extra else []
    if rounds is None:
        sent = [[(rank - 1, 0.5)], [(rank - 1, 0.5)]]
    sent += [[pair] for pair in rounds or []]
    if outside and rank == 0:
        return [*sent, [(root, 1 / base)]]
    if rank == root or rounds is None:
        return sent
    new = rank // 2 if rank < 2 * extra else rank - extra
    goal = 0 if outside else root // 2 if root < 2 * extra else root - extra
    step = (new ^ goal).bit_length() - 1
    peer = new ^ (1 << step)
    peer = root if outside and peer == 0 else 2 * peer if peer < extra else peer + extra
    return [*sent, [(peer, 2.0 ** (steps - 1 - step) / base)]]


def test_rabenseifner_s_reduce_gathers_along_the_same_pairs():
    for n in (2, 4, 6, 7, 8, 13, 16):
        for root in sorted({0, 1, 2 % n, n - 1}):
            for alias in ("reduce.openmpi:7", "reduce.mpich:reduce_scatter_gather"):
                held_with_shares(alias, n, lambda rank, n=n, root=root: redscat_gather(rank, n, root), root)


# Open MPI's chains: coll_base_topo.c, ompi_coll_base_topo_build_chain.


def chain_next(v, n, fanout):
    """Whom place v feeds; heads and lengths as there."""
    fanout = min(fanout, n - 1)
    longest, longer = -(-(n - 1) // fanout), (n - 1) % fanout or fanout
    heads, at = [], 1
    for i in range(fanout):
        heads.append(at)
        at += longest if i < longer else longest - 1
    if v == 0:
        return heads
    return [] if v + 1 in heads or v + 1 == n else [v + 1]


@pytest.mark.parametrize("number, fanout", [("2", 4), ("3", 1)])
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_open_mpi_s_chain_has_four_chains_and_its_pipeline_one(collective, number, fanout):
    for n in (2, 3, 5, 8, 13, 22):
        for root in (0, n - 1):
            schedule = ALGORITHMS[f"{collective}.openmpi:{number}"].schedule(n, root=root)
            pairs = set(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True))
            pairs = {(a, b) for a, b in pairs if a != b}
            due = {((v + root) % n, (w + root) % n) for v in range(n) for w in chain_next(v, n, fanout)}
            assert pairs == (due if collective == "broadcast" else {(b, a) for a, b in due})


def test_segments_of_a_chain_follow_each_other_in_order():
    schedule = ALGORITHMS["broadcast.openmpi:2"].schedule(9, segments=5)
    for rank in range(1, 9):
        assert schedule.from_slot[np.flatnonzero(schedule.dst == rank)].tolist() == [0, 1, 2, 3, 4]


def test_a_number_s_parameters_are_told_and_may_be_changed():
    entry = ALGORITHMS["broadcast.openmpi:2"]
    assert (entry.name, entry.defaults) == ("broadcast.chain", {"segments": 8, "chains": 4})
    assert entry.settle(8, chains=2)["chains"] == 2
    assert ALGORITHMS["broadcast.chain"].defaults["chains"] == 1
    assert entry.known_as["openmpi"] == "2 (chains=4), 3"


# Open MPI's reduce_scatter_block: coll_base_reduce_scatter_block.c.


def rounddown(number, step):
    return number // step * step


def block_doubling(rank, n):
    """Peers of the second: swaps at distance 1, 2, 4 …, and those who heard from a group cut short pass that on."""
    rounds, mask = [], 1
    while mask < n:
        remote, tree = rank ^ mask, rounddown(rank, mask)
        if remote < n:
            rounds.append([remote])
        if rounddown(remote, mask) + mask > n:
            whole, hop = n - tree - mask, mask // 2
            while hop:
                other, root = rank ^ hop, rounddown(rank, 2 * hop)
                if other > rank and rank < root + whole <= other:
                    rounds.append([other])
                hop //= 2
        mask *= 2
    return rounds


def block_halving(rank, n):
    """Peers of the third: odd ranks of the first pairs take part, at distance p / 2, p / 4 … 1."""
    base = 1 << int(log2(n))
    extra = n - base
    if rank < 2 * extra and rank % 2 == 0:
        return [[rank + 1]]
    new, mask, rounds = rank // 2 if rank < 2 * extra else rank - extra, base // 2, []
    while mask:
        peer = new ^ mask
        rounds.append([2 * peer + 1 if peer < extra else peer + extra])
        mask //= 2
    return [*rounds, [rank - 1]] if rank < 2 * extra else rounds


def block_butterfly(rank, n):
    """Peers of the fourth: distance 1, 2, 4 …, then what ends elsewhere goes home by the mirrored number."""
    base = 1 << int(log2(n))
    extra, bits = n - base, int(log2(base))
    if rank < 2 * extra and rank % 2 == 0:
        return [[rank + 1]]
    new = rank // 2 if rank < 2 * extra else rank - extra
    real = [2 * v + 1 if v < extra else v + extra for v in range(base)]
    rounds = [[real[new ^ (1 << i)]] for i in range(bits)]
    mirror = int(f"{new:0{bits}b}"[::-1], 2) if bits else 0
    homes = [real[mirror] - 1, real[mirror]] if mirror < extra else [real[mirror]]
    return [*rounds, [home for home in homes if home != rank]]


@pytest.mark.parametrize("number, oracle", [("2", block_doubling), ("3", block_halving), ("4", block_butterfly)])
def test_open_mpi_s_reduce_scatter_blocks_go_where_its_sources_say(number, oracle):
    for n in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 22, 31):
        held(f"reduce_scatter_block.openmpi:{number}", n, lambda rank, n=n: oracle(rank, n))


def test_open_mpi_s_first_reduce_scatter_block_reduces_then_scatters():
    schedule = ALGORITHMS["reduce_scatter_block.openmpi:1"].schedule(11)
    assert [name for _, name in schedule.phases] == ["reduce", "scatter"]
    assert (schedule.src[schedule.step_of >= schedule.phases[1][0]] == 0).any()


def test_doubling_is_as_long_as_claimed_for_powers_of_two():
    """α·log p + β·m·(log p - (p - 1) / p), as the source's comment has it."""
    for p in (2, 4, 8, 32):
        q = int(log2(p))
        claim = ALGORITHMS["reduce_scatter.recursive_doubling"].cost(p)
        assert claim == pytest.approx((q, q - (p - 1) / p, q - (p - 1) / p))


def test_two_ranks_swap_in_open_mpi_s_fifth_alltoall_and_barrier():
    for alias in ("alltoall.openmpi:5", "barrier.openmpi:5"):
        held(alias, 2, lambda rank: [[1 - rank]])
        assert str(ALGORITHMS[alias].refuse(3)) == "is for 2 ranks, not 3"

"""What a library runs under a number, held against its source's own formulas, rank by rank and round by round.

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


def machine_aware(rank, levels, across):
    """Up to the first of each level it belongs to, `across` where it is the head of all, down the same levels.

    A level is (ranks of its group, fan-in, fan-out).
    """
    up, down = [], []
    for members, fan_in, fan_out in levels:
        v = members.index(rank)
        down = [[members[c] for c in now] for now in knomial_children(v, len(members), fan_out)] + down
        parent = knomial_parent(v, len(members), fan_in)
        if parent is not None:
            return [*up, [members[parent]], *down]
    return up + [[peer] for peer in across] + down


def groups_of(rank, n, g, s):
    node, socket = rank // g * g, rank // s * s
    return (
        list(range(socket, socket + s)),
        list(range(node, node + g, s)),
        list(range(node, node + g)),
        list(range(0, n, g)),
    )


def kucg_tree(n, g, s, *, fan_in, fan_out, socket, between=None):
    """kucg's barrier and allreduce trees; without `between` the nodes double."""

    def oracle(rank):
        in_socket, sockets, node, heads = groups_of(rank, n, g, s)
        levels = [(in_socket, fan_in, fan_out), (sockets, fan_in, fan_out)] if socket else [(node, fan_in, fan_out)]
        if between:
            return machine_aware(rank, [*levels, (heads, between, between)], [])
        peers = [heads[p] for p in doubling(heads.index(rank), len(heads))] if rank in heads else []
        return machine_aware(rank, levels, peers)

    return oracle


SHAPES = [(8, 4, 2), (12, 4, 2), (24, 8, 4), (32, 8, 2), (36, 12, 6), (40, 8, 4)]
"""Ranks, ranks per node, ranks per socket."""
NUMBERS = {
    "allreduce.kucg:3": {"fan_in": 2, "fan_out": 2, "socket": True},
    "allreduce.kucg:5": {"fan_in": 4, "fan_out": 2, "socket": False},
    "allreduce.kucg:6": {"fan_in": 4, "fan_out": 2, "socket": True},
    "allreduce.kucg:7": {"fan_in": 4, "fan_out": 2, "socket": False, "between": 8},
    "allreduce.kucg:8": {"fan_in": 4, "fan_out": 2, "socket": True, "between": 8},
    "allreduce.kucg:15": {"fan_in": 8, "fan_out": 8, "socket": False},
    "barrier.kucg:2": {"fan_in": 2, "fan_out": 2, "socket": False},
    "barrier.kucg:3": {"fan_in": 2, "fan_out": 2, "socket": True},
    "barrier.kucg:4": {"fan_in": 4, "fan_out": 2, "socket": False},
    "barrier.kucg:5": {"fan_in": 4, "fan_out": 2, "socket": True},
    "barrier.kucg:6": {"fan_in": 4, "fan_out": 2, "socket": False, "between": 8},
    "barrier.kucg:7": {"fan_in": 4, "fan_out": 2, "socket": True, "between": 8},
}


@pytest.mark.parametrize("alias", NUMBERS)
def test_kucg_s_trees_climb_sockets_and_nodes_as_its_sources_say(alias):
    """barrier/barrier.c and allreduce/allreduce.c: degrees 4 in and 2 out inside, 8 between nodes; 2 for binomial."""
    for n, g, s in SHAPES:
        params = {"group": g, "sockets": g // s} if NUMBERS[alias]["socket"] else {"group": g}
        oracle = kucg_tree(n, g, s, **NUMBERS[alias])
        # a sum arrives once from a child, whatever round it came in
        held(alias, n, oracle, **params)


def test_kucg_s_offloaded_barrier_climbs_by_four_and_comes_down_by_two():
    for n in (2, 5, 8, 13, 17):
        ranks = list(range(n))
        held("barrier.kucg:stars 1", n, lambda rank, ranks=ranks: machine_aware(rank, [(ranks, 4, 2)], []))


def test_kucg_s_second_allreduce_is_binomial_trees_and_doubling():
    for n, g, s in SHAPES:
        held("allreduce.kucg:2", n, kucg_tree(n, g, s, fan_in=2, fan_out=2, socket=False), group=g)


@pytest.mark.parametrize(
    "alias, socket",
    [("allreduce.kucg:9", False), ("allreduce.kucg:10", True), ("barrier.kucg:8", False), ("barrier.kucg:9", True)],
)
def test_in_network_numbers_meet_in_one_switch(alias, socket):
    for n, g, s in SHAPES:
        params = {"group": g, "sockets": g // s} if socket else {"group": g}
        told = sends(ALGORITHMS[alias].schedule(n, **params))
        assert {rank for rank in told if [-1] in told[rank]} == set(range(0, n, g))
        assert all(peer == -1 or peer // g == rank // g for rank in told for now in told[rank] for peer in now)


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


def doubled(rank, members):
    return [members[p] for p in doubling(members.index(rank), len(members))]


@pytest.mark.parametrize("n, g", [(8, 4), (16, 8), (12, 6), (24, 8), (15, 5), (20, 4), (6, 2)])
def test_kucg_s_thirteenth_allreduce_is_rabenseifner_s_in_the_node_and_doubling_between(n, g):
    def across(rank):
        return [doubled(rank, list(range(rank % g, n, g)))]

    held_with_shares("allreduce.kucg:13", n, kucg_rabenseifner(n, g, across), group=g)


@pytest.mark.parametrize("n, g, s", [(16, 8, 4), (32, 8, 2), (24, 6, 3), (40, 8, 4)])
def test_kucg_s_fourteenth_allreduce_does_so_in_the_socket(n, g, s):
    def across(rank):
        node = rank // g * g
        return [doubled(rank, list(range(node + rank % s, node + g, s))), doubled(rank, list(range(rank % g, n, g)))]

    held_with_shares("allreduce.kucg:14", n, kucg_rabenseifner(n, s, across), group=g, sockets=g // s)


def test_kucg_s_rabenseifners_refuse_nodes_and_sockets_of_one():
    assert ALGORITHMS["allreduce.kucg:13"].refuse(4, group=1)
    assert ALGORITHMS["allreduce.kucg:14"].refuse(4, group=2, sockets=2)


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


# kucg's broadcasts and scatters.


def test_kucg_s_sixth_broadcast_is_an_unsegmented_ring():
    for n, root in ((2, 0), (7, 3)):
        held("broadcast.kucg:6", n, lambda r, n=n, root=root: [[(r + 1) % n]] if (r + 1) % n != root else [], root)
        assert ALGORITHMS["broadcast.kucg:6"].schedule(n).messages == n - 1


@pytest.mark.parametrize("alias, between", [("broadcast.kucg:2", 2), ("broadcast.kucg:3", 8), ("broadcast.kucg:4", 8)])
def test_kucg_s_node_aware_broadcasts_start_at_rank_0(alias, between):
    """bcast/bcast_na_kntree.c: the root hands the data to rank 0, then the first ranks, then the nodes."""
    for n, g, _ in SHAPES:
        for root in (0, 5):

            def oracle(rank, n=n, g=g, root=root):
                heads, node = list(range(0, n, g)), list(range(rank // g * g, rank // g * g + g))
                sent = [[0]] if rank == root != 0 else []
                if rank in heads:
                    sent += [
                        [heads[c] for c in now] for now in knomial_children(heads.index(rank), len(heads), between)
                    ]
                return sent + [[node[c] for c in now] for now in knomial_children(rank % g, g, 2)]

            held(alias, n, oracle, root, group=g)


@pytest.mark.parametrize("n", [2, 3, 8, 13])
def test_kucg_s_second_scatterv_is_a_binomial_tree(n):
    """scatterv/scatterv.c: SCATTERV_KNTREE_DEGREE is 2."""
    for root in (0, n - 1):

        def oracle(rank, root=root):
            return [[(c + root) % n for c in now] for now in knomial_children((rank - root) % n, n, 2)]

        for number in ("2", "stars 1"):
            held(f"scatterv.kucg:{number}", n, oracle, root)


def test_kucg_s_third_scatterv_goes_to_the_nodes_first():
    for n, g, _ in SHAPES:

        def oracle(rank, n=n, g=g):
            heads = list(range(0, n, g))
            first = knomial_children(heads.index(rank), len(heads), 2) if rank in heads else []
            sent = [[g * c for c in now] for now in first]
            return sent + [[rank // g * g + c for c in now] for now in knomial_children(rank % g, g, 2)]

        held("scatterv.kucg:3", n, oracle, group=g)


def ring_modified(v, n, two):
    """bcast_inc_ring_m.c and bcast_inc_2_ring_m.c: whom place v sends to."""
    middle = n // 2 if two else n
    if v == 0:
        return sorted({1, *([2] if n > 2 else []), *([middle] if two and n >= 6 else [])})
    last = v + 1 == n or (two and v + 1 == middle) or v == 1
    return [] if last else [v + 1]


@pytest.mark.parametrize("number, two", [("12", False), ("13", True)])
def test_modified_rings_serve_the_next_rank_first_and_alone(number, two):
    for n in range(2, 20):
        for root in (0, n // 2):

            def oracle(rank, n=n, root=root):
                return [[(w + root) % n for w in ring_modified((rank - root) % n, n, two)]]

            held(f"broadcast.kucg:{number}", n, oracle, root)


def rolled(v, p):
    """bcast_long.c: peer and share sent at each of p - 1 moments; an odd p gives place 0 two peers or none."""
    rounds = []
    for step in range(1, p):
        offset = (step + 1) // 2
        if p % 2 and v == 0 and step % 2 == 0:
            continue
        up = (v % 2) ^ (step % 2)
        now = [(v + 1 if up else v - 1, v + 1 - offset if up else v - 1 + offset)]
        if p % 2 and v == 0:
            now.append((p - 1, p - 1 + offset))
        rounds.append([(peer % p, share % p) for peer, share in now])
    return rounds


def long_oracle(p):
    return lambda v: knomial_children(v, p, 2) + [[peer for peer, _ in now] for now in rolled(v, p)]


def test_kucg_s_long_broadcast_scatters_then_rolls():
    for n in (2, 3, 4, 7, 8, 11, 16):
        for root in (0, 1):

            def oracle(rank, n=n, root=root):
                return [[(c + root) % n for c in now] for now in long_oracle(n)((rank - root) % n)]

            held("broadcast.kucg:11", n, oracle, root)
        schedule = ALGORITHMS["broadcast.kucg:11"].schedule(n)
        told = {rank: [] for rank in range(n)}
        for step in range(schedule.steps):
            for i in range(*schedule.step_start[step : step + 2]):
                if schedule.phase_of(step) == "allgather":
                    told[int(schedule.src[i])].append(
                        (int(schedule.dst[i]), int(schedule.from_slot[schedule.moves[i]]))
                    )
        for v in range(n):
            assert sorted(told[v]) == sorted(pair for now in rolled(v, n) for pair in now)


def test_the_modified_one_leaves_the_next_rank_out():
    for n in (2, 3, 4, 8, 9):
        for root in (0, 2 % n):
            told = sends(ALGORITHMS["broadcast.kucg:14"].schedule(n, root=root))
            place = [root, *((root + k) % n for k in range(2, n))]
            assert told[(root + 1) % n] == []
            for v, rank in enumerate(place):
                due = [[place[c] for c in now] for now in long_oracle(n - 1)(v)] if n > 2 else []
                near = [(root + 1) % n]
                due = [near + (due[0] if due else []), *due[1:]] if v == 0 else due
                assert told[rank] == [sorted(now) for now in due if now]


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
        assert ALGORITHMS[alias].refuse(3) == "is for 2 ranks, not 3"


# Bine: HLC-Lab/pico, libpico_utils.h, libpico_reduce.c and libpico_gather.c.


def negabinary(number, bits):
    """The digits of a number in base -2, as many as there are bits, counting places modulo 2 ** bits."""
    for value in (number, number - (1 << bits)):
        digits, rest = 0, value
        for i in range(bits + 1):
            digit = rest % 2
            digits, rest = digits | digit << i, -((rest - digit) // 2)
        if digits < 1 << bits and rest == 0:
            return digits
    raise AssertionError(number)


def from_negabinary(digits, n):
    return sum((-2) ** i for i in range(digits.bit_length()) if digits >> i & 1) % n


def bine_parent(v, n):
    """When place v sends up, and to whom: its last digits are no longer all alike."""
    digits, mask, step = negabinary(v, int(log2(n))), 1, 0
    while mask < n:
        partner = from_negabinary(digits ^ (2 * mask - 1), n)
        last = digits & (4 * mask - 1)
        if last not in (0, 4 * mask - 1) or (2 * mask >= n and v != 0):
            return step, partner
        mask, step = 2 * mask, step + 1
    return None


@pytest.mark.parametrize("name", ["reduce.bine", "gather.bine", "scatter.bine", "broadcast.bine"])
def test_bine_trees_are_those_of_the_paper_s_own_code(name):
    for n in (2, 4, 8, 16, 64):
        for root in (0, 3 % n):
            schedule = ALGORITHMS[name].schedule(n, root=root)
            up = name.startswith(("reduce", "gather"))
            child, parent = (schedule.src, schedule.dst) if up else (schedule.dst, schedule.src)
            told = {
                (int(c), int(p)): int(step) if up else schedule.steps - 1 - int(step)
                for c, p, step in zip(child, parent, schedule.step_of, strict=True)
            }
            due = {}
            for v in range(1, n):
                step, partner = bine_parent(v, n)
                due[(v + root) % n, (partner + root) % n] = step
            assert told == due


def test_bine_subtrees_are_runs_of_ranks():
    for name in ("gather.bine", "scatter.bine"):
        schedule = ALGORITHMS[name].schedule(32, root=5)
        for row in np.split(schedule.from_slot, schedule.moves[1:-1]):
            gaps = np.diff(np.sort(row))
            assert (gaps > 1).sum() <= (0 in row and 31 in row)


def bine_peer(rank, step, n):
    """libpico: even ranks go one way, odd ones the other, by 1 - 2 + 4 - 8 … of step + 1 terms."""
    far = from_negabinary((1 << (step + 1)) - 1, n)
    return (rank + far) % n if rank % 2 == 0 else (rank - far) % n


@pytest.mark.parametrize(
    "name, far_first", [("allgather.bine", True), ("reduce_scatter.bine", False), ("alltoall.bine", False)]
)
def test_bine_butterflies_pair_ranks_as_the_paper_s_own_code_does(name, far_first):
    for n in (2, 4, 8, 32):
        steps = range(int(log2(n)))
        order = list(reversed(steps)) if far_first else list(steps)
        share = {"alltoall.bine": [0.5] * len(order), "reduce_scatter.bine": [0.5**k for k in range(1, len(order) + 1)]}
        part = share.get(name, [2.0**k / n for k in steps])
        held_with_shares(
            name, n, lambda rank, n=n, order=order, part=part: [
                [(bine_peer(rank, step, n), size)] for step, size in zip(order, part, strict=True)
            ]
        )  # fmt: skip


@pytest.mark.parametrize("name", ["broadcast.bine_scatter_allgather", "reduce.bine_scatter_gather"])
def test_bine_for_large_data_uses_the_butterfly_both_ways(name):
    for n, root in ((2, 1), (8, 0), (16, 5)):
        told, steps = sends(ALGORITHMS[name].schedule(n, root=root)), list(range(int(log2(n))))
        for rank in range(n):
            v = (rank - root) % n
            butterfly = [[(bine_peer(v, step, n) + root) % n] for step in steps]
            rest = told[rank][len(steps) :] if name.startswith("reduce") else told[rank][: -len(steps)]
            if name.startswith("reduce"):
                assert told[rank][: len(steps)] == butterfly
                assert len(rest) == (v != 0)
            else:
                assert told[rank][-len(steps) :] == butterfly[::-1]
            assert all(now in butterfly for now in rest)

"""What kucg runs under a number, held against its source's own formulas; see `library_oracles`."""

import pytest

from ops import ALGORITHMS
from tests.ops.library_oracles import (
    doubling,
    held,
    held_with_shares,
    knomial_children,
    knomial_parent,
    kucg_rabenseifner,
    sends,
)
from tests.tables import each_row


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


@each_row("alias", NUMBERS)
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

"""Gloo's, MPICH's, UCC's and NCCL's algorithms against their sources' own formulas, see `library_oracles`."""

import json
from math import ceil, log2

import numpy as np
import pytest

from cli import main
from ops import ALGORITHMS
from ops.algorithms.circulant import circulant
from ops.plan.notation import algorithm_spec
from tests.ops.library_oracles import held, held_with_shares, sends
from tests.tables import each_row

# Circulant graphs: Träff's example of 17 ranks, skips 1 2 3 5 9, which MPICH's circ_graph.c repeats.
RECEIVES = """
-4  0 -5 -4 -3 -5 -2 -5 -4 -3 -1 -5 -4 -3 -5 -2 -5
-5 -4  1 -5 -4 -3 -3 -2 -5 -4 -3 -1 -5 -4 -3 -3 -2
-2 -2 -2  2  0 -4 -4 -3 -2 -2 -4 -3 -1 -1 -4 -4 -3
-1 -3 -3 -2 -2  3  0  1  2 -5 -2 -2 -2 -2 -1 -1 -1
-3 -1 -1 -1 -1 -1 -1 -1 -1  4  0  1  2  0  3  0  1
"""


def test_a_circulant_graph_of_17_is_the_one_in_the_paper():
    graph = circulant(17)
    assert graph.skips == [1, 2, 3, 5, 9, 17]
    assert graph.receives.T.tolist() == [[int(word) for word in line.split()] for line in RECEIVES.split("\n")[1:-1]]


@each_row("n", [2, 3, 5, 10, 17, 33, 64, 100])
def test_every_round_of_a_circulant_graph_goes_by_one_skip_and_no_rank_has_two_messages(n):
    q, skips = ceil(log2(n)), [n]
    while skips[0] > 1:
        skips.insert(0, -(-skips[0] // 2))
    for segments in (1, 3, 11):
        schedule = ALGORITHMS["broadcast.circulant_graph"].schedule(n, root=1, segments=segments)
        assert schedule.steps == segments - 1 + q
        assert schedule.messages == segments * (n - 1)
        for step in range(schedule.steps):
            now = slice(*schedule.step_start[step : step + 2])
            src, dst = schedule.src[now], schedule.dst[now]
            assert set(((dst - src) % n).tolist()) <= {skips[(step - (segments - 1)) % q]}
            assert len(set(src.tolist())) == len(src) == len(set(dst.tolist()))
        back = ALGORITHMS["reduce.circulant_graph"].schedule(n, root=1, segments=segments)
        assert list(zip(back.src, back.dst, back.from_slot, strict=True))[::-1] != []
        assert sorted(zip(back.src, back.dst, back.from_slot, strict=True)) == sorted(
            zip(schedule.dst, schedule.src, schedule.from_slot, strict=True)
        )
    gathered = ALGORITHMS["allgather.circulant_graph"].schedule(n)
    assert gathered.steps == q
    assert [int(np.unique((gathered.dst - gathered.src)[gathered.step_of == k] % n)[0]) for k in range(q)] == skips[:-1]


# Gloo: allreduce_halving_doubling.h, allreduce_ring_chunked.h, allreduce_ring.h, reduce.cc, barrier_all_to_all.h.


def reverse_bits(number, count):
    return int(f"{number:0{count}b}"[::-1], 2) if count else 0


def binary_blocks(rank, n):
    """Peers and shares: inside the block, to the larger block, to the smaller one, inside again."""
    sizes = [1 << k for k in range(n.bit_length()) if n >> k & 1][::-1]
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    mine = max(i for i, offset in enumerate(offsets) if offset <= rank)
    size, v = sizes[mine], rank - offsets[mine]
    steps = int(log2(size))
    inside = [[(offsets[mine] + (v ^ 1 << k), 0.5 ** (k + 1))] for k in range(steps)]
    larger, smaller = [], []
    if mine > 0:
        times = sizes[mine - 1] // size
        ordinal, bits = reverse_bits(v, steps) * times, int(log2(sizes[mine - 1]))
        peers = [offsets[mine - 1] + reverse_bits(ordinal + i, bits) for i in range(times)]
        larger = [[(peer, 1 / sizes[mine - 1]) for peer in peers]]
    if mine + 1 < len(sizes):
        smaller = [[(offsets[mine + 1] + v % sizes[mine + 1], 1 / size)]]
    return inside + larger + smaller + inside[::-1]


def test_gloo_s_halving_doubling_works_in_binary_blocks():
    for n in (2, 3, 5, 6, 7, 8, 11, 13, 16, 23, 31):
        held_with_shares("allreduce.gloo:allreduce_halving_doubling", n, lambda rank, n=n: binary_blocks(rank, n))


def test_gloo_s_chunked_ring_sends_two_chunks_in_turn():
    for n in (2, 3, 8, 13):
        schedule = ALGORITHMS["allreduce.gloo:allreduce_ring_chunked"].schedule(n)
        assert set(((schedule.dst - schedule.src) % n).tolist()) == {1}
        for rank in range(n):

            def at(turn, n=n, rank=rank):
                return (2 * rank - (turn & ~1) + (turn & 1)) % (2 * n)

            due = [at(0), at(1), *map(at, range(2, 2 * n)), *map(at, range(2 * n - 4))]
            assert schedule.from_slot[np.flatnonzero(schedule.src == rank)].tolist() == due


def test_gloo_s_plain_ring_passes_whole_buffers_round_once():
    for n in (2, 5, 9):
        held_with_shares("allreduce.gloo:allreduce_ring", n, lambda rank, n=n: [[((rank + 1) % n, 1.0)]] * (n - 1))


def test_gloo_s_reduce_goes_round_downwards_then_to_the_root():
    for n, root in ((2, 0), (5, 3), (8, 0)):
        schedule = ALGORITHMS["reduce.gloo:reduce"].schedule(n, root=root)
        for rank in range(n):
            sent = np.flatnonzero(schedule.src == rank)
            ring = [(2 * (rank + 1) + i) % (2 * n) for i in range(2 * n - 2)]
            assert schedule.from_slot[schedule.moves[sent[: 2 * n - 2]]].tolist() == ring
            assert set(schedule.dst[sent[: 2 * n - 2]].tolist()) == {(rank - 1) % n}
            assert schedule.dst[sent[2 * n - 2 :]].tolist() == ([root] if rank != root else [])


def test_gloo_s_barrier_of_all_to_all_is_one_round():
    held("barrier.gloo:all_to_all", 6, lambda rank: [[peer for peer in range(6) if peer != rank]])


# MPICH: allreduce_intra_recursive_multiplying.c and its neighbours.


def multiplying(rank, n, k):
    whole = 1
    while whole * k <= n:
        whole *= k
    if rank >= whole:
        return [[rank % whole]]
    rounds, distance = [], 1
    while distance < whole:
        start = rank // (distance * k) * distance * k
        rounds.append([p for p in range(start + rank % distance, start + distance * k, distance) if p != rank])
        distance *= k
    return [*rounds, list(range(rank % whole + whole, n, whole))]


def test_mpich_s_recursive_multiplying_swaps_in_groups_of_k():
    for k in (2, 3, 4, 7):
        for n in (2, 3, 5, 8, 9, 14, 16, 27, 30):
            held("allreduce.mpich:recursive_multiplying", n, lambda rank, n=n, k=k: multiplying(rank, n, k), radix=k)


def test_mpich_s_dissemination_tells_k_minus_1_ranks_a_round():
    for k in (2, 3, 4):
        for n in (2, 4, 7, 9, 16, 20):

            def oracle(rank, n=n, k=k):
                rounds, shift = [], 1
                while shift < n:
                    rounds.append([(rank + j * shift) % n for j in range(1, k) if j * shift < n])
                    shift *= k
                return rounds

            held("barrier.mpich:k_dissemination", n, oracle, radix=k)


def test_mpich_s_k_bruck_alltoall_sends_by_digits():
    for k in (2, 3, 4):
        for n in (2, 5, 9, 16, 20):

            def oracle(rank, n=n, k=k):
                rounds, delta = [], 1
                while delta < n:
                    count = {j: sum(1 for i in range(n) if i // delta % k == j) for j in range(1, k)}
                    rounds.append([((rank + j * delta) % n, size / n) for j, size in count.items() if size])
                    delta *= k
                return rounds

            held_with_shares("alltoall.mpich:k_brucks", n, oracle, radix=k)


def test_mpich_s_exchange_by_halving_meets_far_groups_first():
    for k, n in ((2, 8), (3, 9), (4, 16), (2, 32)):

        def oracle(rank, n=n, k=k):
            rounds, distance, share = [], n // k, 1 / n
            while distance:
                start = rank // (distance * k) * distance * k + rank % distance
                rounds.append([(start + j * distance, share) for j in range(k) if start + j * distance != rank])
                distance, share = distance // k, share * k
            return rounds

        held_with_shares("allgather.mpich:recexch_halving", n, oracle, radix=k)


def test_mpich_s_noncommutative_reduce_scatter_halves_mirrored_blocks():
    for n in (2, 4, 16):
        bits = int(log2(n))
        schedule = ALGORITHMS["reduce_scatter.mpich:noncommutative"].schedule(n)
        for rank in range(n):
            low, size = 0, n
            for k, i in enumerate(np.flatnonzero(schedule.src == rank)):
                size //= 2
                upper = rank >> k & 1
                window = range(low + (0 if upper else size), low + (0 if upper else size) + size)
                low += size if upper else 0
                assert schedule.dst[i] == rank ^ 1 << k
                sent = schedule.from_slot[schedule.moves[i] : schedule.moves[i + 1]]
                assert {reverse_bits(int(block), bits) for block in sent} == set(window)


# UCC: allreduce_sliding_window.c; cl/hier.


def test_ucc_s_sliding_window_fetches_from_the_ranks_after_it():
    n, window = 7, 2
    schedule = ALGORITHMS["allreduce.ucc:3"].schedule(n, window=window, segments=2)
    for rank in range(n):
        come = (schedule.dst == rank) & (schedule.src != rank)
        gets = np.flatnonzero(come & (schedule.to_slot[schedule.moves[:-1]] >= 2 * n))
        assert ((schedule.src[gets] - rank) % n).tolist() == [1, 2, 3, 4, 5, 6] * 2
        assert np.bincount(schedule.step_of[gets]).max() == window
        assert schedule.from_slot[schedule.moves[gets]].tolist() == [2 * rank] * 6 + [2 * rank + 1] * 6
        puts = np.flatnonzero(
            (schedule.src == rank) & (schedule.to_slot[schedule.moves[:-1]] < 2 * n) & (schedule.dst != rank)
        )
        assert ((schedule.dst[puts] - rank) % n).tolist() == [1, 2, 3, 4, 5, 6] * 2


def recursive_knomial(rank, n, radix):
    """recursive_knomial.h: groups of the pattern's loop, extras served by the even rank before them."""
    k = min(radix, n)
    reach = k
    while reach < n:
        reach *= k
    whole = reach if reach == n else reach // k
    extra = n - n // whole * whole
    if rank < 2 * extra and rank % 2:
        return [[rank - 1]]
    loop, rounds, power = rank // 2 if rank < 2 * extra else rank - extra, [], 1
    while power < n - extra:
        step = power * k
        peers = [(loop + j * power) % step + loop // step * step for j in range(1, k)]
        rounds.append([2 * p if p < extra else p + extra for p in peers if p < n - extra])
        power = step
    return [*rounds, [rank + 1]] if rank < 2 * extra else rounds


@pytest.mark.parametrize("alias", ["allreduce.ucc:0", "barrier.ucc:knomial"])
def test_ucc_s_recursive_knomial_leaves_few_ranks_out(alias):
    for k in (2, 3, 4):
        for n in (2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 24, 30):
            held(alias, n, lambda rank, n=n, k=k: recursive_knomial(rank, n, k), radix=k)


def test_ucc_s_knomial_reduce_scatter_goes_the_rounds_backwards_and_gives_those_left_out_their_block_last():
    """sra_knomial.h: a segment is the blocks of as many ranks of the loop as the round's distance, extras with them."""
    for k in (2, 3, 4):
        for n in (2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 24, 30):
            whole = max(min(k, n) ** at for at in range(6) if min(k, n) ** at <= n)
            extra = n - n // whole * whole

            def shares(rank, n=n, k=k, extra=extra):
                rounds = recursive_knomial(rank, n, k)
                if rank < 2 * extra and rank % 2:
                    return [[(rank - 1, 1)]]
                last = [[(rank + 1, 1 / n)]] if rank < 2 * extra else []
                sent = []
                for at, peers in enumerate(rounds[:-1] if last else rounds):
                    power = min(k, n) ** at
                    starts = [(peer // 2 if peer < 2 * extra else peer - extra) // power * power for peer in peers]
                    counts = [sum(2 if v < extra else 1 for v in range(s, s + power)) / n for s in starts]
                    sent.insert(0, list(zip(peers, counts, strict=True)))
                return [*sent, *last]

            held_with_shares("reduce_scatter.ucc:knomial", n, shares, radix=k)


def test_ucc_s_hierarchical_allgatherv_gathers_passes_and_broadcasts():
    n, g = 24, 4
    schedule = ALGORITHMS["allgatherv.ucc:gab"].schedule(n, group=g)
    across = schedule.src // g != schedule.dst // g
    assert set(schedule.src[across].tolist()) == set(range(0, n, g))
    assert ((schedule.dst - schedule.src)[across] % n == g).all()
    assert across.sum() == (n // g) * (n // g - 1)
    assert [name for _, name in schedule.phases] == [
        "gather in the node", "allgather between nodes", "broadcast in the node",
    ]  # fmt: skip


# NCCL: CollNetDirect.


@pytest.mark.parametrize("name", ["allgather.nccl:CollNetDirect", "reduce_scatter.nccl:CollNetDirect"])
def test_collnet_direct_crosses_nodes_in_the_switch_alone(name):
    n, g = 24, 8
    schedule = ALGORITHMS[name].schedule(n, group=g)
    ranks = (schedule.src < n) & (schedule.dst < n)
    assert (schedule.src[ranks] // g == schedule.dst[ranks] // g).all()
    told, blocks = sends(schedule), np.diff(schedule.moves)
    up = schedule.dst == n
    assert (blocks[up] == (1 if name.startswith("allgather") else n // g)).all()
    assert all([-1] in told[rank] for rank in range(n))
    down = schedule.src == n
    assert (blocks[down] == (n // g - 1 if name.startswith("allgather") else 1)).all()


# Parameters that a library takes where a person says nothing: MPICH's doc/wiki on collectives, Open MPI's decisions.


@each_row(
    "alias, parameters",
    [
        ("allgather.mpich:k_brucks", {"radix": 2}),
        ("allgather.mpich:recexch_doubling", {"radix": 2}),
        ("allgather.mpich:recexch_halving", {"radix": 2}),
        ("alltoall.mpich:k_brucks", {"radix": 2}),
        ("allreduce.mpich:recursive_multiplying", {"radix": 2}),
        ("broadcast.mpich:tree", {"radix": 2}),
        ("broadcast.openmpi:7", {"radix": 4}),
        ("broadcast.kucg:10", {"radix": 4}),
        ("broadcast.ucc:0", {"radix": 4}),
        ("alltoall.openmpi:4", {"window": 65536}),
        ("allgather.openmpi:2", {"radix": 4}),
    ],
)
def test_numbers_bring_the_library_s_own_defaults(alias, parameters):
    assert ALGORITHMS[alias].defaults == parameters


def test_a_number_stands_wherever_an_algorithm_does(capsys):
    machine = ("--machine", "switch:ranks=8", "--size", "1MiB")
    assert main(["compare", "broadcast.openmpi:2", "broadcast.chain:chains=4", *machine, "--json"]) == 0
    one, other = json.loads(capsys.readouterr().out)["runs"]
    assert one["time_s"] == other["time_s"]
    assert algorithm_spec("broadcast.openmpi:2,segments=3") == ("broadcast.chain", {"chains": "4", "segments": "3"})
    assert main(["run", "reduce_scatter_block", "--library", "openmpi", "--algorithm-id", "2", *machine]) == 0
    assert "reduce_scatter.recursive_doubling on" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ("run", "reduce_scatter_block", "--library", "openmpi", "--algorithm-id", "9"),
            "choose from 1 (reduce_scatter.reduce",
        ),
        (("run", "broadcast.openmpi:77"), "openmpi has no broadcast algorithm '77': choose from 1 (broadcast.linear)"),
        (("compare", "broadcast.chain:segments", "broadcast.openmpi:3"), "'segments' is not key=value"),
    ],
)
def test_a_number_there_is_none_of_is_answered_with_those_there_are(capsys, words, message):
    assert main([*words, "--machine", "switch:ranks=8", "--size", "1MiB"]) == 2
    assert message in capsys.readouterr().err


# How many there are.

ALIKE = {
    ("allreduce.bine", "allreduce.swing"),
    ("allgather.two_rank", ""), ("alltoall.two_rank", ""), ("barrier.two_rank", ""),
}  # fmt: skip
"""The same messages where parameters are left out, though not the same slots; and what is for two ranks alone."""
SIZES = (2, 4, 6, 9, 12, 16)


def messages(entry, n):
    """Step by step, who sends how much to whom; nothing where n ranks cannot be done."""
    if entry.refuse(n, **entry.defaults):
        return None
    schedule = entry.schedule(n)
    weight = np.round(np.diff(schedule.moves) * (schedule.unit_share or 1), 9)
    away = schedule.src != schedule.dst
    columns = (schedule.step_of[away], schedule.src[away], schedule.dst[away], weight[away])
    order = np.lexsort(columns[::-1])
    steps = np.unique(columns[0], return_inverse=True)[1]
    return steps[order].tobytes() + b"".join(column[order].tobytes() for column in columns[1:])


def test_more_than_115_algorithms_differ_in_their_messages():
    distinct = ALGORITHMS.distinct()
    told = {entry.name: [messages(entry, n) for n in SIZES] for entry in distinct}
    alike = set()
    for entry in distinct:
        for other in distinct:
            if entry.name < other.name and entry.collective is other.collective:
                both = [(a, b) for a, b in zip(told[entry.name], told[other.name], strict=True) if a and b]
                if both and all(a == b for a, b in both):
                    alike.add((entry.name, other.name))
    two = {name for name, _ in ALIKE if name.endswith("two_rank")}
    assert {pair for pair in alike if not two & set(pair)} == {pair for pair in ALIKE if pair[1]}
    assert len(distinct) - len(ALIKE) > 115

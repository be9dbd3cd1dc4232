"""Every algorithm in the registry keeps its promise, and moves what its description says."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from docs import catalogue
from ops import ALGORITHMS, algorithm
from ops.algorithms.double_tree import two_parents
from ops.collectives import COLLECTIVES, allreduce
from sim.errors import InputError
from sim.schedule import copy, reduce
from sim.schedule.verify import verify
from tests.ops.reference import NS, shortcomings, variants
from tests.tables import dealt, each_row

BASIC = [name for name in ALGORITHMS if not ALGORITHMS[name].collective.vector]
ROOTED = [name for name in BASIC if ALGORITHMS[name].collective.rooted]


def done(algorithm, n, root=0, **params):
    """The schedule, or None where the algorithm refuses n and says why."""
    try:
        return algorithm.schedule(n, root=root, **params)
    except InputError as refusal:
        reason = str(refusal)
    assert str(n) in reason
    assert "choose another number of ranks" in reason
    return None


def could(algorithm, ns, params):
    """Whether the algorithm does not refuse all of these numbers."""
    return any(not algorithm.refuse(n, **algorithm.defaults | params) for n in ns)


def pieces(algorithm, n, params):
    return algorithm.cut(n, algorithm.settle(n, **params))


@each_row("name, ns", product(BASIC, dealt(NS)), over=["ns"])
def test_every_contribution_arrives_exactly_once(name, ns):
    algorithm, can = ALGORITHMS[name], 0
    for n in ns:
        schedule = done(algorithm, n)
        if schedule is not None:
            assert shortcomings(schedule, algorithm.collective.name, pieces(algorithm, n, {})) == []
            can += 1
    assert can or not could(algorithm, ns, {})


@each_row("name", BASIC)
def test_every_algorithm_can_do_some_number_of_ranks(name):
    for params in variants(ALGORITHMS[name]):
        assert could(ALGORITHMS[name], NS, params)


@each_row("name, ns", product(BASIC, dealt(NS)), over=["ns"])
def test_every_parameter_value_keeps_the_promise(name, ns):
    algorithm = ALGORITHMS[name]
    for params in list(variants(algorithm))[1:]:
        can = 0
        for n in ns:
            schedule = done(algorithm, n, **params)
            if schedule is not None:
                assert verify(schedule).verdict == "ok"
                can += 1
                if n in (6, 8, 9, 12):
                    assert shortcomings(schedule, algorithm.collective.name, pieces(algorithm, n, params)) == []
        assert can or not could(algorithm, ns, params)


@each_row("name, ns", product(ROOTED, dealt((2, 3, 4, 6, 7, 8, 13, 16))), over=["ns"])
def test_any_rank_can_be_the_root(name, ns):
    algorithm = ALGORITHMS[name]
    for n in ns:
        for root in range(1, n):
            schedule = done(algorithm, n, root)
            if schedule is not None:
                assert schedule.root == root
                assert verify(schedule).verdict == "ok"
                if root in (1, n - 1):
                    assert shortcomings(schedule, algorithm.collective.name, pieces(algorithm, n, {}), root) == []


@each_row("name", ALGORITHMS)
def test_both_judges_agree_at_24_ranks(name):
    schedule = done(ALGORITHMS[name], 24) or done(ALGORITHMS[name], 16) or done(ALGORITHMS[name], 2)
    assert verify(schedule).verdict == "ok"
    assert (schedule.src != schedule.dst).any()


@each_row("name", [name for name in ALGORITHMS if ALGORITHMS[name].collective.vector])
def test_uneven_blocks_travel_as_even_ones_do(name):
    even = ALGORITHMS[name.replace("v.", ".", 1)]
    for n in (2, 8, 9):
        one, other = done(ALGORITHMS[name], n), done(even, n)
        assert (one is None) == (other is None)
        if one is not None:
            for column in ("src", "dst", "from_slot", "to_slot", "step_start"):
                assert (getattr(one, column) == getattr(other, column)).all()


def test_every_collective_has_an_algorithm_for_every_number_of_ranks():
    for collective in COLLECTIVES:
        for n in NS:
            assert any(a.collective.name == collective and done(a, n) is not None for a in ALGORITHMS.values())


def test_every_algorithm_says_what_moves_in_one_line():
    for entry in ALGORITHMS.values():
        assert entry.summary.endswith(".")
        assert 20 < len(entry.summary) < 120


def test_what_an_algorithm_does_not_claim_is_said_to_be_unclaimed():
    with ALGORITHMS.also():

        @algorithm(allreduce)
        def star(n):
            """Everyone adds to rank 0, which sends the sum back."""
            yield reduce(np.arange(1, n), 0, slot=0)
            yield copy(0, np.arange(1, n), slot=0)

        said = catalogue.entry(ALGORITHMS["allreduce.star"])
    assert "- time: no cost claimed\n" in said
    assert "- ranks: any number\n" in said


@pytest.mark.parametrize(
    "alias, name",
    [
        ("allgatherv.kucg:4", "allgatherv.linear"),
        ("allgatherv.openmpi:4", "allgatherv.neighbor_exchange"),
        ("allreduce.openmpi:6", "allreduce.rabenseifner"),
        ("allreduce.nccl:tree", "allreduce.nccl_tree"),
        ("broadcast.openmpi:3", "broadcast.chain"),
        ("broadcast.UCC:1", "broadcast.scatter_doubling_allgather"),
    ],
)
def test_library_numbers_find_algorithms(alias, name):
    assert ALGORITHMS[alias].name == name


def test_no_two_algorithms_share_a_library_number():
    aliases = [alias.casefold() for algorithm in ALGORITHMS.values() for alias in algorithm.aliases]
    assert len(aliases) == len(set(aliases))


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(InputError, match=r"choose from .*allgatherv\.linear"):
        ALGORITHMS["allgatherv.kucg:99"]


@pytest.mark.parametrize("name", [n for n in BASIC if n.split(".")[1] in ("ring", "ring_hpl", "neighbor_exchange")])
def test_ring_algorithms_talk_to_neighbours_only(name):
    for n in (4, 6, 9):
        schedule = done(ALGORITHMS[name], n)
        if schedule is not None:
            assert set(((schedule.dst - schedule.src) % n).tolist()) <= {1, n - 1}


def test_a_step_of_a_ring_uses_every_link_once():
    schedule = ALGORITHMS["allreduce.ring"].schedule(8)
    for k in range(schedule.steps):
        assert sorted(schedule.src[schedule.step_of == k]) == list(range(8))


@each_row("n", range(2, 65))
def test_who_works_in_one_binary_tree_rests_in_the_other(n):
    first, second = two_parents(n)
    busy = set(first[first >= 0].tolist()) & set(second[second >= 0].tolist())
    assert busy == set() if n % 2 == 0 else busy <= {0}
    _, turned = two_parents(n, turned=True)
    for parents in (first, second, turned):
        assert (np.bincount(parents[parents >= 0], minlength=n) <= 2).all()
        assert (parents < 0).sum() == 1


@pytest.mark.parametrize("name", ["broadcast.double_binary_tree", "reduce.double_binary_tree"])
def test_double_trees_send_and_receive_the_data_at_most_once(name):
    segments = 4
    for n in range(2, 65):
        schedule = ALGORITHMS[name].schedule(n, segments=segments)
        away = schedule.src[schedule.transfer_of] != schedule.dst[schedule.transfer_of]
        for end in (schedule.src, schedule.dst):
            carried = np.bincount(end[schedule.transfer_of][away], minlength=n)
            assert carried.max() <= 2 * segments + 1


def test_tree_depth_grows_with_the_logarithm():
    assert ALGORITHMS["broadcast.double_binary_tree"].schedule(64, segments=1).steps <= 8
    assert ALGORITHMS["reduce.in_order_binary_tree"].schedule(64, segments=1, root=63).steps <= 14


def test_in_order_tree_adds_runs_of_ranks_only():
    schedule = ALGORITHMS["reduce.in_order_binary_tree"].schedule(13, segments=1, root=12)
    held = {r: {r} for r in range(13)}
    for src, dst in zip(schedule.src, schedule.dst, strict=True):
        if src != dst:
            held[dst] = held[src] | held[dst]
    assert held[12] == set(range(13))
    for src in schedule.src[schedule.src != schedule.dst]:
        assert max(held[src]) - min(held[src]) == len(held[src]) - 1


def peers(name, n):
    schedule = ALGORITHMS[name].schedule(n)
    half = schedule.steps // 2 if "latency" not in name else schedule.steps
    return [schedule.dst[schedule.step_of == k] for k in range(half)]


@pytest.mark.parametrize("name", ["allreduce.swing", "allreduce.swing_latency", "allreduce.bine"])
def test_swing_peers_stand_at_1_1_3_5_11_and_21(name):
    distances = [min((peer[0]) % 64, (-peer[0]) % 64) for peer in peers(name, 64)]
    assert distances == [1, 1, 3, 5, 11, 21]
    for peer in peers(name, 64):
        assert (peer[peer] == np.arange(64)).all()


def is_one_run(row):
    return (np.diff(np.sort(row)) == 1).all()


def test_bine_messages_are_one_run_of_slots_and_swing_messages_are_not():
    def contiguous(name):
        schedule = ALGORITHMS[name].schedule(16)
        return all(is_one_run(row) for row in np.split(schedule.from_slot, schedule.moves[1:-1]))

    assert contiguous("allreduce.bine")
    assert not contiguous("allreduce.swing")


def test_bine_tree_children_stand_closer_than_binomial_ones():
    far = {}
    for name in ("broadcast.bine", "broadcast.binomial"):
        schedule = ALGORITHMS[name].schedule(64)
        gap = abs(schedule.dst - schedule.src)
        far[name] = np.minimum(gap, 64 - gap).sum()
    assert far["broadcast.bine"] < 0.71 * far["broadcast.binomial"]


def test_linear_peers_rotate():
    schedule = ALGORITHMS["alltoall.linear"].schedule(8)
    away = schedule.src != schedule.dst
    for i, sent in enumerate(np.split(schedule.dst[away], 7)):
        assert sorted(sent) == list(range(8))
        assert sent[0] == i + 1


@pytest.mark.parametrize(
    "name, params, moments, most",
    [
        ("alltoall.linear_window", {"window": 3}, 4, 3),
        ("alltoall.nccl_p2p", {"window": 5, "group": 4}, 3, 5),
        ("alltoall.pairwise", {}, 11, 1),
    ],
)
def test_windows_limit_what_is_under_way(name, params, moments, most):
    schedule = ALGORITHMS[name].schedule(12, **params)
    away = schedule.src != schedule.dst
    steps = np.unique(schedule.step_of[away])
    assert len(steps) == moments
    for step in steps:
        now = away & (schedule.step_of == step)
        assert np.bincount(schedule.src[now]).max() <= most
        assert np.bincount(schedule.dst[now]).max() <= most


def test_linear_allgather_is_one_step_of_all_messages():
    schedule = ALGORITHMS["allgatherv.linear"].schedule(8)
    assert (schedule.steps, schedule.messages) == (1, 56)


def test_blocking_ranks_finish_a_step_before_the_next():
    schedule = ALGORITHMS["alltoall.pairwise"].schedule(4)
    before, after = schedule.after
    assert (schedule.step_of[before] < schedule.step_of[after]).all()
    for i in np.nonzero(schedule.src != schedule.dst)[0]:
        waits = before[after == i]
        for rank in (schedule.src[i], schedule.dst[i]):
            earlier = (schedule.step_of == schedule.step_of[i] - 1) & ((schedule.src == rank) | (schedule.dst == rank))
            assert set(np.nonzero(earlier)[0]) <= set(waits)


def test_dataflow_algorithms_carry_no_program_order():
    assert ALGORITHMS["allreduce.ring"].schedule(8).after is None


def test_channels_take_rings_of_their_own():
    schedule = ALGORITHMS["allreduce.multi_ring"].schedule(8, channels=4)
    strides = {int(c): set(((schedule.dst - schedule.src) % 8)[schedule.channel == c].tolist()) for c in range(4)}
    assert strides == {0: {1}, 1: {7}, 2: {3}, 3: {5}}


def test_nccl_tree_leaves_a_node_at_its_first_two_ranks():
    schedule = ALGORITHMS["allreduce.nccl_tree"].schedule(32, group=8)
    across = schedule.src // 8 != schedule.dst // 8
    assert set((schedule.src[across] % 8).tolist()) == {0, 1}
    inside = ~across & (schedule.src != schedule.dst)
    assert set(abs(schedule.src - schedule.dst)[inside].tolist()) == {1}


@pytest.mark.parametrize("name", ["alltoall.two_step", "alltoall.three_step"])
def test_nodewise_alltoall_sends_fewer_messages_between_nodes(name):
    schedule = ALGORITHMS[name].schedule(32, group=8)
    across = (schedule.src // 8 != schedule.dst // 8).sum()
    assert across == {"alltoall.two_step": 32 * 3, "alltoall.three_step": 4 * 3}[name]


@each_row(
    "name, wrong, message",
    [
        ("allreduce.swing", {"n": 6}, "power of two of ranks, not 6"),
        ("allgather.neighbor_exchange", {"n": 7}, "even number of ranks, not 7"),
        ("allreduce.hierarchical_2d", {"n": 10, "group": 4}, "nodes of 4 ranks, which do not make up 10"),
        ("allreduce.bcube", {"n": 8, "base": 3}, "power of 3 of ranks, not 8"),
        ("allgather.two_rank", {"n": 3}, "for 2 ranks, not 3"),
        ("allreduce.ring", {"n": 1}, "at least 2 ranks, not 1"),
        ("broadcast.chain", {"n": 4, "segments": 0}, r"segments=0 is outside 1\.\.4096"),
        ("broadcast.chain", {"n": 4, "root": 4}, r"root 4 is not among ranks 0\.\.3"),
        ("broadcast.chain", {"n": 4, "radix": 2}, "no parameter 'radix'"),
    ],
)
def test_refusals_name_the_reason(name, wrong, message):
    with pytest.raises(InputError, match=message):
        ALGORITHMS[name].schedule(**wrong)


@pytest.mark.parametrize(
    ("name", "each"),
    [("allreduce.ring", 2046), ("allreduce.rabenseifner", 20), ("alltoall.linear", 1023), ("alltoall.pairwise", 1023)],
)
def test_1024_ranks_unroll(name, each):
    assert ALGORITHMS[name].schedule(1024).messages == 1024 * each


@pytest.mark.parametrize("field, value", [("to_slot", 1), ("from_slot", 1), ("op", 1), ("dst", 0)])
def test_the_oracle_sees_one_wrong_entry(field, value):
    schedule = ALGORITHMS["allgather.ring"].schedule(4)
    column = getattr(schedule, field).copy()
    column[6] = (column[6] + value) % 4 if field != "dst" else schedule.src[6]
    broken = replace(schedule, **{field: column})
    try:
        found = shortcomings(broken, "allgather", 1)
    except AssertionError:
        found = ["stopped at a step that cannot be carried out"]
    assert found

"""Claimed costs against simulated time on an ideal switch, and what the busiest rank moves against the literature."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.trace.metrics import critical_path
from tests.ops.reference import other_values
from tests.tables import dealt, each_row

LATENCY, OVERHEAD, BANDWIDTH, GAMMA = 0.7e-6, 0.3e-6, 20e9, 7e-12
ALPHA = OVERHEAD + 2 * LATENCY
NS = [2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17, 24]
SLACK = 0.36
"""A bound may be this far from the time, as where a tree's last level is nearly empty or one segment is under way."""

CLAIMED = [name for name in ALGORITHMS if ALGORITHMS[name].cost]


def switch(n):
    return build(f"switch:ranks={n}", bandwidth=BANDWIDTH, latency=LATENCY, overhead=OVERHEAD, gamma=GAMMA)


MACHINES = {n: switch(n) for n in NS}


def simulated_over_claimed(algorithm, n, params):
    """For a small and a large size; empty where the algorithm refuses n."""
    try:
        schedule = algorithm.schedule(n, **params)
    except InputError:
        return []
    if schedule.switches.count("NVS") > 1:
        return []  # one ideal switch is one node
    alphas, betas, gammas = algorithm.cost(n, **algorithm.settle(n, **params))
    sizes = (512.0, 1e9) if algorithm.collective.sized else (0.0,)
    return [
        simulate(MACHINES[n], schedule, size).time / (alphas * ALPHA + size * (betas / BANDWIDTH + gammas * GAMMA))
        for size in sizes
    ]


def check(algorithm, n, params):
    for ratio in simulated_over_claimed(algorithm, n, params):
        if algorithm.exact:
            assert ratio == pytest.approx(1, rel=1e-9), f"{algorithm.name}, {n} ranks, {params}"
        else:
            assert SLACK <= ratio <= 1 + 1e-9, f"{algorithm.name}, {n} ranks, {params}"


@each_row("name, ns", product(CLAIMED, dealt(NS)), over=["ns"])
def test_time_on_an_ideal_switch_is_as_claimed(name, ns):
    for n in ns:
        check(ALGORITHMS[name], n, {})


@each_row(
    "name, ns",
    product((name for name in CLAIMED if ALGORITHMS[name].params), dealt((4, 6, 8, 9, 12, 16))),
    over=["ns"],
)
def test_claims_hold_for_every_parameter(name, ns):
    for parameter in ALGORITHMS[name].params:
        for value in other_values(ALGORITHMS[name], parameter):
            for n in ns:
                check(ALGORITHMS[name], n, {parameter: value})


@pytest.mark.parametrize("name", ["allreduce.ring", "alltoall.pairwise", "allreduce.rabenseifner"])
def test_a_wrong_claim_would_be_noticed(name):
    algorithm = ALGORITHMS[name]
    optimist = replace(algorithm, cost=lambda n, **p: (algorithm.cost(n, **p)[0] - 1, *algorithm.cost(n, **p)[1:]))
    with pytest.raises(AssertionError):
        check(optimist, 8, {})


def test_every_algorithm_of_the_project_makes_a_claim():
    """One that somebody adds may stay without: `list algorithms` and the page then say so."""
    assert len(CLAIMED) >= 185
    assert len({ALGORITHMS[name].collective.name for name in CLAIMED}) >= 12


@each_row("name, ns", product(CLAIMED, dealt(NS)), over=["ns"])
def test_the_claim_counts_the_rounds_and_covers_the_busiest_rank(name, ns):
    """α counts the messages that wait for each other; β no less than what any port must carry."""
    algorithm = ALGORITHMS[name]
    for n in ns:
        if algorithm.refuse(n, **algorithm.defaults):
            continue
        schedule = algorithm.schedule(n)
        if schedule.switches.count("NVS") > 1:
            continue
        alphas, betas, _ = algorithm.cost(n, **algorithm.defaults)
        machine = build(f"switch:ranks={n},latency=1us")
        rounds = simulate(machine, schedule, 1e4 if algorithm.collective.sized else 0).time / 2e-6
        assert rounds < alphas + 1e4 * betas / 25e9 / 2e-6 + 1e-9
        if algorithm.exact and not schedule.switches:
            assert alphas <= schedule.steps
            wide = build(f"switch:ranks={n},bandwidth=100000TBps,latency=1us")
            trace = simulate(wide, schedule, 1e4)
            path = [i for i in critical_path(trace) if trace.left[i] == trace.ready[i]]  # the others' pass in line
            waited = sum(schedule.src[path] != schedule.dst[path])
            assert waited == alphas, f"{n} ranks: {waited} messages wait for each other, not {alphas}"
        if not schedule.switches:
            assert max(busiest(schedule)[1:]) <= betas + 1e-12


def busiest(schedule):
    """Most messages any rank sends, and the largest part of the size any rank sends and receives."""
    away = schedule.src != schedule.dst
    bytes_of = np.diff(schedule.moves) * schedule.unit_share
    sent = np.bincount(schedule.src[away], bytes_of[away], schedule.n)
    received = np.bincount(schedule.dst[away], bytes_of[away], schedule.n)
    return np.bincount(schedule.src[away]).max(), sent.max(), received.max()


# Messages and bytes by the busiest rank at 8 ranks, as the papers count them: p = 8, log2 p = 3.
COUNTED = {
    "broadcast.linear": (7, 7, 1),
    "broadcast.binomial": (3, 3, 1),
    "broadcast.scatter_ring_allgather": (3 + 7, 14 / 8, 4 / 8 + 7 / 8),
    "broadcast.scatter_doubling_allgather": (6, 14 / 8, 4 / 8 + 7 / 8),
    "reduce.linear": (1, 1, 7),
    "reduce.binomial": (1, 1, 3),
    "scatter.linear": (7, 7 / 8, 1 / 8),
    "scatter.binomial": (3, 7 / 8, 4 / 8),
    "gather.binomial": (1, 4 / 8, 7 / 8),
    "allgather.linear": (7, 7 / 8, 7 / 8),
    "allgather.ring": (7, 7 / 8, 7 / 8),
    "allgather.ring_hpl": (7, 7 / 8, 7 / 8),
    "allgather.neighbor_exchange": (4, 7 / 8, 7 / 8),
    "allgather.recursive_doubling": (3, 7 / 8, 7 / 8),
    "allgather.bruck": (3, 7 / 8, 7 / 8),
    "allgather.sparbit": (7, 7 / 8, 7 / 8),
    "reduce_scatter.ring": (7, 7 / 8, 7 / 8),
    "reduce_scatter.recursive_halving": (3, 7 / 8, 7 / 8),
    "reduce_scatter.pairwise": (7, 7 / 8, 7 / 8),
    "reduce_scatter.recursive_doubling": (3, 3 - 7 / 8, 3 - 7 / 8),
    "reduce_scatter.butterfly": (4, 1, 1),
    "allreduce.ring": (14, 14 / 8, 14 / 8),
    "allreduce.recursive_doubling": (3, 3, 3),
    "allreduce.rabenseifner": (6, 14 / 8, 14 / 8),
    "allreduce.allgather_reduce": (7, 7, 7),
    "allreduce.all_pairs": (14, 14 / 8, 14 / 8),
    "allreduce.swing": (6, 14 / 8, 14 / 8),
    "allreduce.swing_latency": (3, 3, 3),
    "allreduce.bcube": (6, 14 / 8, 14 / 8),
    "alltoall.linear": (7, 7 / 8, 7 / 8),
    "alltoall.pairwise": (7, 7 / 8, 7 / 8),
    "alltoall.bruck": (3, 3 / 2, 3 / 2),
    "barrier.dissemination": (3, 0, 0),
    "barrier.double_ring": (2, 0, 0),
}


@each_row("name", COUNTED)
def test_the_busiest_rank_moves_what_the_literature_counts(name):
    assert busiest(ALGORITHMS[name].schedule(8)) == pytest.approx(COUNTED[name], rel=1e-12)


def test_bruck_sends_a_block_once_per_bit_of_its_distance():
    assert busiest(ALGORITHMS["alltoall.bruck"].schedule(7))[1] == pytest.approx(9 / 7)


def test_double_tree_allreduce_nears_twice_the_data_with_many_segments():
    schedule = ALGORITHMS["allreduce.double_binary_tree"].schedule(16, segments=256)
    assert busiest(schedule)[1:] == pytest.approx((2, 2))
    time = simulate(build("switch:ranks=16,latency=0us"), schedule, 1e9).time
    assert 2 < time / (1e9 / 25e9) < 2.1


def test_pat_needs_fewer_rounds_the_more_it_may_aggregate():
    steps = [ALGORITHMS["allgather.pat"].schedule(64, aggregate=a).steps for a in (1, 2, 4, 8, 16, 32)]
    assert steps == [63, 32, 17, 10, 7, 6]


@pytest.mark.parametrize("channels", [3, 5, 7])
def test_channels_that_share_links_stay_in_step(channels):
    """Rounding must not drive apart what is simultaneous: a lead of one flow grows at every step."""
    schedule = ALGORITHMS["allreduce.multi_ring"].schedule(32, channels=channels)
    trace = simulate(build("switch:ranks=32"), schedule, 1e9)
    assert trace.time == pytest.approx(62 * (2e-6 + 1e9 / 32 / 25e9), rel=1e-9)

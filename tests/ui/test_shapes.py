"""Shapes found from messages alone: the one a person would draw, every place apart from every other."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.notation import MOST as MOST_BESIDE
from ops.plan.notation import beside, differences, entries
from sim.errors import InputError
from sim.schedule.verify import prove
from tests.tables import each_row
from ui.controls import compare
from ui.layout.algorithm_layout import MOST, shape_of


def drawn(schedule):
    """The shape of a schedule whose blocks are known."""
    return shape_of(schedule, prove(schedule, blocks=True).carried)


@each_row(
    "name, n, shape",
    [
        ("allreduce.ring", 8, "ring"),
        ("broadcast.chain", 7, "chain"),
        ("allreduce.double_binary_tree", 16, "trees"),
        ("broadcast.double_binary_tree", 9, "trees"),
        ("allreduce.binomial_tree", 8, "trees"),
        ("gather.linear", 9, "star"),
        ("allreduce.nvls", 8, "star"),
        ("broadcast.binomial", 16, "tree"),
        ("reduce.knomial", 27, "tree"),
        ("allreduce.recursive_doubling", 16, "hypercube"),
        ("allgather.recursive_doubling", 64, "hypercube"),
        ("allreduce.hierarchical_2d", 16, "groups"),
        ("alltoall.linear", 8, "circle"),
    ],
)
def test_algorithms_have_the_shape_of_their_name(name, n, shape):
    assert drawn(ALGORITHMS[name].schedule(n)).name == shape


@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(2, 20))
def test_no_two_places_overlap_and_all_are_on_the_paper(name, n):
    algorithm = ALGORITHMS[name]
    if algorithm.refuse(n, **algorithm.defaults):
        return
    schedule = algorithm.schedule(n)
    shape = drawn(schedule)
    places = list(zip(shape.x, shape.y, strict=True))
    assert {*shape.place} == set(range(schedule.places))
    assert len(places) == schedule.places * (2 if shape.name == "trees" else 1)
    assert all(0 <= x <= shape.width and 0 <= y <= shape.height for x, y in places)
    assert all(abs(ax - bx) > 1.2 or abs(ay - by) > 0.95 for (ax, ay), (bx, by) in combinations(places, 2))
    away = schedule.src != schedule.dst
    pairs = {(shape.place[a], shape.place[b]) for a, b in zip(shape.src, shape.dst, strict=True)}
    assert pairs == set(zip(schedule.src[away].tolist(), schedule.dst[away].tolist(), strict=True))


def test_a_shape_of_too_many_places_is_none():
    assert shape_of(ALGORITHMS["allreduce.ring"].schedule(MOST)) is not None
    assert shape_of(ALGORITHMS["allreduce.ring"].schedule(MOST + 1)) is None


def test_runs_beside_a_plan_differ_in_what_is_said():
    plan = Plan(against="algorithm=allreduce.linear|machine=dgx1v&size=1MiB|fault=", settings="segments=2")
    linear, small, calm = plan.others()
    assert (linear.algorithm, linear.settings, linear.against) == ("allreduce.linear", "", "")
    assert (small.machine, small.size, small.settings) == ("dgx1v", "1MiB", "segments=2")
    assert calm == Plan(settings="segments=2")
    assert beside(differences(plan.against)) == plan.against.replace("&", ";")


def test_a_fork_is_held_against_what_was_before_hands_changed_anything():
    once = compare.forked(Plan(), "slow_link:src=GPU0,dst=NVS0")
    assert (once.fault, once.others()) == ("slow_link:src=GPU0,dst=NVS0", [Plan()])
    assert compare.has_baseline(once)
    twice = compare.forked(once, "straggler:rank=1,late=2us")
    for spec in ("cut_cable:src=GPU1,dst=NVS0", "size:bytes=1024"):
        twice = compare.forked(twice, spec)
    assert (twice.fault, twice.size) == ("slow_link:src=GPU0,dst=NVS0;straggler:rank=1,late=2us", "1KiB")
    assert twice.others() == [Plan()]


def test_a_fork_of_a_pinned_run_is_held_against_it_and_one_of_a_race_against_all_that_was():
    pinned = Plan(size="1MiB", against=beside([Plan().kept_beside()]))
    assert compare.forked(pinned, "straggler:rank=1,late=2us").others() == pinned.others()
    race = Plan(against="algorithm=allreduce.linear")
    assert not compare.has_baseline(race)
    for k in range(5):
        before, race = race.fault, compare.forked(race, f"straggler:rank={k},late=1us")
        assert race.others()[-1].fault == before
    assert len(race.others()) == MOST_BESIDE


def test_what_is_dragged_again_takes_the_place_of_what_it_was_dragged_to():
    dragged = Plan()
    for rate in ("8GBps", "4GBps", "6GBps"):
        dragged = compare.forked(dragged, f"set_link:src=GPU0,dst=NVS0,bandwidth={rate}")
    assert dragged.edits == "set_link:src=GPU0,dst=NVS0,bandwidth=6GBps"
    for spec in ("set_link:src=GPU0,dst=NVS0,latency=1us", "set_link:src=GPU1,dst=NVS0,latency=1us"):
        dragged = compare.forked(dragged, spec)
    assert len(entries(dragged.edits)) == 3
    assert dragged.others() == [Plan()]


@pytest.mark.parametrize("words", ["algorithm", "colour=red", "ranks=many", "machine=dgx1v&x"])
def test_a_damaged_comparison_is_told(words):
    with pytest.raises(InputError, match="the link's against has"):
        Plan(against=words).others()

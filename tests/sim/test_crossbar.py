"""Groups kept as a table of who crosses whom, against the lists of links, which are used wherever rates are kept."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sim import engine
from sim.fabric import groups
from sim.fabric.crossbar import group, table
from tests.sim.test_fabric import interpreted, ours, reference
from tests.sim.test_fabric_world import Literal, World, job
from tests.sim.test_fabric_world import ours as traces


@st.composite
def exchanges(draw, links, sizes):
    """Flows over one of some entrances and one of some exits each, of many sizes or few; some begin after others."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    entrances, exits = draw(st.integers(*links)), draw(st.integers(*links))
    crossed = np.argwhere(rng.random((entrances, exits)) < draw(st.sampled_from([0.3, 0.8, 1.0])))
    assume(len(crossed))
    crossed = rng.permutation(crossed) if draw(st.booleans()) else crossed
    late, size = draw(st.sampled_from([0.0, 0.0, 0.02])), draw(st.sampled_from(sizes))
    return flows(rng, crossed, (entrances, exits), late, size, fastest=draw(st.sampled_from([1, 3])))


def flows(rng, crossed, sides, late, sizes, fastest=3):
    """A flow for every pair of an entrance and an exit, as tests of the fabric take it."""
    entrances, count = sides[0], len(crossed)
    return (
        [[int(a), entrances + int(b)] for a, b in crossed],
        (1e6 + rng.integers(0, sizes, count)).tolist(),
        [{int(rng.integers(i))} if i and rng.random() < late else set() for i in range(count)],
        (rng.integers(1, fastest + 1, sum(sides)) * 1e9).tolist(),
        [0.0] * sum(sides),
    )


def soiled():
    """Crossbars whose fresh memory holds plausible rubbish."""
    return mock.patch.object(table, "blank", side_effect=lambda shape, dtype: np.full(shape, 3, dtype))


@settings(max_examples=12)
@given(exchanges((32, 80), (40, 10**6)))
def test_a_table_of_who_crosses_whom_gives_the_times_that_lists_of_links_give(case):
    with mock.patch.object(engine, "is_compiled", return_value=True):
        assert ours(case).end == pytest.approx(ours(case, history=True).end, rel=1e-12)


@given(exchanges((2, 6), (3, 10**6)))
def test_small_ones_have_the_times_of_a_solve_from_nothing_and_read_no_memory_that_was_never_written(case):
    small = mock.patch.multiple(group, FEWEST=2)
    with interpreted(), small, soiled(), mock.patch.object(groups, "PATIENCE", 1):
        right = ours(case).end
        with mock.patch.object(groups, "amend", return_value=False), mock.patch.object(groups, "PATIENCE", 1 << 30):
            anew = ours(case).end
    assert right == pytest.approx(anew, rel=1e-12)


def test_the_compiled_kernel_keeps_the_table_as_the_plain_one_does():
    n, rng = group.FEWEST, np.random.default_rng(2)
    crossed = np.argwhere(rng.random((n, n)) < 0.2)
    routes = [[int(a), n + int(b)] for a, b in crossed]
    case = routes, 1e6 + 1e4 * rng.permutation(len(routes)), [set()] * len(routes), [1e9] * 2 * n, [0.0] * 2 * n
    kept = mock.patch.object(groups, "put_right", side_effect=groups.put_right)
    with interpreted(few=groups.FEW), kept as put_right:
        slow = ours(case).end
    assert put_right.call_count > len(routes) // 2
    with mock.patch.object(engine, "is_compiled", return_value=True):
        assert ours(case).end.tobytes() == slow.tobytes()


@pytest.mark.turns("entrances", "exits", "late")
@pytest.mark.parametrize(
    "entrances, exits, late", [(33, 64, 0.0), (64, 64, 0.0), (64, 64, 0.02), (40, 70, 0.0), (70, 33, 0.0)]
)
def test_sides_of_more_links_than_a_word_has_bits_have_the_times_that_lists_of_links_give(entrances, exits, late):
    """As few flows as keep all in one group, and some more."""
    rng = np.random.default_rng(entrances)
    sides = entrances, exits
    round_trip = {(k % entrances, (k + turn) % exits) for k in range(max(sides)) for turn in range(2)}
    more = zip(*(rng.integers(0, side, min(sides)).tolist() for side in sides), strict=True)
    case = flows(rng, rng.permutation(sorted(round_trip | {*more})), sides, late, 10**6)
    wide = mock.patch.multiple(group, FEWEST=2, SPARSE=70)
    taken_over = []

    def adopted(net, bar, root, time):
        if not group.adopt(net, bar, root, time):
            return False
        entered, left = (range(bar.cursor[side, table.SIZE]) for side in range(2))
        crossed = np.array([[table.is_crossed(bar, 0, row, other) for other in left] for row in entered])
        assert np.array_equal(crossed, [[table.is_crossed(bar, 1, row, other) for row in left] for other in entered])
        assert crossed.sum() == bar.count[table.FLOWS]
        taken_over.append(root)
        return True

    with interpreted(), soiled(), wide, mock.patch.multiple(groups, adopt=adopted, PATIENCE=1):
        right = ours(case).end
        assert taken_over
        assert right == pytest.approx(ours(case, history=True).end, rel=1e-12)


@given(st.tuples(*[st.sampled_from([1, 2, 31, 32, 33, 64, 65])] * 2), st.data())
def test_who_crosses_whom_is_the_same_when_a_link_moves_on_in_the_rows_of_its_side(sides, data):
    side, rng = data.draw(st.integers(0, 1)), np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    row, to = sorted(data.draw(st.tuples(*[st.integers(0, sides[side] - 1)] * 2)))
    crossed = rng.random(sides) < 0.5
    bar = table.crossbar(sum(sides), max(sides))
    for each, held in enumerate((crossed, crossed.T)):
        padded = np.zeros((len(held), -(-held.shape[1] // table.WORD) * table.WORD), np.uint8)
        padded[:, : held.shape[1]] = held
        words = np.packbits(padded, axis=1, bitorder="little").view(np.uint32)
        bar.cursor[each, table.SIZE] = len(held)
        bar.crosses[each, : words.shape[1], : len(held)] = words.T
        bar.rows[[table.NAME, table.ROW], each, : len(held)] = np.arange(len(held))
    of_rows = table.RATE, table.BEFORE, table.PASSED, table.LEAST, table.ROOM
    before = bar.lines[of_rows, side, : sides[side]] = rng.random((len(of_rows), sides[side]))
    table.move(bar, side, row, to)
    names = bar.rows[table.NAME, side, : sides[side]]
    assert names.tolist() == np.insert(np.delete(np.arange(sides[side]), row), to, row).tolist()
    assert bar.rows[table.ROW, side, names].tolist() == [*range(sides[side])]
    assert np.array_equal(bar.lines[of_rows, side, : sides[side]], before[:, names])
    for each, moved in enumerate((crossed, crossed.T)):
        moved = moved[names] if each == side else moved[:, names]
        found = [[table.is_crossed(bar, each, a, b) for b in range(moved.shape[1])] for a in range(len(moved))]
        assert np.array_equal(found, moved)


def test_a_group_is_handed_back_when_another_flow_begins_and_taken_over_again():
    n = 4
    routes = [[a, n + b] for a in range(n) for b in range(n)]
    routes += routes[::4]
    sizes = [1e6 + 1e4 * (7 * k % 20) for k in range(len(routes))]
    waits = [set()] * (n * n) + [{k} for k in range(0, n * n, 4)]  # they begin when the first of the same way ends
    case = routes, sizes, waits, [1e9] * 2 * n, [0.0] * 2 * n
    small = mock.patch.multiple(group, FEWEST=2)
    patience = mock.patch.object(groups, "PATIENCE", 1)
    dissolved = mock.patch.object(groups, "dissolve", side_effect=groups.dissolve)
    with interpreted(), small, patience, dissolved as dissolve:
        right = ours(case).end
    assert dissolve.call_count > 1
    assert right == pytest.approx(reference(*case), rel=1e-9)


def test_a_group_with_a_link_by_which_flows_leave_and_one_enters_is_none():
    """Those that leave by it each have an entrance to themselves, and are the last to be through."""
    left, n = 4, 8
    routes = [[0, left], [1, left], [2, 5], [2, 6], [3, 5], [3, 6], [3, 7], [left, 5]]
    sizes = [(4e6 if leaves_by == left else 1e6) + 1e4 * k for k, (_, leaves_by) in enumerate(routes)]
    capacity = [9e9 if link == left else 1e9 for link in range(n)]  # so it has no exit's number
    case = routes, sizes, [set()] * len(routes), capacity, [0.0] * n
    tried = mock.patch.object(groups, "adopt", side_effect=groups.adopt)
    kept = mock.patch.object(groups, "put_right", side_effect=groups.put_right)
    patience = mock.patch.object(groups, "PATIENCE", 1)
    with interpreted(), mock.patch.multiple(group, FEWEST=2), patience, tried as adopt, kept as put_right:
        right = ours(case).end
    assert adopt.call_count > 0
    assert put_right.call_count == 0
    assert right == pytest.approx(reference(*case), rel=1e-9)


@pytest.mark.parametrize("change", [(5e-3, 1, 3e8), (5e-3, (0, 9), [8])], ids=["a link gets slower", "a flow turns"])
def test_a_group_is_handed_back_when_something_happens_to_it(change):
    n = 4
    routes = [[a, n + b] for a in range(n) for b in range(n)]
    begun = job(routes, [1e6 + 3e4 * (7 * k % 16) for k in range(len(routes))])
    world = World([begun], [1e9] * (2 * n + 1), [0.0] * (2 * n + 1), 0.0, [change])
    small = mock.patch.multiple(group, FEWEST=2)
    patience = mock.patch.object(groups, "PATIENCE", 1)
    kept = mock.patch.object(groups, "put_right", side_effect=groups.put_right)
    with interpreted(), small, patience, kept as put_right:
        (trace,) = traces(world, history=False)
    assert put_right.call_count > 2
    assert trace.end == pytest.approx(Literal(world).times()[2], rel=1e-9)

"""Ragged arrays against loops over lists."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.ragged import ranges, take

TABLES = st.lists(st.lists(st.integers(-5, 1 << 30), max_size=6), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.integers(-100, 1 << 40), st.integers(0, 9)), max_size=30))
def test_ranges_are_what_a_loop_counts(runs):
    starts, lengths = (np.array([run[i] for run in runs], np.int64) for i in (0, 1))
    counted = [start + k for start, length in runs for k in range(length)]
    assert ranges(starts, lengths).tolist() == counted


@given(st.integers(0, 1000), st.lists(st.integers(0, 9), max_size=30))
def test_one_start_may_serve_all_runs(start, lengths):
    counted = [start + k for length in lengths for k in range(length)]
    assert ranges(start, np.array(lengths, np.int64)).tolist() == counted


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(table=TABLES, data=st.data())
def test_taken_rows_are_those_of_the_lists(kind, table, data):
    rows = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=20))
    offsets = np.cumsum([0, *map(len, table)]).astype(kind)
    values = np.array([value for row in table for value in row], np.float64)
    before, taken = take(offsets, values, np.array(rows, np.int32))
    assert before.dtype == kind
    assert taken.dtype == values.dtype
    assert [taken[a:b].tolist() for a, b in itertools.pairwise(before)] == [table[r] for r in rows]
    assert before[0] == 0
    assert before[-1] == len(taken)


def test_counting_does_not_overflow_where_starts_are_narrow():
    lengths = np.array([3, 2], np.int32)
    starts = np.array([2**31 - 3, 0], np.int32)
    assert ranges(starts, lengths).tolist() == [2**31 - 3, 2**31 - 2, 2**31 - 1, 0, 1]

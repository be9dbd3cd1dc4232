"""Memory for long columns."""

import numpy as np
import pytest

from sim.base.arrays import PAGE, blank, counted, joined


@pytest.mark.parametrize("length", [PAGE // 8, 2 * PAGE // 9, PAGE // 4 - 1, PAGE // 4, PAGE // 3, 5 * PAGE // 9])
def test_a_long_array_begins_where_a_large_page_does_and_has_room_for_its_last_one(length):
    array = blank((length, 1), np.int32)
    array.fill(7)
    assert array.shape == (length, 1)
    assert array.flags.carray
    size = array.nbytes
    if size < PAGE * 8 // 9:
        assert array.base is None
        return
    assert array.ctypes.data % PAGE == 0
    memory = array
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    left = memory.ctypes.data + memory.nbytes - array.ctypes.data - size
    assert memory.nbytes >= 2 * PAGE
    assert left >= (-size % PAGE if 8 * (-size % PAGE) <= size else 0)


@pytest.mark.parametrize("stop", [0, 1, 5, 1 << 14, (1 << 14) + 1, 1 << 20])
def test_numbers_are_counted_in_pieces(stop):
    assert counted(stop).tolist() == list(range(stop))


def test_what_is_joined_has_the_type_that_holds_all():
    assert joined([]).dtype == np.int32
    both = joined([np.arange(3, dtype=np.int32), np.array([1 << 40])])
    assert (both.dtype, both.tolist()) == (np.int64, [0, 1, 2, 1 << 40])

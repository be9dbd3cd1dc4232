"""Square matrices as the counts of an alltoallv."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from ops.formats.matrix import read_counts
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row

COUNTS = np.array([[5, 1000, 0], [300, 7, 20], [0, 4000, 9]])


def text_of(counts, separator=" "):
    return "".join(separator.join(map(str, row)) + "\n" for row in counts.tolist())


@pytest.mark.parametrize("separator", [" ", "\t", ",", ", ", ";", "   "])
def test_any_separator_gives_the_same_counts(separator):
    text = "# from a profiler\n\n" + text_of(COUNTS, separator)
    assert (read_counts(text, "m") == COUNTS).all()
    assert check_schedule(text, "m").verdict == "ok"


def test_it_is_the_linear_alltoallv_with_these_sizes():
    machine = build("switch:ranks=3,bandwidth=1GBps,latency=1us")
    mine = simulate(machine, read_schedule(text_of(COUNTS), "m"))
    algorithm = ALGORITHMS["alltoallv.linear"].schedule(3)
    theirs = simulate(machine, algorithm, blocks=COUNTS.reshape(-1).astype(float))
    assert mine.time == theirs.time == pytest.approx(2e-6 + 5000e-9)
    assert mine.bytes.tolist() == theirs.bytes.tolist()
    assert mine.size == COUNTS.sum()


def test_counts_may_be_of_larger_units():
    single, eightfold = (read_schedule(text_of(COUNTS), "m", unit=unit) for unit in (1, 8))
    assert (eightfold.fixed_bytes == 8 * single.fixed_bytes).all()


@each_row(
    "text, message",
    [
        ("1 2\n3\n", "m, line 2: 1 numbers in a row, but 2 in the rows before: make the matrix square"),
        ("1 2\n3 4\n5 6\n", "m: 3 rows of 2 numbers are no square matrix"),
        ("1 2\n3 -4\n", "m, line 2: '-4' is no whole number of 0 or more"),
        ("1 2\n3 4\n5 2\n\N{MINUS SIGN}1 4\n", "is no whole number of 0 or more"),
        ("1 2.5\n3 4\n", "m, line 1: '2.5' is no whole number"),
        ("1 2\n3 4e9\n", "'4e9' is no whole number"),
        ("1 2\n3 9999999999999999999999\n", "is no whole number"),
        ("7\n", "m: 1 rows of 1 numbers are no square matrix of 2 ranks or more"),
    ],
)
def test_what_is_no_matrix_is_malformed_and_says_where(text, message):
    judged = check_schedule(text, "m")
    assert judged.verdict == "malformed"
    assert message in judged.reason


def test_more_than_can_be_sent_is_refused():
    with pytest.raises(InputError, match="more than 1 PiB: give a smaller unit"):
        read_schedule("0 999999999999999999\n0 0\n", "m")


@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.lists(st.integers(0, 1 << 40), min_size=n, max_size=n),
                                                    min_size=n, max_size=n)))  # fmt: skip
def test_what_is_written_is_what_was_read(rows):
    text = text_of(np.array(rows))
    assert write_schedule(read_schedule(text, "m"), "matrix") == text


def test_any_schedule_can_be_seen_as_who_sends_how_much_to_whom():
    ring = ALGORITHMS["allreduce.ring"].schedule(4)
    counts = read_counts(write_schedule(ring, "matrix", size="4MiB"), "ring")
    expected = np.zeros((4, 4))
    expected[np.arange(4), (np.arange(4) + 1) % 4] = 2 * 3 / 4 * (4 << 20)
    assert (counts == expected).all()
    with pytest.raises(InputError, match="has no sizes of its own"):
        write_schedule(ring, "matrix")

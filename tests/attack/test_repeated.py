"""Readers are linear: a hundred and fifty thousand characters of one thing are read or refused."""

import pytest

from tests.attack.repeated import READERS, seconds

SLOW_ONCE = (
    ("\tGPU0\tGPU1\n", "\n"), ("", "a: b\n"), ("", "<topology "), ("", "<platform "), ("", "<system "), ("x\n", " \n"),
    ("num_ranks 2\n", "/* "), ("x", "\n num_ranks"), ("", "# OSU MPI "), ("x\n", "\t"),
    ("", "# OSU MPI Bandwidth Test\n"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", READERS)
def test_a_text_that_repeats_one_thing_comes_to_an_end(what):
    for head, token in SLOW_ONCE:
        seconds(READERS[what], head + token * (150_000 // len(token)))

"""Inputs of a folder: each goes to the reader its name tells, in a process that is measured."""

import time

import pytest

from sim.errors import InputError
from tests.attack.repro import SECONDS, Measured, measured, reader_of


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("simgrid_1.in", b"<platform version='4.1'></platform>", "it, line 1: "),
        ("nccltests-2.txt", b"nothing of the kind", "it "),
        ("trace_x.in", b'{"format": "ringside-trace"}', ""),
        ("layers.in", b"fc 8 1ms 2ms\n", "read"),
    ],
)
def test_a_file_goes_to_the_reader_that_its_name_tells(name, data, said):
    seen = measured(reader_of(name), data)
    assert seen.ended
    assert seen.said.startswith(said)
    assert seen.memory > 10_000_000


def test_a_name_that_tells_nothing_is_refused():
    with pytest.raises(InputError, match="the name of no reader"):
        reader_of("xyz_1.in")


def test_what_is_wrong_is_seen():
    def traceback(data):
        raise KeyError(data)

    assert "KeyError" in measured(traceback, b"x").said
    assert not measured(traceback, b"x").is_right()
    slow = measured(lambda data: time.sleep(0.2), b"")
    assert slow.ended
    assert slow.seconds >= 0.2
    assert not slow.is_right(seconds=0.1)
    assert not slow.is_right(memory=1_000_000)
    assert Measured(SECONDS, 0.0, 0, True, "read").is_right()

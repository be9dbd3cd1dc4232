"""A sentence that is too long loses its middle, and says how much of a list that was."""

import re

import pytest

from ops import ALGORITHMS
from sim.errors import LONGEST, InputError


def test_a_list_that_is_cut_says_how_many_it_leaves_out():
    with pytest.raises(InputError) as refused:
        ALGORITHMS["allreduce.no_such_thing"]
    message = str(refused.value)
    names = [name for name in ALGORITHMS if name.startswith("allreduce.")]
    assert len(message) <= LONGEST
    shown = [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", message)]
    (left_out,) = re.findall(r", … (\d+) more …, ", message)
    assert len(shown) + int(left_out) == len(names)


@pytest.mark.parametrize("text", ["x" * 5000, "a, " + "b" * 5000, "no, " * 3 + "x: " * 900, ", " * 2000])
def test_what_is_no_list_is_cut_as_it_stands(text):
    message = str(InputError(text))
    assert len(message) <= LONGEST
    assert message[:250] == text[:250]
    assert message[-90:] == text[-90:]
    assert "more" not in message

"""How a change is worded: a rate as a rate, a share as a share, and half or twice where that is what it is."""

import pytest

from ops.answers.change import described

CASES = [
    ("edits", "set_link:src=A,dst=B,bandwidth=50GBps", "50 GB/s on A → B"),
    ("edits", "set_link:src=A,dst=B,bandwidth=2GBps", "2 GB/s on A → B"),
    ("edits", "set_link:src=A,dst=B,times=2", "Twice the bandwidth on A → B"),
    ("edits", "set_link:src=A,dst=B,times=2.0", "Twice the bandwidth on A → B"),
    ("edits", "set_link:src=A,dst=B,times=1.99", "1.99× the bandwidth on A → B"),
    ("edits", "set_link:src=A,dst=B,times=0.37", "37% of the bandwidth on A → B"),
    ("edits", "set_link:src=A,dst=B,latency=2us", "Latency 2 µs on A → B"),
    ("edits", "set_class:kind=NVL,bandwidth=50GBps", "50 GB/s on all links of kind NVL"),
    ("edits", "set_class:times=0.50", "Half the bandwidth on all links"),
    ("edits", "set_class:kind=NET,times=0.7", "70% of the bandwidth on all links of kind NET"),
    ("fault", "slow_link:src=A,dst=B", "Half the bandwidth on A → B"),
    ("fault", "slow_link:src=A,dst=B,share=.47,start=2us", "47% of the bandwidth on A → B from 2 µs on"),
    ("fault", "straggler:rank=1,slower=2", "Rank 1 2× slower"),
]


@pytest.mark.parametrize(("word", "spec", "phrase"), CASES)
def test_a_change_says_what_a_person_set(word, spec, phrase):
    assert str(described(word, spec)) == phrase

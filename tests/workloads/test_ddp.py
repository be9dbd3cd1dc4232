"""DDP against steps worked out by hand, and against measured ones."""

import pytest

from ops.workloads import WORKLOADS
from sim.machines import build

ALPHA, BETA = 2e-6, 1 / 25e9
PAIR = build("switch:ranks=2,bandwidth=25GBps,latency=1us")
TWO = "first 1000x1000 1ms 2ms 1MB; second 1000x1000 1ms 2ms 1MB"
RING = 2 * ALPHA + 4e6 * BETA
"""Two ranks sum 4 MB in a ring: two messages in a row, half the bytes each."""


def step(machine=PAIR, name="ddp", **given):
    return WORKLOADS[name].run(machine, {"backend": "ideal", "layers": TWO, **given})


def exactly(value):
    return pytest.approx(value, abs=1e-9)


def test_the_second_layers_bucket_hides_behind_the_first_layers_backward():
    """6 ms of compute; the second layer's 4 MB travel meanwhile, the first layer's 4 MB afterwards."""
    found = step(bucket=4_000_000, first_bucket=4_000_000)
    assert found.time == exactly(6e-3 + RING)
    assert found.exposed_s == exactly(RING)
    assert found.facts["without_overlap_s"] == exactly(6e-3 + 2 * RING)
    assert [(s.lane, round(s.start, 9), round(s.end, 9)) for s in found.spans if s.rank == 1] == [
        ("comm", 0.004, round(0.004 + RING, 9)),
        ("comm", 0.006, round(0.006 + RING, 9)),
        ("compute", 0.0, 0.002),
        ("compute", 0.002, 0.004),
        ("compute", 0.004, 0.006),
    ]
    assert found.link_bytes.tolist() == [8e6, 8e6, 8e6, 8e6]
    assert found.peaks == [2 * 8e6 + 16e6 + 2e6] * 2

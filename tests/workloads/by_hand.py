"""What the tests of workloads share: two ranks, two layers, and collectives worked out on paper."""

import pytest

from ops.workloads import WORKLOADS
from sim.machines import build

ALPHA, BETA = 2e-6, 1 / 25e9
PAIR = build("switch:ranks=2,bandwidth=25GBps,latency=1us")
TWO = "first 1000x1000 1ms 2ms 1MB; second 1000x1000 1ms 2ms 1MB"
MODEL = 8e6
"""Bytes of the two layers in float32."""


def run(name, machine=PAIR, **given):
    return WORKLOADS[name].run(machine, {"backend": "ideal", **given})


def exactly(value):
    return pytest.approx(value, abs=1e-9, rel=1e-12)


def summed(size):
    """Two ranks sum a buffer in a ring: two messages in a row of half its bytes."""
    return 2 * (ALPHA + size / 2 * BETA)


def half(size):
    """Two ranks gather, scatter, or reduce and scatter a buffer: one message of half its bytes."""
    return ALPHA + size / 2 * BETA


def whole(size):
    """One message."""
    return ALPHA + size * BETA


def chain(size):
    """One message in the eight segments of a chain, each with its own latency."""
    return 8 * ALPHA + size * BETA

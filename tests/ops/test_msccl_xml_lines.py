"""Messages of one MSCCL thread block stand in line: what that costs, and what it does not."""

import pytest

from ops.formats import read_schedule
from sim.engine import simulate
from sim.machines import build
from tests.ops.msccl import program


def time_of(text, size):
    """On links of 1 GB/s with a latency of 1 ms."""
    schedule = read_schedule(text, "made.xml")
    return simulate(build(f"mesh:ranks={schedule.n},bandwidth=1GBps,latency=1ms"), schedule, size=size).time


def test_a_thread_block_hands_over_a_message_before_the_last_has_arrived():
    """Two of 1 MB pay one latency; other work of the thread block still waits until what it sent has flowed."""
    sends, takes = {(1, -1, 0): ["s i0 i0", "s i1 i1"]}, {(-1, 0, 0): ["r i0 i0", "r i1 i1"]}
    assert time_of(program("broadcast", sends, takes, chunks=2), 2e6) == pytest.approx(3e-3)
    both = {(1, 1, 0): ["s i0 i0", "rrc i1 i1", "s i1 i1"]}, {(0, 0, 0): ["s i1 i1", "rrc i0 i0", "r i1 i1"]}
    assert time_of(program("allreduce", *both, chunks=2), 2e6) == pytest.approx(4e-3)  # it sends what it was sent


def test_what_is_passed_on_pays_a_latency_a_hop_and_not_a_message():
    """Three chunks of 1 MB by way of one GPU: two latencies, and four times 1 ms for three chunks on two links."""
    lines = {kind: [f"{kind} i{k} i{k}" for k in range(3)] for kind in ("s", "rcs", "r")}
    chain = {(1, -1, 0): lines["s"]}, {(2, 0, 0): lines["rcs"]}, {(-1, 1, 0): lines["r"]}
    assert time_of(program("broadcast", *chain, chunks=3), 3e6) == pytest.approx(6e-3)

"""Figures of a run, worked out again transfer by transfer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.schedule import unroll
from sim.trace import metrics

MACHINES = ("switch:ranks=8", "ring:ranks=8", "nodes:nodes=2,gpus=4", "dgx1v", "torus:dims=2x4")


@given(
    st.sampled_from(["allreduce.ring", "alltoall.linear", "allgather.bruck", "broadcast.binomial"]),
    st.sampled_from(MACHINES),
    st.sampled_from([4096, 1 << 20]),
)
def test_use_of_links_and_the_critical_path(name, machine, size):
    topology = build(machine)
    trace = simulate(topology, ALGORITHMS[name].schedule(8), size)
    crossed = [0.0] * len(topology.links)
    for i in range(trace.schedule.transfers):
        for link in trace.route_of(i):
            crossed[link] += trace.bytes[i]
    use = [b / (link.bandwidth * trace.time) for b, link in zip(crossed, topology.links, strict=True)]
    assert metrics.link_use(trace) == pytest.approx(use, rel=1e-12)
    worst = metrics.bottleneck(trace)
    assert worst.share == pytest.approx(max(use))
    assert use[worst.link] == pytest.approx(max(use))
    assert worst.bytes == pytest.approx(crossed[worst.link])
    path = metrics.critical_path(trace)
    assert trace.end[path[-1]] == max(trace.end)
    assert trace.cause[path[0]] == -1
    assert [int(trace.cause[i]) for i in path[1:]] == path[:-1]
    assert metrics.algbw(trace) == pytest.approx(size / trace.time, rel=1e-15)
    assert metrics.busbw(trace, 1.75) == pytest.approx(1.75 * size / trace.time, rel=1e-14)


def test_a_run_that_moves_nothing_has_no_figures():
    nothing = unroll([], name="nothing", n=1, promise=None)
    alone = simulate(build("switch:ranks=1"), nothing, 1024)
    assert alone.time == 0
    assert (metrics.algbw(alone), metrics.bottleneck(alone), metrics.critical_path(alone)) == (0.0, None, [])
    assert not metrics.link_use(alone).any()


def test_the_critical_path_passes_over_the_marks_of_lock_step():
    schedule = ALGORITHMS["allreduce.ring"].schedule(4)
    trace = simulate(build("switch:ranks=4"), schedule, 1 << 20, lockstep=True)
    path = metrics.critical_path(trace)
    assert [schedule.step_of[i] for i in path] == [*range(6)]
    assert np.isfinite(trace.end).all()

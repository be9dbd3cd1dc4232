"""Link load over time: exact, and the same bytes however it is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.trace.link_load import link_load, utilisation


def run(name, machine, **options):
    return simulate(build(machine), ALGORITHMS[name].schedule(8), 1 << 24, **options)


def test_a_ring_on_a_switch_keeps_every_link_full_but_for_the_latencies():
    trace = run("allreduce.ring", "switch:ranks=8", history=True)
    share = utilisation(trace, np.array([0.0, trace.time]))
    assert share == pytest.approx(1 - 14 * 2e-6 / trace.time)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["allreduce.ring", "alltoall.linear", "allreduce.rabenseifner", "broadcast.binomial"]),
    st.sampled_from(["ring:ranks=8", "nodes:nodes=2,gpus=4", "dgx1v"]),
    st.lists(st.floats(0.01, 0.99), max_size=6, unique=True),
    st.booleans(),
)
def test_bytes_under_the_curve_are_the_links_bytes_however_time_is_cut(name, machine, cuts, history):
    trace = run(name, machine, history=history)
    edges = np.array([0.0, *sorted(cuts), 1.0]) * trace.time
    carried = (utilisation(trace, edges) * np.diff(edges)).sum(axis=1) * trace.topology.bandwidth
    assert carried == pytest.approx(trace.link_bytes, rel=1e-9, abs=1e-3)


def test_no_link_is_ever_over_full_and_all_are_idle_in_the_end():
    trace = run("alltoall.linear", "nodes:nodes=2,gpus=4", history=True)
    load = link_load(trace)
    for link, bandwidth in enumerate(trace.topology.bandwidth):
        rate = load.rate[load.offsets[link] : load.offsets[link + 1]]
        assert (rate <= bandwidth * (1 + 1e-9)).all()
        assert not len(rate) or rate[-1] == 0.0
    assert (load.rate > 0.999 * trace.topology.bandwidth.min()).any()

"""Link load over time: exact, and the same bytes however it is cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.faults.kinds import faults
from sim.machines import build
from sim.trace import from_json
from sim.trace.link_load import capacity, link_load, spells, utilisation
from sim.trace.metrics import bottleneck, link_use


def run(name, machine, **options):
    return simulate(build(machine), ALGORITHMS[name].schedule(8), 1 << 24, **options)


def test_a_ring_on_a_switch_keeps_every_link_full_but_for_the_latencies():
    trace = run("allreduce.ring", "switch:ranks=8", history=True)
    share = utilisation(trace, np.array([0.0, trace.time]))
    assert share == pytest.approx(1 - 14 * 2e-6 / trace.time)


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


def halved(words, size=1 << 26):
    machine = build("dual_socket_pcie")
    ring = ALGORITHMS["allreduce.ring"].schedule(8)
    return simulate(machine, ring, size, history=True, perturbations=faults([words], machine))


def test_a_halved_link_that_carries_all_it_can_is_full():
    trace = halved("slow_link:src=CPU0,dst=CPU1,share=0.5")
    worst = bottleneck(trace)
    link = trace.topology.links[worst.link]
    assert {link.src, link.dst} == {"CPU0", "CPU1"}
    assert worst.share > 0.99
    assert trace.link_bytes[worst.link] / trace.topology.bandwidth[worst.link] / trace.time < 0.5
    edges = np.linspace(0, trace.time, 50)
    share = utilisation(trace, edges)[worst.link]
    assert share.max() == pytest.approx(1, abs=1e-6)
    assert (share <= 1 + 1e-9).all()


def test_capacity_over_time_is_what_faults_leave_and_survives_a_file():
    trace = halved("slow_link:src=CPU0,dst=CPU1,share=0.25,start=1ms,end=3ms")
    found = spells(trace)
    assert [(s.begin, s.end) for s in found] == [(0.001, 0.003)] * 2
    own = trace.topology.bandwidth
    assert [s.bandwidth for s in found] == [0.25 * own[s.link] for s in found]
    for t, share in ((0.0009, 1.0), (0.001, 0.25), (0.0029, 0.25), (0.003, 1.0)):
        assert capacity(trace, t)[found[0].link] == share * own[found[0].link]
    again = from_json(trace.to_json())
    assert spells(again) == found
    assert link_use(again).tolist() == link_use(trace).tolist()


def test_a_dead_link_carries_nothing_of_nothing():
    trace = halved("dead_link:src=PCI0,dst=GPU0,start=0,end=1ms")
    stretch = utilisation(trace, np.array([0.0, 0.001]))
    dead = [s.link for s in spells(trace)]
    assert dead
    assert (stretch[dead] == 0).all()

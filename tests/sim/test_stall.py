"""A run that stalls: what it did until then is kept, and who waits for whom is told."""

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.engine.stall import circle, stuck, waiting
from sim.errors import StalledError, UnreachableError
from sim.faults.kinds import faults
from sim.machines import build
from sim.units import MiB

CUT = 1e-3


def stall(spec, machine="dual_socket_pcie", algorithm="allreduce.ring", *, history=True):
    topology = build(machine)
    schedule = ALGORITHMS[algorithm].schedule(topology.n)
    healthy = simulate(topology, schedule, 64 * MiB, history=True)
    with pytest.raises((StalledError, UnreachableError)) as caught:
        simulate(topology, schedule, 64 * MiB, history=history, perturbations=faults([spec], topology))
    assert caught.value.status == 1
    return healthy, caught.value.trace, str(caught.value)


@pytest.mark.parametrize("reroute", ["yes", "no"])
def test_until_the_cut_a_run_is_as_it_would_have_been_and_then_it_stops(reroute):
    healthy, trace, message = stall(f"dead_link:src=CPU0,dst=CPU1,start={CUT},reroute={reroute}")
    before = healthy.end < CUT
    assert before.any()
    assert (trace.end[before] == healthy.end[before]).all()
    ended = np.isfinite(trace.end)
    assert trace.ended == max(trace.end[ended].max(), trace.start[trace.stall.transfers].max()) > CUT
    for i in trace.stall.transfers:
        crossed = [trace.topology.links[k] for k in trace.route_of(i)]
        assert {("CPU0", "CPU1"), ("CPU1", "CPU0")} & {(link.src, link.dst) for link in crossed}
        assert trace.delivered(i, 1.0) == trace.delivered(i, CUT) < 1
    assert stuck(trace) == [(3, 4), (7, 0)]
    assert message.startswith("allreduce.ring can never finish: rank 3 -> rank 4, rank 7 -> rank 0 cannot move;")
    assert "rank 0 waits for rank 7" in message
    assert ("nothing leads from GPU3 to GPU4" in message) == (reroute == "yes")


def test_in_a_ring_everyone_waits_for_the_one_before_all_round():
    _, trace, _ = stall("dead_link:src=CPU0,dst=CPU1")
    ranks = [rank for rank, _ in circle(trace.stall)]
    assert sorted(ranks) == list(range(8))
    assert all(sender == (rank - 1) % 8 for rank, sender in circle(trace.stall))


def test_in_a_tree_there_is_no_circle_and_those_below_wait_for_their_parents():
    _, trace, message = stall("dead_link:src=GPU0,dst=SW", "switch:ranks=4", "broadcast.linear")
    assert circle(trace.stall) == []
    assert waiting(trace.stall) == [(1, 0), (2, 0), (3, 0)]
    assert "circle" not in message


def test_bytes_that_crossed_links_are_those_that_arrived():
    _, trace, _ = stall(f"dead_link:src=CPU0,dst=CPU1,start={CUT}")
    whole = simulate(trace.topology, trace.schedule, 64 * MiB)
    assert 0 < trace.link_bytes.sum() < whole.link_bytes.sum()
    cut = trace.stall.links[0]
    assert trace.link_bytes[cut] == pytest.approx(CUT * trace.topology.bandwidth[cut], rel=2e-3)


def test_without_rates_kept_a_stall_is_told_all_the_same():
    _, plain, message = stall("dead_link:src=CPU0,dst=CPU1,start=1ms", history=False)
    _, exact, same = stall("dead_link:src=CPU0,dst=CPU1,start=1ms")
    assert message == same
    assert (plain.ended, plain.stall) == (exact.ended, exact.stall)


def test_what_can_go_no_other_way_goes_on_when_the_link_is_back():
    topology = build("dual_socket_pcie")
    schedule = ALGORITHMS["allreduce.ring"].schedule(8)
    specs = [f"dead_link:src=CPU0,dst=CPU1,start=1ms,end=3ms,reroute={word}" for word in ("yes", "no")]
    rerouted, waited = (simulate(topology, schedule, 64 * MiB, perturbations=faults([s], topology)) for s in specs)
    assert rerouted.time == pytest.approx(waited.time, rel=1e-12)
    assert rerouted.verdict.ok

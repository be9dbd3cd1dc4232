"""Traces: what a view may rely on."""

from dataclasses import fields
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import MACHINES, build
from sim.schedule.dependencies import waits
from sim.trace import from_json, metrics
from tests.tables import each_row


def run(name="allreduce.ring", machine="nodes:nodes=2,gpus=4", n=8, size=1 << 20, **options):
    return simulate(build(machine), ALGORITHMS[name].schedule(n), size, history=True, **options)


@pytest.mark.parametrize("machine", ["nodes:nodes=2,gpus=4", "mi250x"])
def test_json_brings_back_the_same_run(machine):
    trace = run(machine=machine)
    again = from_json(trace.to_json())
    for column in ("ready", "start", "end", "cause", "bytes", "route"):
        assert getattr(again, column).tobytes() == getattr(trace, column).tobytes()
    assert again.time == trace.time
    assert again.topology.links == trace.topology.links
    for part in fields(again.topology):
        if part.name not in ("router", "format"):
            assert getattr(again.topology, part.name) == getattr(trace.topology, part.name)
    assert waits(again.schedule).after.tolist() == waits(trace.schedule).after.tolist()
    assert [again.delivered(5, t) for t in trace.end] == [trace.delivered(5, t) for t in trace.end]
    assert np.array_equal(again.schedule.promise.owed, trace.schedule.promise.owed)


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
def test_a_cut_trace_is_refused(cut):
    with pytest.raises(InputError, match="no JSON"):
        from_json(run().to_json()[:cut])


@given(st.integers(0, 111), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_what_is_delivered_only_grows_from_nothing_to_everything(i, shares):
    trace = run()
    i %= trace.schedule.transfers
    moments = trace.start[i] + np.sort(shares) * (trace.arrived[i] - trace.start[i])
    grown = [trace.delivered(i, t) for t in moments]
    assert grown == sorted(grown)
    assert trace.delivered(i, trace.start[i]) == 0.0
    assert trace.delivered(i, trace.arrived[i]) == 1.0


def test_the_critical_path_reaches_back_to_the_start_without_a_gap():
    trace = run()
    path = metrics.critical_path(trace)
    assert trace.end[path[-1]] == trace.ended
    assert trace.ready[path[0]] == trace.began
    in_line = [trace.left[b] > trace.ready[b] for b in path[1:]]
    assert any(in_line)
    for (a, b), waited in zip(pairwise(path), in_line, strict=True):
        assert trace.arrived[a] == trace.start[b] if waited else trace.end[a] == trace.ready[b]


def test_bytes_on_links_are_the_bytes_of_the_schedule():
    trace = run(machine="switch:ranks=8")
    # every rank sends 14 blocks of an eighth up its own link and receives as many
    assert trace.link_bytes.tolist() == [14 * (1 << 20) / 8] * 16
    assert metrics.link_use(trace).max() < 1


def test_the_bottleneck_between_nodes_is_a_network_card():
    trace = run(size=1 << 30)
    worst = metrics.bottleneck(trace)
    assert "NIC" in trace.topology.links[worst.link].src + trace.topology.links[worst.link].dst


def test_bandwidths_are_those_of_nccl_tests():
    trace = run(machine="switch:ranks=8", size=1 << 30)
    assert metrics.algbw(trace) == pytest.approx((1 << 30) / trace.time)
    assert metrics.busbw(trace, 14 / 8) == pytest.approx(25e9, rel=1e-3)


@pytest.mark.slow
@each_row(
    "name, machine",
    product(ALGORITHMS, ("switch:ranks=8", "ring:ranks=8", "nodes:nodes=2,gpus=4,nics=2", "dgx1v")),
    over=["machine"],
)
def test_nothing_is_faster_than_the_lower_bound(name, machine):
    topology, algorithm = build(machine), ALGORITHMS[name]
    if algorithm.refuse(8, **{k: p.default for k, p in algorithm.params.items()}):
        return
    schedule = algorithm.schedule(8)
    if schedule.switches and not machine.startswith("switch"):
        return
    for size in (1 << 12, 1 << 28):
        trace = simulate(topology, schedule, size)
        weights = np.full(schedule.promise.blocks, size * schedule.unit_share)
        in_switch = bool(schedule.switches)
        bound = metrics.lower_bound(topology, schedule.promise, weights, np.array(topology.ranks), in_switch=in_switch)
        assert 0 < bound <= trace.time * (1 + 1e-12)


def test_the_bound_of_an_allreduce_on_a_switch_is_the_textbooks():
    topology, schedule = build("switch:ranks=8"), ALGORITHMS["allreduce.ring"].schedule(8)
    bound = metrics.lower_bound(topology, schedule.promise, np.full(8, 1e9 / 8), np.array(topology.ranks))
    assert bound == pytest.approx(1e-6 + 2 * 7 / 8 * 1e9 / 25e9)


def test_a_switch_that_adds_needs_every_link_once_only():
    topology, schedule = build("switch:ranks=8"), ALGORITHMS["allreduce.nvls"].schedule(8)
    pieces = schedule.promise.blocks
    weights = np.full(pieces, 1e9 / pieces)
    bound = metrics.lower_bound(topology, schedule.promise, weights, np.array(topology.ranks), in_switch=True)
    assert bound == pytest.approx(1e-6 + 1e9 / 25e9)


def test_every_machine_can_be_named():
    assert {"switch", "ring", "mesh", "nodes"} <= set(MACHINES)

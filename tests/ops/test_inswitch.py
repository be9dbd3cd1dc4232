"""Algorithms whose switches add and copy: where they run, what they carry, what they cost."""

from dataclasses import replace

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.run.work import able
from sim.engine import simulate
from sim.errors import InputError
from sim.formats import read_topology, write_topology
from sim.machines import build
from sim.schedule.switch_devices import switch_devices
from sim.schedule.verify import verify
from sim.trace import from_json
from tests.tables import each_row

IN_SWITCH = [name for name in ALGORITHMS if ALGORITHMS[name].switches(8, group=0, segments=1)]


def seconds(name, machine, size, n=8, **params):
    return simulate(build(machine), ALGORITHMS[name].schedule(n, **params), size).time


def test_there_are_some():
    assert {"broadcast.multicast", "allreduce.nvls", "allreduce.collnet_direct"} <= set(IN_SWITCH)


def test_nvls_halves_what_a_link_carries():
    def most(name, **params):
        trace = simulate(build("switch:ranks=8"), ALGORITHMS[name].schedule(8, **params), 8e6)
        return trace.link_bytes.max()

    assert most("allreduce.nvls") == pytest.approx(8e6 * (1 + 1 / 8))
    assert most("allreduce.ring") == pytest.approx(8e6 * 2 * 7 / 8)


def test_nvls_beats_the_ring_with_enough_segments():
    nvls = seconds("allreduce.nvls", "switch:ranks=8", 1e9, segments=64)
    assert nvls == pytest.approx(1e9 / 25e9 * (1 + 1 / 8), rel=0.1)
    assert nvls < 0.7 * seconds("allreduce.ring", "switch:ranks=8", 1e9)


@pytest.mark.parametrize("name", ["broadcast.multicast", "allreduce.nvls", "reduce_scatter.nvls", "allgather.nvls"])
def test_switches_run_no_software_and_add_at_link_speed(name):
    size = 8e6
    plain, slow = (
        seconds(name, f"switch:ranks=8,{costs}", size, segments=1)
        for costs in ("overhead=0us", "overhead=5us,gamma=0.5")
    )
    sends_of_ranks = 2 if name == "allreduce.nvls" else 1
    assert slow - plain == pytest.approx(sends_of_ranks * 5e-6)


def test_collnet_ranks_add_for_their_node_only():
    size, gamma = 8e6, 1e-9
    plain, slow = (
        seconds("allreduce.collnet_direct", f"nodes:nodes=2,gpus=4,gamma={g}", size, group=4) for g in (0, gamma)
    )
    assert slow - plain == pytest.approx(3 / 4 * size * gamma)


def test_collnet_crosses_between_nodes_half_as_much_as_rings():
    machine = build("nodes:nodes=4,gpus=4")
    carried = {}
    for name in ("allreduce.collnet_direct", "allreduce.hierarchical_2d"):
        trace = simulate(machine, ALGORITHMS[name].schedule(16, group=4), 16e6)
        between = np.array([link.kind == "NET" and "SPINE" in link.src for link in machine.links])
        carried[name] = trace.link_bytes[between].max()
    assert carried["allreduce.collnet_direct"] == pytest.approx(16e6)
    assert carried["allreduce.hierarchical_2d"] == pytest.approx(16e6 * 2 * 3 / 4)


@each_row(
    "name, machine, n, reason",
    [
        ("allreduce.nvls", "mesh:ranks=8", 8, "needs a switch in its node that adds and copies"),
        ("allreduce.nvls", "nodes:nodes=2,gpus=4", 8, "is for ranks of 1 node, not of 2"),
        ("allreduce.collnet_direct", "mesh:ranks=8", 8, "needs a switch between its nodes"),
        ("allreduce.nvls", "dgx_a100", 8, r"as from Hopper on \(NVLink SHARP\), and those of dgx_a100 are for Ampere"),
        ("broadcast.multicast", "dgx2", 16, "are for Volta GPUs: choose another algorithm or machine"),
        ("allgather.nvls", "aws_p4d", 8, "needs NVSwitches that add and copy"),
        ("allreduce.nvls_tree", "dgx_a100:hosts=2", 16, "needs NVSwitches that add and copy"),
        ("allreduce.collnet_chain", "dgx_a100", 8, "needs NVSwitches that add and copy"),
    ],
)
def test_a_machine_without_the_switch_is_refused(name, machine, n, reason):
    with pytest.raises(InputError, match=reason):
        seconds(name, machine, 1e6, n)


@each_row(
    "machine, without",
    [
        ("dgx_a100", {"NVS", "NET"}),
        ("dgx_a100:hosts=2", {"NVS"}),
        ("dgx2", {"NVS", "NET"}),
        ("mesh:ranks=8", {"NVS", "NET"}),
        ("torus", {"NVS", "NET"}),
        ("dgx_h100", set()),
        ("gb200_nvl72:trays=2", set()),
        ("switch:ranks=8", set()),
        ("nodes", set()),
    ],
)
def test_algorithms_are_offered_where_a_switch_can_reduce(machine, without):
    kinds = {name: set(ALGORITHMS[name].switches(8, group=0, segments=1)) for name in ALGORITHMS}
    expected = [name for name in ALGORITHMS if not kinds[name] & without]
    assert able(build(machine), ALGORITHMS) == expected


def test_a_capture_says_whether_its_switches_reduce():
    text = write_topology(build("dgx_a100"), "ringside_yaml")
    for generation, runs in (("Ampere", False), ("Hopper", True)):
        machine = read_topology(text.replace("generation: Ampere", f"generation: {generation}"), "capture")
        assert ("allreduce.nvls" in able(machine, ALGORITHMS)) is runs


def test_the_switches_are_those_of_the_machine():
    machine = build("nodes:nodes=2,gpus=4")
    nvls, collnet = (ALGORITHMS[f"allreduce.{name}"] for name in ("nvls", "collnet_direct"))
    ranks = list(machine.ranks)
    (inside,) = switch_devices(machine, nvls.schedule(4), ranks[4:])
    (between,) = switch_devices(machine, collnet.schedule(8), ranks)
    assert machine.devices[inside].kind == "NVS"
    assert machine.devices[inside].host == 1
    assert machine.devices[between].name == "SPINE"
    (only,) = switch_devices(build("switch:ranks=4"), collnet.schedule(4), list(range(4)))
    assert only == 4


@each_row("name", IN_SWITCH)
def test_a_trace_with_switches_survives_json(name):
    trace = simulate(build("switch:ranks=4"), ALGORITHMS[name].schedule(4), 1e6)
    again = from_json(trace.to_json())
    assert again.schedule.switches == trace.schedule.switches
    assert verify(again.schedule).verdict == "ok"


def test_only_a_switch_may_add_to_nothing():
    schedule = ALGORITHMS["reduce_scatter.nvls"].schedule(4, segments=1)
    assert verify(schedule).verdict == "ok"
    as_rank = replace(schedule, n=5, switches=())
    assert "an empty slot was used" in verify(as_rank).reason


def test_a_switch_that_misses_a_rank_is_found_out():
    schedule = ALGORITHMS["reduce_scatter.nvls"].schedule(4, segments=1)
    src = schedule.src.copy()
    src[2] = 1
    assert "counted twice" in verify(replace(schedule, src=src)).reason


@pytest.mark.parametrize("name", ["allreduce.nvls", "reduce_scatter.nvls", "allreduce.collnet_chain"])
def test_a_switch_adds_at_the_speed_of_its_links_so_that_bytes_arrive_when_they_end(name):
    machine = build("switch:ranks=4,gamma=0.5ns,bandwidth=1GBps")
    trace = simulate(machine, ALGORITHMS[name].schedule(4), 1 << 20, history=True)
    into_switch = trace.schedule.dst >= trace.schedule.n
    assert into_switch.any()
    assert trace.arrived[into_switch].tolist() == trace.end[into_switch].tolist()
    for i in range(trace.schedule.transfers):
        times, rates = trace.rates(i)
        spans = np.diff([*times, trace.arrived[i]])
        assert (spans * rates).sum() == pytest.approx(trace.bytes[i])

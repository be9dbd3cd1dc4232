"""By which NIC a channel comes in and goes out, who forwards to it, and what rings and trees then reach."""

import numpy as np
import pytest

from ops.libraries.nccl.choice import choose, work_of
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.topology_search import look
from ops.libraries.nccl.variables import FREE, Variables
from ops.run import execute
from sim.machines import build
from sim.units import GiB
from tests.benchmarks.choice import MOST, cell
from tests.tables import each_row

PLAIN = Pace()


def doors(spec, variables=FREE):
    machine = build(spec)
    seen = look(machine, machine.n, variables)
    return [tuple((door[key] or "").removeprefix("H0.") for key in door) for door in seen.doors(machine)]


def carried(spec, collective, algorithm, size=GiB):
    """B/s of every NIC of a run, by name, outwards, and the run."""
    machine = build(spec)
    choice = choose(machine, collective, size, options=Variables(algorithm=algorithm, protocol="Simple"))
    run = execute(machine, work_of(machine, choice, pace=PLAIN), size)
    trace = run.trace
    load = np.zeros(len(machine.links))
    for route, size_of in zip(trace.route.tolist(), trace.bytes.tolist(), strict=True):
        load[trace.routes.links[trace.routes.offsets[route] : trace.routes.offsets[route + 1]]] += size_of
    out = {link.src: load[i] for i, link in enumerate(machine.links) if link.kind == "NET" and "NIC" in link.src}
    return out, run


@each_row(
    "spec, first, second",
    [
        # one per GPU: rings change the NIC, as NVLinks carry no more beside them, and go opposite ways
        ("dgx_h100:hosts=2", ("NIC0", "NIC1", ""), ("NIC1", "NIC0", "")),
        # two GPUs and two NICs on a switch, or two and one: the other GPU reaches the NIC by itself
        ("dgx_a100:hosts=2", ("NIC0", "NIC0", ""), ("NIC1", "NIC1", "")),
        ("aws_p4d:hosts=2", ("NIC0", "NIC0", ""), ("NIC1", "NIC1", "")),
        ("gb200_nvl72:racks=2,trays=2", ("NIC0", "NIC0", ""), ("NIC1", "NIC1", "")),
        # on two sockets and without a GPU near them: rings change the NIC, and go opposite ways
        ("a100_quad:hosts=2", ("NIC0", "NIC1", ""), ("NIC1", "NIC0", "")),
        # as RCCL's table has it
        ("mi300x:hosts=2", ("NIC0", "NIC7", ""), ("NIC1", "NIC6", "")),
    ],
)
def test_rings_enter_and_leave_by_these_nics(spec, first, second):
    found = doors(spec)
    assert (found[0], found[1]) == (first, second)
    assert len({leaves for _, leaves, _ in found}) == len(found)


def test_variables_change_the_way_to_a_nic():
    assert doors("dgx_h100:hosts=2", Variables(cross_nic=0))[0] == ("NIC0", "NIC0", "GPU0")
    assert doors("dgx_h100:hosts=2", Variables(cross_nic=0, pxn_disable=True))[0] == ("NIC0", "NIC0", "")
    assert doors("dgx_h100:hosts=2", Variables(cross_nic=1))[:2] == [("NIC0", "NIC1", ""), ("NIC1", "NIC2", "")]
    some = doors("dgx_h100:hosts=2", Variables(ib_hca="mlx5_2,mlx5_5"))
    assert [enters for enters, _, _ in some] == ["NIC2", "NIC5"]


def test_rings_of_eight_gpus_go_as_their_log_has_them():
    """Two p4d hosts with NCCL 2.9.9: rings 0 and 2 of their log, and the GPUs at which the four NICs are."""
    seen = look(build("aws_p4d:hosts=2"), 16)
    assert seen.orders[0] == (0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9)
    assert seen.orders[2] == (4, 3, 2, 1, 0, 7, 6, 5, 12, 11, 10, 9, 8, 15, 14, 13)
    assert [(order[0], order[7]) for order in seen.orders] == [(0, 1), (2, 3), (4, 5), (6, 7)]


@pytest.mark.parametrize("nics", [1, 2, 4, 8])
def test_rings_and_trees_share_all_nics(nics):
    """A ring of 16 sends 2 · 15/16 of the data over every hop, a tree of two hosts all of it each way."""
    spec = f"nodes:nodes=2,gpus=8,nics={nics}"
    for algorithm, times in (("Ring", 2 * 15 / 16), ("Tree", 1)):
        load, run = carried(spec, "allreduce", algorithm)
        assert len(load) == 2 * nics
        assert list(load.values()) == pytest.approx([times * GiB / nics] * 2 * nics, rel=1e-6)
        if nics < 8:  # eight carry what NVLink does inside
            assert run.time == pytest.approx(times * GiB / (nics * 25e9), rel=0.06)


def test_one_nic_for_two_gpus_does_not_halve_a_ring():
    load, run = carried("gb200_nvl72:racks=2,trays=1", "allreduce", "Ring")
    assert list(load.values()) == pytest.approx([2 * 7 / 8 * GiB / 4] * 8, rel=1e-6)
    assert run.time == pytest.approx(2 * 7 / 8 * GiB / (4 * 48e9), rel=0.1)


@each_row(
    "spec, collective, used",
    [
        ("dgx_h100:hosts=2", "alltoall", 8),
        ("aws_p4d:hosts=3", "alltoall", 4),
        ("nodes:nodes=2,gpus=4,nics=8", "alltoall", 8),
        ("nodes:nodes=2,gpus=4,nics=8", "sendrecv", 2),  # of the one GPU that sends to the other host
        ("dgx_h100:hosts=3", "allreduce", 8),
    ],
)
def test_sends_and_trees_of_switches_share_a_hosts_nics(spec, collective, used):
    load, _ = carried(spec, collective, "NVLSTree" if collective == "allreduce" else "")
    for host in {name.partition(".")[0] for name in load}:
        values = [value for name, value in load.items() if name.startswith(f"{host}.") and value]
        assert len(values) == used
        assert max(values) == pytest.approx(min(values))


def test_sends_keep_to_the_rail_of_the_receiver():
    """PXN: the GPU with the receiver's number forwards, so that nothing crosses the spine."""
    machine = build("dgx_h100:hosts=2")
    trace = execute(machine, work_of(machine, choose(machine, "alltoall", GiB), pace=PLAIN), GiB).trace
    crossed = {machine.links[i].dst for i in trace.routes.links.tolist()}
    assert "SPINE" not in crossed


@each_row("collective", ["allreduce", "allgather"])
@each_row(
    "spec",
    [
        "gb200_nvl72:racks=2",
        "a100_quad:hosts=2",
        "mi250x:hosts=2",
        "dgx1v:hosts=2",
        "dgx_h100:hosts=4",
        "aws_p4d:hosts=2",
    ],
    days=3,
)
def test_what_the_tuner_takes_is_simulated_as_long_as_it_says(spec, collective):
    """`python -m tests.benchmarks.choice` prints the table of all machines."""
    row = cell(spec, collective, GiB)
    assert row.factor < MOST, row

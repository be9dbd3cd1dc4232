"""Idle PCIe is folded into one mark per host, and only that."""

from itertools import combinations

import pytest

from ops.plan import Plan
from ui.layout.folding import folded
from ui.layout.machine_layout import arrange
from ui.player.payload import pack, unpack


def trace(machine, algorithm="allreduce.ring", fault=""):
    return Plan(algorithm=algorithm, machine=machine, size="1MiB", fault=fault).run().trace


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        ("dgx_a100", {"CPU", "PCI", "NIC"}),  # all talk over NVLink
        ("dual_socket_pcie", set()),  # all talk over PCIe
        ("switch:ranks=4", set()),
    ],
)
def test_pcie_is_folded_where_nvlink_carries_all(machine, kinds):
    run = trace(machine)
    assert {run.topology.devices[d].kind for d in folded(run)} == kinds


def test_what_carries_something_stays():
    run = trace("dgx_a100:hosts=2")
    names = {run.topology.devices[d].name for d in folded(run)}
    busy = [link for link, sent in zip(run.topology.links, run.link_bytes, strict=True) if sent]
    used = {name for link in busy for name in (link.src, link.dst)}
    assert names
    assert not names & used
    assert not any(name.startswith("RAIL") for name in names)


def test_a_link_with_a_fault_stays():
    run = trace("dgx_a100", fault="slow_link:src=PCI0,dst=NIC0,share=0.5")
    assert "PCI0" not in {run.topology.devices[d].name for d in folded(run)}


def test_folded_devices_stand_in_one_mark_and_no_other_in_their_place():
    run = trace("dgx_a100:hosts=2")
    hidden = folded(run)
    stage = arrange(run.topology, hidden)
    marks = {(stage.x[d], stage.y[d]) for d in hidden}
    assert len(marks) == 2
    shown = [(x, y) for d, (x, y) in enumerate(zip(stage.x, stage.y, strict=True)) if d not in hidden]
    assert all(abs(ax - bx) > 0.9 or abs(ay - by) > 0.45 for (ax, ay), (bx, by) in combinations([*shown, *marks], 2))
    labels = [box.label for box in stage.boxes if box.kind == "idle"]
    assert labels == [f"idle {len(hidden) // 2}"] * 2


def test_a_player_has_both_pictures():
    header, columns = unpack(pack(trace("dgx_a100")))
    assert header["devices"]["hidden"]
    assert len(header["unfolded"]["x"]) == len(header["devices"]["x"])
    assert len(columns["unfolded_line_start"]) == len(columns["line_start"])
    assert unpack(pack(trace("switch:ranks=4")))[0]["unfolded"] is None

"""Where two GPUs stand decides what NCCL reaches between them: the order that people measure on such boxes."""

from dataclasses import replace

import pytest

from ops.libraries.nccl.choice import choose, work_of
from ops.libraries.nccl.own.pace import Pace
from ops.run import execute
from sim.machines import build
from sim.units import GiB


def busbw(machine):
    choice = choose(machine, "allreduce", GiB)
    return execute(machine, work_of(machine, choice, pace=Pace()), GiB).busbw


def pair(spec, a, b):
    machine = build(spec)
    return busbw(replace(machine, ranks=(machine.ranks[a], machine.ranks[b]), router=machine.routes))


def test_a40_bridge_same_socket_other_socket():
    """4 NVLinks of 12 GB/s on a bridge (47.5 measured), PCIe gen4 at 24, EPYC to EPYC at 16."""
    bridged, near, far = (pair("a40_pairs", 0, other) for other in (1, 2, 4))
    assert bridged == pytest.approx(48e9, rel=0.02)
    assert bridged > near > far


def test_bridged_a100_lose_their_bridge_with_the_third_gpu():
    """208 GB/s between two of a pair and 20 among three was measured on 8 A100 PCIe with bridges."""
    assert pair("a100_pcie_pairs", 0, 1) > 8 * pair("a100_pcie_pairs", 0, 2)
    machine = build("a100_pcie_pairs")
    assert busbw(replace(machine, ranks=machine.ranks[:3], router=machine.routes)) < 20e9


def test_cards_on_switches_sockets_and_through_host_memory():
    card = "dual_socket_pcie:gpus=4"
    switch, socket = pair(card, 0, 1), pair(card, 0, 2)
    assert switch > socket
    assert busbw(build(card)) == pytest.approx(socket, rel=0.01)
    assert busbw(build(f"{card},p2p=no")) < socket


def test_on_geforce_cards_a_copy_through_host_memory_beats_the_peer_across_sockets():
    """Measured: 5.24 near peers and host, 4.47 all by the host, 3.63 peers everywhere; strict 0.83, 2.38, 4.47 GB/s."""
    found = {
        (p2p, relaxed): busbw(build(f"geforce_4090:p2p={p2p},relaxed_ordering={relaxed}")) / 1e9
        for p2p in ("all", "near", "no")
        for relaxed in ("yes", "no")
    }
    assert found["near", "yes"] > found["no", "yes"] > found["all", "yes"]
    assert found["no", "no"] > found["near", "no"] > found["all", "no"]
    measured = {
        ("all", "yes"): 3.63,
        ("near", "yes"): 5.24,
        ("no", "yes"): 4.47,
        ("all", "no"): 0.83,
        ("near", "no"): 2.38,
    }
    for way, busbw_measured in measured.items():
        assert found[way] == pytest.approx(busbw_measured, rel=0.15), way

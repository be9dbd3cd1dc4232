"""What hops and links between hosts cost, and what sums in switches reach, worked out by hand from NCCL's constants."""

import numpy as np
import pytest

from ops.libraries.nccl.choice import choose, work_of
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.protocol_cost import Way, costs, hop
from ops.libraries.nccl.topology_search import look
from ops.libraries.nccl.variables import Variables
from ops.run import execute
from sim.machines import build
from sim.units import GiB, KiB, MiB
from tests.tables import each_row


def way(spec, ranks, algorithm, protocol, size, **pace):
    return Way(look(build(spec), ranks), "allreduce", algorithm, protocol, size, Pace(**pace))


@pytest.mark.parametrize(
    ("protocol", "of_channel", "rate"),
    [("LL128", 64 * KiB, 10e9), ("Simple", 64 * KiB, 11.8e9), ("LL", 4 * KiB, 1.8 * 12e9 / 2)],
)
def test_a_hop_of_a_tree_is_copied_by_its_few_channels(protocol, of_channel, rate):
    """2 × 8 A100 have 16 channels, half of each of 8 paths' in either tree: 20 and 23.6 GB/s for every two of them."""
    one = way("dgx_a100:hosts=2", 16, "Tree", protocol, GiB)
    assert one.alone(np.array([64.0 * KiB]))[0] == pytest.approx(of_channel / rate)
    assert way("dgx_a100:hosts=2", 16, "Ring", protocol, GiB).alone(np.array([1.0])) == 0


def test_a_message_of_ll_between_hosts_is_the_same_in_a_tree_and_in_a_ring():
    """Inside a node a tree's hop is longer, where a rank adds up two; other protocols go by NCCL's table."""
    pace = Pace(ll=1.5, net_hop=1e-6)
    assert hop("Tree", "LL", "NET", pace) == hop("Ring", "LL", "NET", pace) == pytest.approx(2.7e-6 + 1e-6)
    assert hop("Tree", "LL", "NVLINK", pace) == pytest.approx(1.8 * hop("Ring", "LL", "NVLINK", pace))
    assert hop("Tree", "LL128", "NET", pace) == pytest.approx(8.5e-6 + 1e-6)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_sends_to_more_peers_begin_later(ranks):
    few, many = (Way(look(build("dgx_h100"), n), "alltoall", "SendRecv", "LL", 0, Pace()).start for n in (2, ranks))
    assert many - few == pytest.approx((ranks - 2) * 0.15e-6)
    pair = Way(look(build("dgx_h100"), ranks), "sendrecv", "SendRecv", "LL", 0, Pace()).start
    assert pair == few


def test_pcie_keeps_what_nccl_grants_it():
    """NICs reach a share of what they carry, PCIe's 24 GB/s is already what is reached; LL leaves half of both."""
    plain = build("dgx_a100:hosts=2")
    for protocol, payload in (("Simple", 1.0), ("LL", 0.5)):
        machine = costs(look(plain, 16), "allreduce", "Tree", protocol, GiB, Pace(net=0.9)).machine(plain)
        shares = {
            link.kind: link.bandwidth / was.bandwidth for link, was in zip(machine.links, plain.links, strict=True)
        }
        assert shares["PCI"] == pytest.approx(payload)
        assert shares["NET"] == pytest.approx(0.9 * payload)


def test_a_slot_of_ll_is_looked_at_once():
    """Four hosts of four H100: 8 channels fill 16 KiB each, which CPUs look at with 20.4 GB/s in all."""
    one = way("h100_quad:hosts=4", 16, "Tree", "LL", MiB, net_slot=3.0)
    assert one.between(np.array([16.0 * KiB]))[0] == pytest.approx(2.7e-6 + 8 * 16 * KiB / 20.4e9)


def test_an_adding_switch_reaches_as_much_for_many_gpus_as_for_eight():
    """What bounds it is copying into and out of NCCL's buffer; sums for other hosts wait for two gaps."""
    rates = []
    for ranks, size in ((8, GiB), (72, 4 * GiB)):
        inner, _ = way("gb200_nvl72", ranks, "NVLS", "Simple", size, nvls=0.9, nvls_gap=64 * KiB).shares()
        rates.append(inner / (1 + 1 / ranks))
    assert rates == pytest.approx([0.9 * 64 / 128 / (1 + 1 / 8)] * 2)
    tree, _ = way("dgx_h100:hosts=2", 16, "NVLSTree", "Simple", GiB, nvls=0.9, nvls_gap=64 * KiB).shares()
    assert tree == pytest.approx(0.9 * 128 / (128 + 2 * 64))


def test_a_ring_with_ll128_has_what_its_channels_carry():
    """8 paths of 24 GB/s between A100 reach 20 with LL128, 8 of 48 between H100 36.7; 12 inside a host take 92 %."""
    inner, outer = way("dgx_a100:hosts=2", 16, "Ring", "LL128", GiB).shares()
    assert inner == outer == pytest.approx(20 / 24)
    assert way("dgx_h100:hosts=2", 16, "Ring", "LL128", GiB).shares()[1] == pytest.approx(36.7 / 48)
    assert way("dgx_h100", 8, "Ring", "LL128", GiB).shares()[0] == pytest.approx(0.92)


def test_rccl_does_without_ll_from_64_kib_a_rank_on():
    machine = build("mi300x")
    assert [choose(machine, "allgather", size * KiB).chosen.protocol for size in (256, 512)] == ["LL", "Simple"]
    assert choose(machine, "allgather", MiB, options=Variables(protocol="LL")).chosen.protocol == "LL"


@each_row(
    "spec, collective, size",
    [
        ("aws_p4d:hosts=32", "allgather", MiB),  # LL on one channel
        ("aws_p4d:hosts=32", "allgather", 32 * MiB),  # LL128
        ("dgx_h100:hosts=32", "allgather", MiB),
        ("gcp_a3_high:hosts=16", "reduce_scatter", 32 * MiB),
        ("aws_p4d:hosts=4", "allreduce", 32 * MiB),
        ("aws_p6_b300:hosts=8", "allgather", MiB),  # NICs faster than NCCL's channels,
    ],
)
def test_steps_of_long_rings_cost_what_the_tuner_reckons(spec, collective, size):
    """NCCL's formula adds for every step what posting it costs; here NICs rest for so long, so that both come near."""
    machine = build(spec)
    choice = choose(machine, collective, size)
    assert choice.chosen.algorithm == "Ring"
    simulated = execute(machine, work_of(machine, choice, pace=Pace()), size).time
    assert 1 / 1.5 < simulated / choice.chosen.time < 1.5


def test_wires_rest_while_a_message_is_posted_and_looked_at():
    """Eight rings of two hosts send 64 KiB a step, each by a NIC of 25 GB/s."""
    plain = build("dgx_a100:hosts=2")
    for protocol, seconds, most in (("LL128", 1e-6, 1e30), ("Simple", 3e-6, 1e30), ("LL", 1e-6, 22.5e9 / 8)):
        one = Way(look(plain, 16), "allreduce", "Ring", protocol, 8 * MiB, Pace())
        machine = costs(look(plain, 16), "allreduce", "Ring", protocol, 8 * MiB, Pace()).machine(plain)
        wire = {x.bandwidth for x in machine.links if x.kind == "NET" and ("NIC" in x.src or "NIC" in x.dst)}
        taken = seconds + 64 * KiB / min(most, 25e9 * one.shares()[1])
        assert [*wire] == pytest.approx([64 * KiB / taken])


def test_posting_is_a_part_of_a_hop():
    """Eight hosts with a GPU each: seven hops of 2.7 µs, in which messages are posted."""
    machine = build("nodes:nodes=8,gpus=1")
    choice = choose(machine, "allgather", 64, options=Variables(nccl="2.30", protocol="LL", algorithm="Ring"))
    time = execute(machine, work_of(machine, choice, pace=Pace()), 64).time
    start = Way(choice.seen, "allgather", "Ring", "LL", 64, Pace()).start
    assert time == pytest.approx(start + 7 * 2.7e-6, rel=0.02)

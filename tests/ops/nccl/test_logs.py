"""Rings, channels, trees and NICs that logs of NCCL show, beside those of the model, where their machines are known.

Facts are counted from the logs' Channel, Ring and Trees lines; ranks of the second host are those of the first plus a
host's, where nothing else is said. Logs do not say where NICs are. Of the hosts with Omni-Path the compiled graph code
of each log's own release (2.7.8, 2.10.3) found the log's channels on the descriptions below, which are one for both
releases that ran on V100.
"""

import numpy as np

from ops import ALGORITHMS
from ops.libraries.nccl.protocol_cost import running_channels
from ops.libraries.nccl.topology_search import look
from ops.libraries.nccl.variables import Variables, machine_with
from sim.formats import read_topology
from sim.machines import build
from tests.tables import each_row

QUAD = """
ringside: 1
generation: Volta
devices:
  - {name: GPU, count: 4, kind: GPU}
links:
  - {from: GPU*, to: GPU*, bandwidth: 40GBps, latency: 0.5us, kind: NVL, lanes: 2}
"""
"""Four V100 with two NVLinks between any two."""
ONE_GPU = """
ringside: 1
generation: Ampere
hosts: {count: 2, bandwidth: 25GBps, latency: 1us}
devices:
  - {name: GPU0, kind: GPU, numa: 0}
  - {name: CPU, count: 2, kind: CPU}
  - {name: NIC0, kind: NIC, numa: 1}
  - {name: NIC1, kind: NIC, numa: 0}
links:
  - {from: GPU0, to: CPU0, bandwidth: 24GBps, latency: 0.5us}
  - {from: NIC1, to: CPU0, bandwidth: 24GBps, latency: 0.5us}
  - {from: NIC0, to: CPU1, bandwidth: 3.1GBps, latency: 0.5us}
  - {from: CPU0, to: CPU1, bandwidth: 16GBps, latency: 0.5us}
"""
"""An A100 and a NIC of 200 Gbit/s on one socket, a slow port on the other."""


V100 = """
ringside: 1
generation: Volta
hosts: {count: 4, bandwidth: 12.5GBps, latency: 1us}
devices:
  - {name: GPU, count: 4, kind: GPU}
  - {name: CPU, count: 2, kind: CPU}
  - {name: PCI, count: 2, kind: PCI}
  - {name: hfi1_0, kind: NIC}
  - {name: hfi1_1, kind: NIC}
  - {name: hfi1_2, kind: NIC}
  - {name: hfi1_3, kind: NIC}
links:
  - {from: GPU*, to: GPU*, bandwidth: 40GBps, latency: 0.5us, kind: NVL, lanes: 2}
  - {from: CPU0, to: CPU1, bandwidth: 10GBps, latency: 0.5us}
  - {from: PCI0, to: CPU0, bandwidth: 12GBps, latency: 0.5us}
  - {from: GPU0, to: PCI0, bandwidth: 12GBps, latency: 0.5us}
  - {from: GPU1, to: PCI0, bandwidth: 12GBps, latency: 0.5us}
  - {from: hfi1_0, to: PCI0, bandwidth: 12GBps, latency: 0.5us}
  - {from: hfi1_1, to: CPU0, bandwidth: 12GBps, latency: 0.5us}
  - {from: PCI1, to: CPU1, bandwidth: 12GBps, latency: 0.5us}
  - {from: GPU2, to: PCI1, bandwidth: 12GBps, latency: 0.5us}
  - {from: GPU3, to: PCI1, bandwidth: 12GBps, latency: 0.5us}
  - {from: hfi1_2, to: PCI1, bandwidth: 12GBps, latency: 0.5us}
  - {from: hfi1_3, to: CPU1, bandwidth: 12GBps, latency: 0.5us}
"""
"""Four V100 on two sockets of Intel's, each with two ports of Omni-Path: one beside the GPUs, one at the CPU."""
A100 = """
ringside: 1
generation: Ampere
hosts: {count: 4, bandwidth: 12.5GBps, latency: 1us}
devices:
  - {name: GPU, count: 8, kind: GPU}
  - {name: NVS0, kind: NVS}
  - {name: CPU, count: 4, kind: CPU}
  - {name: PCI, count: 4, kind: PCI}
  - {name: hfi1_0, kind: NIC}
  - {name: hfi1_1, kind: NIC}
  - {name: hfi1_2, kind: NIC}
  - {name: hfi1_3, kind: NIC}
links:
  - {from: GPU*, to: NVS0, bandwidth: 240GBps, latency: 0.5us, kind: NVL, lanes: 12}
  - {from: CPU*, to: CPU*, bandwidth: 16GBps, latency: 0.5us}
""" + "".join(
    f"""
  - {{from: PCI{k}, to: CPU{k}, bandwidth: 24GBps, latency: 0.5us}}
  - {{from: GPU{2 * k}, to: PCI{k}, bandwidth: 24GBps, latency: 0.5us}}
  - {{from: GPU{2 * k + 1}, to: PCI{k}, bandwidth: 24GBps, latency: 0.5us}}
  - {{from: hfi1_{k}, to: PCI{k}, bandwidth: 12GBps, latency: 0.5us}}
"""
    for k in range(4)
)
"""Eight A100 on an NVSwitch, a port of Omni-Path beside every two, AMD's CPUs with four domains."""


MI250X = """
ringside: 1
generation: CDNA2
hosts: {count: 2, bandwidth: 25GBps, latency: 1us}
devices:
  - {name: GPU, count: 4, kind: GPU}
  - {name: CPU, count: 4, kind: CPU}
  - {name: hsn, count: 4, kind: NIC}
links:
  - {from: GPU0, to: GPU1, bandwidth: 144GBps, latency: 0.5us, kind: NVL, lanes: 4}
  - {from: GPU2, to: GPU3, bandwidth: 144GBps, latency: 0.5us, kind: NVL, lanes: 4}
  - {from: GPU0, to: GPU2, bandwidth: 36GBps, latency: 0.5us, kind: NVL}
  - {from: GPU1, to: GPU3, bandwidth: 36GBps, latency: 0.5us, kind: NVL}
  - {from: CPU*, to: CPU*, bandwidth: 16GBps, latency: 0.5us}
  - {from: GPU0, to: CPU0, bandwidth: 24GBps, latency: 0.5us}
  - {from: GPU1, to: CPU0, bandwidth: 24GBps, latency: 0.5us}
  - {from: GPU2, to: CPU1, bandwidth: 24GBps, latency: 0.5us}
  - {from: GPU3, to: CPU1, bandwidth: 24GBps, latency: 0.5us}
  - {from: hsn0, to: CPU0, bandwidth: 24GBps, latency: 0.5us}
  - {from: hsn1, to: CPU1, bandwidth: 24GBps, latency: 0.5us}
  - {from: hsn2, to: CPU2, bandwidth: 24GBps, latency: 0.5us}
  - {from: hsn3, to: CPU3, bandwidth: 24GBps, latency: 0.5us}
"""
"""Half a Frontier node: two MI250X on two of four domains, as their affinity says, and a port of Slingshot per domain.

RCCL of 2.16.5 has no table for four GPUs and searches as NCCL does. Sockets do not reach into GPUs' memory.
"""


def machine(text):
    return read_topology(text, "log.yaml") if text.startswith("\n") else build(text)


def seen_by(spec, release, ranks=0, *, gdr=True):
    """The machine as a release sees it, whose NICs reach into GPUs' memory or not, and the machine."""
    variables = Variables(nccl=release, net_gdr_level="" if gdr else "LOC")
    box = machine_with(machine(spec), variables)
    return look(box, ranks or box.n, variables), box


def rings_of(seen):
    """The rings as logs print them, from rank 0 on."""
    return [order[order.index(0) :] + order[: order.index(0)] for order in seen.orders]


@each_row(
    "source, spec, release, ranks, running, rings",
    [
        ("two A100 PCIe with a bridge, 2.27.7", "a100_pcie_pairs", "2.27", 2, 24, {(0, 1)}),
        (
            "four V100, 2.7.8: six rings, each on two channels",
            QUAD,
            "2.7",
            4,
            12,
            {(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 3, 1), (0, 2, 1, 3), (0, 3, 1, 2), (0, 3, 2, 1)},
        ),
        ("one A100 a host, 2.16.5", ONE_GPU, "2.12", 2, 2, {(0, 1)}),
    ],
)
def test_rings_and_channels(source, spec, release, ranks, running, rings):
    seen, _ = seen_by(spec, release, ranks)
    assert running_channels(seen.situation) == running, source
    assert set(rings_of(seen)) == rings, source


def names(seen, box, joined):
    """The NICs of every channel of the first node."""
    devices = seen.parts[0].devices
    for at in joined.graphs[0].channels:
        yield tuple(box.devices[devices[nic]].name.removeprefix("H0.") for nic in (at.enters, at.leaves))


def test_two_mi250x_a_host_use_two_sockets():
    """Of RCCL 2.16.5: both rings go around the square of xGMI links but for the two dies that have the NIC near."""
    seen, box = seen_by(MI250X, "2.12", gdr=False)
    assert running_channels(seen.situation) == 4
    assert rings_of(seen) == [(0, 2, 3, 1, 4, 6, 7, 5), (0, 1, 3, 6, 4, 5, 7, 2)]
    for joined in (seen.rings, seen.trees):
        assert [*names(seen, box, joined)] == [("hsn0", "hsn0"), ("hsn1", "hsn1")]


OMNI_PATH = [(("hfi1_1", "hfi1_3"), ("hfi1_1", "hfi1_1")), (("hfi1_1", "hfi1_1"), ("hfi1_3", "hfi1_3"))]
"""NICs by which rings, and trees, of two channels enter and leave hosts with V100."""


@each_row(
    "source, spec, release, running, rings, doors",
    [
        ("V100, Omni-Path, 2.7.8", V100.replace("count: 4, band", "count: 16, band"), "2.7", 4, "0123 0321", OMNI_PATH),
        ("V100, Omni-Path, 2.10.3", V100, "2.10", 4, "0123 0321", OMNI_PATH),
        (
            "A100, Omni-Path, 2.10.3",
            A100,
            "2.10",
            2,
            "01234567",
            [(("hfi1_0", "hfi1_3"),), (("hfi1_0", "hfi1_0"),)],
        ),
    ],
)
def test_ports_of_omni_path_are_one_card(source, spec, release, running, rings, doors):
    """All ports together carry no more than one, so that the V100 have two channels of 6 GB/s, the A100 one of 12."""
    seen, box = seen_by(spec, release, gdr=False)
    firsts = [node[0] for node in seen.nodes]
    assert running_channels(seen.situation) == running, source
    wanted = [[first + int(digit) for first in firsts for digit in ring] for ring in rings.split()]
    assert [[*order] for order in rings_of(seen)] == wanted
    for joined, nics in zip((seen.rings, seen.trees), doors, strict=True):
        assert tuple(names(seen, box, joined)) == nics


def test_two_p4d_have_a_nic_for_every_two_channels():
    """Of 2.9.9: each NIC has two of eight channels; rings enter at GPUs 0, 2, 4, 6 and leave at 1, 3, 5, 7."""
    seen, box = seen_by("aws_p4d:hosts=2", "2.9")
    assert running_channels(seen.situation) == 8
    assert rings_of(seen) == [
        (0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9),
        (0, 3, 10, 15, 14, 13, 12, 9, 8, 11, 2, 7, 6, 5, 4, 1),
        (0, 7, 6, 5, 12, 11, 10, 9, 8, 15, 14, 13, 4, 3, 2, 1),
        (0, 5, 4, 7, 14, 11, 10, 9, 8, 13, 12, 15, 6, 3, 2, 1),
    ]
    assert [(order[0], order[7]) for order in seen.orders] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    for joined in (seen.rings, seen.trees):
        assert [*names(seen, box, joined)] == [(f"NIC{k}", f"NIC{k}") for k in range(4)]


@each_row("release", ["2.12", "2.30"])
def test_the_fast_nic_near_the_only_gpu_is_taken(release):
    seen, box = seen_by(ONE_GPU, release)
    assert [door["enters"] for door in seen.doors(box)] == ["H0.NIC1"]


def joints(seen, tree):
    """Child and parent of every edge of a tree, by place in the order of a channel."""
    n = seen.situation.n
    entry, turned = ALGORITHMS["allreduce.nccl_tree"], seen.situation.tables.turned
    schedule = entry.schedule(n, group=seen.group, segments=1, balanced=seen.balanced, turned=turned)
    up = (schedule.op == 1) | (schedule.to_slot[schedule.moves[:-1]] >= 2)
    slot = schedule.from_slot[schedule.moves[:-1]]
    chosen = up & (slot % 2 == tree) & (schedule.src != schedule.dst)
    return np.column_stack([schedule.src, schedule.dst])[chosen].tolist()


def relatives(seen, channel, rank):
    """The children and the parents of a rank on a channel; the second half of the channels has the second tree."""
    tree, at = divmod(channel, len(seen.trees.orders))
    order = seen.trees.orders[at]
    edges = [(order[child], order[parent]) for child, parent in joints(seen, tree)]
    return {a for a, b in edges if b == rank}, {b for a, b in edges if a == rank}


@each_row(
    "spec, release, rank, channels",
    [
        (
            V100.replace("count: 4, band", "count: 16, band"),
            "2.7",
            24,
            [({25, 20, 28}, {16}), ({25}, {27}), ({25}, {28}), ({25}, {27})],
        ),
        (V100, "2.10", 0, [({1, 8}, set()), ({1}, {3}), ({1}, {4}), ({1}, {3})]),
        (V100, "2.10", 4, [({5}, {9}), ({5}, {7}), ({5, 0}, {12}), ({5}, {7})]),
        (A100, "2.10", 0, [({1, 16}, set()), ({1}, {8})]),
        (MI250X, "2.12", 4, [({5}, {0}), (set(), {5}), ({5, 0}, set()), (set(), {5})]),
        ("aws_p4d:hosts=2", "2.9", 8, [({9}, {0}), *[({9}, {15})] * 3, ({9, 0}, set()), *[({9}, {15})] * 3]),
    ],
)
def test_trees_are_those_of_logs(spec, release, rank, channels):
    seen, _ = seen_by(spec, release, gdr=spec.startswith("aws"))
    assert [relatives(seen, c, rank) for c in range(len(channels))] == channels


def test_the_graph_of_two_pairs_goes_through_the_host():
    """A graph file of four A100 in two pairs has a ring 0 1 2 3 at 12 GB/s and its reverse; here both are one ring."""
    seen = look(build("a100_pcie_pairs"), 4)
    assert seen.orders == ((0, 1, 2, 3),)
    assert seen.situation.kind == "PCI"

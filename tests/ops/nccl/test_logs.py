"""Rings, channels, trees and NICs that logs of NCCL show, beside those of the model, where their machines are known.

Facts are counted from the logs' Channel, Ring and Trees lines; ranks of the second host are those of the first plus a
host's, where nothing else is said.
"""

import numpy as np

from ops import ALGORITHMS
from ops.libraries.nccl.protocol_cost import running_channels
from ops.libraries.nccl.topology_search import look
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


def machine(text):
    return read_topology(text, "log.yaml") if text.startswith("\n") else build(text)


@each_row(
    "source, spec, ranks, running, rings",
    [
        ("two A100 PCIe with a bridge, 2.27.7", "a100_pcie_pairs", 2, 24, {(0, 1)}),
        (
            "four V100, 2.7.8: six rings, each on two channels",
            QUAD,
            4,
            12,
            {(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 3, 1), (0, 2, 1, 3), (0, 3, 1, 2), (0, 3, 2, 1)},
        ),
        ("one A100 a host, 2.16.5", ONE_GPU, 2, 2, {(0, 1)}),
    ],
)
def test_rings_and_channels(source, spec, ranks, running, rings):
    seen = look(machine(spec), ranks)
    assert running_channels(seen.situation) == running, source
    assert set(seen.orders) == rings, source


def test_two_p4d_have_a_nic_for_every_two_channels():
    """Of 2.9.9: each NIC has two of eight channels. GPUs 0, 2, 4, 6 receive, 1, 3, 5, 7 send, and trees do both there.

    Rings 0 and 2 of its four are the log's; over an NVSwitch the order of the others makes no difference.
    """
    hosts = build("aws_p4d:hosts=2")
    seen, doors = look(hosts, 16), look(hosts, 16).doors(hosts)
    assert running_channels(seen.situation) == 8
    assert seen.orders[0] == (0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9)
    assert seen.orders[2] == (4, 3, 2, 1, 0, 7, 6, 5, 12, 11, 10, 9, 8, 15, 14, 13)
    assert [(order[0], order[7]) for order in seen.orders] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [door["enters"] for door in doors] == [f"H0.NIC{k}" for k in range(4)]
    assert all(door["leaves"] == door["enters"] and not door["through"] for door in doors)
    assert joints(16, 8) == [{(8, 0)}, {(0, 8)}]


def test_the_fast_nic_near_the_only_gpu_is_taken():
    box = machine(ONE_GPU)
    assert [door["enters"] for door in look(box, 2).doors(box)] == ["H0.NIC1"]


def joints(n, group):
    """Child and parent of every joint between nodes, of both trees."""
    schedule = ALGORITHMS["allreduce.nccl_tree"].schedule(n, group=group, segments=1)
    up = (schedule.op == 1) | (schedule.to_slot[schedule.moves[:-1]] >= 2)
    far = schedule.src // group != schedule.dst // group
    slot = schedule.from_slot[schedule.moves[:-1]]
    pairs = np.column_stack([schedule.src, schedule.dst])
    return [set(map(tuple, pairs[up & far & (slot % 2 == k)].tolist())) for k in range(2)]


def test_trees_join_nodes_where_logs_have_them():
    """Four hosts of V100, 2.10.3, channels 0 and 2: first children hang on the second rank of their parent's node."""
    assert joints(16, 4) == [{(8, 0), (4, 9), (12, 8)}, {(4, 12), (8, 5), (0, 4)}]


def test_the_graph_of_two_pairs_goes_through_the_host():
    """A graph file of four A100 in two pairs has a ring 0 1 2 3 at 12 GB/s and its reverse; here both are one ring."""
    seen = look(build("a100_pcie_pairs"), 4)
    assert seen.orders == ((0, 1, 2, 3),)
    assert seen.situation.kind == "PCI"

"""What NCCL's search finds: rings that use every link once, channels as NCCL logs them, paths between nodes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.channels import striped
from ops.libraries.nccl.topology_search import look, rooted_orders
from sim.errors import InputError
from sim.machines import build
from sim.schedule.verify import verify
from tests.tables import each_row


def load(machine, orders, closed=True):
    """How many orders cross each link."""
    crossed = Counter()
    for order in orders:
        for a, b in zip(order, order[1:] + order[:1] if closed else order[1:], strict=False):
            devices = machine.devices[machine.ranks[a]].name, machine.devices[machine.ranks[b]].name
            crossed.update((link.src, link.dst) for link in machine.path(*devices))
    return crossed


def test_the_dgx1_has_six_rings_of_one_nvlink_each():
    """Six NVLinks per V100: NCCL logs 6 channels of 20 GB/s."""
    machine = build("dgx1v")
    seen = look(machine, 8)
    assert (len(seen.orders), seen.situation.bw_intra) == (6, 20)
    lanes = {(x.src, x.dst): x.lanes for x in machine.links if x.kind == "NVL"}
    assert all(count <= lanes[ends] for ends, count in load(machine, seen.orders).items())


def test_eight_gpus_joined_pairwise_use_every_link_alike():
    """RCCL's table has the 7 Hamiltonian cycles into which the complete digraph falls, and 7 others, one way each."""
    machine = build("mi300x")
    orders = look(machine, 8).orders
    assert len(orders) == 14
    assert set(load(machine, orders).values()) == {2}


@each_row(
    "spec, channels, speed, generation, kind",
    [
        ("dgx1v", 6, 20, "Volta", "NVLINK"),
        ("dgx_a100", 12, 20, "Ampere", "NVLINK"),
        ("dgx_h100", 12, 30, "Hopper", "NVLINK"),
        ("dgx_a100:hosts=2", 8, 24, "Ampere", "NVLINK"),
        ("dgx_h100:hosts=2", 8, 48, "Hopper", "NVLINK"),
        ("dgx_b200", 16, 45, "Blackwell", "NVLINK"),
        ("gb200_nvl72", 16, 45, "Blackwell", "NVLINK"),
        ("dual_socket_pcie", 1, 15, "Ampere", "PCI"),
    ],
)
def test_channels_and_speeds(spec, channels, speed, generation, kind):
    machine = build(spec)
    at = look(machine, machine.n).situation
    assert (at.channels, at.bw_intra, at.generation, at.kind) == (channels, speed, generation, kind)


def test_a_rack_on_one_nvswitch_is_one_node():
    machine = build("gb200_nvl72")
    assert look(machine, 72).situation.nodes == 1
    assert look(build("dgx_h100:hosts=3"), 24).situation.nodes == 3


@pytest.mark.parametrize("spec", ["dgx_a100:hosts=2", "mi300x:hosts=2", "gh200_quad:hosts=3", "dgx1v:hosts=2"])
def test_between_nodes_every_nic_is_used_once_each_way(spec):
    machine = build(spec)
    seen = look(machine, machine.n)
    nics = Counter()
    for (src, dst), count in load(machine, seen.orders).items():
        if "NIC" in src and "RAIL" in dst:
            nics[src] += count
    assert set(nics.values()) == {1}
    assert len(nics) == sum(device.kind == "NIC" for device in machine.devices)


@pytest.mark.parametrize("spec", ["dgx_a100:hosts=2", "mi300x", "a100_pcie_pairs", "switch:ranks=5", "torus", "nodes"])
def test_orders_name_every_rank_once_and_roots_come_first(spec):
    machine = build(spec)
    seen = look(machine, machine.n)
    for order in (*seen.orders, *rooted_orders(seen, 3)):
        assert sorted(order) == list(range(machine.n))
    assert {order[0] for order in rooted_orders(seen, 3)} == {3}


def test_some_ranks_of_a_machine_and_uneven_nodes():
    seen = look(build("dgx_a100:hosts=2"), 11)
    assert [len(node) for node in seen.nodes] == [8, 3]
    assert not seen.even
    assert all(sorted(order) == list(range(11)) for order in seen.orders)
    with pytest.raises(InputError, match="holds 2 to 16"):
        look(build("dgx_a100:hosts=2"), 17)
    with pytest.raises(InputError, match="holds 2 to 8"):
        look(build("dgx_a100"), 1)


STRIPED = [
    "allreduce.ring", "allreduce.nccl_tree", "allreduce.nvls", "allgather.ring", "reduce_scatter.ring",
    "broadcast.chain", "reduce.chain", "allgather.pat",
]  # fmt: skip


@given(st.sampled_from(STRIPED), st.integers(2, 9), st.integers(1, 4), st.randoms(use_true_random=False))
def test_stripes_in_any_orders_keep_the_promise(name, n, count, random):
    entry = ALGORITHMS[name]
    root = random.randrange(n) if entry.collective.rooted else 0
    orders = []
    for _ in range(count):
        order = list(range(n))
        random.shuffle(order)
        if entry.collective.rooted:
            order.remove(root)
            order.insert(0, root)
        orders.append(tuple(order))
    schedule = striped(entry, tuple(orders), root=root)
    assert verify(schedule).verdict == "ok", verify(schedule).reason
    assert set(np.unique(schedule.channel % count)) == set(range(count))


def test_an_order_that_forgets_a_rank_is_refused():
    with pytest.raises(InputError, match="names every rank once"):
        striped(ALGORITHMS["allreduce.ring"], ((0, 1, 1),))


@each_row("n, group", [(8, 8), (8, 4), (12, 4), (20, 4), (6, 1), (18, 3)])
@each_row("segments", [1, 3])
def test_nvls_tree_adds_everything_once(n, group, segments):
    assert verify(ALGORITHMS["allreduce.nvls_tree"].schedule(n, group=group, segments=segments)).verdict == "ok"


def test_of_a_large_node_a_part_is_searched_and_all_ranks_are_in_its_rings():
    seen = look(build("switch:ranks=300"), 300)
    assert all(sorted(order) == list(range(300)) for order in seen.orders)
    assert (seen.situation.channels, seen.situation.bw_intra) == (
        2,
        look(build("switch:ranks=128"), 128).situation.bw_intra,
    )

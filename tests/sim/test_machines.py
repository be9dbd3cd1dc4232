"""Machines are what their makers' documents and captures say."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.formats import read_topology_file
from sim.machines import MACHINES, build
from sim.topology.path_classes import pair_classes
from tests.tables import each_row

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"
EVERY = list(MACHINES)


def stations(machine, src, dst):
    return [link.dst for link in machine.path(src, dst)]


def latency(machine, src, dst):
    return sum(link.latency for link in machine.path(src, dst))


def narrowest(machine, src, dst):
    return min(link.bandwidth for link in machine.path(src, dst))


def kinds(machine):
    return Counter(device.kind for device in machine.devices)


def captured(number):
    (path,) = CAPTURES.glob(f"{number:03d}-*.txt")
    return read_topology_file(path).pairs


@each_row("name", EVERY)
def test_every_machine_is_listed_with_a_summary_and_defaults(name):
    assert name in MACHINES
    assert len(MACHINES.summary(name)) > 20
    assert all(parameter.default is not None for parameter in MACHINES.parameters(name).values())


@each_row("name", EVERY)
def test_every_pair_of_ranks_has_a_route_that_hangs_together(name):
    machine = build(name)
    ranks = np.array(machine.ranks)
    src, dst = np.repeat(ranks, len(ranks)), np.tile(ranks, len(ranks))
    offsets, links = machine.routes(src, dst)
    for a, b, begin, end in zip(src, dst, offsets, offsets[1:], strict=False):
        at = machine.devices[a].name
        for i in links[begin:end]:
            link = machine.links[i]
            assert at == link.src or (link.both and at == link.dst)
            at = link.dst if at == link.src else link.src
        assert at == machine.devices[b].name


@each_row("name", EVERY)
def test_overhead_and_gamma_are_the_callers(name):
    assert (build(name).overhead, build(name).gamma) == (0.0, 0.0)
    machine = build(f"{name}:overhead=3us,gamma=1ps")
    assert (machine.overhead, machine.gamma) == (3e-6, 1e-12)


def test_the_machine_list_refuses_what_it_does_not_know():
    with pytest.raises(InputError, match=r"no machine is called 'swich': choose from .*switch"):
        build("swich")
    with pytest.raises(InputError, match="ranks=0 is outside"):
        build("switch:ranks=0")
    with pytest.raises(InputError, match="switch has no parameter 'rank': it takes ranks"):
        build("switch:rank=4")
    with pytest.raises(InputError, match=r"4,295,098,369 devices are more than 32,768: choose fewer$"):
        build("nodes:nodes=65536,gpus=65536")


def test_a_switch_has_one_link_up_and_one_down_per_gpu():
    machine = build("switch:ranks=5,bandwidth=10GBps,latency=2us")
    assert [device.name for device in machine.devices] == ["GPU0", "GPU1", "GPU2", "GPU3", "GPU4", "SW"]
    assert machine.devices[5].kind == "NVS"
    assert Counter((x.src, x.dst) for x in machine.links) == Counter(
        [(f"GPU{r}", "SW") for r in range(5)] + [("SW", f"GPU{r}") for r in range(5)]
    )
    assert {(x.bandwidth, x.latency) for x in machine.links} == {(10e9, 2e-6)}
    assert stations(machine, "GPU1", "GPU4") == ["SW", "GPU4"]
    assert stations(machine, "GPU1", "SW") == ["SW"]
    assert stations(machine, "SW", "GPU1") == ["GPU1"]


def test_ring_routes_take_the_shorter_way_and_ties_go_up():
    machine = build("ring:ranks=6")
    assert stations(machine, "GPU1", "GPU2") == ["GPU2"]
    assert stations(machine, "GPU1", "GPU5") == ["GPU0", "GPU5"]
    assert stations(machine, "GPU5", "GPU2") == ["GPU0", "GPU1", "GPU2"]
    assert len(machine.links) == 12


def test_a_one_way_ring_only_goes_up():
    machine = build("ring:ranks=6,directions=1")
    assert stations(machine, "GPU1", "GPU0") == ["GPU2", "GPU3", "GPU4", "GPU5", "GPU0"]
    assert len(machine.links) == 6


def test_a_mesh_joins_every_pair_directly():
    machine = build("mesh:ranks=5,bandwidth=1GBps,latency=0")
    assert len(machine.links) == 20
    for a in range(5):
        for b in range(5):
            assert stations(machine, f"GPU{a}", f"GPU{b}") == ([f"GPU{b}"] if a != b else [])


def test_nodes_pay_two_nvlinks_inside_and_two_nic_links_more_between():
    machine = build("nodes:nodes=2,gpus=3,nvlink=100GBps,nvlink_latency=1us,nic=10GBps,nic_latency=5us")
    assert stations(machine, "H0.GPU0", "H0.GPU2") == ["H0.SW", "H0.GPU2"]
    assert latency(machine, "H0.GPU0", "H0.GPU2") == pytest.approx(2e-6)
    assert narrowest(machine, "H0.GPU0", "H0.GPU2") == 100e9
    assert stations(machine, "H0.GPU0", "H1.GPU2") == ["H0.SW", "H0.NIC0", "SPINE", "H1.NIC0", "H1.SW", "H1.GPU2"]
    assert latency(machine, "H0.GPU0", "H1.GPU2") == pytest.approx(12e-6)
    assert narrowest(machine, "H0.GPU0", "H1.GPU2") == 10e9
    assert [machine.devices[machine.index[f"H1.{x}"]].host for x in ("GPU0", "SW", "NIC0")] == [1, 1, 1]
    assert machine.devices[-1].name == "SPINE"
    assert machine.devices[-1].kind == "NET"


def test_rank_i_of_a_node_uses_nic_i_mod_nics_both_ways():
    machine = build("nodes:nodes=2,gpus=5,nics=2")
    for i in range(5):
        for j in range(5):
            way = stations(machine, f"H0.GPU{i}", f"H1.GPU{j}")
            assert [way[1], way[3]] == [f"H0.NIC{i % 2}", f"H1.NIC{j % 2}"]


def test_dgx1v_has_the_classes_of_its_captures():
    classes = pair_classes(build("dgx1v"))
    mlx = {f"NIC{k}": f"mlx5_{k}" for k in range(4)}
    assert {mlx.get(a, a): {mlx.get(b, b): word for b, word in row.items()} for a, row in classes.items()} == captured(
        8
    )


def test_every_v100_has_six_nvlinks():
    machine = build("dgx1v")
    for gpu in range(8):
        mine = [link for link in machine.links if link.kind == "NVL" and link.src == f"GPU{gpu}"]
        assert sum(link.lanes for link in mine) == 6
        assert sum(link.bandwidth for link in mine) == pytest.approx(6 * 20e9)


def test_dgx_h100_has_the_classes_of_its_capture():
    classes, capture = pair_classes(build("dgx_h100")), captured(25)
    compute = dict(zip((f"NIC{k}" for k in range(8)), (0, 3, 4, 5, 6, 9, 10, 11), strict=True))
    for a, row in classes.items():
        if a.startswith("GPU"):
            for b, word in row.items():
                assert word == capture[a][f"NIC{compute[b]}" if b in compute else b]


def test_dgx_a100_has_twelve_nvlinks_per_gpu_and_quads_on_four_numa_nodes():
    machine = build("dgx_a100")
    classes = pair_classes(machine)
    assert {classes[f"GPU{a}"][f"GPU{b}"] for a, b in combinations(range(8), 2)} == {"NV12"}
    for a in range(8):
        assert [b for b in range(8) if classes[f"GPU{a}"][f"NIC{b}"] == "PIX"] == [a // 2 * 2, a // 2 * 2 + 1]
    assert [device.numa for device in machine.devices if device.kind == "GPU"] == [3, 3, 1, 1, 7, 7, 5, 5]
    assert narrowest(machine, "GPU0", "GPU7") == pytest.approx(12 * 20e9)
    assert latency(machine, "GPU0", "GPU7") == pytest.approx(0.7e-6)


def test_one_switch_per_socket_is_the_classic_pcie_box():
    classes, capture = pair_classes(build("dual_socket_pcie")), captured(33)
    for a, b in combinations(range(8), 2):
        assert classes[f"GPU{a}"][f"GPU{b}"] == capture[f"GPU{a}"][f"GPU{b}"]


def test_two_switches_of_a_socket_are_a_node_apart_and_share_their_uplinks():
    machine = build("dual_socket_pcie:switches_per_socket=2")
    classes = pair_classes(machine)
    assert (classes["GPU0"]["GPU1"], classes["GPU0"]["GPU2"], classes["GPU0"]["GPU4"]) == ("PIX", "NODE", "SYS")
    uplinks = [set(machine.path(f"GPU{i}", "GPU4")) for i in range(4)]
    assert len([x for x in uplinks[0] & uplinks[1] if x.src.startswith("PCI")]) > 0
    assert not [x for x in uplinks[0] & uplinks[2] if x.src.startswith("PCI") and x.dst.startswith("CPU0")]


def test_without_p2p_everything_goes_through_the_senders_socket():
    machine = build("dual_socket_pcie:p2p=no")
    assert stations(machine, "GPU0", "GPU1") == ["PCI0", "CPU0", "PCI0", "GPU1"]
    assert stations(machine, "GPU6", "GPU1") == ["PCI1", "CPU1", "CPU0", "PCI0", "GPU1"]
    assert stations(machine, "GPU0", "GPU0") == []
    assert stations(machine, "GPU0", "NIC0") == ["PCI0", "NIC0"]
    assert machine.pairs["GPU0"]["GPU1"] == "PIX"


@each_row("gpus", [1, 2, 3, 7])
@each_row("switches", [1, 2, 3])
def test_odd_numbers_of_gpus_find_their_places(gpus, switches):
    machine = build(f"dual_socket_pcie:gpus={gpus},switches_per_socket={switches},nics=0")
    classes = pair_classes(machine)
    half = (gpus + 1) // 2
    for a, b in combinations(range(gpus), 2):
        assert (classes[f"GPU{a}"][f"GPU{b}"] == "SYS") == (a // half != b // half)


@pytest.mark.parametrize("name", ["dgx1v", "dgx_a100", "dgx_h100", "dual_socket_pcie"])
def test_hosts_are_joined_by_the_nics_nearest_to_each_gpu(name):
    alone, machine = build(name), build(f"{name}:hosts=3")
    near = pair_classes(alone)
    order = ("PIX", "PXB", "PHB", "NODE", "SYS")
    assert machine.n == 3 * alone.n
    assert kinds(machine)["NIC"] == 3 * kinds(alone)["NIC"]
    for gpu in range(8):
        words = {nic: word for nic, word in near[f"GPU{gpu}"].items() if nic.startswith("NIC")}
        best = min(words.values(), key=order.index)
        for other in (0, 5):
            way = stations(machine, f"H0.GPU{gpu}", f"H2.GPU{other}")
            sending = next(x for x in way if x.startswith("H0.NIC"))
            assert words[sending.removeprefix("H0.")] == best
            assert sum(x.startswith(("H0.NIC", "H2.NIC")) for x in way) == 2
            back = stations(machine, f"H2.GPU{other}", f"H0.GPU{gpu}")
            assert sending in back


def test_gpus_with_the_same_nearest_nics_take_them_in_turn():
    machine = build("dgx_a100:hosts=2")
    assert [stations(machine, f"H0.GPU{i}", f"H1.GPU{i}")[1] for i in range(8)] == [f"H0.NIC{i}" for i in range(8)]


def test_the_same_rail_is_one_switch_away_and_another_rail_three():
    machine = build("dgx_h100:hosts=2")
    same, other = machine.path("H0.NIC1", "H1.NIC1"), machine.path("H0.NIC1", "H1.NIC2")
    assert [x.dst for x in same] == ["RAIL1", "H1.NIC1"]
    assert [x.dst for x in other] == ["RAIL1", "SPINE", "RAIL2", "H1.NIC2"]
    assert sum(x.latency for x in same) == pytest.approx(1.80e-6)
    assert sum(x.latency for x in other) == pytest.approx(2.44e-6)


def test_devices_of_the_network_can_be_routed_to():
    machine = build("dgx_a100:hosts=2")
    assert stations(machine, "H0.GPU2", "SPINE")[-1] == "SPINE"
    assert stations(machine, "H0.GPU2", "H0.NVS0") == ["H0.NVS0"]
    with pytest.raises(InputError, match=r"nothing leads from H0.NVS0 to H1.NVS0"):
        machine.path("H0.NVS0", "H1.NVS0")


def test_hosts_without_nics_cannot_be_joined():
    with pytest.raises(InputError, match="has no NIC to join 2 hosts by: use one host"):
        build("dual_socket_pcie:nics=0,hosts=2")


def test_a_host_of_one_is_named_without_a_prefix():
    assert build("dgx1v:hosts=1").devices[0].name == "GPU0"
    assert build("dgx1v:hosts=2").devices[0].name == "H0.GPU0"


@pytest.mark.parametrize("name", ["dgx1v", "dgx_a100", "dgx_h100"])
def test_rates_given_are_the_rates_of_the_links(name):
    machine = build(f"{name}:hosts=2,nvlink=1GBps,pcie=3GBps,sys=5GBps,nic=2GBps,nic_latency=4us,nvlink_latency=6us")
    assert {x.bandwidth / x.lanes for x in machine.links if x.kind == "NVL"} == {1e9}
    assert {x.bandwidth for x in machine.links if x.kind == "SYS"} == {5e9}
    assert {x.bandwidth for x in machine.links if x.kind == "PCI"} == {3e9, 2e9}
    assert {x.latency for x in machine.links if x.kind == "NET" and "NIC" in x.src} == {4e-6}
    assert latency(machine, "H0.GPU0", "H0.GPU1") == pytest.approx(6e-6)


def per_gpu(name, kind="NVL"):
    """B/s that leave each GPU over links of a kind."""
    machine = build(name)
    gpus = [d.name for d in machine.devices if d.kind == "GPU"]
    return {sum(link.bandwidth for link in machine.links if link.src == gpu and link.kind == kind) for gpu in gpus}


def test_every_generation_has_the_nvlink_bandwidth_its_maker_states():
    """Nominal 25, 25, 25, 50 GB/s a link become NCCL's 20, 20, 20.6, 40.1; xGMI's 64 become RCCL's 48."""
    assert per_gpu("dgx2") == {6 * 20e9}
    assert per_gpu("dgx_h200") == per_gpu("dgx_h100") == {18 * 20.6e9}
    assert per_gpu("dgx_b200") == per_gpu("gb200_nvl72") == {18 * 40.1e9}
    assert per_gpu("mi300x") == {7 * 48e9}
    assert per_gpu("a100_quad") == {12 * 20e9}
    assert per_gpu("gh200_quad") == {18 * 20.6e9}
    assert per_gpu("a100_pcie_pairs") == {12 * 20e9}


def test_dgx2_has_the_classes_of_its_cut_capture():
    classes, (capture,) = pair_classes(build("dgx2")), CAPTURES.glob("037-dgx2-*")
    header, *rows = (line.split() for line in capture.read_text(encoding="utf-8").splitlines())
    names = [name.replace("mlx5_", "NIC") for name in header[:24]]
    told = [row for row in rows if row and row[0].startswith("GPU") and len(row) >= 25]
    assert len(told) >= 5
    for row in told:
        words = dict(zip(names, row[1:], strict=False))
        assert {b: word for b, word in words.items() if b != row[0]} == classes[row[0]]


def test_dies_of_an_mi250x_pass_on_to_dies_and_to_no_nic():
    machine = build("mi250x")
    classes = pair_classes(machine)
    assert [link.dst for link in machine.path("GPU0", "GPU5")] == ["GPU1", "GPU5"]
    assert {classes[f"GPU{i}"][f"NIC{k}"] for i in range(8) for k in range(4) if i // 2 != k} == {"SYS"}
    assert {classes[f"NIC{a}"][f"NIC{b}"] for a in range(4) for b in range(4) if a != b} == {"SYS"}
    for a, b in (("GPU0", "NIC0"), ("NIC0", "NIC2"), ("GPU4", "CPU3")):
        assert not [link for link in machine.path(a, b)[:-1] if link.dst.startswith("GPU")]


def test_dies_of_an_mi250x_copy_as_fast_as_they_were_measured():
    """Kernel copies from die 0 of Frontier reach 142, 39, 37, 37, 35, 76, 69 GB/s."""
    machine = build("mi250x")
    rates = [narrowest(machine, "GPU0", f"GPU{b}") for b in range(1, 8)]
    measured = [142e9, 39e9, 37e9, 37e9, 35e9, 76e9, 69e9]
    assert rates == pytest.approx(measured, rel=0.08)
    assert stations(machine, "GPU0", "GPU6") == ["GPU6"]
    assert len(stations(machine, "GPU0", "GPU4")) == 2


def test_mi300x_is_a_mesh_that_two_gpus_use_a_seventh_of():
    machine = build("mi300x")
    assert all(stations(machine, f"GPU{a}", f"GPU{b}") == [f"GPU{b}"] for a, b in combinations(range(8), 2))


def test_four_gpu_hosts_stand_as_their_captures_say():
    assert pair_classes(build("a100_quad"))["GPU0"]["GPU3"] == "NV4"
    assert [build("a100_quad").devices[i].numa for i in range(4)] == [3, 2, 1, 0]
    assert pair_classes(build("gh200_quad"))["GPU1"]["GPU2"] == "NV6"
    bridged = pair_classes(build("a100_pcie_pairs"))
    assert (bridged["GPU0"]["GPU1"], bridged["GPU2"]["GPU3"], bridged["GPU1"]["GPU2"]) == ("NV12", "NV12", "SYS")


def test_paths_of_a_pcie_box_with_pairs_come_in_the_measured_order():
    """NVLink pair, same switch, same socket, across sockets, by way of host memory: ever slower."""
    bridged = build("a100_pcie_pairs")
    box, staged = build("numa:switches=2"), build("numa:switches=2,p2p=no")
    pairs = [(bridged, "GPU1"), (box, "GPU2"), (box, "GPU1"), (box, "GPU4")]
    seconds = [latency(m, "GPU0", b) + 1e6 / narrowest(m, "GPU0", b) for m, b in pairs]
    seconds.append(latency(staged, "GPU0", "GPU4") + 1e6 / narrowest(staged, "GPU0", "GPU4"))
    assert seconds == sorted(seconds)
    assert len(set(seconds)) == 5


def test_all_72_gpus_of_a_rack_are_one_nvlink_domain():
    machine = build("gb200_nvl72")
    assert (machine.n, kinds(machine)["CPU"], kinds(machine)["NIC"]) == (72, 36, 72)
    assert stations(machine, "H0.GPU0", "H17.GPU3") == ["NVS0", "H17.GPU3"]
    assert {d.host for d in machine.devices if d.kind == "GPU"} == set(range(18))


def test_sub_numa_domains_have_memory_and_leaves_of_their_own():
    machine = build("numa:sockets=2,domains=4,gpus=4,nics=2")
    assert sorted({d.numa for d in machine.devices if d.kind == "GPU"}) == list(range(8))
    assert sum(link.both for link in machine.links) == 8
    assert narrowest(machine, "GPU0", "GPU1") == 24e9
    assert stations(machine, "GPU1", "GPU7")[-4:-2] != []
    across = [link for link in machine.links if link.kind == "SYS" and link.bandwidth == 16e9]
    assert [(link.src, link.dst) for link in across] == [("CPU0", "CPU4"), ("CPU4", "CPU0")]


def test_host_memory_is_crossed_twice_and_shared():
    machine = build("numa:gpus=2,p2p=no,memory=10GBps")
    path = machine.path("GPU0", "GPU1")
    assert sum(link.both for link in path) == 2
    pair = ALGORITHMS["broadcast.linear"].schedule(2)
    time = simulate(machine, pair, 1e9).time
    assert time == pytest.approx(latency(machine, "GPU0", "GPU1") + 1e9 / 5e9, rel=1e-12)

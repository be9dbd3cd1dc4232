"""Which machine a table is from: GPUs are words, clouds refine them within their generation, transports count."""

from dataclasses import replace

import pytest

from ops.measured.comparison import compare_table
from ops.measured.files import place
from ops.measured.formats.by_gpus import read
from ops.measured.machine import UntoldError, find_machine
from ops.measured.rows import Measured, Table
from ops.measured.run_words import mtu_of, run_words
from sim.errors import InputError
from sim.machines import build
from sim.machines.through_memory import through_memory
from tests.tables import each_row


def table(file="it.txt", device="", ranks=8, each=8, **told):
    rows = (Measured("allreduce", ranks, 1 << 20, 1e-4, line=1),)
    return Table(file, "nccl-tests", rows, ranks, each, (device,) if device else (), forced=told)


@each_row(
    "file, device, machine",
    [
        ("dgxa100-allreduce.txt", "", "dgx_a100"),
        ("dgxh100.log", "", "dgx_h100"),
        ("8xh100_sxm.txt", "", "dgx_h100"),
        ("it.txt", "NVIDIA H200", "dgx_h200"),
        ("it.txt", "NVIDIA GH200 120GB", "gh200_quad:hosts=2"),
        ("it.txt", "NVIDIA B300 SXM6", "dgx_b300"),
        ("it.txt", "NVIDIA GB300", "gb300_nvl72:trays=2"),
        ("it.txt", "NVIDIA H20", "h20"),
        ("it.txt", "NVIDIA L40S", "l40s"),
        ("it.txt", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000"),
        ("aws-p5.txt", "NVIDIA H100 80GB HBM3", "aws_p5"),
        ("aws-p5.txt", "NVIDIA A100-SXM4-80GB", "dgx_a100"),
        ("dgxa100-dgx1.txt", "NVIDIA A100-SXM4-40GB", "dgx_a100"),
        ("dgx-1-v100.txt", "", "dgx1v"),
        ("h800.txt", "", "h800"),
        ("it.txt", "NVIDIA A800-SXM4-80GB", "a800"),
        ("it.txt", "NVIDIA L20", "l20"),
        ("it.txt", "NVIDIA GeForce RTX 5090", "rtx_5090"),
        ("it.txt", "NVIDIA GeForce RTX 4090", "dual_socket_pcie:gpus=8,nics=1,p2p=no"),
        ("it.txt", "NVIDIA A10G", "dual_socket_pcie:gpus=8,nics=1"),
        ("it.txt", "AMD Instinct MI355X", "mi355x"),
        ("gfx950-8.txt", "AMD Radeon Graphics", "mi350x"),
        ("p6-b200.txt", "NVIDIA B200", "aws_p6"),
        ("gcp-a4.txt", "NVIDIA B200", "gcp_a4"),
        ("BM.GPU.H100.8.txt", "NVIDIA H100 80GB HBM3", "oci_h100"),
    ],
)
def test_a_gpu_is_a_word_and_a_cloud_refines_its_generation(file, device, machine):
    assert find_machine(table(file, device))[0] == machine


@each_row(
    "file, device, told, why",
    [
        ("it.txt", "NVIDIA H100 PCIe", {}, "Hopper GPUs on PCIe"),
        ("it.txt", "NVIDIA H100 NVL", {}, "Hopper GPUs on PCIe"),
        ("it.txt", "Tesla V100-PCIE-32GB", {}, "V100 on PCIe"),
        ("a100-tcp.txt", "", {}, "through sockets"),
        ("it.txt", "NVIDIA H100 80GB HBM3", {"transport": "socket"}, "through sockets"),
        ("h100.txt", "NVIDIA RTX 6000D", {}, "on NVIDIA RTX 6000D, which no machine here is"),
        ("h100.txt", "NVIDIA TITAN RTX", {}, "on NVIDIA TITAN RTX, which no machine here is"),
        ("h100.txt", "AMD Instinct MI308X", {}, "on AMD Instinct MI308X, which no machine here is"),
        ("h100.txt", "AMD Instinct MI210", {}, "these GPUs of AMD"),
        ("it.txt", "AMD Radeon Graphics", {}, "choose from mi250x, mi300x, mi350x, mi355x: add --machine$"),
        ("a1000.txt", "", {}, "does not name its machine"),
    ],
)
def test_what_no_machine_is_is_refused_with_the_reason(file, device, told, why):
    with pytest.raises(UntoldError, match=why):
        find_machine(table(file, device, **told))


@each_row(
    "ranks, each, device, machine",
    [
        (128, 4, "NVIDIA GB200", "gb200_nvl72:trays=16,racks=2"),
        (144, 4, "NVIDIA GB300", "gb300_nvl72:racks=2"),
        (72, 4, "NVIDIA GB200", "gb200_nvl72"),
        (2, 1, "NVIDIA GB10", "gb10"),
        (4, 1, "NVIDIA GB10", "gb10:hosts=4"),
        (4, 4, "NVIDIA GeForce RTX 5090", "rtx_5090:gpus=4"),
    ],
)
def test_a_machine_has_room_for_the_ranks(ranks, each, device, machine):
    told = table("it.txt", device, ranks, each)
    assert find_machine(told)[0] == machine
    assert place(told)[0].n >= ranks


def test_who_sets_a_level_of_p2p_has_a_driver_with_it():
    told = table("it.txt", "NVIDIA GeForce RTX 5090", p2p_level="SYS")
    assert place(told)[0].name == "rtx_5090:p2p=yes"
    assert place(table("it.txt", "NVIDIA L20", p2p_level="SYS"))[0].name == "l20:p2p=all"


def test_variables_of_a_log_change_the_machine_where_they_bear_on_it():
    plain = place(table("it.txt", "NVIDIA H100 80GB HBM3"))[0]
    assert place(table("it.txt", "NVIDIA H100 80GB HBM3", p2p_level="NVL"))[0].devices == plain.devices
    peers = place(table("it.txt", "NVIDIA A10G", p2p_level="PIX"))[0]
    assert any("MEM" in device.name for device in peers.devices)


def test_ranks_sit_where_the_devices_say():
    topology, _, _ = place(table("it.txt", "NVIDIA H100 80GB HBM3", ranks=8, each=4))
    assert topology.name == "dgx_h100:hosts=2"
    assert [topology.devices[device].host for device in topology.ranks] == [0] * 4 + [1] * 4
    whole, _, _ = place(table("it.txt", "NVIDIA H100 80GB HBM3", ranks=16, each=8))
    assert whole.n == 16


def test_what_went_through_host_memory_shares_it():
    """Two A40 of a socket: an allreduce writes and reads both ways at once, 16 GB/s in all."""
    topology, placed, _ = place(table("a40-shm-allreduce.txt", ranks=2, each=2))
    assert topology.name.endswith("through host memory")
    crossed = [topology.links[i].dst for i in topology.routes(topology.ranks[:1], topology.ranks[1:2]).links]
    assert "MEM0" in crossed
    large = replace(placed, rows=(Measured("allreduce", 2, 1 << 30, 0.275, line=1),))
    rows, _ = compare_table(topology, large)
    assert rows[0].simulated == pytest.approx((1 << 30) / 4e9, rel=0.05)
    whole, _, _ = place(table("dgx-a100-shm.txt"))
    assert whole.n == 8


def test_gpus_of_several_hosts_copy_through_memory_inside_each_alone():
    machine = through_memory(build("dgx_a100:hosts=2"))
    inside, between = ([link.dst for link in machine.path("H0.GPU0", end)] for end in ("H0.GPU1", "H1.GPU0"))
    assert inside == ["H0.PCI0", "H0.CPU3", "H0.MEM3", "H0.MEM3", "H0.PCI0", "H0.GPU1"]  # in and out by one link
    assert between == [link.dst for link in build("dgx_a100:hosts=2").path("H0.GPU0", "H1.GPU0")]
    assert machine.path("H1.MEM3", "H1.MEM3") == ()


def test_a_log_without_gpudirect_is_told():
    topology, _, _ = place(table("it.txt", "NVIDIA H100 80GB HBM3", ranks=16, transport="no-gdr"))
    assert "GPUDirect" in topology.assumed[-1]


def test_short_packets_carry_less_data():
    """256 bytes beside 82 of headers, where 4,096 are usual; only links between hosts are theirs."""
    usual, _, _ = place(table("rtx3090-2n.txt", "NVIDIA GeForce RTX 3090", ranks=2, each=1))
    short, _, _ = place(table("rtx3090-2n-mtu256.txt", "NVIDIA GeForce RTX 3090", ranks=2, each=1))
    shares = {link.kind: link.bandwidth / was.bandwidth for link, was in zip(short.links, usual.links, strict=True)}
    assert shares.pop("NET") == pytest.approx(256 / 338 * 4178 / 4096)
    assert set(shares.values()) == {1.0}
    assert "256 bytes" in short.assumed[-1]
    assert mtu_of(table("it.txt", "mtu 9000")) == 0


def test_a_log_tells_release_and_transport():
    assert run_words("NCCL version 2.21.5+cuda12.4\nNET/IB : Using [0]mlx5_0:1/IB") == {
        "nccl": "2.21.5",
        "transport": "ib",
    }
    assert run_words("via P2P/CUMEM\nvia SHM/direct/direct") == {}
    assert run_words("NET/Socket : Using [0]ib0:10.0.0.1\nvia NET/Socket/0") == {"transport": "socket"}


def test_times_by_system_are_a_table_for_every_number_of_gpus():
    head = "system,nccl,collective,gpus,size_bytes,time_us\n"
    tables = read(f"{head}a100_sxm,2.27.3,allgather,2,512,8.98\na100_sxm,2.27.3,allgather,4,512,10.8\n", name="it.csv")
    assert [(one.ranks, one.forced["nccl"], one.rows[0].seconds) for one in tables] == [
        (2, "2.27.3", pytest.approx(8.98e-6)),
        (4, "2.27.3", pytest.approx(10.8e-6)),
    ]
    assert [find_machine(one)[0] for one in tables] == ["dgx_a100", "dgx_a100"]
    for line, why in (("a100_sxm,,allgather,2,x,1", "line 2: .*no number"), ("a100_sxm,,allgather,1,8,1", "line 2")):
        with pytest.raises(InputError, match=why):
            read(head + line, name="it.csv")
    with pytest.raises(InputError, match="holds no row"):
        read(head, name="it.csv")

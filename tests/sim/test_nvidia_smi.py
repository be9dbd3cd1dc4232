"""Captures of `nvidia-smi topo -m` read as a person reads them."""

from itertools import combinations
from pathlib import Path

import pytest

from ops import ALGORITHMS
from ops.run import execute
from ops.run.work import registered
from sim.errors import InputError
from sim.formats import read_topology, read_topology_file
from sim.placement import placed
from sim.topology.path_classes import describe, pair_classes
from tests.tables import each_row

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"

# number: (GPUs, NICs, NUMA nodes, some pairs), read off the files by eye
SEEN = {
    1: (2, 0, 1, {"GPU0-GPU1": "NV2"}),
    2: (2, 0, 1, {"GPU0-GPU1": "PHB"}),
    3: (8, 0, 2, {"GPU0-GPU7": "NV12", "GPU3-GPU4": "NV12"}),
    4: (8, 0, 2, {"GPU0-GPU7": "NV18"}),
    5: (8, 0, 2, {"GPU2-GPU5": "NV18"}),
    6: (4, 2, 4, {"GPU0-GPU3": "NV4", "GPU3-mlx5_0": "PHB", "GPU1-mlx5_1": "PHB", "mlx5_0-mlx5_1": "SYS"}),
    7: (8, 4, 2, {"GPU0-GPU3": "NV2", "GPU0-GPU5": "SYS", "GPU2-mlx5_1": "PIX", "GPU4-mlx5_2": "PIX"}),
    8: (8, 4, 2, {"GPU0-GPU1": "NV1", "GPU3-mlx5_0": "PHB", "mlx5_2-mlx5_3": "PHB"}),
    10: (8, 1, 2, {"GPU0-GPU1": "NV18", "GPU7-NIC0": "SYS"}),
    11: (
        8,
        10,
        2,
        {"GPU0-NIC3": "PIX", "GPU3-NIC2": "PIX", "GPU4-NIC7": "PIX", "NIC0-NIC2": "PIX", "NIC5-NIC6": "SYS"},
    ),
    12: (8, 1, 2, {"GPU0-mlx5_0": "NODE", "GPU2-mlx5_0": "PIX", "GPU4-mlx5_0": "SYS", "GPU4-GPU7": "NV2"}),
    13: (8, 4, 2, {"GPU0-GPU1": "NV8", "GPU1-NIC0": "PIX", "GPU7-NIC3": "PIX", "NIC2-NIC3": "PIX", "GPU0-NIC2": "SYS"}),
    14: (2, 0, 1, {"GPU0-GPU1": "NV4"}),
    15: (2, 0, 1, {"GPU0-GPU1": "PHB"}),
    16: (2, 0, 1, {"GPU0-GPU1": "NODE"}),
    17: (4, 1, 1, {"GPU0-GPU3": "NV2", "GPU2-mlx5_0": "NODE"}),
    18: (8, 0, 2, {"GPU0-GPU1": "NV12", "GPU1-GPU2": "NODE", "GPU3-GPU4": "SYS", "GPU6-GPU7": "NV12"}),
    19: (8, 2, 2, {"GPU0-GPU1": "SYS", "GPU6-GPU7": "SYS", "GPU6-NIC0": "PHB", "NIC0-NIC1": "PIX"}),
    20: (2, 0, 2, {"GPU0-GPU1": "SYS"}),
    21: (4, 1, 2, {"GPU2-NIC0": "PXB", "GPU3-NIC0": "PIX", "GPU2-GPU3": "NV4", "GPU0-NIC0": "SYS"}),
    22: (8, 0, 2, {"GPU4-GPU5": "NV4", "GPU0-GPU2": "NODE", "GPU0-GPU7": "SYS"}),
    23: (4, 1, 1, {"GPU0-GPU1": "PIX", "GPU1-GPU2": "PHB", "GPU3-mlx4_0": "PHB"}),
    24: (8, 0, 2, {"GPU0-GPU4": "NV2", "GPU3-GPU7": "NV1", "GPU0-GPU7": "SYS"}),
    25: (
        8,
        12,
        2,
        {"GPU0-NIC0": "PXB", "GPU1-NIC3": "PXB", "GPU7-NIC11": "PXB", "NIC1-NIC2": "PIX", "GPU4-NIC7": "NODE"},
    ),
    26: (8, 12, 2, {"GPU0-GPU1": "NODE", "GPU0-NIC2": "PIX", "GPU3-GPU4": "SYS", "NIC10-NIC11": "NODE"}),
    27: (1, 4, 1, {"GPU0-NIC3": "NODE"}),
    28: (2, 0, 1, {"GPU0-GPU1": "PIX"}),
    29: (4, 0, 1, {"GPU0-GPU3": "SYS"}),
    30: (4, 0, 4, {"GPU0-GPU1": "NV12", "GPU1-GPU2": "SYS"}),
    31: (4, 0, 2, {"GPU0-GPU1": "NV4", "GPU1-GPU2": "SYS"}),
    32: (8, 2, 1, {"GPU0-GPU3": "PIX", "GPU0-GPU4": "NODE", "GPU7-NIC1": "NODE", "NIC0-NIC1": "PIX"}),
    33: (8, 2, 2, {"GPU0-GPU3": "PIX", "GPU3-GPU4": "SYS", "GPU0-NIC1": "PIX", "GPU4-NIC0": "SYS"}),
    34: (8, 0, 2, {"GPU0-GPU1": "PIX", "GPU1-GPU2": "PHB", "GPU3-GPU4": "SYS"}),
    35: (8, 0, 2, {"GPU4-GPU5": "PIX", "GPU4-GPU7": "PHB", "GPU0-GPU4": "SYS"}),
    36: (8, 4, 2, {"GPU0-GPU1": "PIX", "GPU6-mlx5_3": "PIX", "mlx5_0-mlx5_1": "PHB"}),
    38: (4, 0, 1, {"GPU0-GPU1": "PIX", "GPU0-GPU2": "PHB"}),
}
REFUSED = {
    9: r"is the output of `nvidia-smi topo -p2p`, which lists allowed pairs, not paths: paste `nvidia-smi topo -m`",
    37: r"is cut: the rows of GPU5, GPU6, .* GPU15 are missing: paste the whole output",
}


def capture(number):
    (path,) = CAPTURES.glob(f"{number:03d}-*.txt")
    return path


def text_of(number):
    return capture(number).read_bytes().decode()


def read(text, **options):
    return read_topology(text, "pasted", **options)


def test_every_capture_is_in_one_of_the_two_tables():
    numbers = sorted(int(path.name[:3]) for path in CAPTURES.glob("*.txt"))
    assert numbers == sorted([*SEEN, *REFUSED]) == list(range(1, 39))


@each_row("number", SEEN)
def test_a_capture_is_what_a_person_sees(number):
    gpus, nics, numa_nodes, pairs = SEEN[number]
    told = describe(read_topology_file(capture(number)))
    assert (told["gpus"], told["nics"], told["numa_nodes"]) == (gpus, nics, numa_nodes)
    for pair, word in pairs.items():
        a, b = pair.split("-")
        assert told["pairs"][a][b] == told["pairs"][b][a] == word
    assert told["format"] == "nvidia_smi"


@each_row("number", SEEN)
def test_routes_have_the_captured_classes(number):
    machine = read_topology_file(capture(number))
    derived = pair_classes(machine)
    for a, row in machine.pairs.items():
        assert {b: derived[a][b] for b in row} == row
    gpus = [d.name for d in machine.devices if d.kind == "GPU"]
    for a, b in combinations(gpus, 2):
        assert b in machine.pairs[a]


@pytest.mark.parametrize("number", REFUSED)
def test_a_capture_that_cannot_be_used_is_refused_with_the_reason(number):
    with pytest.raises(InputError, match=REFUSED[number]):
        read_topology_file(capture(number))


def test_nvlinks_up_to_eighteen_are_cables_and_more_mean_a_switch():
    cube = read_topology_file(capture(24))
    assert not [d for d in cube.devices if d.kind == "NVS"]
    assert sum(x.lanes for x in cube.links if x.kind == "NVL" and x.src == "GPU0") == 6
    assert cube.path("GPU0", "GPU3")[0].bandwidth == pytest.approx(2 * 20e9)
    hopper = read_topology_file(capture(4))
    assert [x.dst for x in hopper.path("GPU0", "GPU5")] == ["NVS0", "GPU5"]
    assert hopper.path("GPU0", "GPU5")[0].bandwidth == pytest.approx(18 * 20.6e9)


def test_nics_reveal_that_nvlinked_gpus_share_a_switch():
    machine = read_topology_file(capture(8))
    plugged = {x.src: x.dst for x in machine.links if x.dst.startswith("PCI") and x.src.startswith(("GPU", "mlx"))}
    assert plugged["GPU0"] == plugged["GPU1"] == plugged["mlx5_0"]
    assert plugged["GPU2"] == plugged["GPU3"] == plugged["mlx5_1"]
    assert len({plugged[f"GPU{i}"] for i in range(8)}) == 4


def test_numa_nodes_of_gpus_are_the_files():
    polaris = read_topology_file(capture(6))
    assert {d.name: d.numa for d in polaris.devices if d.kind in ("GPU", "NIC")} == {
        "GPU0": 3, "GPU1": 2, "GPU2": 1, "GPU3": 0, "mlx5_0": 0, "mlx5_1": 2,
    }  # fmt: skip


def test_what_nvlink_hides_is_listed_as_assumed():
    (hidden,) = [note for note in read_topology_file(capture(18)).assumed if "does not tell" in note]
    assert hidden == "PCIe paths the table does not tell, taken as PIX: GPU0-GPU1, GPU2-GPU3, GPU4-GPU5, GPU6-GPU7"
    assert not [note for note in read_topology_file(capture(11)).assumed if "does not tell" in note]


def test_topo_mp_is_told_apart_by_its_legend():
    assert [n for n in read_topology_file(capture(26)).assumed if "topo -mp" in n]
    assert not [n for n in read_topology_file(capture(34)).assumed if "topo -mp" in n]


def test_missing_nic_rows_come_from_the_gpus_rows():
    cut = read_topology_file(capture(25))
    assert cut.pairs["NIC11"] == {
        **{gpu: cut.pairs[gpu]["NIC11"] for gpu in (f"GPU{i}" for i in range(8))},
        **dict.fromkeys((f"NIC{i}" for i in range(6)), "SYS"),
    }
    assert [note for note in cut.assumed if "NIC6, NIC7, NIC8, NIC9, NIC10, NIC11" in note]


def test_every_assumed_rate_is_listed_until_it_is_given():
    text = text_of(21)
    keys = ("nvlink", "pix", "pxb", "phb", "sys", "nic")
    assumed = " ".join(read(text).assumed)
    for key in keys:
        assert f"assumed {key}=" in assumed
    given = dict.fromkeys(keys, "7GBps") | {f"{key}_latency": "2us" for key in keys}
    machine = read(text, **given)
    assert not [note for note in machine.assumed if note.startswith("assumed")]
    assert {x.bandwidth / x.lanes for x in machine.links} == {7e9}


RATES = {"nvlink": "GPU0-GPU1", "pix": "GPU3-NIC0", "pxb": "GPU2-NIC0", "phb": "GPU0-GPU2", "sys": "GPU0-GPU2"}


@pytest.mark.parametrize("key", RATES)
def test_a_class_given_less_bandwidth_or_more_latency_slows_its_pairs(key):
    a, b = RATES[key].split("-")
    plain, slow = read(text_of(21)), read(text_of(21), **{key: "1GBps", f"{key}_latency": "1ms"})
    assert min(x.bandwidth / x.lanes for x in plain.path(a, b)) > 1e9
    assert min(x.bandwidth / x.lanes for x in slow.path(a, b)) == 1e9
    assert sum(x.latency for x in slow.path(a, b)) >= 1e-3


def test_host_bridges_of_a_node_are_joined_at_the_rate_given():
    machine = read(text_of(16), node="3GBps", node_latency="5us")
    assert min(x.bandwidth for x in machine.path("GPU0", "GPU1")) == 3e9
    assert sum(x.latency for x in machine.path("GPU0", "GPU1")) > 1e-5


def test_several_hosts_like_the_captured_one_are_joined_by_their_nics():
    machine = read(text_of(11), hosts="2", nic="10GBps")
    assert machine.n == 16
    way = machine.path("H0.GPU0", "H1.GPU0")
    assert [x.dst for x in way][1:4] == ["H0.NIC3", "RAIL3", "H1.NIC3"]
    assert min(x.bandwidth for x in way) == 10e9
    assert machine.pairs["H1.GPU0"]["H1.NIC3"] == "PIX"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"nvlnk": "1GBps"}, "nvidia_smi has no parameter 'nvlnk'"),
        ({"pix": "fast"}, "nvidia_smi: pix 'fast' is not a number"),
        ({"pix": "0"}, "not above zero"),
        ({"pix": float("nan")}, "bandwidth nan: give one above zero"),
        ({"sys_latency": "-1us"}, "is negative"),
        ({"hosts": "0"}, "outside 1"),
        ({"hosts": "2"}, "has no NIC to join 2 hosts by"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        read(text_of(34), **options)


def test_sixteen_gpus_on_nvswitch_keep_six_links_each():
    names = [f"GPU{i}" for i in range(16)]
    rows = [f"{a}\t" + "\t".join("X" if a == b else "NV6" for b in names) + f"\t0-23\t{int(a[3:]) // 8}" for a in names]
    machine = read("\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n" + "\n".join(rows))
    assert sorted(x.lanes for x in machine.links if x.dst == "NVS0") == [6] * 16
    assert pair_classes(machine)["GPU0"]["GPU15"] == "NV6"


def test_two_nvswitch_domains_are_two_switches():
    names = [f"GPU{i}" for i in range(8)]
    word = lambda a, b: "X" if a == b else "NV12" if int(a[3:]) // 4 == int(b[3:]) // 4 else "SYS"  # noqa: E731
    rows = [f"{a}\t" + "\t".join(word(a, b) for b in names) for a in names]
    machine = read("\t" + "\t".join(names) + "\n" + "\n".join(rows))
    assert [x.dst for x in machine.path("GPU0", "GPU3")] == ["NVS0", "GPU3"]
    assert [x.dst for x in machine.path("GPU4", "GPU7")] == ["NVS1", "GPU7"]


PAIRS = """\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tSYS\tSYS\t0-31\t0
GPU1\tPIX\t X \tSYS\tSYS\t0-31\t0
GPU2\tSYS\tSYS\t X \tPIX\t32-63\t1
GPU3\tSYS\tSYS\tPIX\t X \t32-63\t1
"""


def copied(text, a, b, **options):
    """Whether messages between two GPUs go through host memory."""
    machine = read_topology(PAIRS + text, "it", **options)
    return any("MEM" in machine.links[link].dst for link in machine.routes([a], [b]).links)


@each_row(
    "text, options, through_memory",
    [
        ("NVIDIA GeForce RTX 4090", {}, True),
        ("NVIDIA GeForce RTX 4090", {"p2p": "yes"}, False),
        ("NVIDIA GeForce RTX 4090, NCCL_P2P_LEVEL=SYS", {}, False),
        ("", {"gpu": "RTX 5090"}, True),
        ("NVIDIA L40S", {}, False),
        ("NVIDIA L40S", {"p2p": "no"}, True),
    ],
)
def test_geforce_cards_have_no_peers_unless_the_text_says_so(text, options, through_memory):
    assert copied(text, 0, 1, **options) == copied(text, 0, 3, **options) == through_memory


def test_without_peers_two_cards_of_a_switch_are_slower_than_two_of_two_sockets():
    """As in NVIDIA/nccl issue 1309: both ways of a message share one switch's uplink and one socket's memory."""
    cards = read_topology(PAIRS + "NVIDIA GeForce RTX 4090", "it")
    near, far = (placed(cards, f"{a},3") for a in (2, 0))
    work = registered(ALGORITHMS["allreduce.ring"], 2)
    assert execute(near, work, 256 << 20).time > 1.8 * execute(far, work, 256 << 20).time

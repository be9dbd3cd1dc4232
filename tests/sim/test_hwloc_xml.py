"""hwloc topologies read as a person reads them."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.formats import read_topology
from sim.topology.path_classes import describe, pair_classes
from tests.tables import each_row

FILES = Path(__file__).parents[1] / "data" / "hwloc-xml"
NAMES = sorted(path.name.removesuffix(".gz").removesuffix(".xml") for path in FILES.glob("*.xml*"))


def text_of(name):
    path = FILES / f"{name}.xml"
    return path.read_text() if path.exists() else gzip.decompress((FILES / f"{name}.xml.gz").read_bytes()).decode()


def read(name, **options):
    return read_topology(text_of(name), name, **options)


# file: (GPUs, NICs, CPU domains, NUMA nodes, PCI switches, some pairs), read off the files by eye
SEEN = {
    "16amd64-4distances": (0, 0, 8, 8, 0, {}),
    "16em64t-4s2c2t": (0, 0, 4, 1, 0, {}),
    "24em64t-2n6c2t-pci": (3, 1, 2, 2, 0, {
        "GPU0-GPU1": "SYS", "GPU0-GPU2": "SYS", "GPU1-GPU2": "PHB", "GPU0-mlx4_0": "PHB", "GPU1-mlx4_0": "SYS",
    }),
    "28intel64-2p2g7c-CoDgroups.v1": (0, 2, 4, 4, 0, {"NIC0-NIC1": "PHB"}),
    "32em64t-2n8c2t-pci-normalio": (4, 1, 2, 2, 1, {
        "GPU0-GPU1": "SYS", "GPU1-GPU2": "PHB", "GPU2-GPU3": "PIX", "GPU3-mlx5_0": "PIX", "GPU1-mlx5_0": "PHB",
    }),
    "64intel64-3g2n+2n-irregulargroups+pci": (2, 2, 8, 8, 1, {"GPU0-GPU1": "SYS", "NIC0-NIC1": "PIX"}),
    "96em64t-4n4d3ca2co-pci": (0, 8, 16, 4, 4, {"NIC0-NIC1": "PIX", "NIC1-NIC2": "SYS"}),
    "AMD-17h-Zen-2xEpyc-7451": (0, 0, 2, 1, 0, {}),
    "AMD-19h-Zen3-2xEpyc-7763": (0, 0, 2, 1, 0, {}),
    "AMD-K8-SledgeHammer-2xOpteron-250": (0, 0, 2, 1, 0, {}),
    "Intel-SapphireRapids-2xXeonMax9460": (0, 0, 2, 1, 0, {}),
    "cxlmem+dax.v2": (0, 1, 1, 1, 0, {}),
    "nvidia-dgx-gb10": (0, 0, 1, 1, 0, {}),
    "power8gpudistances": (4, 0, 2, 2, 0, {"GPU0-GPU1": "NV2", "GPU2-GPU3": "NV2", "GPU0-GPU2": "SYS"}),
}  # fmt: skip


@each_row("name", NAMES)
def test_devices_and_pairs_are_those_a_person_sees(name):
    found = read(name)
    gpus, nics, domains, numa, switches, pairs = SEEN[name]
    kinds = Counter(device.kind for device in found.devices)
    bridges = sum(".HB" in device.name for device in found.devices)
    assert (kinds["GPU"], kinds["NIC"], kinds["CPU"] - bridges, kinds["PCI"]) == (gpus, nics, domains, switches)
    assert describe(found)["numa_nodes"] == numa
    classes = pair_classes(found)
    for pair, word in pairs.items():
        a, b = pair.split("-")
        assert classes[a][b] == classes[b][a] == word, pair
    assert found.format == "hwloc_xml"


@each_row("name", NAMES)
def test_gpus_are_ranks_else_cpu_domains_and_an_allreduce_is_proved(name):
    found = read(name)
    gpus, _, domains, *_ = SEEN[name]
    assert found.n == (gpus or domains)
    assert {found.devices[i].kind for i in found.ranks} == ({"GPU"} if gpus else {"CPU"})
    assert any("no GPU in the file" in note for note in found.assumed) == (not gpus)
    if found.n > 1:
        assert simulate(found, ALGORITHMS["allreduce.ring"].schedule(found.n), size=1e6).verdict.ok


def test_pci_links_are_as_fast_as_the_file_says():
    found = read("24em64t-2n6c2t-pci")
    assert [(x.src, x.dst, x.bandwidth) for x in found.path("GPU1", "GPU2")] == [
        ("GPU1", "CPU1", 4e9),
        ("CPU1", "GPU2", 4e9),
    ]
    assert found.path("mlx4_0", "CPU0")[0].bandwidth == 2e9
    assert [device.numa for device in found.devices if device.kind == "GPU"] == [0, 1, 1]
    # a link is as slow as its slowest part: a x8 port above a x16 card
    power = {(x.src, x.dst): x.bandwidth for x in read("power8gpudistances").links}
    assert power["GPU0", "CPU0.HB0"] == power["CPU0.HB0", "CPU0"] == 7.876923e9


def test_a_speed_the_kernel_did_not_tell_is_assumed_and_may_be_given():
    assumed = read("32em64t-2n8c2t-pci-normalio")
    assert assumed.path("GPU0", "CPU0")[0].bandwidth == 12e9
    assert "assumed pix=12 GB/s: give pix= to change it" in assumed.assumed
    given = read("32em64t-2n8c2t-pci-normalio", pix="16GBps", sys="20GBps", sys_latency="1us")
    assert given.path("GPU0", "CPU0")[0].bandwidth == 16e9
    assert {(x.bandwidth, x.latency) for x in given.links if x.kind == "SYS"} == {(20e9, 1e-6)}
    assert not any(note.startswith(("assumed pix=", "assumed sys")) for note in given.assumed)


@pytest.mark.parametrize("model, rate", [("63", 6e9), ("85", 10e9), ("143", 22e9), ("207", 40e9)])
def test_sockets_of_intel_are_joined_as_nccl_has_them(model, rate):
    told = f'<info name="CPUVendor" value="GenuineIntel"/><info name="CPUModelNumber" value="{model}"/>'
    packages = "".join(f'<object type="Package" os_index="{i}" cpuset="0x{1 << i}">{told}</object>' for i in range(2))
    found = read_topology(
        f'<topology version="2.0"><object type="Machine" cpuset="0x3">{packages}</object></topology>', "m"
    )
    assert [(x.src, x.dst, x.bandwidth, x.kind) for x in found.links] == [
        ("CPU0", "CPU1", rate, "SYS"),
        ("CPU1", "CPU0", rate, "SYS"),
    ]


def test_what_is_no_gpu_or_nic_to_communicate_with_is_left_out_and_told():
    notes = "\n".join(read("32em64t-2n8c2t-pci-normalio").assumed)
    assert "display adapter 0000:05:03.0 (Matrox Electronics Systems Ltd. MGA G200eW WPCM450)" in notes
    assert "neither InfiniBand nor RoCE are left out: eth0, eth1" in notes


def test_nvlinks_of_a_matrix_join_gpus_and_cpus():
    found = read("power8gpudistances")
    nvlinks = {(x.src, x.dst): (x.bandwidth, x.lanes) for x in found.links if x.kind == "NVL"}
    pairs = [("GPU0", "GPU1"), ("GPU2", "GPU3"), ("GPU0", "CPU0"), ("GPU1", "CPU0"), ("GPU2", "CPU1"), ("GPU3", "CPU1")]
    assert nvlinks == {pair: (40e9, 2) for a, b in pairs for pair in ((a, b), (b, a))}


def test_hosts_are_joined_by_their_nics():
    found = read("24em64t-2n6c2t-pci", hosts="2", nic="4GBps")
    assert found.n == 6
    assert min(x.bandwidth for x in found.path("H0.GPU0", "H1.GPU0")) == 2e9
    with pytest.raises(InputError, match="no GPU in it, and hosts are joined for their GPUs: use one host"):
        read("nvidia-dgx-gb10", hosts="2")


def pci(bus, kind, inside="", bridge=""):
    """A PCI device, or a bridge with devices inside."""
    told = f'pci_busid="0000:{bus}:00.0" pci_link_speed="8.0" pci_type="{kind}"'
    if bridge:
        return f'<object type="Bridge" bridge_type="{bridge}" {told}>{inside}</object>'
    return f'<object type="PCIDev" gp_index="{bus}" {told}>{inside}</object>'


def machine(*bridges, after=""):
    sets = 'cpuset="0x1" nodeset="0x1"'
    numa = f'<object type="NUMANode" os_index="0" {sets}/>'
    package = f'<object type="Package" os_index="0" {sets}>{numa}{"".join(bridges)}</object>'
    return f'<topology version="2.0">\n<object type="Machine" {sets}>{package}</object>{after}</topology>'


GPU, NVSWITCH = "0302 [10de:1db8]", "0680 [10de:1ac2]"


def test_a_tree_of_pci_switches_gives_the_classes_of_nvidia_smi():
    pair = "".join(pci(bus, "", bridge="1-1", inside=pci(bus, GPU)) for bus in (10, 11))
    other = "".join(pci(bus, "", bridge="1-1", inside=pci(bus, GPU)) for bus in (12, 13))
    upper = "".join(pci(0, "", bridge="1-1", inside=pci(0, "", bridge="1-1", inside=below)) for below in (pair, other))
    first = pci(0, "", bridge="0-1", inside=pci(0, "", bridge="1-1", inside=upper))
    second = pci(0, "", bridge="0-1", inside=pci(0, "", bridge="1-1", inside=pci(20, GPU)))
    classes = pair_classes(read_topology(machine(first, second), "m"))
    assert classes["GPU0"] == {"GPU1": "PIX", "GPU2": "PXB", "GPU3": "PXB", "GPU4": "NODE"}
    assert pair_classes(read_topology(machine(first), "m"))["GPU2"] == {"GPU0": "PXB", "GPU1": "PXB", "GPU3": "PIX"}


def test_nvswitches_that_join_the_same_gpus_are_one():
    devices = [pci(bus, GPU) for bus in (10, 11, 12)] + [pci(bus, NVSWITCH) for bus in (20, 21)]
    rows = [[0, 0, 0, 1, 1]] * 3 + [[1, 1, 1, 0, 0]] * 2
    values = " ".join(str(25000 * v) for row in rows for v in row)
    matrix = (
        '<distances2hetero nbobjs="5" kind="25" name="NVLinkBandwidth">'
        '<indexes length="1">PCIDev:10 PCIDev:11 </indexes><indexes length="1">PCIDev:12 PCIDev:20 PCIDev:21 </indexes>'
        f'<u64values length="1">{values}</u64values></distances2hetero>'
    )
    found = read_topology(machine(pci(0, "", bridge="0-1", inside="".join(devices)), after=matrix), "m")
    assert [device.kind for device in found.devices].count("NVS") == 1
    assert pair_classes(found)["GPU0"] == {"GPU1": "NV2", "GPU2": "NV2"}
    assert {x.bandwidth for x in found.links if x.kind == "NVL"} == {50e9}


def osdev(kind, name, *infos):
    told = "".join(f'<info name="{key}" value="1"/>' for key in infos)
    return f'<object type="OSDev" name="{name}" osdev_type="{kind}">{told}</object>'


@pytest.mark.parametrize(
    "version, ethernet, fabric",
    [("2.0", (2,), (3,)), ("2.0", (2,), (9, "SysImageGUID")), ("3.0", (16,), (48,)), ("3.0", (3,), (32,))],
)
def test_a_network_device_is_a_fabric_by_its_type_or_its_guids(version, ethernet, fabric):
    nics = [pci(20, "0200 [1d0f:ec20]", osdev(ethernet[0], "ens5"))]
    nics += [pci(21, "0200 [1d0f:efa3]", osdev(fabric[0], "rdmap33s0", *fabric[1:]))]
    text = machine(pci(0, "", bridge="0-1", inside=pci(10, GPU) + "".join(nics)))
    found = read_topology(text.replace('version="2.0"', f'version="{version}"'), "m")
    assert [device.name for device in found.devices if device.kind == "NIC"] == ["rdmap33s0"]
    assert "network devices that are neither InfiniBand nor RoCE are left out: ens5" in found.assumed


def test_xgmi_links_are_counted_by_the_narrowest_pair():
    gpus = [pci(bus, "0380 [1002:7408]", osdev(1, f"rsmi{bus - 10}")) for bus in (10, 11, 12)]
    rates = " ".join(map(str, (0, 200000, 50000, 200000, 0, 100000, 50000, 100000, 0)))
    matrix = (
        '<distances2 type="PCIDev" nbobjs="3" kind="25" name="XGMIBandwidth">'
        f"<indexes>10 11 12</indexes><u64values>{rates}</u64values></distances2>"
    )
    found = read_topology(machine(pci(0, "", bridge="0-1", inside="".join(gpus)), after=matrix), "m")
    pairs = {(x.src, x.dst): (x.bandwidth, x.lanes) for x in found.links if x.kind == "NVL" and x.src < x.dst}
    assert pairs == {("GPU0", "GPU1"): (200e9, 4), ("GPU0", "GPU2"): (50e9, 1), ("GPU1", "GPU2"): (100e9, 2)}
    assert "xGMI links are counted as 50 GB/s each, the matrix tells only their sum" in found.assumed


def test_gpus_without_a_matrix_are_said_to_be_joined_by_pci_alone():
    several = read_topology(machine(pci(0, "", bridge="0-1", inside=pci(10, GPU) + pci(11, GPU))), "m")
    assert any("no matrix of NVLinks or xGMI in the file" in note for note in several.assumed)
    single = read_topology(machine(pci(0, "", bridge="0-1", inside=pci(10, GPU))), "m")
    assert not any("no matrix" in note for note in single.assumed)


@each_row(
    "text, message",
    [
        ("<!DOCTYPE topology SYSTEM 'hwloc2.dtd'><other/>", "m, line 1: <other> instead of <topology>"),
        ("<!DOCTYPE topology [<!ENTITY a 'b'>]><topology/>", "m, line 1: a DOCTYPE is not read here"),
        ("<!DOCTYPE topology SYSTEM 'hwloc2.dtd'><topology/>", "m, line 1: no single machine in it"),
        (machine().replace("0x1", "0xzz"), "m, line 2: cpuset is '0xzz': write hexadecimal words"),
        (machine().replace('os_index="0"', 'os_index="-1"'), "m, line 2: os_index is '-1': write a whole number"),
        (machine(pci(10, GPU).replace("8.0", "inf")), "m, line 2: pci_link_speed is 'inf': write GB/s"),
        (machine(after='\n<distances2 type="OSDev" name="NVLinkBandwidth"><indexes>1 2</indexes></distances2>'),
         "m, line 3: NVLinkBandwidth has 2 objects and 0 values, not 4 numbers"),
        (machine(after='<distances2 name="XGMIBandwidth"><indexes>7</indexes><u64values>1</u64values></distances2>'),
         "m, line 2: 7 in XGMIBandwidth is no object"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_the_mend(text, message):
    with pytest.raises(InputError, match=message):
        read_topology(text, "m")


def memories(*packages, around=()):
    """Nodes around all packages as (number, CPUs, subtype), then packages, each with CPUs and nodes of its own."""
    node = '<object type="NUMANode" os_index="{}" cpuset="{}" subtype="{}" gp_index="9{}"/>'
    whole = sum(int(cpus, 16) for cpus, _ in packages)
    text = f'<topology version="3.0"><object type="Machine" os_index="0" cpuset="{whole:#010x}" gp_index="1">'
    text += "".join(node.format(number, cpus, subtype, number) for number, cpus, subtype in around)
    for i, (cpus, nodes) in enumerate(packages):
        text += f'<object type="Package" os_index="{i}" cpuset="{cpus}" gp_index="1{i}">'
        text += "".join(node.format(number, own, subtype, number) for number, own, subtype in nodes) + "</object>"
    return text + "</object></topology>"


TWO_PACKAGES = (
    ("0x0f", [(0, "0x0f", "DRAM"), (1, "0x0f", "HBM")]),
    ("0xf0", [(2, "0xf0", "DRAM"), (3, "0xf0", "HBM")]),
)


@pytest.mark.parametrize(
    ("text", "numbers", "bare"),
    [
        (memories(*TWO_PACKAGES, around=[(4, "0xff", "CXL-DRAM")]), [0, 2], "1, 3, 4"),
        (memories(*TWO_PACKAGES, around=[(4, "0xff", "")]), [0, 2], "1, 3, 4"),
        (memories(("0x0f", [(0, "0x0f", "DRAM")]), around=[(1, "0x0f", "CXL-DRAM")]), [0], "1"),
        (memories(("0x0f", [(1, "0x0f", "HBM"), (0, "0x0f", "DRAM")])), [0], "1"),
        (memories(("0x0f", [(0, "0x03", "")]), ("0xf0", []), around=[(4, "0xff", "CXL-DRAM")]), [0, 4, 4], ""),
        (memories(("0xff", [(2, "0xff", ""), (1, "0xf0", ""), (0, "0x0f", "")])), [0, 1], "2"),
        (memories(("0x0f", []), ("0xf0", []), around=[(0, "0xff", "")]), [0, 0], ""),
    ],
    ids=["CXL above packages", "plain above", "one package", "HBM first", "leftovers", "nested", "one for all"],
)
def test_a_numa_node_around_others_takes_only_cpus_that_no_nearer_one_has(text, numbers, bare):
    machine = read_topology(text, "it")
    assert sorted(device.numa for device in machine.devices if device.kind == "CPU") == numbers
    notes = [note for note in machine.assumed if "have no CPUs of their own" in note]
    assert notes == ([f"NUMA nodes {bare} have no CPUs of their own (memory alone): left out"] if bare else [])

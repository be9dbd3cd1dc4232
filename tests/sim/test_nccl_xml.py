"""NCCL's topology files: counts and classes as a person sees them in the file, rates as NCCL works them out."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.formats import read_topology, read_topology_file, write_topology
from sim.machines import build
from sim.topology.path_classes import pair_classes
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "nccl-topo-xml"
FILES = sorted(DATA.glob("*.xml"))
READ = [file for file in FILES if not file.name.startswith("005")]
EXAMPLE = """<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1">
 <pci busid="0000:01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
  <gpu dev="0" sm="80" rank="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu></pci>
 <pci busid="0000:02:00.0" class="0x030200" link_speed="8 GT/s" link_width="8">
  <gpu dev="1" sm="80" rank="0"><nvlink target="0000:01:00.0" count="4" tclass="0x030200"/></gpu></pci>
 <pci busid="0000:03:00.0" class="0x020000" link_speed="32 GT/s" link_width="0">
  <nic><net name="mlx5_0" dev="0" speed="200000"/><net name="mlx5_1" dev="1" speed="200000"/></nic></pci>
</cpu></system>"""


def number(file):
    return int(file.name[:3])


def kinds(machine):
    return Counter(device.kind for device in machine.devices)


def seen(file):
    """GPUs, NICs, switches and NUMA nodes, counted in the file by class alone."""
    root = ET.parse(file).getroot()
    classes = Counter()
    for pci in root.iter("pci"):
        code = pci.get("class")
        gpu = pci.find("gpu") is not None or code.startswith(("0x0302", "0x1200"))
        classes["GPU" if gpu else "NIC" if code.startswith("0x02") or pci.find("nic") is not None else "PCI"] += 1
    classes["NIC"] += sum(nic in list(cpu) for cpu in root.iter("cpu") for nic in cpu.iter("nic"))
    return classes, len(root.findall("cpu"))


@each_row("file", READ)
def test_every_published_file_has_the_devices_one_sees_in_it(file):
    machine = read_topology_file(file)
    classes, cpus = seen(file)
    found = kinds(machine)
    assert (found["GPU"], found["NIC"], found["PCI"], found["CPU"]) == (
        *(classes[k] for k in ("GPU", "NIC", "PCI")),
        cpus,
    )
    assert machine.format == "nccl_xml"
    trace = simulate(machine, ALGORITHMS["allreduce.ring"].schedule(machine.n), 1 << 20)
    assert trace.verdict.verdict == "ok"


def test_a_template_without_classes_is_refused_with_the_reason():
    (file,) = DATA.glob("005-*")
    with pytest.raises(InputError, match=r"005.*line \d+: no GPU in it .* NCCL_TOPO_DUMP_FILE"):
        read_topology_file(file)


@each_row(
    "start, pairs",
    [
        (1, {"GPU0-GPU3": "PHB", "GPU0-GPU4": "SYS", "GPU0-NIC0": "PHB", "GPU4-NIC0": "SYS"}),
        (2, {"GPU0-GPU1": "PIX", "GPU0-NIC1": "PIX", "GPU1-GPU2": "SYS"}),
        (3, {"GPU0-NIC0": "PIX", "GPU0-GPU1": "PHB", "GPU0-GPU4": "SYS"}),
        (6, {"GPU0-GPU1": "PIX", "GPU0-GPU2": "PHB", "GPU3-GPU4": "SYS"}),
        (8, {"GPU0-GPU7": "NV1", "GPU0-NIC0": "PXB"}),
        (9, {"GPU0-GPU1": "NV1", "GPU3-GPU7": "NV1"}),
        (10, {"GPU0-GPU1": "NV4"}),
        (11, {"GPU0-GPU1": "PXB", "GPU0-GPU4": "PHB"}),
    ],
)
def test_pairs_are_as_far_apart_as_the_nesting_says(start, pairs):
    (file,) = DATA.glob(f"{start:03d}-*")
    classes = pair_classes(read_topology_file(file))
    assert {pair: classes[pair.split("-")[0]][pair.split("-")[1]] for pair in pairs} == pairs


def test_rates_are_what_nccl_works_out():
    machine = read_topology(EXAMPLE, "example")
    rates = {(link.src, link.dst): link.bandwidth for link in machine.links}
    assert rates["GPU0", "CPU0"] == 24e9  # 16 lanes of 16 GT/s: 16 * 120 / 80
    assert rates["GPU1", "CPU0"] == 6e9  # 8 lanes of 8 GT/s
    assert rates["NIC0", "CPU0"] == 48e9  # no width stands for 16
    assert rates["GPU0", "GPU1"] == rates["GPU1", "GPU0"] == 80e9  # four NVLinks of SM80
    assert len(machine.links) == 8
    assert [machine.devices[i].name for i in machine.ranks] == ["GPU1", "GPU0"]  # by rank, not by place


@pytest.mark.parametrize(("start", "rate"), [(8, 48e9), (9, 36e9), (12, 24e9)], ids=["gfx942", "gfx90a", "gfx908"])
def test_xgmi_links_are_as_wide_as_rccl_has_them(start, rate):
    (file,) = DATA.glob(f"{start:03d}-*")
    lanes = {(link.bandwidth / link.lanes) for link in read_topology_file(file).links if link.kind == "NVL"}
    assert lanes == {rate}


def test_an_mi300x_dump_is_the_machine_of_that_name():
    (file,) = DATA.glob("008-*")
    dump, own = read_topology_file(file), build("mi300x")
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b]
    assert [dump.path(f"GPU{a}", f"GPU{b}")[0].bandwidth for a, b in pairs] == [
        own.path(f"GPU{a}", f"GPU{b}")[0].bandwidth for a, b in pairs
    ]


def test_a_template_takes_the_nvlinks_a_person_knows_of():
    (file,) = DATA.glob("002-*")
    plain, switched = read_topology_file(file), read_topology_file(file, nvlinks="12", nvlink="20GBps")
    assert any("give nvlinks=12" in note for note in plain.assumed)
    assert pair_classes(switched)["GPU0"]["GPU7"] == "NV12"
    assert switched.path("GPU0", "GPU7")[0].bandwidth == 240e9
    with pytest.raises(InputError, match="lists its own NVLinks: leave out nvlinks"):
        read_topology(EXAMPLE, "example", nvlinks=12)


@pytest.mark.parametrize(("sm", "lanes", "rate"), [(70, 6, 20), (90, 18, 20.6), (100, 18, 40.1)])
def test_nvlinks_a_person_knows_of_are_those_of_the_gpu(sm, lanes, rate):
    gpu = '<pci busid="0000:0{0}:00.0" class="0x030200"><gpu dev="{0}" sm="{1}" rank="{0}" gdr="1"/></pci>'
    text = f'<system version="1"><cpu numaid="0">{gpu.format(1, sm)}{gpu.format(2, sm)}</cpu></system>'
    machine = read_topology(text, "m", nvlinks=str(lanes))
    assert {round(link.bandwidth) for link in machine.links if link.kind == "NVL"} == {round(lanes * rate * 1e9)}
    assert f"{lanes} NVLinks of {rate} GB/s per GPU on an NVSwitch, as given" in machine.assumed


def test_links_to_a_switch_and_to_the_cpu_go_both_ways():
    text = EXAMPLE.replace(
        'target="0000:02:00.0" count="4" tclass="0x030200"', 'target="ff" count="12" tclass="0x068000"'
    )
    text = text.replace('target="0000:01:00.0" count="4" tclass="0x030200"', 'target="ff" count="12" tclass="0x068000"')
    text = text.replace("</gpu>", '<c2c count="1" bw="450000"/></gpu>', 1)
    machine = read_topology(text, "switched")
    assert [link.dst for link in machine.path("GPU0", "GPU1")] == ["NVS0", "GPU1"]
    assert {link.bandwidth for link in machine.path("GPU0", "GPU1")} == {240e9}
    assert max(link.bandwidth for link in machine.links if (link.src, link.dst) == ("GPU0", "CPU0")) == 450e9


@each_row("spec", ["dgx1v", "dgx_a100", "dgx_h100", "dgx_b300"])
def test_speeds_of_pcie_are_written_in_words_of_nccl(spec):
    """`kvDictPciGen` of `src/graph/topo.cc`: an unknown word counts as gen 3."""
    known = {f"{speed:.1f} GT/s PCIe" for speed in (2.5, 5, 8, 16, 32, 64)}
    written = {*re.findall(r'link_speed="([^"]*)"', write_topology(build(spec), "nccl_xml"))}
    assert written
    assert written <= known


def test_hosts_of_a_dump_of_several_are_told_apart_by_their_hash():
    one = re.search(r"<cpu.*</cpu>", EXAMPLE, re.DOTALL)[0]
    two = one.replace("<cpu", '<cpu host_hash="0x1"') + one.replace("<cpu", '<cpu host_hash="0x2"').replace(
        'rank="0"', 'rank="2"'
    ).replace('rank="1"', 'rank="3"')
    machine = read_topology(f'<system version="1">{two}</system>', "two")
    assert [machine.devices[i].name for i in machine.ranks] == ["H0.GPU1", "H0.GPU0", "H1.GPU1", "H1.GPU0"]
    across = [link.dst for link in machine.path("H0.GPU0", "H1.GPU0")]
    assert across == ["H0.CPU0", "H0.NIC0", "SPINE", "H1.NIC0", "H1.CPU0", "H1.GPU0"]
    assert simulate(machine, ALGORITHMS["allreduce.ring"].schedule(4), 1 << 20).verdict.ok


def test_hosts_alike_are_joined_by_their_nics_at_the_speed_of_their_ports():
    machine = read_topology(EXAMPLE, "example", hosts=2)
    assert machine.n == 4
    port = [link.bandwidth for link in machine.links if link.kind == "NET" and link.src == "H0.NIC0"]
    assert port == [2 * 200_000 / 8000 * 1e9]


def test_what_is_assumed_is_told():
    (file,) = DATA.glob("001-*")
    told = "; ".join(read_topology_file(file).assumed)
    assert "assumed sys=10 GB/s between NUMA nodes" in told
    assert "pix_latency 250 ns" in told
    assert "sys=" not in "; ".join(read_topology_file(file, sys="5GBps").assumed)


@each_row(
    "change, says",
    [
        (("<system", "<sistem"), "no topology known here|not well-formed"),
        (('<system version="1">', '<system version="1"><!DOCTYPE x []>'), "not well-formed|DOCTYPE"),
        (('link_width="8"', 'link_width="-8"'), r"line 4: link_width='-8' is no whole number from 0 to 64"),
        (('link_width="8"', 'link_width="9e9"'), "link_width='9e9' is no whole number"),
        (('busid="0000:02:00.0"', 'busid="0000:01:00.0"'), "bus id 0000:01:00.0 is there twice"),
        (('busid="0000:03:00.0" ', ""), "a <pci> without busid"),
        (('target="0000:01:00.0"', 'target="0000:09:00.0"'), "nvlink to '0000:09:00.0', which is no device here"),
        (('count="4"', 'count="0"'), "count='0' is no whole number from 1 to 64"),
        (("</cpu></system>", ""), "not well-formed XML"),
        (('rank="1"', 'rank="x"'), "rank='x' is no whole number"),
    ],
)
def test_broken_files_are_told_with_their_line(change, says):
    assert change[0] in EXAMPLE
    with pytest.raises(InputError, match=says):
        read_topology(EXAMPLE.replace(*change), "broken.xml")


def rccl(*gpus, cpus="", gcn="906"):
    """Two sockets; every entry is a socket, a bus and the buses its GPU has an xGMI link to."""
    text = '<system version="2">\n'
    for socket in (0, 1):
        text += f' <cpu numaid="{socket}" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">\n'
        for rank, (where, bus, targets) in enumerate(gpus):
            wires = "".join(f'<xgmi target="0000:{t}:00.0" count="1" tclass="0x038000"/>' for t in targets)
            text += (
                f'  <pci busid="0000:{bus}:00.0" class="0x038000" link_speed="16 GT/s" link_width="16">'
                f'<gpu dev="{rank}" gcn="{gcn}" rank="{rank}">{wires}</gpu></pci>\n'
                if where == socket
                else ""
            )
        text += cpus + " </cpu>\n"
        cpus = ""
    return text + "</system>\n"


NIC = """  <pci busid="0000:{bus}:00.{f}" class="0x020700" link_speed="16 GT/s" link_width="16">
   <nic><net name="m" dev="{f}" speed="200000"/></nic></pci>
"""


def test_a_gpu_passes_nothing_from_xgmi_to_pcie():
    text = rccl((0, "01", ["81"]), (0, "02", []), (1, "81", ["01"]), (1, "82", []), cpus=NIC.format(bus="09", f=0))
    machine = read_topology(text, "two sockets")
    classes = pair_classes(machine)
    assert classes["GPU0"] == {"GPU1": "PHB", "GPU2": "NV1", "GPU3": "SYS", "NIC0": "PHB"}
    assert classes["GPU1"] == {"GPU0": "PHB", "GPU2": "SYS", "GPU3": "SYS", "NIC0": "PHB"}
    assert classes["GPU2"]["NIC0"] == "SYS"
    assert [link.dst for link in machine.path("GPU2", "NIC0")] == ["CPU1", "CPU0", "NIC0"]


def test_a_gpu_passes_on_from_xgmi_to_xgmi_once():
    chain = rccl((0, "01", ["02"]), (0, "02", ["01", "81"]), (1, "81", ["02", "82"]), (1, "82", ["81"]))
    machine = read_topology(chain, "chain")
    assert [link.dst for link in machine.path("GPU0", "GPU2")] == ["GPU1", "GPU2"]
    assert [link.dst for link in machine.path("GPU0", "GPU3")] == ["CPU0", "CPU1", "GPU3"]
    assert pair_classes(machine)["GPU0"] == {"GPU1": "NV1", "GPU2": "NV1", "GPU3": "SYS"}


@pytest.mark.parametrize(
    ("gcn", "rate"), [("906", 24e9), ("908", 24e9), ("gfx90a", 36e9), ("gfx942", 48e9), ("gfx950", 48e9), ("950", 48e9)]
)
def test_every_architecture_has_the_xgmi_links_of_rccl(gcn, rate):
    machine = read_topology(rccl((0, "01", ["02"]), (0, "02", ["01"]), gcn=gcn), "it")
    assert {link.bandwidth for link in machine.links if link.kind == "NVL"} == {rate}


def test_an_id_may_stand_twice_where_kinds_differ_or_bridges_share_it():
    bridges = "".join(
        f'  <pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s">\n{NIC.format(bus=b, f=0)}  </pci>\n'
        for b in ("01", "c8")
    )
    machine = read_topology(rccl((0, "01", ["02"]), (0, "02", ["01"]), cpus=bridges), "it")
    assert kinds(machine) == {"GPU": 2, "CPU": 2, "PCI": 2, "NIC": 2}
    assert pair_classes(machine)["GPU0"]["GPU1"] == "NV1"
    ports = read_topology(rccl((0, "01", []), cpus=NIC.format(bus="c8", f=0) * 2), "it")
    assert kinds(ports)["NIC"] == 1
    with pytest.raises(InputError, match=r"line 4: bus id 0000:01:00.0 is there twice: give each GPU its own"):
        read_topology(rccl((0, "01", []), (0, "01", [])), "it")


@pytest.mark.parametrize(
    "comment",
    [
        "<!-------- a table of dashes -------->",
        "<!-- a -- b --->",
        "<!----->",
        "<!--\n--- x ---\n-->",
        "<!-- <cpu> -->",
    ],
)
def test_comments_made_of_dashes_are_read(comment):
    text = rccl((0, "01", ["02"]), (0, "02", ["01"]))
    machine = read_topology(f"{comment}\n{text}{comment}", "it")
    assert machine.links == read_topology(text, "it").links
    with pytest.raises(InputError, match=rf"line {comment.count(chr(10)) + 5}: bus id"):
        read_topology(f"{comment}\n{rccl((0, '01', []), (0, '01', []))}", "it")


@pytest.mark.parametrize("counts", [(18,), (4, 5, 5, 4), (2,) * 6])
def test_links_to_several_switches_of_a_host_are_one_way_to_what_nccl_takes_for_one(counts):
    """A dump lists every NVSwitch: what a GPU has to all of them together is what its rings reach."""
    wires = "".join(f'<nvlink target="0000:0{k}:00.0" count="{c}" tclass="0x068000"/>' for k, c in enumerate(counts))
    gpus = "".join(
        f'<pci busid="0000:1{i}:00.0" class="0x030200"><gpu dev="{i}" sm="90" rank="{i}">{wires}</gpu></pci>'
        for i in range(3)
    )
    machine = read_topology(f'<system version="1"><cpu numaid="0">{gpus}</cpu></system>', "dump")
    links = [link for link in machine.links if link.kind == "NVL"]
    assert [(link.lanes, link.bandwidth) for link in links] == [(sum(counts), pytest.approx(sum(counts) * 20.6e9))] * 6
    time = simulate(machine, ALGORITHMS["allgather.ring"].schedule(3), 3e9).time
    assert time == pytest.approx(2e9 / (sum(counts) * 20.6e9), rel=0.01)


@pytest.mark.parametrize(
    ("before", "after"), [("$ cat topo.xml\n", "\n$ exit\n"), ("```xml\n", "\n```\n"), ("> \n\n", "")]
)
def test_what_people_paste_around_a_file_does_no_harm(before, after):
    plain, pasted = read_topology(EXAMPLE, "plain"), read_topology(before + EXAMPLE + after, "pasted")
    assert pasted.links == plain.links
    with pytest.raises(InputError, match=rf"line {before.count(chr(10)) + 4}\b"):
        read_topology(before + EXAMPLE.replace('link_width="8"', 'link_width="eight"') + after, "pasted")


def test_whole_numbers_are_those_of_strtol():
    """NCCL reads 0x1 as one."""
    machine = read_topology(EXAMPLE.replace('numaid="0"', 'numaid="0x3"'), "hexadecimal")
    assert next(device for device in machine.devices if device.kind == "CPU").numa == 3

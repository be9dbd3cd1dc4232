"""SimGrid platforms: routes as SimGrid itself answers them, times as SimGrid itself measures them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.base.size import allowing
from sim.engine import simulate
from sim.errors import InputError, UnreachableError
from sim.formats import read_topology, read_topology_file, write_topology
from sim.machines import MACHINES, build
from sim.topology.path_classes import describe
from sim.trace import metrics
from sim.units import LARGEST_BANDWIDTH
from tests.sim.simgrid import TIMES
from tests.tables import each_row

PLATFORMS = Path(__file__).parents[1] / "data" / "simgrid-xml"
ANSWERS = json.loads((PLATFORMS / "routes.json").read_text())
REORDERED = ("own-dijkstra.xml", "own-floyd-dijkstra.xml")
"""SimGrid lists these links in another order; the same ones all the same."""


def read(text):
    return read_topology(text, "p.xml")


def route(topology, src, dst):
    """The links of a route that cost something; wires that only join two places are left out."""
    links = topology.routes([topology.index[src]], [topology.index[dst]]).links.tolist()
    return [i for i in links if topology.links[i].latency or topology.links[i].bandwidth < LARGEST_BANDWIDTH]


@each_row("file", ANSWERS)
def test_every_route_is_the_one_simgrid_takes(file):
    topology = read_topology_file(PLATFORMS / file)
    answer = ANSWERS[file]
    assert topology.n == answer["hosts"]
    same = {}
    for pair, theirs in answer["routes"].items():
        src, dst = pair.split()
        if theirs is None:
            with pytest.raises(UnreachableError, match=f"no route from {src} to {dst}"):
                topology.path(src, dst)
            continue
        mine = route(topology, src, dst)
        told = sorted((rate, wait) for _, rate, wait in (answer["links"][i] for i in theirs))
        found = sorted((topology.links[i].bandwidth, topology.links[i].latency) for i in mine)
        if "fatpipe" in file:
            told, found = ([wait for _, wait in links] for links in (told, found))
        assert np.allclose(found, told, rtol=1e-12, atol=0), pair
        if "limited" not in file and "wide" not in file and file not in REORDERED:
            for a, b in zip(mine, theirs, strict=True):
                assert same.setdefault(a, b) == b, pair
    if "fatpipe" not in file:
        assert len(set(same.values())) == len(same), "two links of SimGrid's are one here"


@each_row("file", ANSWERS)
def test_every_route_is_a_connected_way(file):
    topology = read_topology_file(PLATFORMS / file)
    for pair, theirs in ANSWERS[file]["routes"].items():
        src, dst = pair.split()
        if theirs is not None:
            here = src
            for link in topology.path(src, dst):
                assert here == link.src or (link.both and here == link.dst)
                here = link.dst if here == link.src else link.src
            assert here == dst


# file: (hosts, other devices, links), read off the files by eye
SEEN = {
    "two_hosts.xml": (2, 0, 1),
    "dogbone.xml": (4, 2, 5),
    "cluster_backbone.xml": (100, 2, 2 * 100 + 1),
    "cluster_torus.xml": (12, 0, 72),
    "routing_cluster.xml": (6, 4, 2 * (2 + 2 + 1 + 1) + 1),
    "griffon.xml": (92, 6, 188),
    "own-fat-tree-3.xml": (27, 9 + 6 + 4, 2 * 27 + 2 * 9 * 2 + 2 * 6 * 2 * 2),
    "own-dragonfly.xml": (72, 36, 2 * (72 + 3 * (4 * 3 + 3 * 6) + 3)),
}


@each_row("file", SEEN)
def test_hosts_switches_and_links_are_those_a_person_sees(file):
    topology = read_topology_file(PLATFORMS / file)
    hosts, others, links = SEEN[file]
    costly = [x for x in topology.links if x.latency or x.bandwidth < LARGEST_BANDWIDTH]
    assert (topology.n, len(topology.devices) - topology.n, len(costly)) == (hosts, others, links)
    assert {d.kind for d in topology.devices} <= {"GPU", "NET"}
    assert topology.assumed[0].startswith(f"{hosts} hosts, taken as GPUs")


def test_numbers_are_in_simgrids_units():
    text = (PLATFORMS / "own-floyd.xml").read_text()
    links = {(x.bandwidth, x.latency) for x in read(text).links}
    assert {(1e9, 1e-6), (2 * 2.0**30, 2e-6)} <= links
    for written, rate in {"1.5MBps": 1.5e6, "1kbps": 125.0, "1Mibps": 2**20 / 8, "77": 77.0, "2e3Bps": 2e3}.items():
        assert (rate, 1e-6) in {(x.bandwidth, x.latency) for x in read(text.replace('"8Gbps"', f'"{written}"')).links}
    for written, wait in {"1.5m": 90.0, "2ms": 2e-3, "3": 3.0, "1ns": 1e-9, "1h": 3600.0}.items():
        assert (1e9, wait) in {(x.bandwidth, x.latency) for x in read(text.replace('"1us"', f'"{written}"')).links}


def test_a_shared_link_is_one_capacity_and_a_split_one_two():
    shared = (PLATFORMS / "two_hosts.xml").read_text()
    split = shared.replace('latency="100us"', 'latency="100us" sharing_policy="SPLITDUPLEX"')
    split = split.replace('id="1"/>', 'id="1" direction="UP"/>')
    swap = ALGORITHMS["allreduce.recursive_doubling"].schedule(2)
    one, two = (simulate(read(text), swap, size=125e6).time for text in (shared, split))
    assert one == pytest.approx(2 + 1e-4)
    assert two == pytest.approx(1 + 1e-4)


def test_a_fat_pipe_holds_back_each_message_alone():
    star = read_topology_file(PLATFORMS / "small_platform_fatpipe.xml")
    swap = ALGORITHMS["allreduce.recursive_doubling"].schedule(2)
    assert simulate(star, swap, size=498e6).time == pytest.approx(1 + 150e-6)
    cluster = read_topology_file(PLATFORMS / "own-flat-fatpipe.xml")
    everyone = ALGORITHMS["alltoall.linear"].schedule(6)
    assert simulate(cluster, everyone, size=6e9).time == pytest.approx(5 + 23e-6)


@each_row("file", ANSWERS)
def test_an_allreduce_is_proved_and_not_faster_than_its_bound(file):
    topology = read_topology_file(PLATFORMS / file)
    n = 4 if "fatpipe" in file and "small" in file else topology.n
    ring = ALGORITHMS["allreduce.ring" if file != "small_platform_fatpipe.xml" else "broadcast.linear"].schedule(n)
    trace = simulate(topology, ring, size=1e6)
    assert trace.verdict.ok
    weights = np.full(ring.promise.blocks, 1e6 * ring.unit_share)
    devices = np.array(topology.ranks[:n], np.int32)
    assert metrics.lower_bound(topology, ring.promise, weights, devices) <= trace.time * (1 + 1e-9)


@pytest.mark.slow
def test_65536_hosts_are_read_and_routed():
    with pytest.raises(InputError, match=r"65,536 devices are more than 32,768: .*--max-devices 65536"):
        read_topology_file(PLATFORMS / "cluster_crossbar.xml")
    with allowing(70_000):
        topology = read_topology_file(PLATFORMS / "cluster_crossbar.xml")
    assert topology.n == 1 << 16
    assert [x.bandwidth for x in topology.path("node-0.simgrid.org", "node-65535.simgrid.org")] == [125e6, 125e6]


def test_who_cannot_be_reached_is_left_out_of_the_pairs():
    pairs = describe(read_topology_file(PLATFORMS / "small_platform_fatpipe.xml"))["pairs"]
    assert pairs["Ruby"] == {"Tremblay": "NET", "Perl": "NET"}


OWN = {
    "switch": '<cluster id="c" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="25GBps" lat="1us"/>',
    "node2": '<zone id="w" routing="Full">{nodes}{uplinks}{routes}</zone>',
}


WRITTEN = [case for case in TIMES if case.ranks <= 64]
"""What a platform of 1 MiB holds, each algorithm and machine among them."""


def handwritten(case):
    """A platform for a case of the table, as a person would write it."""
    _, _, where = case.name.partition("@")
    head = '<?xml version="1.0"?><platform version="4.1">'
    if where == "ring":
        return None
    if not where:
        return f"{head}{OWN['switch'].format(last=case.ranks - 1)}</platform>"
    nodes = range(case.ranks // 8)
    clusters = "".join(
        f'<cluster id="n{k}" prefix="h{k}-" suffix="" radical="0-7" speed="1Gf" bw="300GBps" lat="0.5us"/>'
        for k in nodes
    )
    uplinks = "".join(
        f'<link id="nic{k}" bandwidth="25GBps" latency="2us" sharing_policy="SPLITDUPLEX"/>' for k in nodes
    )
    routes = "".join(
        f'<zoneRoute src="n{a}" dst="n{b}" gw_src="h{a}-n{a}_router" gw_dst="h{b}-n{b}_router">'
        f'<link_ctn id="nic{a}" direction="UP"/><link_ctn id="nic{b}" direction="DOWN"/></zoneRoute>'
        for a in nodes
        for b in nodes
        if a < b
    )
    return f"{head}{OWN['node2'].format(nodes=clusters, uplinks=uplinks, routes=routes)}</platform>"


@each_row("case", [case for case in WRITTEN if handwritten(case)])
def test_a_platform_gives_simgrids_times(case):
    trace = simulate(read(handwritten(case)), case.schedule(), **case.load())
    assert trace.time == pytest.approx(case.seconds, rel=1e-9)


@pytest.mark.slow
@each_row("case", WRITTEN)
def test_a_machine_written_and_read_gives_simgrids_times(case):
    back = read(write_topology(case.machine(), "simgrid_xml"))
    trace = simulate(back, case.schedule(), **case.load())
    assert trace.time == pytest.approx(case.seconds, rel=1e-9)


@pytest.mark.slow
@each_row("spec", [*MACHINES, "dgx_a100:hosts=2", "ring:ranks=5,directions=1,overhead=1us,gamma=1e-11"], days=4)
def test_any_machine_written_and_read_has_the_same_routes_between_ranks(spec):
    machine = build(spec)
    back = read(write_topology(machine, "simgrid_xml"))
    assert (back.overhead, back.gamma) == (machine.overhead, machine.gamma)
    names = [machine.devices[i].name for i in machine.ranks]
    assert [back.devices[i].name for i in back.ranks] == names
    for src in names[:: max(1, len(names) // 6)]:
        for dst in names:
            mine = [(x.bandwidth, x.latency) for x in machine.path(src, dst)]
            assert [(x.bandwidth, x.latency) for x in (back.links[i] for i in route(back, src, dst))] == mine


def test_what_a_platform_cannot_hold_is_not_written():
    with pytest.raises(InputError, match="takes more than 1 MiB as a SimGrid platform"):
        write_topology(build("switch:ranks=512"), "simgrid_xml")


ZONE = '<platform version="4.1"><zone id="z" routing="Full">\n{}\n</zone></platform>'
HOSTS = '<host id="a" speed="1f"/><host id="b" speed="1f"/><link id="l" bandwidth="1GBps" latency="1us"/>\n'
CLUSTER = '<cluster id="c" prefix="h" suffix="" radical="0-{}" speed="1f" bw="1GBps" lat="1us" {}/>'


DEPLOYMENT = "p.xml, line 1: a deployment file of SimGrid, which says what runs on which host: give the platform file"


@each_row(
    "text, message",
    [
        ('<platform version="4.1"></platform>', "p.xml, line 1: 0 outermost zones instead of one"),
        ('<platform version="4.1"><actor host="A" function="f"><argument value="1"/></actor></platform>', DEPLOYMENT),
        ('<platform version="3"><process host="A" function="f"/><process host="B"/></platform>', DEPLOYMENT),
        ('<platform version="2"></platform>', "p.xml, line 1: platform version '2' is not read here"),
        ('<!DOCTYPE platform SYSTEM "x.dtd"><other/>', "p.xml, line 1: <other> instead of <platform>"),
        ('<!DOCTYPE platform [<!ENTITY a "b">]><platform version="4.1"/>', "p.xml, line 1: a DOCTYPE is not read"),
        (ZONE.format(""), "no host in it: a platform needs hosts"),
        (ZONE.format('<host speed="1f"/>'), "p.xml, line 2: <host> has no id: add one"),
        (ZONE.format('<host id="a"/><host id="a"/>'), "line 2: two hosts, routers or zones are called a"),
        (ZONE.format('<link id="l" bandwidth="1GBps"/><link id="l" bandwidth="1GBps"/>'), "two links are called l"),
        (ZONE.format('<link id="l" bandwidth="fast"/>'), "line 2: bandwidth of <link l> is 'fast'"),
        (ZONE.format('<link id="l" bandwidth="1GBs"/>'), "bandwidth of <link l> is '1GBs'"),
        (ZONE.format('<link id="l" bandwidth="0"/>'), "bandwidth of <link l> is not above zero"),
        (ZONE.format('<link id="l"/>'), "<link l> has no bandwidth"),
        (ZONE.format('<link id="l" bandwidth="1" latency="-1us"/>'), "latency of <link l> is below zero"),
        (ZONE.format('<link id="l" bandwidth="1" sharing_policy="WIFI"/>'), "sharing_policy WIFI is not read here"),
        (ZONE.format(HOSTS + '<route src="a" dst="c"><link_ctn id="l"/></route>'), "line 3: dst 'c' names no host"),
        (ZONE.format(HOSTS + '<route src="a" dst="b"><link_ctn id="k"/></route>'), "line 3: link 'k' does not exist"),
        (ZONE.format(HOSTS + '<route src="a" dst="b"><link_ctn id="l" direction="LEFT"/></route>'), "direction 'LEFT'"),
        (ZONE.format(HOSTS + '<route src="a" dst="b"><link_ctn id="l"/></route><route src="b" dst="a"/>'), "twice"),
        (ZONE.format('<foo/>'), "line 2: <foo> is not read here: delete it"),
        (ZONE.format(HOSTS).replace("Full", "Vivaldi"), "line 1: zone z routes by Vivaldi, which is not read here"),
        (ZONE.format(HOSTS).replace("Full", "Wifi"), "zone z routes by Wifi"),
        (ZONE.format(HOSTS).replace("Full", "Shortest"), "routing 'Shortest' is unknown: choose from Full, Floyd"),
        (ZONE.format(CLUSTER.format("999999999", "")), "1,000,000,000 devices are more than 32,768: choose fewer$"),
        (ZONE.format(CLUSTER.format("x", "")), "radical '0-x' lists no hosts"),
        (ZONE.format(CLUSTER.format(7, 'topology="TORUS" topo_parameters="2,2"')), "ask for 4 hosts, radical lists 8"),
        (ZONE.format(CLUSTER.format(7, 'topology="TORUS" topo_parameters="8;"')), "topo_parameters '8;' do not fit"),
        (ZONE.format(CLUSTER.format(7, 'topology="MOEBIUS"')), "topology 'MOEBIUS' is unknown: choose from FLAT"),
        (ZONE.format(CLUSTER.format(7, 'topology="FAT_TREE" topo_parameters="2;8;1;1"')), "2 levels need as many"),
        (ZONE.format(CLUSTER.format(7, 'topology="DRAGONFLY" topo_parameters="4,1;1,1;2,1;1"')), "4 groups need 4"),
        (ZONE.format(CLUSTER.format(7, 'topology="DRAGONFLY" topo_parameters="0,1;1,1;2,1;1"')), "a parameter is zero"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_the_mend(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_what_simgrid_cannot_route_is_told_when_it_is_asked_for():
    mixed = ZONE.format('<host id="a" speed="1f"/><zone id="y" routing="Full"><host id="b" speed="1f"/></zone>')
    with pytest.raises(UnreachableError, match="zone z holds both hosts and zones"):
        read(mixed).path("a", "b")


@st.composite
def wild_platforms(draw):
    """A Full zone whose routes cross any links in any order; what each route crosses is returned, too."""
    hosts, links = (draw(st.integers(2, 5)) for _ in "hl")
    policies = [draw(st.sampled_from(["SHARED", "SPLITDUPLEX"])) for _ in range(links)]
    lines = [f'<host id="h{i}" speed="1f"/>' for i in range(hosts)]
    lines += [f'<router id="r{i}"/>' for i in range(2)]
    lines += [
        f'<link id="l{i}" bandwidth="{i + 1}kBps" latency="{i + 1}us" sharing_policy="{policy}"/>'
        for i, policy in enumerate(policies)
    ]
    ends = st.sampled_from([f"h{i}" for i in range(hosts)] + ["r0", "r1"])
    hop = st.tuples(st.integers(0, links - 1), st.sampled_from(["UP", "DOWN"]))
    ways = draw(st.dictionaries(st.tuples(ends, ends), st.lists(hop, max_size=4), max_size=8))
    ways = {(a, b): way for (a, b), way in ways.items() if a != b}
    for (a, b), way in ways.items():
        inside = "".join(
            f'<link_ctn id="l{i}"' + (f' direction="{way}"' if policies[i] == "SPLITDUPLEX" else "") + "/>"
            for i, way in way
        )
        lines.append(f'<route src="{a}" dst="{b}" symmetrical="NO">{inside}</route>')
    return ZONE.format("\n".join(lines)), {pair: [i for i, _ in way] for pair, way in ways.items()}


@pytest.mark.slow
@given(wild_platforms())
def test_any_routes_become_connected_ways_over_just_those_links(drawn):
    text, ways = drawn
    topology = read(text)
    for (src, dst), way in ways.items():
        if src[0] == dst[0] == "h":
            here = src
            for link in topology.path(src, dst):
                assert here == link.src or (link.both and here == link.dst)
                here = link.dst if here == link.src else link.src
            assert here == dst
            crossed = [round(topology.links[i].bandwidth / 1e3) - 1 for i in route(topology, src, dst)]
            assert crossed == way


def test_version_3_calls_zones_as_and_means_the_same():
    new = (PLATFORMS / "routing_cluster.xml").read_text()
    old = new.replace('version="4.1"', 'version="3"').replace("zoneRoute", "ASroute")
    old = old.replace("<zone ", "<AS ").replace("</zone>", "</AS>").replace("speed=", "power=")
    assert read(old).links == read(new).links

"""Ringside's own YAML: what each key means, what is refused, and that nothing is lost on the way."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError, UnreachableError
from sim.formats import read_topology, write_topology
from sim.machines import MACHINES, build
from sim.topology import Device, Link, Topology
from sim.topology.routing.tables import tabled
from tests.sim.machines import same_routes, topologies
from tests.tables import each_row

HEAD = "ringside: 1\n"
TWO = HEAD + "devices: [{name: GPU, count: 2, kind: GPU}]\n"
STAR = (
    HEAD
    + """
name: a star
devices:
  - {name: GPU, count: 4, kind: GPU, numa: 0}
  - {name: SW, kind: NVS}
links:
  - {from: GPU*, to: SW, bandwidth: 25GBps, latency: 1us}
"""
)


def read(text):
    return read_topology(text, "f.yml")


def same(one, other):
    told = [field.name for field in fields(Topology) if field.name not in ("router", "format")]
    return all(getattr(one, key) == getattr(other, key) for key in told) and same_routes(one, other)


def test_a_star_in_five_lines_is_the_machine_switch():
    star = read(STAR)
    switch = build("switch:ranks=4")
    assert star.name == "a star"
    assert star.links == switch.links
    assert [(d.name, d.kind, d.numa) for d in star.devices][3:] == [("GPU3", "GPU", 0), ("SW", "NVS", -1)]
    ring = ALGORITHMS["allreduce.ring"].schedule(4)
    assert simulate(star, ring, size=1e6).time == simulate(switch, ring, size=1e6).time


def test_a_pattern_on_both_ends_is_a_mesh():
    mesh = read(
        HEAD + "devices: [{name: g, count: 3, kind: GPU}]\nlinks: [{from: g*, to: g*, bandwidth: 1GBps, latency: 0}]"
    )
    assert sorted((x.src, x.dst) for x in mesh.links) == sorted(
        (f"g{a}", f"g{b}") for a in range(3) for b in range(3) if a != b
    )
    one_way = read(
        HEAD + "devices: [{name: g, count: 3, kind: GPU}]\n"
        "links: [{from: g*, to: g0, bandwidth: 1GBps, latency: 0, duplex: simplex}]"
    )
    assert [(x.src, x.dst) for x in one_way.links] == [("g1", "g0"), ("g2", "g0")]


@pytest.mark.parametrize(
    "duplex, links",
    [
        ("full", [("GPU0", "GPU1", False), ("GPU1", "GPU0", False)]),
        ("half", [("GPU0", "GPU1", True)]),
        ("simplex", [("GPU0", "GPU1", False)]),
    ],
)
def test_duplex_says_how_many_links_a_cable_is(duplex, links):
    text = TWO + f"links: [{{from: GPU0, to: GPU1, bandwidth: 8Gbps, latency: 2us, duplex: {duplex}, lanes: 3}}]"
    found = read(text)
    assert [(x.src, x.dst, x.both) for x in found.links] == links
    assert {(x.bandwidth, x.latency, x.kind, x.lanes) for x in found.links} == {(1e9, 2e-6, "NVL", 3)}


@pytest.mark.parametrize(
    "kinds, kind", [("GPU NVS", "NVL"), ("GPU PCI", "PCI"), ("CPU CPU", "SYS"), ("NIC NET", "NET"), ("NIC CPU", "PCI")]
)
def test_the_kind_of_a_link_follows_from_its_ends(kinds, kind):
    a, b = kinds.split()
    text = HEAD + f"devices: [{{name: a, kind: {a}}}, {{name: b, kind: {b}}}]\nranks: [a, b]\n"
    assert read(text + "links: [{from: a, to: b, bandwidth: 1, latency: 0}]").links[0].kind == kind


def test_costs_ranks_and_notes_are_those_of_the_file():
    found = read(STAR + "ranks: [GPU3, GPU1]\noverhead: 0.3us\ngamma: 1e-11\nforwarding: yes\nassumed: [guessed]\n")
    assert found.ranks == (3, 1)
    assert (found.overhead, found.gamma, found.forwarding, found.assumed) == (3e-7, 1e-11, True, ("guessed",))
    assert found.format == "ringside_yaml"


def test_routes_may_be_chosen_one_by_one():
    text = STAR + "  - {from: GPU0, to: GPU1, bandwidth: 1GBps, latency: 1us, duplex: half}\n" * 2
    text += "routes:\n  - {route: [GPU0, SW, GPU1]}\n  - {route: [GPU1, GPU0], nth: [1]}\n"
    found = read(text)
    assert [(x.src, x.dst) for x in found.path("GPU0", "GPU1")] == [("GPU0", "SW"), ("SW", "GPU1")]
    assert found.routes([1], [0]).links.tolist() == [9]
    listed = read(text + "routing: listed\n")
    assert listed.path("GPU1", "GPU0") == found.path("GPU1", "GPU0")
    with pytest.raises(UnreachableError, match="no route leads from GPU2 to GPU3"):
        listed.path("GPU2", "GPU3")


def test_a_known_machine_is_taken_by_name_with_its_parameters():
    found = read(HEAD + "machine: nodes:nodes=2\nparameters: {gpus: 4, nic: 50GBps}\n")
    assert found.links == build("nodes:nodes=2,gpus=4,nic=50GBps").links
    named = read(HEAD + "name: mine\nmachine: ring\nassumed: [all of it]\n")
    assert (named.name, named.assumed, named.n) == ("mine", ("all of it",), 8)


def test_hosts_are_copies_joined_by_their_nics():
    host = STAR + "  - {from: NIC0, to: SW, bandwidth: 25GBps, latency: 0, kind: PCI}\n"
    host = host.replace("  - {name: SW,", "  - {name: NIC0, kind: NIC}\n  - {name: SW,")
    found = read(host + "hosts: {count: 3, bandwidth: 12.5GBps, latency: 1us}\n")
    assert found.n == 12
    assert {d.host for d in found.devices if d.kind == "GPU"} == {0, 1, 2}
    assert min(x.bandwidth for x in found.path("H0.GPU0", "H2.GPU1")) == 12.5e9


@pytest.mark.slow
@each_row("spec", [*MACHINES, "ring:ranks=2", "ring:ranks=5,directions=1", "dgx_a100:hosts=2"], days=4)
def test_every_machine_reads_back_as_it_was_written(spec):
    machine = build(spec)
    assert same(read(write_topology(machine, "ringside_yaml")), machine)


@pytest.mark.slow
@given(topologies())
def test_any_machine_reads_back_as_it_was_written(topology):
    gpus = tuple(i for i, device in enumerate(topology.devices) if device.kind == "GPU")
    back = read(write_topology(topology, "ringside_yaml"))
    assert same(back, topology)
    assert gpus or back.ranks == topology.ranks


@pytest.mark.slow
def test_what_yaml_cannot_say_is_not_written():
    switch = build("switch:ranks=3")
    torn = replace(switch, router=tabled(switch, {(0, 1): (0, 2)}, alone=False))
    with pytest.raises(InputError, match="the route from GPU0 to GPU1 jumps at SW to a link elsewhere"):
        write_topology(torn, "ringside_yaml")
    with pytest.raises(InputError, match=r"takes 1.* MB or more as YAML, but only 1 MiB are read: write `machine:`"):
        write_topology(build("mesh:ranks=130"), "ringside_yaml")


LINK = "{from: GPU0, to: GPU1, bandwidth: 1GBps, latency: 0}"


@each_row(
    "text, message",
    [
        ("devices: []\nlinks: []\n", "f.yml is YAML without its first line: write `ringside: 1` at the top"),
        ("machine: ring\n", "YAML without its first line"),
        ("ringside: 2\n", "f.yml, line 1: version 2 is not known here: write ringside: 1"),
        ("ringside: 1\n- a\n", "f.yml, line .*not well-formed YAML"),
        (HEAD, "f.yml, line 1: no key devices: write devices: and a list, or machine: and a name"),
        (TWO, "f.yml, line 1: no key links"),
        (TWO + "links: 3", "f.yml, line 3: links is one value: write a list"),
        (TWO + "linsk: []", "f.yml, line 3: the file has no key 'linsk': did you mean links"),
        (TWO + "machine: ring", "f.yml, line 2: a file with `machine` has no key 'devices'"),
        (TWO + "parameters: {}\nlinks: []", "line 3: a file without `machine` has no key 'parameters'"),
        (HEAD + "machine: rnig", "f.yml, line 2: no machine is called 'rnig': choose from"),
        (HEAD + "machine: ring:ranks=0", r"f.yml, line 2: ring: ranks=0 is outside 1\.\."),
        (HEAD + "machine: ring:ranks=4\nparameters: {ranks: 5}", "line 3: ranks is given behind the machine's name"),
        (TWO + f"links:\n - {LINK}\n - {{from: GPU0, to: GPU7, bandwidth: 1, latency: 0}}", "5: 'GPU7' is no device"),
        (TWO + "links: [{from: GPU0, to: GPU, bandwidth: 1, latency: 0}]", "'GPU' is no device: did you mean GPU"),
        (TWO + "links: [{from: GPU0, to: X*, bandwidth: 1, latency: 0}]", r"'X\*' is no device"),
        (TWO + "links: [{from: GPU0, to: GPU0, bandwidth: 1, latency: 0}]", "from GPU0 to itself joins nothing"),
        (TWO + "links: [{from: GPU0, to: GPU1, latency: 0}]", "line 3: this link has no bandwidth: add bandwidth:"),
        (TWO + "links: [{from: GPU0, to: GPU1, bandwidth: 1, latency: nan}]", "line 3: latency 'nan' is not a finite"),
        (TWO + "links: [{from: GPU0, to: GPU1, bandwidth: 0, latency: 0}]", "line 3: bandwidth '0' is not above zero"),
        (TWO + "links: [{from: GPU0, to: GPU1, bandwidth: 1, latency: -1us}]", "line 3: latency '-1us' is negative"),
        (TWO + f"links: [{LINK[:-1]}, duplex: both}}]", "line 3: duplex is 'both': choose from full, half, simplex"),
        (TWO + f"links: [{LINK[:-1]}, kind: QPI}}]", "line 3: kind is 'QPI': choose from NVL, PCI, SYS, NET"),
        (TWO + f"links: [{LINK[:-1]}, lanes: 0}}]", "line 3: lanes is '0': write a whole number from 1 to"),
        (TWO + f"links: [{LINK[:-1]}, bandwith: 1}}]", "a link has no key 'bandwith': did you mean bandwidth"),
        (HEAD + "devices: [{name: a, kind: TPU}]\nlinks: []", "line 2: kind is 'TPU': choose from GPU, NVS, PCI"),
        (HEAD + "devices: [{name: a}]\nlinks: []", "line 2: this device has no kind: add kind:"),
        (HEAD + "devices:\n - {name: a, kind: GPU}\n - {name: a, kind: CPU}\nlinks: []", "4: two devices are called a"),
        (HEAD + "devices: [{name: a, count: 999999999, kind: GPU}]\nlinks: []", "line 2: count is '999999999'"),
        (HEAD + "devices: [{name: a, kind: CPU}]\nlinks: []", "line 2: no device is a GPU and no ranks are given"),
        (TWO + "links: []\nranks: [GPU0, GPU*]", "line 4: a device plays two ranks: name each once"),
        (TWO + "links: []\nforwarding: maybe", "line 4: forwarding is 'maybe': choose from yes, no"),
        (TWO + "links: []\nrouting: fastest", "line 4: routing is 'fastest': choose from shortest, listed"),
        (TWO + "links: []\nroutes: [{route: [GPU0, GPU1]}]", "line 4: GPU0 and GPU1 have 0 links that way, not 1"),
        (TWO + f"links: [{LINK}]\nroutes: [{{route: [GPU0, GPU1], nth: [0, 1]}}]", "nth has 2 numbers for 1 hops"),
        (TWO + f"links: [{LINK}]\nroutes: [{{route: [GPU0]}}]", "a route names two devices at least"),
        (TWO + "links: []\nhosts: {count: 2, latency: 0}", "line 4: hosts have no bandwidth"),
        (TWO + "links: []\nhosts: {count: 2, bandwidth: 1, latency: 0}", "line 4: .* has no NIC to join 2 hosts by"),
        (TWO + "links: []\nranks: [GPU0]\nhosts: {count: 2, bandwidth: 1, latency: 0}", "4: ranks cannot be chosen"),
        (TWO + "links: []\npairs: {GPU9: {GPU0: NV1}}", "line 4: 'GPU9' is no device"),
        (TWO + "links: []\nassumed: yes", "line 4: assumed is one value: write a list"),
        (HEAD + "devices: [{name: a, count: 1025, kind: GPU}]\nlinks: [{from: a*, to: a*, bandwidth: 1, latency: 0}]",
         "line 3: 2,101,250 links are more than 262,144: .*--max-devices 262657"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_the_mend(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


@pytest.mark.slow
def test_the_page_of_keys_shows_files_that_work():
    page = (Path(__file__).parents[2] / "docs" / "topology-yaml.md").read_text()
    examples = [part.partition("```")[0] for part in page.split("```yaml\n")[1:]]
    assert len(examples) >= 3
    for example in examples:
        machine = read(example)
        assert machine.n >= 2
        assert same(read(write_topology(machine, "ringside_yaml")), machine)


def test_a_link_of_any_rate_keeps_it():
    odd = Topology("odd", (Device("a", "GPU"), Device("b", "GPU")), (Link("a", "b", 1e9 / 3, 1e-6 / 7),))
    assert read(write_topology(odd, "ringside_yaml")).links == odd.links

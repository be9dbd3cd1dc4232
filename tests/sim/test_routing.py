"""Routes against brute force over all simple paths, and closed forms against the general router."""

import itertools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import InputError
from sim.machines import build
from sim.topology import Device, Link, Routes, Topology, both_ways
from sim.topology.routing import LENGTH, chain, merge, pack, shortest_routes
from tests.tables import each_row

KINDS = ("GPU", "GPU", "GPU", "NVS", "PCI", "CPU", "NIC", "NET")


@st.composite
def small_machines(draw):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=6))
    devices = tuple(Device(f"D{i}", kind) for i, kind in enumerate(kinds))
    ends = st.integers(0, len(devices) - 1)
    drawn = draw(
        st.lists(
            st.tuples(ends, ends, st.sampled_from((1.0, 2.0, 3.0)), st.sampled_from(sorted(LENGTH)), st.booleans()),
            max_size=12,
        )
    )
    links = tuple(Link(f"D{a}", f"D{b}", width, 0.0, kind, both) for a, b, width, kind, both in drawn if a != b)
    return Topology("drawn", devices, links, ranks=(0,), forwarding=draw(st.booleans()), relays=draw(st.integers(0, 2)))


def simple_paths(topology, src, dst):
    """Every way from src to dst that meets no device twice, as lists of (link, next device)."""
    src_of, dst_of = topology.ends
    arcs = [(int(a), int(b), i) for i, (a, b) in enumerate(zip(src_of, dst_of, strict=True))]
    arcs += [(b, a, i) for a, b, i in arcs if topology.links[i].both]

    def relayed(links):
        """Whether all of it is NVLinks from GPU to GPU so far, and few enough of them to go on."""
        ends = {end for i in links for end in (int(src_of[i]), int(dst_of[i]))} | {dst}
        wires = all(topology.links[i].kind == "NVL" for i in links)
        return wires and len(links) <= topology.relays and all(topology.devices[end].kind == "GPU" for end in ends)

    def goes_on(links, following):
        """What a GPU passed on stays on NVLinks between GPUs."""
        gpu = [topology.devices[int(end)].kind == "GPU" for end in (src_of[following], dst_of[following])]
        passed = any(
            topology.devices[int(e)].kind == "GPU" and int(e) != src for i in links for e in (src_of[i], dst_of[i])
        )
        return topology.forwarding or not passed or (topology.links[following].kind == "NVL" and all(gpu))

    def extend(at, seen, links):
        if at == dst:
            yield links
            return
        if at != src and topology.devices[at].kind == "GPU" and not topology.forwarding and not relayed(links):
            return
        for a, b, i in arcs:
            if a == at and b not in seen and (at == src or goes_on(links, i)):
                yield from extend(b, seen | {b}, [*links, i])

    return list(extend(src, {src}, []))


def length(topology, links):
    return sum(LENGTH[topology.links[i].kind] for i in links)


def width(topology, links):
    return min((topology.links[i].bandwidth for i in links), default=np.inf)


def one(topology, router, src, dst):
    offsets, links = router(np.array([src], np.int32), np.array([dst], np.int32))
    assert offsets.tolist() == [0, len(links)]
    return links.tolist()


@given(small_machines())
def test_a_route_is_a_shortest_path_and_the_widest_of_those(topology):
    router = shortest_routes(topology)
    for src in range(len(topology.devices)):
        for dst in range(len(topology.devices)):
            ways = simple_paths(topology, src, dst)
            if not ways:
                with pytest.raises(InputError, match=f"from D{src} to D{dst}"):
                    one(topology, router, src, dst)
                continue
            found = one(topology, router, src, dst)
            assert found in ways
            shortest = min(length(topology, way) for way in ways)
            assert length(topology, found) == shortest
            assert width(topology, found) == max(
                width(topology, way) for way in ways if length(topology, way) == shortest
            )


def test_a_relay_goes_on_over_a_half_duplex_wire_whichever_way_it_is_written():
    devices = tuple(Device(f"D{i}", "GPU") for i in range(3))
    links = (Link("D1", "D0", 1.0, 0.0, "NVL"), Link("D2", "D0", 1.0, 0.0, "NVL", both=True))
    machine = Topology("drawn", devices, links, ranks=(0,), relays=1)
    assert one(machine, shortest_routes(machine), 1, 2) == [0, 1]


@given(small_machines(), st.randoms(use_true_random=False))
def test_a_route_is_the_same_whatever_else_is_asked_for(topology, random):
    n = len(topology.devices)
    pairs = [(a, b) for a in range(n) for b in range(n) if simple_paths(topology, a, b)]
    random.shuffle(pairs)
    together = shortest_routes(topology)(*np.array(pairs, np.int32).T)
    for i, (a, b) in enumerate(pairs):
        alone = one(topology, shortest_routes(topology), a, b)
        assert together.links[together.offsets[i] : together.offsets[i + 1]].tolist() == alone


def two_tiers(leaves, below, spines):
    """A folded Clos of equal links: GPUs on leaf switches, leaf switches on every spine."""
    devices = [Device(f"GPU{i}", "GPU") for i in range(leaves * below)]
    devices += [Device(f"LEAF{i}", "NET") for i in range(leaves)] + [Device(f"SPINE{i}", "NET") for i in range(spines)]
    links = [x for i in range(leaves * below) for x in both_ways(f"GPU{i}", f"LEAF{i // below}", 1.0, 0.0, "NET")]
    for leaf in range(leaves):
        for spine in range(spines):
            links += both_ways(f"LEAF{leaf}", f"SPINE{spine}", 1.0, 0.0, "NET")
    return Topology("clos", tuple(devices), tuple(links))


def test_equal_paths_are_shared_out_by_destination():
    clos = two_tiers(leaves=4, below=4, spines=4)
    for src in range(4):
        assert {clos.path(f"GPU{src}", f"GPU{dst}")[1].dst for dst in range(4, 8)} == {f"SPINE{i}" for i in range(4)}
    for dst in range(4, 16):
        assert {clos.path(f"GPU{src}", f"GPU{dst}")[1].dst for src in range(4)} == {f"SPINE{dst % 4}"}


def test_a_second_branch_uses_the_quotient_so_that_every_core_is_reached():
    devices = [Device(f"GPU{i}", "GPU") for i in range(5)]
    devices += [Device(name, "NET") for name in ("A", "B0", "B1", "C00", "C01", "C10", "C11", "D")]
    links = [Link(a, b, 1.0, 0.0, "NET") for a, b in [("GPU0", "A"), ("A", "B0"), ("A", "B1")]]
    for b in "01":
        for c in "01":
            links += [Link(f"B{b}", f"C{b}{c}", 1.0, 0.0, "NET"), Link(f"C{b}{c}", "D", 1.0, 0.0, "NET")]
    links += [Link("D", f"GPU{i}", 1.0, 0.0, "NET") for i in range(1, 5)]
    topology = Topology("tree", tuple(devices), tuple(links))
    cores = [topology.path("GPU0", f"GPU{i}")[2].dst for i in range(1, 5)]
    assert sorted(cores) == ["C00", "C01", "C10", "C11"]


def test_nvlink_beats_pcie_beats_sockets_beats_the_network():
    kinds = ("NVL", "PCI", "SYS", "NET")
    devices = [Device("GPU0", "GPU"), Device("GPU1", "GPU")]
    links = []
    for kind in kinds:
        devices += [Device(f"{kind}{i}", "NET") for i in range(3)]
        chained = ["GPU0", f"{kind}0", f"{kind}1", f"{kind}2", "GPU1"]
        links += [Link(a, b, 1.0, 0.0, kind) for a, b in pairwise(chained)]
    for gone in range(4):
        topology = Topology("ways", tuple(devices), tuple(x for x in links if x.kind in kinds[gone:]))
        assert {link.kind for link in topology.path("GPU0", "GPU1")} == {kinds[gone]}


def test_gpus_pass_nothing_on_unless_the_machine_says_so():
    devices = tuple(Device(f"GPU{i}", "GPU") for i in range(3))
    links = (*both_ways("GPU0", "GPU1", 1.0, 0.0, "NVL"), *both_ways("GPU1", "GPU2", 1.0, 0.0, "NVL"))
    line = Topology("line", devices, links)
    with pytest.raises(InputError, match=r"line: nothing leads from GPU0 to GPU2 .*: add a link or a switch"):
        line.path("GPU0", "GPU2")
    assert [link.dst for link in replace(line, forwarding=True).path("GPU0", "GPU2")] == ["GPU1", "GPU2"]


def test_a_half_duplex_link_is_one_link_both_ways():
    bus = Topology(
        "bus", (Device("GPU0", "GPU"), Device("GPU1", "GPU")), (Link("GPU0", "GPU1", 1.0, 0.0, "PCI", both=True),)
    )
    assert bus.routes([0, 1], [1, 0]).links.tolist() == [0, 0]


CLOSED = (
    "switch:ranks=1",
    "switch:ranks=2",
    "switch:ranks=7",
    "ring:ranks=1",
    "ring:ranks=2",
    "ring:ranks=5",
    "ring:ranks=3,directions=1",
    "ring:ranks=7,directions=1",
    "mesh:ranks=1",
    "mesh:ranks=2",
    "mesh:ranks=6",
    "nodes:nodes=1,gpus=3",
    "nodes:nodes=3,gpus=4",
    "nodes:nodes=3,gpus=1",
)


@each_row("spec", CLOSED)
def test_closed_forms_are_the_shortest_routes(spec):
    machine = build(spec)
    n = len(machine.devices)
    src, dst = np.divmod(np.arange(n * n, dtype=np.int32), n)
    mine, general = machine.routes(src, dst), shortest_routes(machine)(src, dst)
    assert mine.offsets.tolist() == general.offsets.tolist()
    assert mine.links.tolist() == general.links.tolist()


@pytest.mark.parametrize("spec", ["ring:ranks=8", "nodes:nodes=3,gpus=4,nics=2", "nodes:nodes=2,gpus=3,nics=3"])
def test_closed_forms_with_a_say_among_equals_are_as_short_as_the_shortest(spec):
    machine = build(spec)
    for a in range(len(machine.devices)):
        for b in range(len(machine.devices)):
            mine = one(machine, machine.routes, a, b)
            general = one(machine, shortest_routes(machine), a, b)
            assert length(machine, mine) == length(machine, general)
            at = a
            for i in mine:
                assert machine.index[machine.links[i].src] == at
                at = machine.index[machine.links[i].dst]
            assert at == b


def test_hosts_on_rails_route_within_themselves_as_one_host_alone():
    host, joined = build("dgx_h100"), build("dgx_h100:hosts=3")
    n, links = len(host.devices), len(host.links)
    src, dst = np.repeat(np.int32(host.ranks), n), np.tile(np.arange(n, dtype=np.int32), len(host.ranks))
    alone = host.routes(src, dst)
    for h in range(3):
        within = joined.routes(src + h * n, dst + h * n)
        assert within.offsets.tolist() == alone.offsets.tolist()
        assert within.links.tolist() == (alone.links + h * links).tolist()


def test_a_million_pairs_on_a_switch_are_routed_at_once():
    machine = build("switch:ranks=1024")
    src, dst = np.divmod(np.arange(1 << 20, dtype=np.int32), 1024)
    assert len(machine.routes(src, dst).links) == 2 * 1024 * 1023


def test_blocks_of_destinations_do_not_change_routes(monkeypatch):
    clos = two_tiers(leaves=3, below=2, spines=3)
    n = len(clos.devices)
    src, dst = np.divmod(np.arange(n * n, dtype=np.int32), n)
    whole = shortest_routes(clos)(src, dst)
    monkeypatch.setattr("sim.topology.routing._BLOCK", 2 * len(clos.links))
    parts = shortest_routes(clos)(src, dst)
    assert whole.links.tolist() == parts.links.tolist()
    assert whole.offsets.tolist() == parts.offsets.tolist()


def as_lists(routes):
    return [routes.links[a:b].tolist() for a, b in pairwise(routes.offsets)]


def as_routes(lists):
    return Routes(
        np.cumsum([0, *map(len, lists)]).astype(np.int32), np.array([x for part in lists for x in part], np.int32)
    )


one_route = st.lists(st.integers(0, 9), max_size=3)


@given(
    st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(one_route, min_size=n, max_size=n), min_size=1, max_size=3))
)
def test_chained_routes_are_their_pieces_in_order(parts):
    chained = chain(*map(as_routes, parts))
    assert as_lists(chained) == [list(itertools.chain(*pieces)) for pieces in zip(*parts, strict=True)]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=8))
def test_merged_routes_are_back_in_the_order_of_the_pairs(pairs):
    yes, no = ([route for side, route in pairs if side is wanted] for wanted in (True, False))
    merged = merge(np.array([side for side, _ in pairs]), as_routes(yes), as_routes(no))
    assert as_lists(merged) == [route for _, route in pairs]


def test_packed_rows_keep_what_is_not_negative():
    assert as_lists(pack(np.array([[1, -1, 2], [-1, -1, -1]], np.int32))) == [[1, 2], []]


def test_nothing_asked_is_nothing_routed():
    assert shortest_routes(two_tiers(2, 1, 1))(np.zeros(0, np.int32), np.zeros(0, np.int32)).offsets.tolist() == [0]


def chain_of_gpus(relays):
    """Four GPUs in a row on NVLinks, each on PCIe too, two on either socket."""
    devices = [Device(f"GPU{i}", "GPU") for i in range(4)] + [Device(f"CPU{i}", "CPU") for i in range(2)]
    links = [link for i in range(3) for link in both_ways(f"GPU{i}", f"GPU{i + 1}", 36e9, 0.0, "NVL")]
    links += [link for i in range(4) for link in both_ways(f"GPU{i}", f"CPU{i // 2}", 24e9, 0.0, "PCI")]
    links += both_ways("CPU0", "CPU1", 16e9, 0.0, "SYS")
    return Topology("row", tuple(devices), tuple(links), relays=relays)


@pytest.mark.parametrize(
    ("relays", "two", "three"),
    [
        (0, ["CPU0", "CPU1", "GPU2"], ["CPU0", "CPU1", "GPU3"]),
        (1, ["GPU1", "GPU2"], ["CPU0", "CPU1", "GPU3"]),
        (2, ["GPU1", "GPU2"], ["GPU1", "GPU2", "GPU3"]),
    ],
)
def test_gpus_pass_on_over_nvlinks_as_often_as_they_may_and_never_to_pcie(relays, two, three):
    row = chain_of_gpus(relays)
    assert [link.dst for link in row.path("GPU0", "GPU2")] == two
    assert [link.dst for link in row.path("GPU0", "GPU3")] == three
    assert [link.dst for link in row.path("GPU0", "CPU1")] == ["CPU0", "CPU1"]
    assert [link.dst for link in row.path("CPU0", "GPU3")] == ["CPU1", "GPU3"]

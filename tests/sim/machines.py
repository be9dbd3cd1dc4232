"""Small machines of every kind, for tests that must hold for all."""

from dataclasses import replace

from hypothesis import strategies as st

from sim.base.files.textfile import _UNNAMEABLE
from sim.topology import Device, Link, Topology
from sim.topology.routing.tables import tabled

KINDS = ("GPU", "NVS", "PCI", "CPU", "NIC", "NET")
NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: not _UNNAMEABLE.search(name)
)
RATES = st.floats(1.0, 1e18)
TIMES = st.floats(0.0, 1e6)


@st.composite
def topologies(draw):
    """Devices of any kind and name, links of any rate, ranks in any order, some routes of their own."""
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    small = st.integers(-1, 3)
    devices = tuple(Device(name, draw(st.sampled_from(KINDS)), draw(small), draw(small)) for name in names)
    ends = st.integers(0, len(devices) - 1)
    kinds = st.sampled_from(("NVL", "PCI", "SYS", "NET"))
    drawn = draw(st.lists(st.tuples(ends, ends, RATES, TIMES, kinds, st.booleans(), st.integers(1, 18)), max_size=8))
    links: list[Link] = []
    for a, b, rate, wait, kind, both, lanes in drawn:
        if a != b:
            links.append(Link(names[a], names[b], rate, wait, kind, both, lanes))
            if draw(st.booleans()):
                links.append(Link(names[b], names[a], rate, wait, kind, both, lanes))
    ranks = tuple(draw(st.permutations(range(len(devices)))))[: draw(st.integers(1, len(devices)))]
    topology = Topology(
        draw(NAMES), devices, tuple(links), ranks, draw(TIMES), draw(TIMES), draw(st.booleans()),
        assumed=tuple(draw(st.lists(NAMES, max_size=2))),
        pairs=draw(st.sampled_from(({}, {names[0]: {names[-1]: "NV4"}}))),
    )  # fmt: skip
    table = draw(st.dictionaries(st.tuples(ends, ends), st.just(0), max_size=4))
    own = {(a, b): way for a, b in table if a != b and (way := draw(walks(topology, a, b))) is not None}
    alone = draw(st.booleans())
    return replace(topology, router=tabled(topology, own, alone=alone)) if own or alone else topology


@st.composite
def walks(draw, topology, a, b):
    """Some way of at most four links from a to b; None where luck finds none."""
    src, dst = topology.ends
    here, way = a, []
    for _ in range(4):
        onward = [(i, int(dst[i])) for i in range(len(src)) if src[i] == here]
        onward += [(i, int(src[i])) for i, link in enumerate(topology.links) if link.both and dst[i] == here]
        if not onward:
            return None
        link, here = draw(st.sampled_from(onward))
        way.append(link)
        if here == b:
            return tuple(way)
    return None


def same_routes(one: Topology, other: Topology) -> bool:
    """Whether every pair of devices has the same route, or none, in both."""
    from sim.topology.routing.tables import row

    return not any(row(one, src).differs(row(other, src)).any() for src in range(len(one.devices)))

"""Routes written down one by one."""

from itertools import pairwise

import numpy as np
import pytest

from sim.errors import UnreachableError
from sim.machines import build
from sim.topology import Device, Link, Topology
from sim.topology.routing.tables import links_between, row, tabled

LINE = Topology(
    "line",
    tuple(Device(name, "GPU") for name in "abc"),
    (Link("a", "b", 1.0, 0.0), Link("b", "c", 1.0, 0.0), Link("a", "c", 1.0, 0.0), Link("c", "a", 1.0, 0.0)),
)


def ask(router, src, dst):
    offsets, links = router(np.array(src, np.int32), np.array(dst, np.int32))
    return [links[a:b].tolist() for a, b in pairwise(offsets)]


def test_listed_routes_come_first_and_others_go_the_general_way():
    router = tabled(LINE, {(0, 2): (0, 1)}, alone=False)
    assert ask(router, [0, 2, 0, 1], [2, 0, 1, 1]) == [[0, 1], [3], [0], []]
    assert ask(router, [0], [2]) == [[0, 1]]
    assert ask(router, [], []) == []


def test_alone_the_table_is_all_there_is():
    router = tabled(LINE, {(0, 2): (0, 1)}, alone=True)
    assert ask(router, [0, 1, 0], [2, 1, 2]) == [[0, 1], [], [0, 1]]
    with pytest.raises(UnreachableError, match="line: no route leads from c to a: add one"):
        ask(router, [0, 2], [2, 0])
    assert ask(tabled(LINE, {}, alone=True), [1], [1]) == [[]]


def test_a_row_has_every_route_and_knows_what_is_out_of_reach():
    found = row(LINE, 1)
    assert found.reached.tolist() == [False, True, True]
    assert [found.to(d) for d in range(3)] == [[], [], [1]]
    switch = build("switch:ranks=3")
    assert [row(switch, 0).to(d) for d in range(4)] == [[], [0, 3], [0, 5], [0]]


def test_rows_differ_where_routes_do():
    other = Topology("other", LINE.devices, LINE.links, router=tabled(LINE, {(0, 2): (0, 1)}, alone=False))
    assert row(LINE, 0).differs(row(other, 0)).tolist() == [False, False, True]
    assert not row(LINE, 2).differs(row(other, 2)).any()


def test_links_between_two_devices_are_in_order_and_half_duplex_ones_count_twice():
    shared = Topology("s", LINE.devices, (Link("a", "b", 1.0, 0.0, both=True), Link("a", "b", 2.0, 0.0)))
    assert links_between(shared) == {("a", "b"): [0, 1], ("b", "a"): [0]}

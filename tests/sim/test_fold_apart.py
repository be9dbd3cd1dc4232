"""Schedules that fold on machines that do not: every rank simulated, none written down, as if all were."""

import json
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.plan import Plan
from ops.run import Work, execute
from ops.run.strategies import orbits
from ops.run.work import settled
from sim.errors import StalledError
from sim.fabric import alike, kernel
from sim.fabric.calendar import NODES, calendar
from sim.fabric.links import NONE
from sim.fabric.rows import LACKING, calendar_is_short, leave_place, waiting_row
from sim.faults.kinds import faults
from sim.machines import build
from sim.symmetry.edges import edges, without_detours
from sim.symmetry.orbit_run import WrittenOutError, simulate_apart
from sim.symmetry.proof import prove
from terminal.shared.facts import facts
from tests.sim.test_fabric import plain
from tests.sim.written_out import is_written_out
from tests.tables import each_row

FOLDING = sorted(name for name, entry in ALGORITHMS.items() if entry.symmetry)
SIZE = 1 << 24


def apart_and_whole(name, machine, n, fault=()):
    """A run of ranks told apart and the same run written out; nothing where an algorithm does not fold."""
    entry, topology = ALGORITHMS[name], build(machine)
    values = settled(entry, n, 0, topology, {})
    part = entry.folded(n, **values)
    if part is None:
        return None
    size = SIZE if entry.collective.sized else 0
    trace = simulate_apart(topology, part, prove(part), size, perturbations=faults(fault, topology))
    written = Work(entry.schedule(n, **values), entry.collective, entry, values)
    return trace, execute(topology, written, size, fault=fault)


def test_the_calendar_grows_before_a_wave_that_it_might_not_hold(monkeypatch):
    grown = []
    roomier = alike._roomier
    monkeypatch.setattr(alike, "ENTRIES", 1)
    monkeypatch.setattr(alike, "_roomier", lambda old, room: grown.append(room) or roomier(old, room))
    run = "alltoall.linear", "nodes:nodes=4,gpus=4", 16, ["slow_link:src=H0.GPU0,dst=H0.SW,share=0.3"]
    trace, whole = apart_and_whole(*run)
    assert len(grown) > 1
    assert trace.time == pytest.approx(whole.time, rel=1e-12)


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_calendar_has_room_for_two_entries_of_every_row_and_link(lacking):
    entries = 5
    there = calendar()._replace(nodes=range(entries + 2 * (7 + 9) - lacking))
    there.size[NODES] = entries
    fabric = SimpleNamespace(op=range(7), net=SimpleNamespace(capacity=range(9)), calendar=there)
    assert calendar_is_short(fabric) == bool(lacking)


@pytest.mark.parametrize("fault", ["jitter", "background:src=GPU0,dst=GPU1"])
def test_what_bears_on_single_transfers_is_written_out(fault):
    with pytest.raises(WrittenOutError):
        apart_and_whole("allreduce.ring", "switch:ranks=4", 4, [fault])


def test_so_is_what_changes_routes():
    with pytest.raises(WrittenOutError):
        apart_and_whole("allreduce.ring", "ring:ranks=4", 4, ["dead_link:src=GPU0,dst=GPU1,start=1us,reroute=yes"])


def test_a_run_that_stands_names_who_waits_and_the_dead_link():
    with pytest.raises(StalledError, match=r"allreduce.ring can never finish: rank 0 -> rank 1 .*; dead links: GPU0"):
        apart_and_whole("allreduce.ring", "switch:ranks=4", 4, ["dead_link:src=GPU0,dst=SW,both=no"])


@pytest.mark.parametrize(
    ("machine", "fault", "copies"),
    [
        ("switch:ranks=8", ["slow_link:src=GPU0,dst=SW,start=9us"], 1),
        ("torus:dims=3x3", [], 3),
        ("switch:ranks=8", ["straggler:rank=3,late=9.3us"], 1),
        ("torus:dims=3x3", ["straggler:rank=3,late=9.3us,slower=2", "straggler:rank=4,late=1ms"], 1),
        ("switch:ranks=8", ["jitter"], 0),
    ],
)
def test_a_large_run_is_not_written_out_and_tells_the_same(monkeypatch, machine, fault, copies):
    plan = Plan("allreduce.ring", machine, size="16MiB", fault=";".join(fault))
    whole = plan.run(written=0)
    assert whole.strategy == "written"
    monkeypatch.setattr(orbits, "FEW", 0)
    outcome = plan.run(written=0)
    assert outcome.strategy == ("orbits" if copies else "written")
    assert outcome.timing.simulated * (copies or 1) == whole.timing.messages
    assert rounded(facts(outcome)) == rounded(facts(whole) | {"classes": outcome.timing.simulated})


def rounded(data):
    """Plain data with nine digits of every number."""
    return json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.9g}"))


def implied(part, every):
    """Of every wait whether the newest waits of newest waits lead to it, one step after the other."""
    newest = dict(
        zip(every.later.tolist(), zip(every.earlier.tolist(), every.renaming.tolist(), strict=True), strict=True)
    )
    found = []
    for earlier, later, renaming in zip(*(column.tolist() for column in every), strict=True):
        at, by = newest[later]
        steps = 0
        while at in newest and at > earlier:
            before, more = newest[at]
            at, by, steps = before, int(part.symmetry.ranks.turned(by, more)), steps + 1
        found.append(steps > 0 and (at, by) == (earlier, renaming))
    return np.array(found, np.bool_)


@each_row("name", FOLDING)
def test_waits_that_others_imply_are_found_as_by_following_them(name):
    entry = ALGORITHMS[name]
    for n in (8, 16):
        part = entry.folded(n, **settled(entry, n, 0, build(f"nodes:nodes={n // 4},gpus=4"), {}))
        if part is not None and (every := edges(part)) is not None:
            left = without_detours(part, every)
            assert [column.tolist() for column in left] == [column[~implied(part, every)].tolist() for column in every]


def test_a_ring_s_waits_are_those_for_the_message_before():
    part = ALGORITHMS["allreduce.ring"].folded(64)
    every = edges(part)
    waits = without_detours(part, every)
    assert len(every.later) > 1.4 * part.classes
    assert np.bincount(waits.later, minlength=part.classes).tolist() == [0] + [1] * (part.classes - 1)


@pytest.mark.parametrize(
    "name, machine, more",
    [
        ("allreduce.ring", "switch:ranks=1024", {"src": "GPU0", "dst": "SW"}),
        ("allreduce.hierarchical_2d", "nodes:nodes=256,gpus=8", {"src": "H0.NIC0", "dst": "SPINE"}),
    ],
)
def test_rows_that_a_run_of_all_ranks_needs_are_about_what_was_told(monkeypatch, name, machine, more):
    told, rows, widen = [], [], alike.AlikeArena._widen
    monkeypatch.setattr(alike.AlikeArena, "_widen", lambda arena, count: (rows.append(count), widen(arena, count)))
    monkeypatch.setattr("ops.run.work.watch.expect", lambda name, needs: told.append(needs))
    topology = build(machine)
    fault = "slow_link:share=0.5," + ",".join(f"{key}={value}" for key, value in more.items())
    outcome = Plan(name, machine, size="16MiB", fault=fault).run(written=0)
    assert outcome.real["estimated_bytes"] == round(told[-1].bytes)
    routes = 2 * len(topology.ranks) * (orbits.ROUTE + 4 * topology.hops(len(topology.ranks)))
    least = orbits.LEAST + orbits.LINK * len(topology.links)
    assert rows[-1] * orbits.ROW / 2 < told[-1].bytes < 2 * rows[-1] * orbits.ROW + routes + least


@each_row("order", [*permutations(range(4))])
def test_rows_that_wait_at_one_place_leave_it_in_any_order(order):
    """Each is found beside those of another class or rank that came before it, until it has left."""
    held = SimpleNamespace(
        place=np.full(1, NONE), beside=np.full(4, NONE), class_of=np.array([2, 0, 3, 0]), rank_of=np.array([0, 5, 1, 3])
    )
    there = []
    for row in (0, 2, 1, 3):  # as rows are taken that others have left
        held.beside[row], held.place[0] = held.place[0], row
        there.append(row)
    for row in order:
        leave_place(held, held.class_of[row], held.rank_of[row], row)
        there.remove(row)
        for other in there:
            assert waiting_row(SimpleNamespace(alike=held), held.class_of[other], held.rank_of[other]) == other


@pytest.mark.parametrize("late", [False, True])
def test_rows_grow_before_a_wave_or_in_the_middle_of_it(monkeypatch, late):
    lacking, make_room = [], alike.AlikeArena.make_room

    def counted(arena):
        lacking.append(int(arena.fabric.alike.count[LACKING]))
        make_room(arena)

    monkeypatch.setattr(alike, "FIRST", 0)
    monkeypatch.setattr(alike.AlikeArena, "make_room", counted)
    if late:  # as where chains of what takes no time want more rows than one wave can
        monkeypatch.setattr(kernel, "rows_are_short", lambda fabric: fabric.alike.count[LACKING] > 0)
    with plain():
        is_written_out(*apart_and_whole("allreduce.recursive_doubling", "nodes:nodes=2,gpus=4", 8))
        slow = ["slow_link:src=GPU0,dst=SW,share=0.5"]
        is_written_out(*apart_and_whole("alltoall.bruck", "switch:ranks=9", 9, slow))
    assert len(lacking) > 1
    assert (max(lacking) > 0) == late

"""Maps of winners, swings, losses and curves against runs made one by one and against closed forms."""

import itertools
import json
import random
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import pytest

import cli
from ops import ALGORITHMS
from ops.lab import sensitivity as answers
from ops.lab.grid import Grid
from ops.lab.sensitivity import failures, sensitivity
from ops.lab.sweep import sweep
from ops.lab.winners import changes, results, winner_map
from ops.plan import Plan
from ops.plan.notation import size_word
from ops.run import execute
from ops.run.work import registered
from sim.base import watch
from sim.errors import InputError, StalledError
from sim.machines import build
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

NODES = "nodes:nodes=4,gpus=8"
ALPHA, BETA = 2e-6, 1 / 25e9
SWITCH = build("switch:ranks=8,bandwidth=25GBps,latency=1us")


def prepared(algorithm, topology, size):
    return Plan(algorithm, size=size_word(size)).prepare(topology)


def rows_of(grid):
    return [row for several in results(grid.cells(), jobs=1) for row in several]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tried", "ranks"),
    [(10, ["3", "8", "12"]), pytest.param(30, ["2", "3", "8", "12", "16", "32"], marks=pytest.mark.long)],
)
def test_the_map_of_winners_agrees_with_brute_force(tried, ranks):
    """Places of a map of every allreduce on four nodes of eight, each tried out with every algorithm alone."""
    grid = Grid(
        algorithms=["allreduce"],
        machines=[NODES],
        sizes=["1KiB..1GiB*16"],
        ranks=ranks,
    )
    found, topology = winner_map(rows_of(grid)), build(NODES)
    places = [(n, size) for n in found.ranks for size in found.sizes]
    entries = [entry for entry in ALGORITHMS.values() if entry.collective.name == "allreduce"]
    works = cache(lambda entry, n: registered(ALGORITHMS[entry], n, topology=topology))
    for n, size in random.Random(4).sample(places, tried):
        times = {}
        for entry in entries:
            try:
                times[entry.name] = execute(topology, works(entry.name, n), size).time
            except (InputError, StalledError):
                continue
        assert found.winner(n, size) == min(sorted(times), key=times.__getitem__)
        fastest, second = sorted(times.values())[:2]
        assert found.margin(n, size) == pytest.approx(second / fastest)


def test_the_winner_changes_where_the_closed_forms_meet():
    """3 α + 3 β m, then 6 α + 7/4 β m: Rabenseifner takes over at 12/5 α / β; the ring, 14 α + 7/4 β m, never."""
    names = ("allreduce.recursive_doubling", "allreduce.rabenseifner", "allreduce.ring")
    runs = {name: Plan(name).prepare(SWITCH) for name in names}
    (change,) = changes(runs, [1 << 10, 1 << 30])
    assert (change.before, change.after) == names[:2]
    assert change.size == pytest.approx(3 * ALPHA / (1.25 * BETA), rel=0.01)


def test_a_winner_between_two_others_is_found():
    """6 α + 7/4 β m beats the other two only in between; sizes on both sides are all that is given."""
    fast = build("switch:ranks=16,bandwidth=25GBps,latency=1us")
    names = ("alltoall.bruck", "alltoall.linear", "alltoall.pairwise")
    runs = {name: Plan(name).prepare(fast) for name in names}
    found = changes(runs, [1 << 8, 1 << 28])
    for before, after in pairwise(found):
        assert before.after == after.before
    for change in found:
        times = {name: execute(fast, run.work, change.size).time for name, run in runs.items()}
        assert min(sorted(times), key=times.__getitem__) == change.after


def test_a_tornado_is_what_halving_and_doubling_by_hand_give():
    """A ring on a switch: 14 α + 7/4 β m, every link alike."""
    size = 1 << 26
    plain, swings = sensitivity(prepared("allreduce.ring", SWITCH, size))
    flow, wait = 1.75 * BETA * size, 14 * ALPHA
    assert plain.trace.time == pytest.approx(flow + wait)
    bandwidth, latency = swings
    assert (bandwidth.what, bandwidth.links, latency.what) == ("bandwidth", 16, "latency")
    assert (bandwidth.slower, bandwidth.faster) == pytest.approx((2 * flow + wait, flow / 2 + wait))
    assert (latency.slower, latency.faster) == pytest.approx((flow + 2 * wait, flow + wait / 2))


def test_the_link_that_matters_most_is_the_one_between_the_sockets():
    machine = build("dgx1v")
    _, swings = sensitivity(prepared("allreduce.ring", machine, 1 << 26), by="link", factor=4)
    assert (swings[0].name, swings[0].what) == ("CPU0 - CPU1", "bandwidth")
    assert all(a.range >= b.range for a, b in pairwise(swings))


@pytest.mark.slow
def test_losing_a_cable_of_a_ring_sends_its_blocks_the_long_way():
    """Every block crosses the gap once, over three links the other way round, which nothing else uses."""
    ring = build("ring:ranks=4,bandwidth=25GBps,latency=1us")
    size = 4 << 20
    plain, losses = failures(prepared("allgather.ring", ring, size))
    assert plain.trace.time == pytest.approx(3 * (1e-6 + size / 4 / 25e9))
    assert sum(len(loss.cables) for loss in losses) == 4
    for loss in losses:
        assert loss.time == pytest.approx(3 * (1e-6 + size / 4 / 25e9) + 2e-6)


@pytest.mark.slow
def test_a_cable_without_another_way_ends_the_run():
    plain, losses = failures(prepared("allreduce.ring", SWITCH, 1 << 20))
    assert plain.trace.verdict.ok
    assert [loss.time for loss in losses for _ in loss.cables] == [None] * 8
    assert all("nothing leads from" in loss.reason for loss in losses)


def test_winners_read_the_table_of_a_sweep(tmp_path, capsys):
    names = ["allreduce.ring", "allreduce.recursive_doubling"]
    grid = Grid(algorithms=names, machines=["switch"], sizes=["1KiB", "1GiB"], vary={"ranks": ["4", "8"]})
    sweep(grid, tmp_path / "t.parquet", jobs=1)
    assert cli.main(["winners", "--table", str(tmp_path / "t.parquet"), "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["winners"] == [[names[1], names[0]]] * 2
    assert found["ranks"] == [4, 8]


def test_the_terminal_maps_draws_and_tells(tmp_path, capsys):
    file = tmp_path / "w.svg"
    asked = ["winners", "allreduce.ring", "allreduce.recursive_doubling", "--machine", "switch:ranks=8"]
    assert cli.main([*asked, "--sizes", "1KiB,1MiB,1GiB", "-o", str(file)]) == DONE
    out = capsys.readouterr().out
    assert "8 ranks: allreduce.recursive_doubling, from 440.9 KB on allreduce.ring" in out
    assert file.read_text().count("</svg>") == 1
    assert cli.main([*asked, "--sizes", "1KiB,1GiB", "--ranks", "8", "--json"]) == DONE
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["size_bytes"] == pytest.approx(11 * ALPHA / (1.25 * BETA), rel=0.01)


def test_bandwidth_is_printed_as_nccl_tests_does(tmp_path, capsys):
    file = tmp_path / "b.png"
    asked = ["bandwidth", "allreduce.ring", "--machine", "switch:ranks=8", "--sizes", "64MiB,128MiB"]
    assert cli.main([*asked, "-o", str(file)]) == DONE
    reaches, half, title, head, first, _, mean = capsys.readouterr().out.splitlines()
    assert reaches.startswith("# Ring reaches ")
    assert half == "# It reaches half of that from 64 MiB on."
    assert title == "# allreduce.ring on switch:ranks=8, 8 ranks"
    assert head.split("  ")[1:2] == ["size (B)"]
    time = 14 * ALPHA + 1.75 * BETA * (1 << 26)
    size, us, algbw, busbw = first.split()
    assert (size, us) == (str(1 << 26), f"{time * 1e6:.2f}")
    assert (algbw, busbw) == (f"{(1 << 26) / time / 1e9:.2f}", f"{1.75 * (1 << 26) / time / 1e9:.2f}")
    assert mean.startswith("# Avg bus bandwidth")
    assert file.read_bytes()[:4] == b"\x89PNG"


def test_scaling_is_the_claimed_cost_at_every_number_of_ranks(tmp_path, capsys):
    file = tmp_path / "s.pdf"
    asked = ["scaling", "allreduce.ring", "--machine", "switch", "--vary", "ranks=4,8,16", "--sizes", "1MiB"]
    assert cli.main([*asked, "-o", str(file), "--json"]) == DONE
    for row in json.loads(capsys.readouterr().out)["rows"]:
        alphas, betas, _ = ALGORITHMS["allreduce.ring"].cost(row["ranks"])
        assert row["time_s"] == pytest.approx(alphas * ALPHA + betas * BETA * (1 << 20))
    assert file.read_bytes()[:4] == b"%PDF"


@pytest.mark.parametrize(("ask", "runs"), [(failures, 8), (sensitivity, 4)])
def test_what_all_of_many_runs_take_is_told_after_the_first_and_refused_where_it_is_too_much(monkeypatch, ask, runs):
    ticks = itertools.count(step=10.0)
    monkeypatch.setattr(answers, "clock", SimpleNamespace(perf_counter=lambda: next(ticks)))
    late = "straggler:rank=0,late=1us"  # so that no two cables are alike
    run, told = Plan("allgather.ring", size="1MiB", fault=late).prepare(build("ring:ranks=8")), []
    with watch.watched(watch.Watch(announce=told.append)):
        ask(run)
    assert told[-1].transfers == runs * 56
    assert told[-1].seconds == (80 if ask is failures else 20)
    with (
        watch.watched(watch.Watch(seconds=19)),
        pytest.raises(InputError, match=f"allgather.ring, {runs} times, would"),
    ):
        ask(run)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sensitivity", "failures"])
def test_links_are_told_and_drawn(command, tmp_path, capsys):
    file = tmp_path / "x.png"
    asked = [command, "allreduce.ring", "--machine", "dgx1v", "--size", "1MiB", "-o", str(file)]
    assert cli.main(asked) == DONE
    assert "\nallreduce.ring on dgx1v: 8 ranks, 1 MiB, " in capsys.readouterr().out
    assert file.read_bytes()[:4] == b"\x89PNG"
    assert cli.main([*asked, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["time_s"] > 0


@each_row(
    "words, says",
    [
        ("winners allreduce --machine switch -o x.gif", "x.gif is no kind of figure"),
        ("winners allreduce", "needs machines"),
        ("winners allreduce --table none.parquet", "has its own algorithms"),
        ("winners --table none.parquet", "does not exist"),
        ("winners allreduce.ring --machine switch:ranks=4 --machine ring:ranks=4 --sizes 1MiB", "are there twice"),
        ("scaling allreduce.ring --machine switch --sizes 1MiB,2MiB --ranks 2", "for one size, not 2"),
        ("scaling allreduce.ring --machine switch", "no size is given"),
        ("sensitivity allreduce.ring --machine switch:ranks=4 --size 1MiB --factor 1", "a factor of 1 is not"),
        ("sensitivity allreduce.ring --machine switch:ranks=4", "no size is given"),
        ("failures --machine switch:ranks=4 --size 1MiB", "nothing to run is given"),
        ("bandwidth allreduce.ring --machine switch --jobs -3", "--jobs -3 is below zero"),
    ],
)
def test_what_cannot_be_answered_is_told_in_one_line(words, says, capsys):
    assert cli.main(words.split()) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err

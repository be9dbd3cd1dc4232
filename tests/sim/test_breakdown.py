"""What a run's time is made of: exact sums on any run, and each part where its size follows from the model."""

import json
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops import ALGORITHMS
from ops.plan import Plan
from sim.engine import Cluster, simulate
from sim.errors import InputError, StalledError
from sim.machines import build
from sim.schedule import copy, unroll
from sim.trace.breakdown import PARTS, breakdown, shared_link
from sim.trace.metrics import link_use
from sim.units import TimeScale
from terminal import BAD_INPUT, DONE

MACHINES = (
    *("switch:ranks=5,overhead=300ns,gamma=1ns", "ring:ranks=6", "mesh:ranks=4,latency=0", "dgx1v", "mi250x"),
    *("nodes:nodes=2,gpus=3", "dual_socket_pcie:gpus=4", "torus:dims=3x3", "fat_tree:pods=2,leaves=2,gpus=2"),
)
FAULTS = (
    *("straggler:rank=1,late=20us", "jitter:mean=5us,seed=3", "straggler:rank=0,slower=3"),
    "slow_link:src={src},dst={dst},share=0.4,start=3us,end=40us",
)


def traced(name, machine, size=1 << 20, **words):
    return Plan(algorithm=name, machine=machine, size=str(size), **words).run().trace


@given(st.data())
def test_the_parts_of_any_run_add_up_to_its_time_to_the_last_bit(data):
    machine = data.draw(st.sampled_from(MACHINES))
    topology = build(machine)
    link = data.draw(st.sampled_from(topology.links))
    some = data.draw(st.lists(st.sampled_from(FAULTS), max_size=3, unique=True))
    faults = ";".join(spec.format(src=link.src, dst=link.dst) for spec in some)
    name = data.draw(st.sampled_from(list(ALGORITHMS)))
    size, lockstep = data.draw(st.integers(1 << 12, 1 << 30)), data.draw(st.booleans())
    try:
        trace = traced(name, machine, size, fault=faults, lockstep=lockstep)
    except (InputError, StalledError):
        return
    why = breakdown(trace)
    parts = list(why.parts.values())
    assert all(sum(order) == trace.time for order in permutations(parts))
    assert math.fsum(why.seconds.ravel()) == trace.time
    assert (why.seconds >= 0).all()
    assert why.parts["slowed"] == 0 or "slow_link" in faults
    assert why.parts["waiting"] == 0 or faults
    counts = TimeScale.of(trace.time).counts(parts)
    assert sum(counts) == sum(TimeScale.of(trace.time).counts([trace.time]))


def test_a_run_that_began_late_is_told_from_its_beginning():
    cluster = Cluster(build("switch:ranks=4"))
    cluster.env.run(until=0.1)
    trace = cluster.run(cluster.start(ALGORITHMS["allreduce.ring"].schedule(4), 1 << 20))
    assert trace.began == 0.1
    assert sum(breakdown(trace).parts.values()) == trace.time


def test_a_ring_alone_on_its_links_is_latency_and_bytes_and_nothing_else():
    why = breakdown(traced("allreduce.ring", "switch:ranks=8,bandwidth=25GBps,latency=1us", 1 << 26))
    assert (why.messages, why.bytes) == (14, 14 * (1 << 23))
    assert why.parts["latency"] == pytest.approx(14 * 2e-6, rel=1e-12)
    assert why.parts["bytes"] == pytest.approx(14 * (1 << 23) / 25e9, rel=1e-12)
    assert {part for part, seconds in why.parts.items() if seconds} == {"latency", "bytes"}
    assert why.spent_on.tolist() == [0b11] * 14


def test_two_that_share_a_link_spend_on_sharing_what_they_get_less():
    trace = traced("alltoall.linear", "nodes:nodes=2,gpus=2,nvlink=300GBps,nic=25GBps", 1 << 30)
    why = breakdown(trace)
    # four messages of a quarter cross either NIC at once; the narrowest link alone would take one of them
    assert why.parts["bytes"] == pytest.approx((1 << 28) / 25e9, rel=1e-9)
    assert why.parts["sharing"] == pytest.approx(3 * (1 << 28) / 25e9, rel=1e-9)
    link = trace.topology.links[shared_link(trace, why, link_use(trace))]
    assert {link.src, link.dst} & {"SPINE"}


def test_what_a_fault_took_from_a_link_is_told_apart_from_bytes():
    machine, size = "switch:ranks=2,bandwidth=1GBps,latency=1us", 1_000_000
    slow = breakdown(traced("broadcast.linear", machine, size, fault="slow_link:src=GPU0,dst=SW,share=0.5"))
    assert (slow.parts["bytes"], slow.parts["slowed"]) == pytest.approx((1e-3, 1e-3))
    soon = "slow_link:src=GPU0,dst=SW,share=0.5,start=502us,end=602us"
    for_a_while = breakdown(traced("broadcast.linear", machine, size, fault=soon))
    assert (for_a_while.parts["slowed"], for_a_while.parts["sharing"]) == (pytest.approx(50e-6), 0)


@pytest.mark.parametrize(
    ("fault", "waiting"), [("straggler:rank=1,late=300us", 300e-6), ("jitter:mean=2us,seed=1", None)]
)
def test_being_held_back_is_waiting(fault, waiting):
    machine = "switch:ranks=2,bandwidth=1GBps,latency=1us"
    plain, held = (traced("broadcast.linear", machine, fault=spec) for spec in ("", fault))
    why = breakdown(held)
    assert why.parts["waiting"] == pytest.approx(waiting or held.time - plain.time)
    assert {part: why.parts[part] for part in PARTS[:-1]} == pytest.approx(
        {part: breakdown(plain).parts[part] for part in PARTS[:-1]}
    )


def test_adding_up_and_work_have_parts_of_their_own():
    adding = breakdown(traced("reduce.linear", "switch:ranks=2,gamma=1ns", 1000))
    assert adding.parts["reducing"] == pytest.approx(1e-6)
    sends = "rank 0 {\na: calc 5000\nb: send 1000b to 1 tag 0\nb requires a\n}\n"
    goal = f"num_ranks 2\n{sends}rank 1 {{\nc: recv 1000b from 0 tag 0\n}}\n"
    worked = breakdown(Plan(algorithm="", schedule=goal, machine="switch:ranks=2", size="").run().trace)
    assert worked.parts["working"] == pytest.approx(5e-6)
    assert worked.parts["waiting"] == 0


def test_nothing_takes_no_time():
    nothing = unroll(iter([]), name="nothing", n=2, promise=None, unit_share=1.0)
    why = breakdown(simulate(build("switch:ranks=2"), nothing, 8))
    assert why.parts == dict.fromkeys(PARTS, 0.0)
    local = unroll(iter([copy(0, 0, slot=0)]), name="local", n=2, promise=None, unit_share=1.0)
    assert sum(breakdown(simulate(build("switch:ranks=2"), local, 8)).parts.values()) == 0


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=7), st.sampled_from([1e-11, 4.991e-4, 0.3, 7e2]))
def test_rounded_figures_add_up(shares, time):
    scale, parts = TimeScale.of(time), [share * time for share in shares]
    exact = [part / scale.scale * 10**scale.decimals for part in parts]
    counts = scale.counts(parts)
    assert sum(counts) == round(math.fsum(exact))
    assert np.abs(np.array(counts) - exact).max() < 1 + 1e-6


def test_the_terminal_tells_the_parts_and_what_makes_the_difference(capsys):
    words = ["why", "allreduce.ring", "--machine", "switch:ranks=8", "--size", "64MiB"]
    assert cli.main([*words, "--json"]) == DONE
    data = json.loads(capsys.readouterr().out)
    assert sum(part["time_s"] for part in data["why"].values()) == data["time_s"]
    assert data["why"]["latency"]["messages"] == data["messages_in_a_row"] == 14
    assert data["shared_link"] is None
    assert cli.main([*words, "--compare-to", "algorithm=allreduce.recursive_doubling"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith("allreduce.")]
    assert lines[heads[-1]].startswith("allreduce.recursive_doubling on ")
    figures = [[float(word) for word in line.split()[1::2]] for line in lines[heads[-1] + 1 :]]
    assert all(round(first + more, 6) == second for first, second, more in figures)
    for column in zip(*figures, strict=True):
        assert round(sum(column[:-1]), 6) == column[-1]


@pytest.mark.parametrize("changes", ["", "machine", "speed=2", "machine=dgx_a100|machine=dgx_h100"])
def test_what_is_no_run_to_hold_it_against_is_told_in_one_line(changes, capsys):
    line = ["why", "allreduce.ring", "--machine", "switch:ranks=4", "--size", "1MiB", "--compare-to", changes]
    assert cli.main(line) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)

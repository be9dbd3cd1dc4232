"""Traces for Perfetto, checked by the rules by which Perfetto draws them."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.trace.chrome_trace import MOST_TRANSFERS, to_perfetto

RUNS = [
    ("allreduce.ring", "ring:ranks=4", 1 << 20),
    ("alltoall.linear", "switch:ranks=8", 1 << 20),
    ("allreduce.recursive_doubling", "nodes:nodes=2,gpus=4,gamma=1e-11", 12_345),
    ("allgather.bruck", "switch:ranks=7,latency=0us", 777),
    ("barrier.dissemination", "switch:ranks=5", 0),
    ("allreduce.nvls", "switch:ranks=4", 1 << 22),
]


def traced(name, machine, size, history=True):
    topology = build(machine)
    return simulate(topology, ALGORITHMS[name].schedule(topology.n), size=size, history=history)


def ns(microseconds):
    return round(microseconds * 1000)


def events(trace, *kinds):
    return [e for e in json.loads(to_perfetto(trace))["traceEvents"] if e["ph"] in kinds]


@pytest.fixture(params=RUNS, ids=lambda run: run[0])
def trace(request):
    return traced(*request.param)


def test_slices_of_a_track_nest_or_follow_each_other(trace):
    tracks = defaultdict(list)
    for e in events(trace, "X"):
        assert e["dur"] >= 0
        tracks[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), ns(e["ts"]) + ns(e["dur"])))
    for slices in tracks.values():
        stack = []
        for begin, _, end in sorted(slices):
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)


def test_every_arrow_begins_in_its_send_and_ends_in_its_receive(trace):
    slices = defaultdict(list)
    for e in events(trace, "X"):
        slices[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e))
    ends = defaultdict(dict)
    for e in events(trace, "s", "f"):
        around = [
            s for b, s_end, s in slices[e["pid"], e["tid"]] if b <= ns(e["ts"]) < s_end and "transfer" in s["args"]
        ]
        assert [s["args"]["transfer"] for s in around] == [e["id"]]
        assert e["ph"] not in ends[e["id"]]
        ends[e["id"]][e["ph"]] = ns(e["ts"])
        assert e["ph"] == "s" or e["bp"] == "e"
    assert all(set(pair) == {"s", "f"} and pair["s"] <= pair["f"] for pair in ends.values())
    visible = [i for i in range(trace.schedule.transfers) if trace.schedule.src[i] != trace.schedule.dst[i]
               and trace.end[i] - trace.start[i] >= 1e-9]  # fmt: skip
    assert sorted(ends) == visible


def test_a_slice_has_the_times_of_its_transfer(trace):
    seen = defaultdict(set)
    for e in events(trace, "X"):
        if "transfer" not in e["args"]:
            continue
        i = e["args"]["transfer"]
        s = trace.schedule
        kind = "local" if s.src[i] == s.dst[i] else "send" if e["name"].startswith("to") else "receive"
        begin = {"send": trace.left, "receive": trace.start, "local": trace.ready}[kind][i]
        end = {"send": trace.arrived, "receive": trace.end, "local": trace.end}[kind][i]
        assert e["pid"] == (s.dst[i] if kind == "receive" else s.src[i])
        assert abs(e["ts"] * 1e-6 - begin) <= 0.51e-9
        assert abs((e["ts"] + e["dur"]) * 1e-6 - end) <= 1.02e-9
        seen[i].add(kind)
    assert all(seen[i] in ({"send", "receive"}, {"local"}) for i in range(trace.schedule.transfers))


def test_counters_carry_every_byte_over_every_link(trace):
    total = defaultdict(float)
    last = {}
    for e in events(trace, "C"):
        before = last.get(e["name"])
        if before is not None:
            assert e["ts"] > before[0]
            total[e["name"]] += (e["ts"] - before[0]) * 1e-6 * before[1] * 1e9
        last[e["name"]] = e["ts"], e["args"]["GBps"]
    assert all(rate == pytest.approx(0, abs=1e-9) for _, rate in last.values())
    for link, carried in zip(trace.topology.links, trace.link_bytes, strict=True):
        slack = 2e-9 * link.bandwidth * max(trace.schedule.transfers, 1)
        assert total.get(f"{link.src} -> {link.dst}", 0) == pytest.approx(carried, abs=slack)


def test_every_track_has_a_name(trace):
    named = {(e["pid"], e["tid"]) for e in events(trace, "M") if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events(trace, "X")} <= named
    processes = [e["args"]["name"] for e in events(trace, "M") if e["name"] == "process_name"]
    assert processes[: trace.schedule.n] == [f"rank {r}" for r in range(trace.schedule.n)]
    assert processes[-1] == "links"


def test_a_track_is_used_again_when_it_is_free():
    ring = {e["tid"] for e in events(traced("allreduce.ring", "ring:ranks=4", 1 << 20), "X")}
    assert len(ring) == 2
    everyone = {e["tid"] for e in events(traced("alltoall.linear", "switch:ranks=8", 1 << 20), "X")}
    assert len(everyone) == 7 + 7 + 1


def test_runs_without_history_have_average_rates():
    trace = traced("allreduce.ring", "ring:ranks=4", 1 << 20, history=False)
    rates = {round(e["args"]["GBps"], 3) for e in events(trace, "C")}
    assert rates == {0.0, 25.0}


def test_what_no_browser_opens_is_refused():
    trace = traced("allreduce.ring", "ring:ranks=4", 1 << 20)
    many = replace(trace.schedule, src=np.zeros(MOST_TRANSFERS + 1, np.int32))
    with pytest.raises(InputError, match="Perfetto opens 200,000 at most: take fewer ranks or segments"):
        to_perfetto(replace(trace, schedule=many))

"""What is sent to the browser is the trace: times, places, contributors and loads."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.schedule import NOTHING
from sim.trace.link_load import utilisation
from ui import payload as module
from ui.payload import pack, tick, unpack

SCENES = [
    ("allreduce.ring", "switch:ranks=8", 8),
    ("allreduce.recursive_doubling", "ring:ranks=8", 8),
    ("alltoall.linear", "nodes:nodes=2,gpus=4", 8),
    ("broadcast.binomial", "dgx1v", 7),
    ("scan.recursive_doubling", "mesh:ranks=5", 5),
    ("barrier.dissemination", "dgx_a100", 6),
    ("gather.binomial", "dual_socket_pcie", 8),
    ("allreduce.nvls", "switch:ranks=8", 8),
]


def run(name, machine, n, **options):
    return simulate(build(machine), ALGORITHMS[name].schedule(n), 1 << 22, history=True, **options)


@pytest.mark.parametrize("scene", SCENES, ids=lambda s: f"{s[0]}-{s[1]}")
def test_times_come_back_to_the_tick(scene):
    trace = run(*scene)
    _, columns = unpack(pack(trace))
    end = np.cumsum(columns["end"].astype(np.int64))
    assert end * tick(trace) == pytest.approx(trace.end, abs=tick(trace))
    assert (end - columns["span"]) * tick(trace) == pytest.approx(trace.ready, abs=2 * tick(trace))
    assert columns["src"].tolist() == trace.schedule.src.tolist()
    assert columns["sizes"][columns["size"]] == pytest.approx(trace.bytes)


@pytest.mark.parametrize("scene", SCENES, ids=lambda s: f"{s[0]}-{s[1]}")
def test_playing_the_rows_in_order_of_time_ends_with_what_was_promised(scene):
    trace = run(*scene)
    header, columns = unpack(pack(trace))
    promise, slots = trace.schedule.promise, header["meta"]["slots"]
    block = columns["given"].copy()
    after = columns["single"][np.arange(len(block)) // slots].astype(int)
    start = np.concatenate([[0], np.cumsum(columns["moves"], dtype=np.int64)])
    for i in np.lexsort((np.arange(len(trace.end)), trace.end)):
        moves = slice(start[i], start[i + 1])
        places = columns["dst"][i].astype(int) * slots + columns["to"][moves]
        block[places], after[places] = columns["block"][moves], columns["leaves"][moves]
    for rank, slot in np.argwhere(promise.owed != NOTHING):
        place = rank * slots + slot
        count, words = header["sets"][after[place]]
        assert block[place] == promise.owed[rank, slot]
        assert count == promise.last[rank, slot] - promise.first[rank, slot]
        assert words.split("-")[0] == str(promise.first[rank, slot])


def test_routes_are_walks_from_sender_to_receiver():
    trace = run("alltoall.linear", "dgx1v", 8)
    header, columns = unpack(pack(trace))
    links = header["links"]
    for i in range(trace.schedule.transfers):
        route = columns["route"][i]
        nodes = columns["node"][columns["node_start"][route] : columns["node_start"][route + 1]].tolist()
        used = columns["route_link"][columns["route_start"][route] : columns["route_start"][route + 1]].tolist()
        if trace.schedule.src[i] == trace.schedule.dst[i]:
            assert not nodes
            continue
        assert header["devices"]["rank"][nodes[0]] == trace.schedule.src[i]
        assert header["devices"]["rank"][nodes[-1]] == trace.schedule.dst[i]
        assert [(links["src"][k], links["dst"][k]) for k in used] == list(pairwise(nodes))


def test_flows_that_change_their_rate_bring_the_changes_and_no_others_do():
    trace = run("alltoall.linear", "dgx1v", 8)
    _, columns = unpack(pack(trace))
    times = np.bincount(trace.history.transfer)
    assert sorted(set(columns["change"].tolist())) == np.nonzero(times > 1)[0].tolist()
    assert len(columns["change"]) == times[times > 1].sum()


def test_the_chart_is_the_links_average_use():
    trace = run("allreduce.ring", "nodes:nodes=2,gpus=4", 8)
    _, columns = unpack(pack(trace))
    sent = columns["load"].reshape(-1, module.BINS) / 255
    exact = utilisation(trace, np.linspace(0, trace.time, module.BINS + 1))
    assert sent == pytest.approx(np.clip(exact, 0, 1), abs=1 / 255)


def test_a_switch_that_adds_is_called_a_switch():
    schedule = ALGORITHMS["allreduce.nvls"].schedule(8, segments=1)
    header, _ = unpack(pack(simulate(build("switch:ranks=8"), schedule, 1 << 22, history=True)))
    more = ", and 7 more do the same"
    assert header["steps"]["caption"] == [
        f"step 1 of 4: rank 0 sends blocks 0-7 to the switch, which adds them up{more}",
        f"step 2 of 4: the switch sends block 0, the sum of ranks 0-7, to rank 0{more}",
        f"step 3 of 4: rank 0 sends block 0, the sum of ranks 0-7, to the switch{more}",
        f"step 4 of 4: the switch sends blocks 0-7, each the sum of ranks 0-7, to rank 0{more}",
    ]


def test_beyond_the_limit_steps_and_loads_are_sent_but_no_rows(monkeypatch):
    trace = run("allreduce.ring", "switch:ranks=8", 8)
    monkeypatch.setattr(module, "FULL", 10)
    header, columns = unpack(pack(trace))
    assert not header["meta"]["full"]
    assert "src" not in columns
    assert len(header["steps"]["caption"]) == 14
    assert columns["load"].any()


def test_64_ranks_of_ring_stay_far_below_a_megabyte():
    assert len(json.dumps(pack(run("allreduce.ring", "switch:ranks=64", 64)))) < 100_000


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(2, 9))
def test_any_run_can_be_packed_and_says_a_sentence_per_step(name, n):
    algorithm = ALGORITHMS[name]
    if algorithm.refuse(n, **{k: p.default for k, p in algorithm.params.items()}):
        return
    trace = simulate(build(f"switch:ranks={n}"), algorithm.schedule(n), 1 << 20, history=True)
    payload = pack(trace)
    json.dumps(payload, allow_nan=False)
    header, _ = unpack(payload)
    captions = header["steps"]["caption"]
    assert len(captions) == trace.schedule.steps
    assert all(c.startswith(f"step {k + 1} of {len(captions)}: ") for k, c in enumerate(captions))

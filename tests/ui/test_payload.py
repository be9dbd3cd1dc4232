"""What is sent to the browser is the trace: times, places, contributors and loads."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.plan import Plan
from sim.engine import simulate
from sim.faults.kinds import faults
from sim.machines import build
from sim.schedule import NOTHING
from sim.trace.link_load import utilisation
from sim.units import MiB
from tests.tables import each_row
from ui.drawing.frames import Film
from ui.layout.captions import intervals, set_words
from ui.plan import picture
from ui.player import payload as module
from ui.player.payload import pack, tick, unpack

PLANS = [
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


@each_row("plan", PLANS)
def test_times_come_back_to_the_tick(plan):
    trace = run(*plan)
    _, columns = unpack(pack(trace))
    end = np.cumsum(columns["end"].astype(np.int64))
    assert end * tick(trace) == pytest.approx(trace.end, abs=tick(trace))
    assert (end - columns["span"]) * tick(trace) == pytest.approx(trace.left, abs=2 * tick(trace))
    assert columns["src"].tolist() == trace.schedule.src.tolist()
    assert columns["sizes"][columns["size"]] == pytest.approx(trace.bytes)


@each_row("plan", PLANS)
def test_playing_the_rows_in_order_of_time_ends_with_what_was_promised(plan):
    trace = run(*plan)
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
        low, high = columns["sets"].reshape(-1, 2)[after[place]].tolist()
        assert block[place] == promise.owed[rank, slot]
        assert low | high << 32 == (1 << promise.last[rank, slot]) - (1 << promise.first[rank, slot])


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
    more = ", and 7 others likewise"
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


def test_half_a_million_messages_are_sent_and_so_many_routes_are_not(monkeypatch):
    trace = run("allgather.ring", "switch:ranks=512", 512)
    payload = pack(trace)
    header, columns = unpack(payload)
    assert header["meta"]["full"]
    assert len(columns["end"]) == trace.schedule.transfers == 512 * 511
    assert len(payload["tl"]) < 500_000
    monkeypatch.setattr(module, "ROUTES", 100)
    assert not module.has_rows(trace)
    assert module.has_rows(run("allreduce.ring", "switch:ranks=8", 8))


@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(2, 9))
def test_any_run_can_be_packed_and_says_a_sentence_per_step(name, n):
    algorithm = ALGORITHMS[name]
    if algorithm.refuse(n, **{k: p.default for k, p in algorithm.params.items()}):
        return
    schedule = algorithm.schedule(n)
    nodes = max(1, schedule.switches.count("NVS"))  # what adds inside switches is for as many nodes
    machine = build(f"nodes:nodes={nodes},gpus={n // nodes}" if nodes > 1 else f"switch:ranks={n}")
    trace = simulate(machine, schedule, 1 << 20, history=True)
    payload = pack(trace)
    json.dumps(payload, allow_nan=False)
    header, _ = unpack(payload)
    captions = header["steps"]["caption"]
    assert len(captions) == trace.schedule.steps
    assert all(c.startswith(f"step {k + 1} of {len(captions)}: ") for k, c in enumerate(captions))


def test_links_in_fault_bring_what_they_can_carry_from_when_to_when():
    machine = build("dual_socket_pcie")
    words = "slow_link:src=CPU0,dst=CPU1,share=0.5,start=2ms,end=3ms"
    ring = ALGORITHMS["allreduce.ring"].schedule(8)
    trace = simulate(machine, ring, 1 << 26, history=True, perturbations=faults([words], machine))
    header, columns = unpack(pack(trace))
    bandwidth = header["links"]["bandwidth"]
    for link, begin, end, now in header["links"]["spells"]:
        assert (begin * tick(trace), end * tick(trace)) == pytest.approx((0.002, 0.003), rel=1e-6)
        assert now == bandwidth[link] / 2
        full = columns["load"].reshape(-1, module.BINS)[link]
        middle = int(0.0025 / trace.time * module.BINS)
        assert full[middle] == 255  # saturated, although it carries half of its own bandwidth


WHOLE = [
    ("allreduce.ring", "every rank holds its own data", "every rank holds the sum of all 8 buffers"),
    ("reduce.binomial", "every rank holds its own data", "rank 3 holds the sum of all 8 buffers"),
    ("broadcast.binomial", "only rank 3 holds data", "every rank holds the data of rank 3"),
    ("scatter.binomial", "only rank 3 holds data", "every rank holds its share of the data of rank 3"),
    ("gather.binomial", "every rank holds its own data", "rank 3 holds the data of all 8 ranks"),
    ("allgather.ring", "every rank holds its own data", "every rank holds the data of all 8 ranks"),
    ("reduce_scatter.ring", "every rank holds its own data", "every rank holds its share of the sum of all 8 buffers"),
    ("alltoall.linear", "every rank holds its own data", "every rank holds what each of the 8 ranks had for it"),
    ("sendrecv.ring", "every rank holds its own data", "every rank holds what was sent to it"),
    ("exscan.linear", "every rank holds its own data", "ranks 1-7 hold the sum of the buffers of all lower ranks"),
    ("barrier.dissemination", "every rank knows only of its own arrival", "every rank knows that all 8 have arrived"),
]


@each_row("name, before, after", WHOLE)
def test_the_first_and_the_last_sentence_are_true_of_the_collective(name, before, after):
    matches = [other for other in ALGORITHMS if other.split(".")[0] == name.split(".")[0]]
    algorithm = ALGORITHMS[name if name in ALGORITHMS else matches[0]]
    rooted = name.split(".")[0] in ("reduce", "broadcast", "scatter", "gather")
    schedule = algorithm.schedule(8, root=3) if rooted else algorithm.schedule(8)
    trace = simulate(build("switch:ranks=8"), schedule, 1 << 20, history=True)
    header, _ = unpack(pack(trace))
    assert header["steps"]["opening"] == f"Before step 1: {before}."
    assert header["steps"]["closing"] == f"Done: {after}"
    film = Film(trace)
    assert (film.caption(0.0), film.caption(trace.time)) == (header["steps"]["opening"], header["steps"]["closing"])


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("allreduce.ring", True),
        ("allreduce.recursive_doubling", False),
        ("allgather.ring", True),
        ("reduce_scatter.ring", True),
        ("alltoall.linear", True),
        ("broadcast.binomial", False),
    ],
)
def test_no_rank_sends_all_and_the_busiest_not_less_than_the_bound(name, reached):
    schedule = ALGORITHMS[name].schedule(8)
    header, columns = unpack(pack(simulate(build("switch:ranks=8"), schedule, 8 * MiB)))
    away = columns["src"] != columns["dst"]
    sent = np.bincount(columns["src"][away], columns["sizes"][columns["size"]][away], 8)
    least = header["meta"]["least"]
    assert 0 < least <= sent.max() * (1 + 1e-9)
    assert (sent.max() == pytest.approx(least)) == reached


def test_a_switch_that_adds_up_lets_ranks_send_less():
    bounds = []
    for name in ("allreduce.ring", "allreduce.nvls"):
        trace = simulate(build("switch:ranks=8"), ALGORITHMS[name].schedule(8), 8 * MiB)
        bounds.append(unpack(pack(trace))[0]["meta"]["least"])
    assert bounds == pytest.approx([2 * 7 / 8 * 8 * MiB, 8 * MiB])


@given(st.integers(0, (1 << 64) - 1))
def test_sets_of_ranks_are_told_as_lists_of_them_are(bits):
    assert set_words(bits) == intervals(r for r in range(64) if bits >> r & 1)


@pytest.mark.parametrize(
    ("words", "can"),
    [
        ({}, True),
        ({"lockstep": True}, True),
        ({"fault": "straggler:rank=1,late=2us"}, True),
        ({"algorithm": "nccl.allreduce"}, False),
        ({"algorithm": "openmpi.allreduce"}, False),
    ],
)
def test_a_page_gets_what_it_needs_to_run_again_where_it_can(words, can):
    trace = Plan(**{"machine": "switch:ranks=4", "algorithm": "allreduce.ring", "size": "1MiB", **words}).run().trace
    header, columns = unpack(pack(trace))
    assert ("waiter" in columns) == can
    if can:
        assert header["meta"]["share"] == trace.schedule.unit_share
        assert len(columns["waiters"]) == trace.schedule.transfers + words.get("lockstep", 0) * (
            trace.schedule.steps - 1
        )
    assert "waiter" not in unpack(pack(trace.chosen(np.arange(3))))[1]


def test_a_page_says_where_its_run_and_the_library_s_own_prediction_are_far_apart():
    far, near = (Plan(algorithm="nccl.allreduce", machine=m, size="1MiB") for m in ("aws_p4d:hosts=4", "dgx_a100"))
    for language, words in (("en", "predicted by NCCL's tuner"), ("zh", "NCCL 调优器预测")):
        assert words in picture.run(far, language).payload["packed"]["note"]
    assert picture.run(near, "en").payload["packed"]["note"] == ""

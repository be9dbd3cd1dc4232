"""The page without a browser: every collective draws, bad input is a message, a link brings everything back."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.examples import example_captures, example_schedules
from ops.plan.link import from_link, to_link
from sim.engine import simulate
from sim.errors import InputError
from sim.faults.kinds import FAULTS
from sim.machines import build
from sim.units import MiB, fmt_time
from tests.tables import each_row
from tests.ui.visited import click_in, state_of
from ui.export.exports import EXPORTS
from ui.plan.examples import EXAMPLES
from ui.plan.picture import run
from ui.player.answer import read
from ui.share import menu as share
from ui.share.saving import SavingState
from ui.simulate.state import SimulateState
from ui.text import catalogue, say
from ui.workers import tasks
from ui.workers.one import the_pool
from ui.workers.process import Call

APP = str(Path(__file__).parents[2] / "app.py")


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in words.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


def players(at):
    return [e for e in at.main if e.type == "bidi_component" and e.proto.component_name == "ringside_player"]


def answer(at):
    """The sentences of the answer above the picture."""
    parts = json.loads(players(at)[0].proto.json)["answer"]
    return [read(parts[name]) for name in ("headline", "reason", "remedy")]


def one_of_each():
    """An algorithm per collective that 8 ranks can do."""
    able = [n for n, a in ALGORITHMS.items() if not a.refuse(8, **{k: p.default for k, p in a.params.items()})]
    return sorted({name.split(".")[0]: name for name in able}.values())


@pytest.mark.slow
@each_row("name", one_of_each())
def test_every_collective_is_drawn(name):
    at = page(algorithm=name, machine="switch:ranks=8", size="1MiB")
    assert not at.error, [e.value for e in at.error]
    assert len(players(at)) == 1


@pytest.mark.parametrize("capture", sorted(example_captures()))
def test_every_example_capture_is_drawn(capture):
    at = page(capture=f"example-{capture}")
    assert not at.error
    assert at.query_params["capture"] == f"example-{capture}"


@pytest.mark.slow
@each_row("name", [name for name, example in EXAMPLES.items() if not example.asks], days=3)
def test_every_plan_is_drawn_and_its_link_brings_it_back(name):
    at = page(**to_link(EXAMPLES[name].plan))
    assert not at.error, [e.value for e in at.error]
    assert len(players(at)) == 1
    words = {key: at.query_params[key] for key in at.query_params}
    assert from_link(words) == EXAMPLES[name].plan


MATRIX = "0 65536 131072\n131072 0 524288\n262144 524288 0\n"
"""Bytes from whom to whom."""
SIZE = say("title.size", "en")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [pytest.param(1024, marks=pytest.mark.long), 128])
def test_a_thousand_ranks_of_hyper_mpi_s_linear_allgatherv_are_a_plan(ranks):
    whole = EXAMPLES["hyper_mpi_linear"].plan
    plan = replace(whole, machine=whole.machine.replace("gpus=128", f"gpus={ranks // 8}"))
    assert ALGORITHMS.known_as("allgatherv", "kucg", "4").name == plan.algorithm
    picture = the_pool().ask("", Call(tasks.run, (plan, "en"))).result().read()  # as the page, which has asked already
    assert (picture.verdict, picture.transfers) == ("ok", ranks * (ranks - 1))
    assert "SPINE" in picture.bottleneck


@pytest.mark.parametrize("name", example_schedules())
def test_every_example_schedule_is_drawn(name):
    at = page(schedule=f"example-{name}", machine="switch:ranks=8")
    assert not at.error, [e.value for e in at.error]
    assert len(players(at)) == 1
    assert at.query_params["schedule"] == f"example-{name}"
    assert "algorithm" not in at.query_params


def test_a_run_that_was_kept_is_drawn_on_its_own_machine():
    trace = simulate(build("ring:ranks=6"), ALGORITHMS["allgather.ring"].schedule(6), size=6 * MiB, history=True)
    plan = Plan(schedule=trace.to_json(), machine="dgx1v")
    picture = run(plan, "en")
    assert picture.title == "All-gather by ring on ring of links (ranks=6) with 6 MiB"
    assert (picture.time, picture.verdict) == (fmt_time(trace.time), "ok")
    assert 0 < picture.near <= 1


@pytest.mark.parametrize("size", ["64MiB", "8[[MiB"])
def test_a_file_that_has_its_own_sizes_leaves_none_to_choose(size):
    plan = Plan(schedule=MATRIX, machine="switch:ranks=3")
    at = page(**(to_link(plan) | {"size": size}))
    assert not at.exception
    assert len(players(at)) == 1
    assert SIZE not in [box.label for box in at.main.selectbox]


def test_a_file_whose_blocks_are_shares_is_run_for_a_size():
    at = page(schedule="example-allreduce-ring-8 (MSCCL XML)", machine="switch:ranks=8")
    assert SIZE in [box.label for box in at.main.selectbox]


def test_a_schedule_that_cannot_be_carried_out_is_a_message():
    text = example_schedules()["allreduce-ring-8 (MSCCL XML)"]
    at = page(schedule="example-allreduce-ring-8 (MSCCL XML)", machine="switch:ranks=8")
    at.selectbox(key="ex_schedule").select("").run()
    assert len(players(at)) == 1
    for paste, says in ((text[:900], "line"), ("hello", "no schedule known here"), ("GPU0 GPU1", "a topology")):
        at.text_area(key="paste_schedule").input(paste).run()
        assert not at.exception
        assert says in at.sidebar.error[0].value
        assert says in at.main.warning[0].value
        assert len(players(at)) == 1
    at.text_area(key="paste_schedule").input(text).run()
    assert len(players(at)) == 1
    few = page(schedule="example-allreduce-ring-8 (MSCCL XML)", machine="switch:ranks=4")
    assert "holds 4 ranks, not 8" in few.error[0].value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "capture"),
        (" \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n", "topo -p2p"),
        ("\tGPU0\tGPU1\nGPU0\tX\tNV12\nGPU1\tNV1", "cut|missing|NV12"),
    ],
)
def test_a_bad_paste_is_a_message_where_it_was_pasted(text, says):
    at = page(capture="example-dgx-1v")
    at.selectbox(key="ex_capture").select("").run()
    at.text_area(key="paste_capture").input(text).run()
    assert not at.exception
    assert len(at.sidebar.error) == 1
    assert any(part in at.sidebar.error[0].value for part in says.split("|"))
    assert any(part in at.main.warning[0].value for part in says.split("|"))
    assert len(players(at)) == 1


def test_a_bad_number_is_a_message_and_mending_it_brings_the_picture_back():
    at = page(machine="switch:ranks=8")
    at.text_input(key="switch_bandwidth").input("-5GBps").run()
    assert "bandwidth" in at.sidebar.error[0].value
    assert len(players(at)) == 1
    at.text_input(key="switch_bandwidth").input("50GBps").run()
    assert not at.sidebar.error
    assert len(players(at)) == 1
    assert at.query_params["machine"] == "switch:ranks=8,bandwidth=50GBps"


def test_a_rate_the_capture_does_not_say_can_be_given():
    at = page(capture="example-dual-socket-pcie")
    before = at.metric[0].value
    at.text_input(key="capture_sys").input("64GBps").run()
    assert not at.error
    assert at.metric[0].value != before
    assert at.query_params["rates"] == "sys=64GBps"


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_can_be_added_and_taken_back(kind):
    at = page(algorithm="allreduce.recursive_doubling", machine="nodes:nodes=2,gpus=4,nics=2", size="8MiB")
    before = at.metric[0].value
    at.selectbox(key="add_fault_0").select(kind).run()
    assert not at.exception
    assert not at.error, [e.value for e in at.error]
    assert at.query_params["fault"].startswith(kind)
    assert len(players(at)) == 1
    if kind in ("straggler", "jitter", "slow_link", "dead_link"):
        assert at.metric[0].value != before
    back = page(**{key: at.query_params[key] for key in at.query_params})
    assert back.metric[0].value == at.metric[0].value
    at.button(key="drop_0").click().run()
    assert "fault" not in at.query_params
    assert at.metric[0].value == before


def test_two_faults_add_up_and_a_fatal_one_is_a_message():
    at = page(machine="switch:ranks=4", size="4MiB", fault="straggler:rank=1,late=1ms;jitter:mean=3us")
    assert len([b for b in at.button if str(b.key).startswith("drop_")]) == 2
    assert float(at.metric[0].value.split()[0]) > 1
    dead = page(machine="switch:ranks=4", size="4MiB", fault="dead_link:src=GPU0,dst=SW")
    assert answer(dead)[0] == "Ring never ends: nothing moves after 87.89 µs."
    assert len(players(dead)) == 1
    nonsense = page(machine="switch:ranks=4", fault="plague:rank=1")
    assert "no fault is called 'plague'" in nonsense.error[0].value


def test_an_algorithm_that_cannot_do_this_number_of_ranks_says_so():
    at = page(algorithm="allgather.recursive_doubling", machine="switch:ranks=6")
    assert "power of two" in at.error[0].value


PLANS = [
    Plan(),
    Plan(algorithm="broadcast.binomial", machine="mesh:ranks=6,bandwidth=10GBps", ranks=5, size="3MB", root=2),
    Plan(capture=example_captures()["hgx-h100"], rates="nvlink=30GBps", algorithm="alltoall.pairwise"),
    Plan(capture="\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n"),
]


@pytest.mark.parametrize("plan", PLANS, ids=range(len(PLANS)))
def test_a_link_brings_the_plan_back(plan):
    back = from_link(to_link(plan))
    assert back == plan if not plan.capture else (back.capture, back.algorithm) == (plan.capture, plan.algorithm)


@pytest.mark.parametrize("words", [{"capture": "!!"}, {"capture": "example-none"}, {"ranks": "-1"}, {"root": "1e9"}])
def test_a_damaged_link_is_refused(words):
    with pytest.raises(InputError, match="the link's"):
        from_link(words)


@pytest.mark.slow
@each_row("kind", [*EXPORTS, share.EMBED, share.CELL], days=3)
def test_every_kind_of_file_can_be_asked_for(kind):
    at = page(machine="switch:ranks=4", size="1MiB")
    options = {"begin": 0, "end": 100, "seconds": 1, "width": 640, "theme": "light"}
    click_in(at, "share", "file", {"kind": kind, **options, "when": 1})
    assert not at.exception
    (made,) = state_of(at, SavingState).made
    assert made.name == f"allreduce-ring-switch-ranks-4.{'embed.html' if kind == share.EMBED else kind}"
    assert len(made.data) > (500 if kind != "yaml" else 50)


def test_a_library_s_number_in_a_link_runs_what_the_library_does():
    at = page(algorithm="broadcast.openmpi:2", machine="switch:ranks=8")
    assert not at.error, [e.value for e in at.error]
    assert at.query_params["algorithm"] == "broadcast.chain"
    assert "chains=4" in at.query_params["settings"]


def test_crossovers_of_algorithms_are_told():
    at = page(machine="switch:ranks=8", against="algorithm=allreduce.recursive_doubling")
    told = [element.value for element in (*at.main.markdown, *at.main.caption)]
    assert any(re.search("From .* on, ring is faster than recursive doubling", t) for t in told)


def test_a_library_chooses_on_the_page_as_in_the_terminal():
    words = {"machine": "nodes:nodes=2,gpus=2", "size": "1MiB", "settings": "algorithm=tree"}
    at = page(algorithm="gloo.allreduce", **words)
    assert not at.error, [e.value for e in at.error]
    assert "by double binary tree on" in at.title[0].value
    assert at.query_params["algorithm"] == "gloo.allreduce"
    box = next(box for box in at.selectbox if box.label == catalogue("en")["page.library"])
    box.select("nccl").run()
    assert not at.error, [e.value for e in at.error]
    assert at.query_params["algorithm"] == "nccl.allreduce"
    box = next(box for box in at.selectbox if box.label == catalogue("en")["page.library"])
    box.select("").run()
    assert not at.error, [e.value for e in at.error]
    assert at.query_params.get("algorithm", Plan().algorithm) == "allreduce.ring"


def test_a_machine_is_edited_undone_done_again_and_kept_in_the_link():
    at = page(machine="switch:ranks=4", size="8MiB")
    before = at.metric[0].value
    at.selectbox(key="add_edits_0").select("set_class").run()
    assert not at.error, [e.value for e in at.error]
    assert float(at.metric[0].value.split()[0]) < float(before.split()[0])
    at = page(machine="switch:ranks=4", size="8MiB", edits="set_class:kind=NVL,times=0.5")
    assert not at.error, [e.value for e in at.error]
    slower = at.metric[0].value
    assert slower != before
    assert ", edited with " in at.title[0].value
    at.button(key="drop_edit_0").click().run()
    assert "edits" not in at.query_params
    assert at.metric[0].value == before
    at.button(key="undo").click().run()
    assert at.metric[0].value == slower
    assert "times=0.5" in str(at.query_params["edits"])
    at.button(key="redo").click().run()
    assert at.metric[0].value == before
    wrong = page(machine="switch:ranks=4", edits="cut_cable:src=GPU0,dst=GPU9")
    assert any("'GPU9'" in error.value for error in wrong.error)


@pytest.mark.parametrize("word", ["fault=dead_link:src=CPU0,dst=CPU1,start=1ms", "edits=cut_cable:src=CPU0,dst=CPU1"])
def test_a_stall_says_at_once_who_waits_for_whom_and_a_removed_link_stalls_too(word):
    name, _, spec = word.partition("=")
    at = page(machine="dual_socket_pcie", against=f"{name}=", **{name: spec})
    assert not at.error
    assert not at.warning
    headline, reason, _ = answer(at)
    assert "nothing moves after" in headline
    assert reason.startswith("Ranks wait for each other in a circle: 0 → 7 → 6")
    assert "CPU0 ↔ CPU1 carries nothing" in reason


def test_no_difference_is_an_answer_with_its_reason():
    at = page(machine="dual_socket_pcie", edits="set_link:src=PCI0,dst=NIC0,times=0.5", against="edits=")
    headline, reason, _ = answer(at)
    assert headline == "Half the bandwidth on PCI0 → NIC0: 7.341 ms, no difference."
    assert reason == "No message crosses NIC0 ↔ PCI0."


def test_of_several_runs_the_fastest_is_said_of_those_that_were_compared():
    at = page(machine="dgx_a100", against="algorithm=allreduce.binomial_tree|size=1MiB", size="64MiB")
    headline, reason, _ = answer(at)
    assert " of 3 compared: " in headline
    assert " faster than " in headline
    assert reason.endswith(" less.")


def test_a_run_that_is_kept_stays_beside_other_collectives_sizes_machines_and_captures():
    at = page(machine="switch:ranks=4", size="1MiB")
    at.button(key="keep_beside").click().run()
    kept = at.query_params["against"]
    assert not at.exception
    assert json.loads(players(at)[0].proto.json)["answer"]["headline"] == say("page.compare.pinned")
    collective = next(box for box in at.selectbox if box.key.startswith("title.collective_"))
    collective.select("broadcast").run()
    assert state_of(at, SimulateState).plan.algorithm.startswith("broadcast.")
    assert at.query_params["against"] == kept
    at = page(**at.query_params)  # the link says it all
    assert state_of(at, SimulateState).plan.others() == [Plan(machine="switch:ranks=4", size="1MiB")]
    at = page(capture="example-dual-socket-pcie", against=kept)
    titles = at.dataframe[0].value.iloc[:, 0].tolist()
    assert titles == ["dual-socket-pcie · 64 MiB", "ideal switch (ranks=4) · 1 MiB"]
    assert not at.exception
    at.button(key="end_comparison").click().run()
    assert "against" not in at.query_params

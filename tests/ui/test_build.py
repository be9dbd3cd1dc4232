"""The page on which one draws, without a browser: every task, every word, and links that are damaged."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops.formats.sketch import read_sketch
from ops.ladder import TASKS, ladder
from ops.plan import Plan
from ops.sketch import Sketch, columns_of, written, written_columns
from sim.errors import InputError
from tests.tables import each_row
from ui.build.cables import cables
from ui.build.payload import board
from ui.learning.ticked import meant, ticked
from ui.pages.build import LONGEST, OWN, HandDrawing, from_query
from ui.text import catalogue, languages, say

APP = str(Path(__file__).parents[2] / "app.py")
RING = Plan(machine="ring:ranks=4,bandwidth=1GBps,latency=0s", size="4MB")


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "build", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


def shown(at):
    """What the board was mounted with."""
    (element,) = [e for e in at.main if e.type == "bidi_component" and e.proto.component_name == "ringside_board"]
    return json.loads(element.proto.json)


def test_every_task_is_solved_on_the_board_by_its_best_and_refused_when_wrong():
    for task in ladder():
        for language in languages():
            solved = board(task.best, task.machine, task.spare, task.name, language)
            assert (solved["solved"], solved["verdict"], solved["faults"]) == (True, "right", [])
            empty = board(task.empty, task.machine, task.spare, task.name, language)
            assert (empty["solved"], empty["verdict"]) == (False, "empty")
            assert empty["headline"] == say("build.empty", language)
            assert empty["faults"]
        wrong = task.best.with_columns((*task.best.columns[:-1], task.best.columns[-1][:-1]))
        refused = board(wrong, task.machine, task.spare, task.name, "en")
        assert (refused["solved"], refused["verdict"]) == (False, "wrong")
        assert refused["hints"]


def test_a_board_says_what_is_wrong_in_both_languages():
    for steps, key, values in (
        ("0>1+0;1>0+0", "twice", {"rank": 0, "column": 2, "block": "A", "ranks": "rank 0"}),
        ("0>1+0=1", "mixed", {"rank": 1, "column": 1}),
        ("0>1:0 2>1+0", "clash", {"rank": 1, "column": 1}),
        ("1>0:1=0", "other", {"rank": 0, "held": "B", "block": "A"}),
        ("2>0+0", "lacks", {"rank": 0, "block": "A"}),
    ):
        sketch = Sketch("allreduce", 4, 2, columns=columns_of(steps))
        for language in languages():
            faults = board(sketch, RING, 0, "", language)["faults"]
            text = say(f"build.fault.{key}", language, **{"ranks": "\0", **values}).partition("\0")[0]
            assert any(text in fault["text"] for fault in faults), (steps, [fault["text"] for fault in faults])
    nothing = board(Sketch("broadcast", 4, columns=columns_of("2>1:0")), RING, 0, "", "en")
    assert nothing["faults"][0]["text"] == "Column 1: rank 2 sends rank 1 a block that it does not have."
    assert (nothing["faults"][0]["column"], nothing["faults"][0]["rank"]) == (0, 2)
    ragged = board(TASKS["broadcast_line"].empty.with_columns(columns_of("0>1:0;1>2:0;2>3:0")), RING, 0, "", "en")
    assert "12 ms, 6.00 times the lower bound of 2 ms" in ragged["clock"]
    slow = TASKS["broadcast_line"]
    chain = board(slow.empty.with_columns(columns_of("0>1:0;1>2:0;2>3:0")), slow.machine, 0, slow.name, "en")
    assert (chain["verdict"], chain["headline"]) == ("slower", "Correct, but 50% slower than the optimum.")


def test_cables_join_ranks_and_the_switches_they_meet_at():
    line, switch, islands = (
        cables(Plan(machine=spec).topology(), 4)
        for spec in ("torus:dims=4,wrap=no", "switch:ranks=4", "nodes:nodes=2,gpus=2,nvlink=4GBps,nic=1GBps")
    )
    assert [cable["ends"] for cable in line["cables"]] == [["r0", "r1"], ["r1", "r2"], ["r2", "r3"]]
    assert all(len(way) == 1 for cable in line["cables"] for way in cable["ways"])
    assert switch["hubs"] == [{"name": "SW", "near": [0, 1, 2, 3]}]
    assert len(switch["cables"]) == 4
    assert [hub["near"] for hub in islands["hubs"]] == [[0, 1], [2, 3]]
    (between,) = [cable for cable in islands["cables"] if cable["ends"] == ["h0", "h1"]]
    assert (between["share"], between["rate"]) == (0.25, "1 GB/s")
    assert [len(way) for way in between["ways"]] == [4, 4]


@each_row(
    "words, message",
    [
        ({"task": "none"}, "no task is called 'none'"),
        ({"steps": "0>1"}, "the link's steps, column 1: '0>1' is no move"),
        ({"steps": "0>7:0"}, "names rank 7"),
        ({"steps": "0" * (LONGEST + 1)}, "have more than"),
        ({"collective": "nothing"}, "'nothing' cannot be drawn"),
        ({"collective": "allgather", "ranks": "16"}, "at most 8 ranks"),
        ({"collective": "allgather", "ranks": "x"}, "ranks='x' is not a whole number"),
        ({"collective": "alltoall", "ranks": "8", "pieces": "16"}, "with 64 places each"),
        ({"collective": "broadcast", "root": "4"}, "root cannot be 4"),
    ],
)
def test_a_damaged_link_is_refused_in_one_sentence(words, message):
    with pytest.raises(InputError) as refused:
        from_query(words)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_page_is_what_its_address_says_and_writes_it_down():
    task = TASKS["allreduce_islands"]
    steps = written_columns(task.best.columns)
    at = page(task=task.name, steps=steps, lang="zh")
    assert at.query_params["steps"] == steps
    sent = shown(at)
    assert (sent["steps"], sent["board"]["verdict"]) == (steps, "right")
    assert sent["text"]["board.undo"] == catalogue("zh")["board.undo"]
    assert at.success[0].value == catalogue("zh")["task.allreduce_islands.because"]
    assert "✓" in at.sidebar.radio[0].options[8]
    at = page()
    at.sidebar.radio[0].set_value(OWN).run()
    assert at.query_params["collective"] == "allreduce"
    assert shown(at)["board"]["ranks"] == 4
    at.sidebar.number_input(key="own_pieces").set_value(2).run()
    assert at.query_params["pieces"] == "2"
    at.sidebar.text_input(key="own_size").set_value("much").run()
    assert any("much" in error.value for error in at.error)
    at = page(steps="0>1:0;bad")
    assert "is no move" in at.error[0].value
    at = page(task="broadcast_line", steps="0>1:0;1>2:0;2>3:0")
    at.button(key="watch").click().run()
    assert not at.exception
    assert "schedule" in at.query_params


def test_what_is_watched_on_the_stage_is_what_was_drawn():
    task = TASKS["alltoall_ring"]
    drawing = from_query({"task": task.name, "steps": written_columns(task.best.columns)})
    assert drawing == HandDrawing(task.name, task.best, task.machine)
    assert read_sketch(written(drawing.sketch), "file") == task.best
    plan = Plan(schedule=written(drawing.sketch), machine=task.machine.machine, size=task.machine.size)
    assert plan.run().trace.time == pytest.approx(task.par)


def test_words_from_before_a_tick_came_name_their_task():
    first, second = ladder()[0].name, ladder()[1].name
    titles = {first: "1. First", second: "2. Second"}
    for done in ((), (second,)):
        words = [ticked(titles.__getitem__, done)(name) for name in titles]
        assert [meant(word, titles, titles.__getitem__) for word in (*words, first, "3. ✓", None)] == [
            *(first, second, first, None, None)
        ]

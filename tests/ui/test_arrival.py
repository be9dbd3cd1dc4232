"""What a visit begins with: a link that cannot be followed says so for as long as its stand-in is shown."""

import re
from collections import OrderedDict
from unittest.mock import patch

import pytest

from ops.plan import Plan
from sim.errors import LONGEST, InputError
from tests.attack.links import run
from tests.browser.test_visits import DAMAGED, said
from tests.ui.test_page import page, players
from tests.ui.visited import change_state, state_of
from ui import text
from ui.controls import folds
from ui.simulate import machines
from ui.simulate.machines import machine_of
from ui.simulate.state import SimulateState


def errors(at):
    return [error.value for error in at.main.error]


def test_a_broken_link_says_so_until_another_plan_is_chosen_and_a_what_if_can_be_undone():
    at = page(capture="hello")
    assert any("the link's capture is damaged" in text for text in errors(at))
    assert any("the link's capture is damaged" in text for text in errors(at.run()))
    plain = state_of(at, SimulateState).plan
    assert plain == Plan()
    assert "undo" not in [button.key for button in at.button]

    change_state(at, SimulateState, forked="straggler:rank=1,late=1ms")
    at.run()
    assert state_of(at, SimulateState).plan.fault == "straggler:rank=1,late=1ms"
    assert not errors(at)
    assert "undo" in [button.key for button in at.button]
    at.button(key="undo").click().run()
    assert state_of(at, SimulateState).plan == plain
    assert not errors(at)


def test_what_a_hand_is_refused_is_told_once_where_something_is_wrong_already():
    at = page(machine="switch:ranks=16", edits="cut_cable:src=SW,dst=GPU3", against="edits=")
    change_state(at, SimulateState, forked="slow_link:src=SW,dst=GPU3,share=0.5,start=1ms")
    at.run()
    told = [box.value for box in (*at.main.error, *at.main.warning)]
    assert len(told) == 1
    assert "edited has no link SW" in told[0]  # which was taken out, and is now to be slow
    at = page(schedule="example-allreduce-ring-8 (MSCCL XML)", machine="switch:ranks=4")
    before = errors(at)
    at.text_input(key="switch_bandwidth").input("-5GBps").run()
    assert "bandwidth" in at.sidebar.error[0].value
    assert [box.value for box in (*at.main.error, *at.main.warning)] == before
    assert len(before) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"network": "nosuch"}, "the link's network='nosuch' is not one of ethernet, "),
        ({"network": "infiniband", "machine": "dgx_a100"}, "dgx_a100 has no network between hosts"),
        ({"dtype": "float8"}, "the link's dtype='float8' is not one of float32, "),
        ({"op": "xor"}, "the link's op='xor' is not one of sum, "),
    ],
)
def test_a_word_that_no_list_has_is_told(words, told):
    at = page(**words)
    assert any(text.startswith(told) for text in errors(at))
    assert state_of(at, SimulateState).plan == Plan()


@pytest.mark.parametrize("word", ["against", "size", "settings", "fault", "machine", "page"])
def test_nothing_of_a_link_is_markdown_on_the_page(word, monkeypatch):
    picture = "![x](http://127.0.0.1/x.png)"
    words = {
        "against": f"machine=switch:ranks=4;fault={picture}",
        "size": f"1{picture}",
        "settings": f"{picture}=1",
        "fault": f"slow_link:src={picture},dst=GPU0",
        "machine": f"switch:{picture}=2",
        "page": picture,
    }
    run({word: words[word]})
    monkeypatch.setattr(text, "_MARKS", re.compile("(?!)"))
    monkeypatch.setattr(text, "_ADDRESSES", re.compile("(?!)"))
    with pytest.raises(AssertionError, match="Markdown of a link's"):
        run({word: words[word]})


def test_which_run_a_sentence_is_about_makes_it_no_longer_than_a_sentence_is():
    nobody = "swi=1,late=2us;jitter:mean=1us,seed=3tch:ranks=4"
    at = page(against=f"algorithm=allreduce.recursive_doubling|machine={nobody}&size=1MiB")
    (said,) = errors(at)
    assert nobody in said
    assert "no machine is called 'swi=1,late=2us;jitter'" in said
    assert "more …" in said
    assert len(said) <= LONGEST


def test_a_machine_is_built_once_for_everybody(monkeypatch):
    built = []
    make = Plan.topology
    monkeypatch.setattr(machines, "_KEPT", OrderedDict())
    monkeypatch.setattr(Plan, "topology", lambda plan: (built.append(plan.machine), make(plan))[1])
    first = machine_of(Plan(machine="switch:ranks=4"))
    assert machine_of(Plan("allgather.ring", "switch:ranks=4", ranks=2, size="1KiB")) is first
    assert machine_of(Plan(machine="switch:ranks=5")).n == 5
    assert machine_of(Plan(machine="switch:ranks=5", edits="set_class:times=2")).name == "switch:ranks=5, edited"
    monkeypatch.setattr(machines, "ROOM", 30)  # each has 5 or 6 devices, and two links for every GPU
    machine_of(Plan(machine="switch:ranks=6"))
    assert machine_of(Plan(machine="switch:ranks=4")) is not first
    assert built == [f"switch:ranks={n}" for n in (4, 5, 5, 6, 4)]
    with pytest.raises(InputError):
        machine_of(Plan(machine="no such"))


@pytest.mark.parametrize("language", text.languages())
def test_a_damaged_link_says_what_is_wrong_and_still_shows_a_picture(language):
    for query in DAMAGED:
        says = said(query, language)
        name, _, word = query.partition("=")
        at = page(**{name: word, "lang": language})
        assert any(says in text for text in errors(at)), query
        assert len(players(at)) == 1


@pytest.mark.parametrize("language", text.languages())
def test_a_machine_of_one_gpu_is_refused_by_its_name(language):
    at = page(machine="switch:ranks=1", lang=language)
    said = text.catalogue(language)["page.nothing"].format(machine="switch:ranks=1")
    assert [warning.value for warning in at.main.warning] == [said]
    assert not players(at)


def test_from_a_machine_of_one_gpu_another_is_one_choice_away():
    at = page(machine="switch:ranks=1")
    label = text.catalogue("en")["title.machine"]
    next(box for box in at.main.selectbox if box.label == label).set_value("dgx_a100").run()
    assert not at.exception
    assert not at.main.warning
    assert len(players(at)) == 1


def test_a_library_that_cannot_choose_on_a_machine_that_was_cut_says_so_beside_the_picture():
    at = page(machine="switch:ranks=4", edits="cut_cable:src=GPU0,dst=SW", algorithm="broadcast.linear", root="1")
    at.selectbox(key="library").set_value("nccl").run()
    told = [box.value for box in (*at.error, *at.warning)]
    assert not at.exception
    assert len(told) == 2
    assert all(text.startswith("switch:ranks=4, edited: nothing leads from GPU0 to GPU1 (GPUs pass") for text in told)
    assert len(players(at)) == 1


def test_an_edit_is_made_to_the_machine_that_is_chosen_though_the_plan_cannot_be_run_on_it():
    """Its fault is a NIC's of the machine before; what is added to a plan of the old machine is never on the new."""
    words = {"machine": "nodes:nodes=2,gpus=4,nics=2", "fault": "lost_nic:nic=H0.NIC1,start=200us,reroute=yes"}
    with patch.object(folds, "is_made", lambda _fold, **_: True):
        at = page(algorithm="allreduce.ring", **words)
        at.selectbox(key="machine").set_value("dgx_a100").run()
        at.selectbox(key="add_edits_0").set_value("cut_cable").run()
    assert not at.exception
    assert state_of(at, SimulateState).plan.machine == "dgx_a100"
    assert state_of(at, SimulateState).plan.edits.startswith("cut_cable:")
    assert any("has no NIC called" in error.value for error in at.error)


@pytest.mark.parametrize("algorithm", ["openmpi.allreduce", "gloo.allreduce", "nccl.broadcast", "broadcast.chain"])
def test_the_lines_of_what_a_library_takes_are_shown_with_what_they_claim_to_cost(algorithm):
    at = page(machine="switch:ranks=4", algorithm=algorithm)
    at.session_state["code_panel"] = True
    at.run()
    assert not at.exception
    assert len(at.code) == 1
    assert any("α" in each.value for each in at.markdown)

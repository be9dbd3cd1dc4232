"""What is dropped on a page: kept until it is opened or refused, and what it is refused with is told for a while."""

from streamlit.runtime.scriptrunner import RerunData, RerunException

from ops.plan import Plan
from ops.plan.plan_file import to_yaml
from tests.ui.test_page import page
from tests.ui.visited import change_state, state_of
from ui.frame import dropped
from ui.simulate.state import SimulateState
from ui.text import say
from ui.visit import VisitState
from ui.workers import tasks
from ui.workers.process import Call

PLAN = Plan(machine="switch:ranks=4", size="1MiB")


def drop(at, name, text):
    """As a browser sends it."""
    change_state(at, VisitState, received={"files": [{"name": name, "text": text}]})
    at.run()
    assert not at.exception


def told(at):
    return [error.value for error in at.error]


def test_a_refusal_is_told_for_a_while_on_its_page_alone(monkeypatch):
    at = page(machine="dgx1v")
    drop(at, "it", " ")
    assert told(at) == [say("page.text.empty", "en", name="it")]
    assert told(at.run()) == [say("page.text.empty", "en", name="it")]  # drawn anew for another reason
    at.query_params["page"] = "health"
    assert told(at.run()) == []
    del at.query_params["page"]
    monkeypatch.setattr(dropped.time, "monotonic", lambda: state_of(at, VisitState).refusal.until)
    assert told(at.run()) == []


def test_the_next_arrival_takes_a_refusal_away():
    at = page(machine="dgx1v")
    drop(at, "it_*", "hello")
    assert told(at)[0].startswith("it\\_\\* is no topology known here")
    assert "the output of `nvidia-smi topo -m`" in told(at)[0]  # a quoted command is code
    drop(at, "plan", to_yaml(PLAN))
    assert told(at) == []
    assert state_of(at, SimulateState).plan == PLAN


def test_what_was_not_opened_before_the_page_is_drawn_anew_is_opened_then(monkeypatch):
    at, ends = page(machine="dgx1v"), iter([True])
    whole = dropped._open

    def open_later(texts):
        if next(ends, False):
            raise RerunException(RerunData())
        whole(texts)

    monkeypatch.setattr(dropped, "_open", open_later)
    drop(at, "plan", to_yaml(PLAN))
    at.run()
    assert next(ends, None) is None
    assert state_of(at, SimulateState).plan == PLAN


def test_what_somebody_stopped_is_told_and_opened_when_it_is_dropped_again():
    at = page(machine="dgx1v")
    change_state(at, VisitState, stopped=Call(tasks.can_be_run, (PLAN,)))
    drop(at, "plan", to_yaml(PLAN))
    assert told(at) == [say("page.stopped", "en")]
    assert state_of(at, SimulateState).plan != PLAN
    drop(at, "plan", to_yaml(PLAN))
    assert told(at) == []
    assert state_of(at, SimulateState).plan == PLAN

"""What is folded away is made when somebody looks at it, which changes nothing but that it is there."""

import pytest

from tests.ui.test_page import page as opened
from tests.ui.test_page import players
from tests.ui.visited import change_state
from ui.controls import folds
from ui.visit import VisitState


@pytest.fixture
def page(monkeypatch):
    """Opens a page whose folds are closed."""
    monkeypatch.setattr(folds, "is_made", folds.is_made.__wrapped__)
    return opened


def said(at):
    """What stands on a page beside the form."""
    figures = [metric.value for metric in at.metric]
    return at.title[0].value, figures, len(players(at)), "undo" in [b.key for b in at.button], dict(at.query_params)


def test_the_form_is_made_at_the_first_look_and_changes_nothing(page):
    for words in (
        {},
        {"machine": "switch:ranks=6,bandwidth=50GBps", "ranks": "6", "size": "1MB", "view": "matrix"},
        {"capture": "example-dgx-1v", "fault": "straggler:rank=1,late=1ms"},
        {"machine": "switch:ranks=4", "fault": "dead_link:src=GPU0,dst=SW"},
        {"machine": "switch:ranks=4", "against": "algorithm=allreduce.rabenseifner"},
    ):
        at = page(**words)
        before = said(at)
        assert [box.key for box in at.sidebar.selectbox] == ["language"]
        change_state(at, VisitState, folds=frozenset({"form"}))
        at.run()
        assert said(at) == before
        assert len(at.sidebar.selectbox) > 1
        assert not at.exception


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"machine": "switch:bandwidth=fast"}, "bandwidth"),
        ({"machine": "switch:ranks=4", "fault": "plague:rank=1"}, "plague"),
        ({"machine": "switch:ranks=4", "settings": "nonsense=1"}, "nonsense"),
    ],
)
def test_a_form_that_has_to_say_what_is_wrong_is_made_at_once_and_stays(page, words, says):
    at = page(**words)
    assert says in at.sidebar.error[0].value
    assert len(players(at)) == 1
    at.selectbox(key="machine").select("ring").run()
    assert at.sidebar.selectbox
    assert not at.exception

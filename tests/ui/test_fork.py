"""What a hand asks on the stage: both futures come ahead of the page, which follows once the hand rests."""

from types import SimpleNamespace

import pytest

from ops.request import Request
from sim.errors import InputError
from ui.drawer import fork

SCENE = Request(machine="switch:ranks=4")


class AgainError(Exception):
    """All of the page is drawn."""


class _State(dict):
    """As a page's: names are attributes, too."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


@pytest.fixture
def stage(monkeypatch):
    """The state of a visit whose stage shows SCENE, and the scenes that are run."""
    ran = []

    def again():
        raise AgainError

    def picture_of(scene):
        ran.append(scene)
        if "GPU9" in scene.trouble:
            raise InputError("no such link")
        return object()

    state = _State(scene=SCENE, staged=fork.Staged(SCENE, [(SCENE, "as it was", "")]))
    shown = SimpleNamespace(session_state=state, rerun=again)
    for module in (fork, fork.past, fork.whatif):
        monkeypatch.setattr(module, "st", shown)
    monkeypatch.setattr(fork.ahead, "is_allowed", lambda: True)
    monkeypatch.setattr(fork.compare, "picture_of", picture_of)
    return state, ran


def test_both_futures_come_before_the_page_and_only_the_new_one_is_run(stage):
    state, ran = stage
    state.forked = "straggler:rank=1,late=1ms"
    fork.take()
    assert state.staged.is_ahead
    assert state.scene == state.staged.scene
    assert [request.trouble for request, _, _ in state.staged.runs] == ["straggler:rank=1,late=1ms", ""]
    assert state.staged.runs[1][1] == "as it was"
    assert len(ran) == 1
    assert state.past == [SCENE]
    fork.take()  # the player says where it stands: nothing is new
    state.forked = "straggler:rank=2,late=1ms"
    fork.take()
    assert [request.trouble.count("straggler") for request, _, _ in state.staged.runs] == [2, 0, 1]
    state.rested = True
    with pytest.raises(AgainError):
        fork.take()


def test_a_future_that_cannot_be_or_takes_long_is_left_to_the_page(stage, monkeypatch):
    state, ran = stage
    state.forked = "slow_link:src=GPU9,dst=SW"
    with pytest.raises(AgainError):
        fork.take()
    assert state.scene.trouble == "slow_link:src=GPU9,dst=SW"
    assert not state.staged.is_ahead
    monkeypatch.setattr(fork.ahead, "is_allowed", lambda: False)
    ran.clear()
    state.forked = "straggler:rank=1,late=1ms"
    with pytest.raises(AgainError):
        fork.take()
    assert not ran

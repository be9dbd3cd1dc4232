"""Files for a visitor: one that cannot be made is refused in one sentence, and the next one is made."""

import json

from streamlit.testing.v1 import AppTest

from tests.ui.visited import state_of
from ui.share.saving import SavingState, packed


def visit():
    import streamlit as st

    from sim.errors import InputError
    from ui.share import saving

    def fails():
        raise InputError("no *such* thing")

    saving.button("bad", "bad.txt", "text/plain", fails, key="bad")
    saving.button("good", "good.txt", "text/plain", lambda: "å\n", key="good")
    if not st.session_state.get("is_busy"):
        saving.deliver()


def test_a_file_that_fails_is_refused_once_and_others_are_made():
    at = AppTest.from_function(visit).run()
    at.session_state["is_busy"] = True  # the page is drawn again before it ends
    for name in ("bad", "good", "good"):
        at.button(key=name).click().run()
    at.session_state["is_busy"] = False
    at.run()
    assert [toast.value for toast in at.toast] == [r"no \*such\* thing"]
    now = state_of(at, SavingState)
    assert now.requests == ()
    (made,) = now.made
    about, _, data = packed([made, made]).partition(b"\n")
    assert [file["size"] for file in json.loads(about)] == [3, 3]
    assert data == "å\nå\n".encode()
    at.run()
    assert not at.toast
    assert now.saved([made.number]).made == ()
    assert now.saved(None).made == now.made

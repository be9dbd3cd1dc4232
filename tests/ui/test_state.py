"""The state of a visit: kept by class, and changed by callbacks that a busy machine does not lose."""

from streamlit.testing.v1 import AppTest


def interrupted_page():
    """A page whose button is pressed while the browser asks for another run."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ui.state import callback

    def pressed():
        if not arrived:
            arrived.append(True)
            get_script_run_ctx().script_requests.request_rerun(RerunData())
        st.session_state.count = st.session_state.get("count", 0) + 1

    arrived = []
    st.button("lost", key="lost", on_click=pressed)
    st.button("kept", key="kept", on_click=callback(pressed))
    st.text(f"pressed {st.session_state.get('count', 0)}")


def test_a_click_is_not_lost_when_another_request_arrives_during_its_callback():
    at = AppTest.from_function(interrupted_page).run()
    at.button(key="lost").click().run()
    assert at.text[0].value == "pressed 0"  # Streamlit's own way
    at.button(key="kept").click().run()
    assert at.text[0].value == "pressed 1"
    assert not at.exception

"""The state of a visit: kept by class, and changed by callbacks that a busy machine does not lose."""

import ast
from pathlib import Path

from streamlit.testing.v1 import AppTest

from ops.plan import Plan
from tests.ui.visited import change_state, state_of
from ui.simulate.state import SimulateState
from ui.state import MOST
from ui.visit import VisitState


def interrupted_page():
    """A page whose button is pressed while the browser asks for another run."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ui.simulate.state import SimulateState
    from ui.state import become, callback, state
    from ui.visit import VisitState

    def pressed():
        if not arrived:
            arrived.append(True)
            get_script_run_ctx().script_requests.request_rerun(RerunData())
        st.session_state.count = st.session_state.get("count", 0) + 1

    def undone():
        become(state(SimulateState).undone())
        if not twice:
            twice.append(True)
            get_script_run_ctx().script_requests.request_rerun(RerunData())
        become(state(VisitState).renewed())

    def asks_itself():
        st.session_state.asked = st.session_state.get("asked", 0) + 1
        st.rerun()

    arrived, twice = [], []
    st.button("undo", key="undo", on_click=callback(undone))
    st.button("itself", key="itself", on_click=callback(asks_itself))
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


def test_a_callback_that_is_interrupted_in_its_midst_changes_everything_once():
    at = AppTest.from_function(interrupted_page).run()
    plans = [Plan(size=f"{n} B") for n in (1, 2, 3)]
    change_state(at, SimulateState, plan=plans[2], has_plan=True, past=tuple(plans[:2]))
    at.button(key="undo").click().run()
    assert not at.exception
    assert state_of(at, SimulateState).past == (plans[0],)
    assert state_of(at, VisitState).turn == 1


def test_a_callback_that_asks_for_another_run_itself_ends():
    at = AppTest.from_function(interrupted_page).run()
    at.button(key="itself").click().run()
    assert not at.exception
    assert at.session_state.asked == MOST


ROOT = Path(__file__).parents[2]
FILES = [ROOT / "app.py", *(path for room in ("ui", "terminal") for path in sorted((ROOT / room).rglob("*.py")))]


def test_one_module_touches_the_session_and_makes_fragments():
    for name in ("session_state", "st.fragment"):
        touching = [path for path in FILES if name in path.read_text(encoding="utf-8")]
        assert touching == [ROOT / "ui" / "state.py"]


def test_no_click_is_read_where_a_page_is_drawn():
    """A newer request may end the run before it comes there, and the click would be lost; a callback comes first."""
    read = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for test in (getattr(node, "test", None), getattr(node, "value", None)):
                calls = ast.walk(test) if isinstance(test, ast.expr) and not isinstance(node, ast.Expr) else ()
                read += [
                    f"{path.name}:{call.lineno}"
                    for call in calls
                    if isinstance(call, ast.Call)
                    and ast.unparse(call.func).endswith((".button", "form_submit_button"))
                    and not any(keyword.arg == "on_click" for keyword in call.keywords)
                ]
    assert read == []


def test_every_callback_of_a_widget_runs_to_its_end():
    """Whatever stands behind `on_click=` and its like is wrapped, or a parameter that somebody else wraps."""
    bare = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        safe = {f.name for f in functions if "callback" in map(ast.unparse, f.decorator_list)}
        safe |= {argument.arg for f in functions for argument in (*f.args.args, *f.args.kwonlyargs)}
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="callback"))):
                    safe.add(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and (node.arg or "").startswith("on_"):
                bare += [f"{path.name}:{node.value.lineno}" for _ in range(not is_wrapped(node.value, safe))]
    assert bare == []


def is_wrapped(value, safe):
    match value:
        case ast.Constant() | ast.Lambda(body=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id="callback")):
            return True
        case ast.Name(id=name):
            return name in safe
    return False

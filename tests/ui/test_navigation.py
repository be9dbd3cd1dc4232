"""From page to page: who has turned to one stays there."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.ui.visited import state_of
from ui.visit import VisitState

APP = str(Path(__file__).parents[2] / "app.py")


def test_a_run_asked_for_before_the_browser_knew_of_another_page_stays_on_it():
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"] = "health"
    at.run()
    at.button_group(key="page").set_value("learn").run()
    assert at.query_params["page"] in ("learn", ["learn"])
    at.query_params["page"] = "health"  # of the address that the browser still had
    at.run()
    assert at.query_params["page"] in ("learn", ["learn"])
    assert state_of(at, VisitState).page == "learn"

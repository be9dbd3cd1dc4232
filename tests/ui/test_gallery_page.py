"""The gallery's page without a browser: pictures by what leads to them, and a click that opens one on the stage."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from ui.scene.gallery import exhibits
from ui.text import say

APP = str(Path(__file__).parents[2] / "app.py")


def test_a_click_on_a_scene_of_the_gallery_opens_it_on_the_stage():
    at = AppTest.from_file(APP, default_timeout=120)
    at.query_params["page"], at.query_params["lang"] = "gallery", "zh"
    at.run()
    assert not at.exception
    assert not at.error
    questions = [exhibit for exhibit in exhibits() if exhibit.group == "question"]
    assert [at.button(key=f"exhibit_{it.name}").label for it in questions] == [it.title("zh") for it in questions]
    assert len(at.get("image")) == len(questions)
    assert at.title[0].value == say("scenes.title", "zh")
    at.button(key="exhibit_in_class").click().run()
    assert not at.exception
    state = at.session_state
    assert (state.scene.machine, state.view) == ("ring", "shape")  # of eight ranks, as usual
    assert at.query_params["machine"] == "ring"
    assert "page" not in at.query_params

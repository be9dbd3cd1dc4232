"""The gallery's page without a browser: pictures by what leads to them, and a click that opens one on the stage."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ui.scene.examples import SCENARIOS
from ui.scene.gallery import exhibits
from ui.text import say
from ui.widgets.questions import is_same

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.mark.parametrize(
    ("machine", "same"),
    [("ring", True), ("ring:latency=1us,ranks=8", True), ("ring:ranks=9", False), ("switch:ranks=8", False)],
)
def test_a_question_knows_its_scene_however_its_machine_is_written(machine, same):
    scene = SCENARIOS["in_class"].scene
    assert is_same(replace(scene, machine=machine), scene) == same
    assert not is_same(replace(scene, machine=machine, size="1MiB"), scene)


def test_how_to_show_it_in_class_is_told_though_the_form_writes_the_machine_in_its_own_way():
    at = AppTest.from_file(APP, default_timeout=120)
    at.query_params["lang"] = "en"
    at.run()
    at.button(key="ask_in_class").click().run()
    assert not at.exception
    assert at.info[0].value.startswith("Press F for full screen")


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

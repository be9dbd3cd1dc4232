"""The gallery's page without a browser: pictures by what leads to them, and a click that opens one on the stage."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.visited import change_state, state_of
from ui.explore.questions import is_same
from ui.export.exports import Shot
from ui.plan.examples import EXAMPLES
from ui.plan.gallery import exhibits
from ui.simulate.state import SimulateState
from ui.text import say
from ui.workers.tasks import page_alone

APP = str(Path(__file__).parents[2] / "app.py")


@pytest.mark.parametrize(
    ("machine", "same"),
    [("ring", True), ("ring:latency=1us,ranks=8", True), ("ring:ranks=9", False), ("switch:ranks=8", False)],
)
def test_a_question_knows_its_example_however_its_machine_is_written(machine, same):
    example = EXAMPLES["in_class"].plan
    assert is_same(replace(example, machine=machine), example) == same
    assert not is_same(replace(example, machine=machine, size="1MiB"), example)


def test_how_to_show_it_in_class_is_told_though_the_form_writes_the_machine_in_its_own_way():
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["lang"] = "en"
    at.query_params["machine"] = "ring:ranks=8"
    at.run()
    change_state(at, SimulateState, question="in_class")
    at.run()
    assert not at.exception
    assert at.info[0].value.startswith("Press F for full screen")


def test_a_click_on_a_example_of_the_gallery_opens_it_on_the_stage():
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"], at.query_params["lang"] = "gallery", "zh"
    at.run()
    assert not at.exception
    assert not at.error
    questions = [exhibit for exhibit in exhibits() if exhibit.group == "question"]
    assert [at.button(key=f"exhibit_{it.name}").label for it in questions] == [it.title("zh") for it in questions]
    assert len(at.get("image")) == len(questions)
    assert at.title[0].value == say("examples.title", "zh")
    at.button(key="exhibit_in_class").click().run()
    assert not at.exception
    simulated = state_of(at, SimulateState)
    assert (simulated.plan.machine, simulated.start.view) == ("ring", "shape")  # of eight ranks, as usual
    assert at.query_params["machine"] == "ring"
    assert "page" not in at.query_params


@pytest.mark.slow
def test_a_example_of_the_gallery_is_one_page_with_all_its_runs():
    (exhibit,) = [it for it in exhibits() if it.name == "numa_cost"]
    page = page_alone(exhibit.plan, Shot(exhibit.view, language="zh")).decode()
    data = json.loads(re.search(r'id="run">(.*?)</script>', page, re.DOTALL)[1])
    assert len({run["title"] for run in data["runs"]}) == 2
    assert not re.search(r"https?://(?!www\.w3\.org)", page)

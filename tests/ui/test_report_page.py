"""The page of a report without a browser: what leads to it, hosts and NICs, the file, and links that are damaged."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops.plan import Plan
from ops.plan.link import to_link
from tests.ui.visited import script_of, state_of
from ui.pages.report import ReportState
from ui.share.saving import SavingState
from ui.text import say

APP = str(Path(__file__).parents[2] / "app.py")
CAPTURE = "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV4\tPIX\nGPU1\tNV4\tX\tPIX\nNIC0\tPIX\tPIX\tX\n"
LINK = to_link(Plan(capture=CAPTURE))


def opened(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in words.items():
        at.query_params[name] = word
    return at.run()


def page_of(at):
    """The report that the page shows, as HTML."""
    return json.loads(script_of(at, "report").json)["page"]


def test_a_capture_leads_to_its_report_and_a_link_back_to_it():
    at = opened(**LINK, lang="en")
    assert not at.exception
    button = next(each for each in at.button if each.key and each.key.startswith("open_report"))
    button.click().run()
    assert not at.exception
    assert at.query_params["page"] == "report"
    assert "2 GPUs, 1 NICs" in page_of(at)
    again = opened(**{name: word[0] if isinstance(word, list) else word for name, word in at.query_params.items()})
    assert state_of(again, ReportState).plan == state_of(at, ReportState).plan


@pytest.mark.turns("language", "says")
@pytest.mark.parametrize(
    ("language", "says"), [("en", "2 hosts: 4 GPUs, 4 NICs"), ("zh", "2 台主机：4 个 GPU、4 个 NIC")]
)
def test_hosts_and_nics_are_set_and_stand_in_the_link(language, says):
    at = opened(page="report", **LINK, lang=language)
    at.number_input(key="report_hosts").set_value(2).run()
    at.number_input(key="report_nics").set_value(2).run()
    assert not at.exception
    assert not at.error
    assert says in page_of(at)
    assert (at.query_params["hosts"], at.query_params["nics"]) == ("2", "2")
    at.button(key="report_save").click().run()
    (made,) = state_of(at, SavingState).made
    assert made.name.endswith(".html")
    assert says in made.data.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"hosts": "many"}, "hosts=many is no whole number from 0 to 1024"),
        ({"capture": "garbage"}, "the link's capture is damaged"),
        ({"plan": "0badc0de"}, say("report.elsewhere")),
        ({"machine": "ring:ranks=1"}, "1"),
    ],
)
def test_a_damaged_link_is_one_sentence(words, said):
    at = opened(page="report", lang="en", **words)
    assert not at.exception
    assert len(at.error) == 1
    assert said in at.error[0].value

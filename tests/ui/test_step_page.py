"""A training step as a page of its own: whole, in every language, asking nothing of anybody."""

import re
from dataclasses import replace
from functools import cache
from html import unescape

import pytest

import cli
from ops.answers.training import answer_step
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import fmt_time
from terminal import BAD_INPUT, DONE
from ui.charts import training
from ui.files import step_page
from ui.text import languages, say, speaking, worded

STEPS = {"ddp": "switch:ranks=8", "data_parallel": "switch:ranks=4", "allgatherv": "switch:ranks=4"}


@cache
def ran(name):
    return WorkloadPlan(name, machine=Plan(machine=STEPS[name])).run()


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", STEPS)
def test_a_page_holds_all_of_a_step_and_nothing_from_elsewhere(name, language):
    step = ran(name)
    html = step_page.page(step, language).decode()
    assert not re.search("<script|https?:|src=|@import|url\\((?!data:)", html)
    assert not re.search("<!--|train\\.", html)  # every place is filled in, and every text is there
    assert f'lang="{"zh-Hans" if language == "zh" else language}"' in html
    said = unescape(re.sub("<[^>]+>", " ", html))
    assert fmt_time(step.time) in said
    with speaking(language):
        assert all(worded(message) in said for message in answer_step(step))
    assert training.sentence(step, language) in said
    for rank in range(step.ranks):
        assert say("train.rank", language, rank=rank) in said
    for call in step.collectives:
        assert f" {call['algorithm']} " in said
    assert html.count('data-ringside="beside"') == len(step.beside) == (name == "data_parallel")
    assert ('data-ringside="buffer"' in html) == (name == "allgatherv")


def test_long_tables_say_what_they_leave_out(monkeypatch):
    monkeypatch.setattr(step_page, "MOST", 2)
    calls = len(ran("ddp").collectives)
    assert calls > 2
    html = step_page.page(ran("ddp")).decode()
    assert f"<p>and {calls - 2} more</p>" in html


def test_names_from_outside_are_words():
    step = ran("ddp")
    named = replace(step, topology=replace(step.topology, name="<script>alert(1)</script>"))
    assert "<script" not in step_page.page(named).decode()


def test_the_terminal_writes_it(tmp_path, capsys):
    file = tmp_path / "step.html"
    command = ["workload", "ddp", "--machine", "switch:ranks=2", "--page", str(file)]
    assert cli.main([*command, "--language", "zh"]) == DONE
    assert say("train.time", "zh") in file.read_text(encoding="utf-8")
    assert cli.main([*command, "--language", "tlh"]) == BAD_INPUT
    assert "--language 'tlh' is not available: choose from en, zh" in capsys.readouterr().err

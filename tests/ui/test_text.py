"""Texts that are missing are told in English or by their id, and listed by one report."""

import json
import re
import runpy
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops import ALGORITHMS, algorithm
from ops.collectives import allreduce
from sim.faults.kinds import FAULTS, fault
from sim.schedule import copy, reduce
from ui import text
from ui.text import asked_for, catalogue, languages, missing, report, say, things, written

ROOT = Path(__file__).parents[2]


def read_anew(folder, monkeypatch):
    """While a fixture stands, texts are those of its folder."""
    monkeypatch.setattr(text, "FOLDER", folder)
    for kept in (written, catalogue, languages):
        kept.cache_clear()
    yield
    for kept in (written, catalogue, languages):
        kept.cache_clear()


@pytest.fixture
def sparse(tmp_path, monkeypatch):
    """Catalogues of which the Chinese one has a single text."""
    (tmp_path / "en.json").write_text('{"page.size": "Size {n}", "page.open.title": "Open"}', encoding="utf-8")
    (tmp_path / "zh.json").write_text('{"page.size": "大小 {n}"}', encoding="utf-8")
    yield from read_anew(tmp_path, monkeypatch)


def test_what_a_language_lacks_is_told_in_english(sparse):
    assert say("page.size", "zh", n=3) == "大小 3"
    assert say("page.open.title", "zh") == "Open"
    assert say("page.wiring_plan.title", "zh") == "Wiring plan"
    assert say("fault.fog", "en") == "Fog"
    with pytest.raises(KeyError):
        catalogue("tlh")


@pytest.fixture
def third(tmp_path, monkeypatch):
    """The catalogues there are, and beside them a language of a few texts, one that is damaged and one that is none."""
    for path in text.FOLDER.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    german = {"page.language.own": "Deutsch", "page.learn.title": "Lernen", "page.learn.step": "{wrong} von {steps}"}
    (tmp_path / "de.json").write_text(json.dumps(german), encoding="utf-8")
    (tmp_path / "fr.json").write_text('{"page.learn.title": "Apprendre",', encoding="utf-8")
    (tmp_path / "it.json").write_text('{"page.learn.title": 3}', encoding="utf-8")
    yield from read_anew(tmp_path, monkeypatch)


def test_a_language_is_one_file(third):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    at.query_params |= {"page": "learn", "lesson": "server", "lang": "de"}
    at.run()
    assert not at.exception
    assert [*at.selectbox(key="language").options] == ["Deutsch", "English", "中文"]
    assert "Lernen" in [*at.button_group[0].options]
    assert at.title[0].value == "Parameter server or ring"  # which nobody has translated
    assert say("page.learn.step", "de", step=1, steps=3) == "Step 1 of 3"  # as what cannot be filled in is told
    lines = list(report())
    assert [line for line in lines if line.startswith(("fr", "it"))] == [
        "fr.json cannot be read: Expecting property name enclosed in double quotes: line 1 column 34 (char 33)",
        "it.json: 'page.learn.title' is no text: put it in quotes",
    ]
    (lacking,) = [line for line in lines if line.startswith("de: ")]
    assert int(lacking.split()[1]) > 900
    german = lines[lines.index(lacking) :]
    assert "  lesson.server.title: Parameter server or ring" in german
    assert not any(line.startswith("  page.learn.title:") for line in german[1 : 1 + int(lacking.split()[1])])


def test_one_report_lists_what_is_missing(sparse):
    lines = list(report())
    assert lines[0].startswith("en: ")
    assert "  fault.straggler: Straggler" in lines
    assert "  page.open.title: Open" in lines[lines.index(next(x for x in lines if x.startswith("zh: "))) :]
    assert f"  summary.allreduce.ring: {ALGORITHMS['allreduce.ring'].summary}" in lines


def test_something_new_is_missing_and_nothing_else():
    before = {language: missing(language) for language in languages()}
    with ALGORITHMS.also(), FAULTS.also():

        @algorithm(allreduce)
        def star(n):
            """Everyone adds to rank 0, which sends the sum back."""
            yield reduce(range(1, n), 0, slot=0)
            yield copy(0, range(1, n), slot=0)

        @fault
        def fog(topology):
            """Nothing is seen."""

        assert missing("en") == before["en"] | {"fault.fog": "Fog"}
        assert missing("zh").keys() - before["zh"].keys() == {
            "fault.fog",
            "summary.fog",
            "summary.allreduce.star",
            "name.algorithm.star",
        }


def test_forms_for_unequal_blocks_need_no_text_of_their_own():
    assert "summary.allgatherv.ring" not in things()
    assert "summary.allgatherv" not in things()
    assert {"summary.allgather.ring", "summary.allgather", "summary.a100_quad", "summary.straggler"} <= things().keys()


@pytest.mark.slow
def test_the_report_is_a_command_that_ends_well(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ui.text"])
    with suppress(SystemExit), pytest.warns(RuntimeWarning, match="found in sys.modules"):
        runpy.run_module("ui.text", run_name="__main__", alter_sys=True)
    assert re.fullmatch(r"(\w+: (no|\d+) texts missing\n(  .*\n)*)+", capsys.readouterr().out)


def test_every_text_that_code_asks_for_by_name_is_there():
    """All but those of a page that has none at all yet: one file is a page."""
    pages = {key.split(".")[1] for key in written("en") if key.startswith("page.")}
    lacking = asked_for() - written("en").keys()
    assert len(asked_for()) > 50
    assert {key for key in lacking if not key.startswith("page.") or key.split(".")[1] in pages} == set()
    assert lacking <= missing("en").keys()


@pytest.mark.parametrize("language", languages())
def test_no_word_of_a_title_has_punctuation_after_it(language):
    titles = {key: words for key, words in catalogue(language).items() if key.startswith("title.") and "{" in words}
    assert titles
    apart = [key for key, words in titles.items() if re.search(r"\}\s*[^\w\s{]", words)]
    assert not apart, "each word is a control, with room around it: a comma would stand alone"

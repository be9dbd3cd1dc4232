"""Texts that are missing are told in English or by their id, and listed by one report."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ops import ALGORITHMS, algorithm
from ops.collectives import allreduce
from sim.schedule import copy, reduce
from sim.trouble import TROUBLES, trouble
from ui import text
from ui.text import catalogue, languages, missing, report, say, things, written

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sparse(tmp_path, monkeypatch):
    """Catalogues of which the Chinese one has a single text."""
    (tmp_path / "en.json").write_text('{"page.size": "Size {n}", "page.open.title": "Open"}', encoding="utf-8")
    (tmp_path / "zh.json").write_text('{"page.size": "大小 {n}"}', encoding="utf-8")
    monkeypatch.setattr(text, "FOLDER", tmp_path)
    for kept in (written, catalogue, languages):
        kept.cache_clear()
    yield
    for kept in (written, catalogue, languages):
        kept.cache_clear()


def test_what_a_language_lacks_is_told_in_english(sparse):
    assert say("page.size", "zh", n=3) == "大小 3"
    assert say("page.open.title", "zh") == "Open"
    assert say("page.wiring_plan.title", "zh") == "Wiring plan"
    assert say("trouble.fog", "en") == "Fog"
    with pytest.raises(KeyError):
        catalogue("tlh")


def test_one_report_lists_what_is_missing(sparse):
    lines = list(report())
    assert lines[0].startswith("en: ")
    assert "  trouble.straggler: Straggler" in lines
    assert "  page.open.title: Open" in lines[lines.index(next(x for x in lines if x.startswith("zh: "))) :]
    assert f"  summary.allreduce.ring: {ALGORITHMS['allreduce.ring'].summary}" in lines


def test_something_new_is_missing_and_nothing_else():
    before = {language: missing(language) for language in languages()}
    with ALGORITHMS.also(), TROUBLES.also():

        @algorithm(allreduce)
        def star(n):
            """Everyone adds to rank 0, which sends the sum back."""
            yield reduce(range(1, n), 0, slot=0)
            yield copy(0, range(1, n), slot=0)

        @trouble
        def fog(topology):
            """Nothing is seen."""

        assert missing("en") == before["en"] | {"trouble.fog": "Fog"}
        assert missing("zh").keys() - before["zh"].keys() == {
            "trouble.fog",
            "summary.fog",
            "summary.allreduce.star",
        }


def test_forms_for_unequal_blocks_need_no_text_of_their_own():
    assert "summary.allgatherv.ring" not in things()
    assert "summary.allgatherv" not in things()
    assert {"summary.allgather.ring", "summary.allgather", "summary.a100_quad", "summary.straggler"} <= things().keys()


@pytest.mark.slow
def test_the_report_is_a_command_that_ends_well():
    done = subprocess.run([sys.executable, "-m", "ui.text"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"(\w+: (no|\d+) texts missing\n(  .*\n)*)+", done.stdout)


def test_every_text_that_code_asks_for_by_name_is_there():
    code = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("ui/**/*.py") if path.name != "text.py")
    asked_for = set(re.findall(r"\b(?:tell|say)\(\s*\"([\w.]+)\"", code))
    assert len(asked_for) > 50
    assert asked_for - written("en").keys() == set()

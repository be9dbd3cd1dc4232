"""Talks: the file they are kept in, checked line by line, and the page that is made of them."""

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

import cli
from ops.plan import Plan
from sim.errors import InputError
from terminal import BAD_INPUT, DONE
from tests.tables import each_row
from ui.learning.runs import runs_of
from ui.lessons import LESSONS
from ui.player.payload import unpack
from ui.talk import StageLine, Talk, TalkScene, document, lessons, pages
from ui.talk.example import example
from ui.text import languages

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = """\
ringside: talk-1
title: Why a ring wins
scenes:
  - title: One cable
    link: http://localhost:8501/?algorithm=allreduce.linear&machine=switch:ranks=3&size=1MiB&view=machine&t=1e-5&lang=zh
    words: Everyone sends to one GPU.
    stops: [20us, 60us]
    notes: |
      Ask **first**.

        - <img src=x onerror=alert(1)>
  - scene:
      algorithm: allreduce.ring
      machine: switch:ranks=3
      size: 1MiB
      against: algorithm=allreduce.linear
    shown: {view: matrix}
    words:
      - text: Now a ring
      - at: 30us
        text: 环
"""
ONE = "ringside: talk-1\nscenes:\n  - link: ?machine=switch:ranks=2&size=1KiB\n"


@pytest.fixture(scope="module")
def talk():
    return document.from_text(WRITTEN, "ring.yaml")


@pytest.fixture(scope="module")
def shown(talk):
    told = []
    data = pages.shown(talk, lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    return data


def test_a_talk_is_read_and_written_back(talk):
    first, second = talk.scenes
    assert (talk.title, talk.language, first.title, second.title) == ("Why a ring wins", "en", "One cable", "")
    assert first.plan == Plan(algorithm="allreduce.linear", machine="switch:ranks=3", size="1MiB")
    assert first.place == {"t": "1e-5", "view": "machine"}
    assert first.stops == pytest.approx((2e-5, 6e-5), rel=1e-15)
    assert first.lines == (StageLine("Everyone sends to one GPU."),)
    assert first.notes.startswith("Ask **first**.\n\n  - <img")
    assert [line.text for line in second.lines] == ["Now a ring", "环"]
    assert [line.at for line in second.lines] == pytest.approx([0, 3e-5], rel=1e-15)
    assert document.is_talk(document.to_text(talk))
    assert document.from_text(document.to_text(talk), "again") == talk


@pytest.mark.parametrize(
    "scene",
    [
        TalkScene(Plan(capture="GPU0 GPU1\n\tX\n  end ", machine="ring"), "a: b", notes="  # no\n\n\ttab\n- x\n"),
        TalkScene(Plan(schedule="<algo>\n\n</algo>"), '"', {"view": "time", "chosen": "rank_1*"}, notes="a\n"),
        TalkScene(Plan(), "no", {}, (StageLine("~"), StageLine("{x}", 1 / 3)), (1e-9, 1 / 3), "one line: #1"),
    ],
)
def test_whatever_is_written_is_read_back(scene):
    talk = Talk("null", (scene, TalkScene(Plan())), "zh")
    back = document.from_text(document.to_text(talk), "it")
    assert back.scenes[0].plan.capture.split() == scene.plan.capture.split()
    assert back == talk or scene.plan.capture


@each_row(
    "written, words",
    [
        ("ringside: talk-2\nscenes: []\n", "line 1: this is no known talk"),
        ("ringside: talk-1\n", "line 1: the talk has no scenes"),
        ("ringside: talk-1\nscenes: []\n", "line 2: a talk of 0 scenes: give 1 to 100"),
        ("ringside: talk-1\nscenes:\n" + "  - link: ?size=1KiB\n" * 101, "line 3: a talk of 101 scenes"),
        ("ringside: talk-1\nscene: []\n", "line 2: the talk has no key 'scene': did you mean scenes?"),
        ("ringside: talk-1\nscenes: one\n", "line 2: scenes is one value: write a list"),
        ("ringside: talk-1\nscenes:\n  - one\n", "line 3: a scene is one value: write key: value"),
        ("ringside: talk-1\nscenes:\n  - title: x\n", "line 3: a scene is given by a link or written out"),
        (ONE + "    scene: {size: 1MiB}\n", "line 3: a scene is given by a link or written out"),
        (ONE + "    stop: 1ms\n", "line 4: a scene has no key 'stop': did you mean stops?"),
        (ONE + "    stops: [1, soon]\n", "line 4: a stop 'soon' "),
        (ONE + "    stops: [2us, 1us]\n", "line 4: this stop is not after the one before"),
        (ONE + f"    stops: [{', '.join(f'{k}ns' for k in range(51))}]\n", "line 4: 51 stops: give 50 at most"),
        (ONE + "    words:\n      - at: 1us\n", "line 5: these words have no text"),
        (ONE + "    words:\n      - text: a\n      - text: b\n", "line 6: these words come at the instant of those"),
        (ONE + f"    words: {'w' * 301}\n", "line 4: words has 301 characters: write 300 at most"),
        (ONE + f"    notes: {'w' * 20_001}\n", "line 4: notes has 20,001 characters"),
        (ONE + f"    title: {'w' * 121}\n", "line 4: title has 121 characters"),
        (ONE + "    shown: {view: film}\n", "line 4: view='film' is no view: choose from"),
        (ONE + "    shown: {t: -1}\n", "line 4: t='-1' is not a time in seconds"),
        (ONE + "    shown: {zoom: 3}\n", "line 4: shown has no key 'zoom'"),
        (ONE.replace("?machine", "?page=learn&machine"), "line 3: the link leads to the page 'learn'"),
        (ONE.replace("?machine", "?scene=1f&machine"), "line 3: the link names a plan that only its own visit"),
        (ONE.replace("?", "machine="), "line 3: link is 'machine="),
        (ONE.replace("size=1KiB", "ranks=many"), "line 3: the link's ranks='many' is not a whole number"),
        (ONE + "language: tlh\n", "line 4: language is 'tlh': choose from"),
        (ONE + "  - scene: {python: x.py}\n", "line 4: the scene has no key 'python'"),
        (ONE + "title: !!python/object:os.system x\n", "line 4: the tag"),
        (ONE + "title: &a [*a, *a]\n", "names nothing finished"),
        ("ringside: talk-1\nscenes: [", "not well-formed YAML"),
    ],
)
def test_a_fault_is_told_with_its_line(written, words):
    with pytest.raises(InputError) as refusal:
        document.from_text(written, "ring.yaml")
    assert str(refusal.value).startswith("ring.yaml")
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (ONE + "    stops: [1s]\n", "line 3: a stop at 1 s, but the run ends at"),
        (ONE + "    words:\n      - text: late\n        at: 1s\n", "line 3: words at 1 s, but the run ends at"),
        (ONE.replace("switch:ranks=2", "swich"), "line 3: "),
        (ONE.replace("switch:ranks=2", "switch:ranks=2&algorithm=allreduce.rign"), "no algorithm is called"),
    ],
)
def test_a_scene_that_cannot_be_shown_is_told_with_its_line(written, words):
    with pytest.raises(InputError) as refusal:
        pages.shown(document.from_text(written, "ring.yaml"))
    assert "ring.yaml, line 3" in str(refusal.value)
    assert words in str(refusal.value)


@pytest.mark.slow
def test_the_page_has_every_run_once_and_all_that_is_said(talk, shown):
    first, second = shown["scenes"]
    assert first["title"] == "One cable"
    assert set(shown["all"]) == {run["id"] for scene in (first, second) for run in scene["runs"]}
    assert len(shown["all"]) == 2  # the linear run beside the ring is that of the first scene
    assert [run["title"] for run in second["runs"]] != ["", ""]
    assert (first["start"]["t"], first["start"]["view"], second["start"]["view"]) == (1e-5, "machine", "matrix")
    for run in shown["all"].values():
        assert unpack(run)[0]["meta"]["ranks"] == 3
    for scene in (first, second):
        assert scene["picture"].startswith("<svg")
    page = pages.page(shown, lessons.packed("en", ["ring", "stages"])).decode()
    (data,) = re.findall(r'<script type="application/json" id="scenes">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["scenes"][0]["notes"] == talk.scenes[0].notes
    assert "<img src=x" not in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert len(page) < 600_000


@pytest.mark.slow
@pytest.mark.parametrize("language", languages())
def test_lessons_bring_their_questions_graded_by_the_simulator(language):
    names = ("ring", "buckets", "latency")
    data = lessons.packed(language, names)
    assert {entry["name"] for entry in data["lessons"]} == set(names)
    asked = 0
    for entry in data["lessons"]:
        for step, packed in zip(LESSONS[entry["name"]].steps, entry["steps"], strict=True):
            assert packed["words"]
            assert "{" not in packed["words"]
            assert all(run["id"] in data["all"] for run in packed.get("runs", ()))
            if "timelines" in packed:
                before, after = (zlib.decompress(base64.b64decode(text)) for text in packed["timelines"])
                assert len(before) < len(after)
            if step.ask:
                asked += 1
                ask, runs = packed["ask"], runs_of(step.plans)
                assert step.ask.grade(ask["answer"], runs)
                assert [word for word, _ in ask["options"]] == list(step.ask.options)
                assert "{" not in "".join(ask[part] for part in ("question", "hint", "right", "shown", "label"))
    assert asked >= 6


def test_a_talk_of_too_much_is_refused(talk, monkeypatch):
    monkeypatch.setattr(pages, "LARGEST", 100)
    with pytest.raises(InputError, match="leave out the largest"):
        pages.shown(talk)


def test_the_command_checks_and_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("terminal.talk.LESSONS", ["ring"])
    file, page = tmp_path / "ring.yaml", tmp_path / "ring.html"
    file.write_text(WRITTEN, encoding="utf-8")
    assert cli.main(["talk", str(file), "-o", str(page), "--json"]) == DONE
    data = json.loads(capsys.readouterr().out)
    assert data["bytes"] == page.stat().st_size
    assert [scene["stops"] for scene in data["scenes"]] == [2, 0]
    file.write_text(WRITTEN.replace("60us", "60"), encoding="utf-8")
    assert cli.main(["talk", str(file)]) == BAD_INPUT
    assert "line 4: a stop at 60 s, but the run ends at" in capsys.readouterr().err


@pytest.mark.parametrize("language", languages())
def test_the_example_can_be_given_in_every_language(language):
    talk = example(language)
    assert talk.language == language
    shown = pages.shown(talk)
    assert [bool(scene.notes and scene.lines) for scene in talk.scenes] == [True] * len(talk.scenes)
    linear, ring = (scene["time"] for scene in shown["scenes"][:2])
    assert f"{linear * 1e3:.1f} ms" in talk.scenes[0].notes
    assert f"{ring * 1e3:.1f} ms" in talk.scenes[1].notes
    assert [len(scene.stops) for scene in talk.scenes] == [len(scene.stops) for scene in example("en").scenes]


def test_the_talk_of_the_documents_can_be_given(capsys):
    (written,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "talks.md").read_text(encoding="utf-8"), re.DOTALL)
    sample = DOCS / "examples" / "ring.talk.yaml"
    in_words, in_file = document.from_text(written, "it"), document.from_text(sample.read_text(encoding="utf-8"), "it")
    assert in_words.scenes == in_file.scenes[:2]
    assert cli.main(["talk", str(sample)]) == DONE
    assert capsys.readouterr().out == "Why a ring wins: 3 scenes, all can be shown\n"

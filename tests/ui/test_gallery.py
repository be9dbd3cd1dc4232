"""The gallery and the site that is made of it: every example there is, each in every form, in a folder of its own."""

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

import cli
from ops.plan import Plan
from ops.plan.link import from_link
from ops.plan.plan_file import from_yaml
from sim.base.watch import Watch, passing, watched, watching
from sim.machines import MACHINES
from terminal import BAD_INPUT, DONE
from ui.files import site
from ui.lessons import LESSONS
from ui.plan import gallery
from ui.plan.gallery import GROUPS, exhibits
from ui.player.payload import unpack
from ui.text import languages

FEW = ("what_is_allreduce", "which_algorithm", "machine-dgx1v", "lesson-basics-1")


def few():
    """An example of each group that is soon run, one of them beside others."""
    return [exhibit for exhibit in exhibits() if exhibit.name in FEW]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("site")
    site.check(path)
    site.write(path, few(), lambda done, of: None, "https://rings.example/")
    return path


def test_everything_that_is_listed_is_in_the_gallery():
    every = exhibits()
    assert len(every) >= 50
    assert {exhibit.group for exhibit in every} == set(GROUPS)
    for names in ([exhibit.name for exhibit in every], [exhibit.plan for exhibit in every]):
        assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w-]+", exhibit.name) for exhibit in every)
    examples = {exhibit.plan for exhibit in every}
    steps = [step for lesson in LESSONS.values() for step in lesson.steps]
    assert all(step.plan in examples for step in steps if isinstance(step.plan, Plan))
    assert {exhibit.plan.machine for exhibit in every} >= set(MACHINES)
    assert len(few()) == len(FEW)


@pytest.mark.parametrize("language", languages())
def test_every_example_has_a_title_and_brings_itself_back(language):
    for exhibit in exhibits():
        assert exhibit.title(language)
        assert "{" not in exhibit.title(language)
        assert from_link(gallery_link(exhibit)) == exhibit.plan


def gallery_link(exhibit):
    return dict(parse_qsl(urlsplit(unescape(site._ways(exhibit, "en", "", "http://x")[0].split('"')[1])).query))


def test_every_example_is_there_in_every_form(folder):
    for exhibit in few():
        files = {path.suffix: path for path in (folder / "scenes").glob(f"{exhibit.name}.*")}
        assert files.keys() == {".svg", ".yaml", ".ipynb", ".html"}
        assert from_yaml(files[".yaml"].read_text(), "it") == exhibit.plan
        (cell,) = [it for it in json.loads(files[".ipynb"].read_text())["cells"] if it["cell_type"] == "code"]
        (link,) = re.findall(r"show\('\?(.+)'\)", cell["source"])
        assert from_link(dict(parse_qsl(link))) == exhibit.plan
        picture = ET.fromstring(files[".svg"].read_text())
        assert len(picture.findall(".//{http://www.w3.org/2000/svg}rect")) > 4


@pytest.mark.parametrize("language", languages())
def test_a_page_holds_its_runs_and_leads_nowhere_else(folder, language):
    top = folder if language == "en" else folder / language
    for exhibit in few():
        page = (top / "scenes" / f"{exhibit.name}.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="run">(.*?)</script>', page, re.DOTALL)[1])
        runs = [unpack(packed)[0]["meta"]["algorithm"] for packed in data["runs"]]
        assert len(runs) == 1 + len(exhibit.plan.others())
        loaded = re.findall(r'<(?:link rel="stylesheet" href|script src|img src)="([\w./-]+)"', page)
        assert loaded
        assert all((top / "scenes" / name).resolve().is_file() for name in loaded)
        assert not re.search(r"@import|https?://(?!www\.w3\.org|rings\.example)", page)


@pytest.mark.parametrize("language", languages())
def test_every_way_from_the_front_page_leads_somewhere(folder, language):
    top = folder if language == "en" else folder / language
    page = (top / "index.html").read_text(encoding="utf-8")
    places = [unescape(place) for place in re.findall(r'(?:href|src)="([^"#]+)"', page)]
    outside = [place for place in places if place.startswith("https://rings.example/?")]
    assert len(outside) == len(few())
    inside = [place for place in places if place not in outside and not place.startswith("data:")]
    assert len(inside) >= 4 * len(few())
    assert [place for place in inside if not (top / place).resolve().is_file()] == []


def test_titles_cannot_break_out_of_a_page(tmp_path, monkeypatch):
    (exhibit,) = [it for it in few() if it.name == "what_is_allreduce"]
    monkeypatch.setattr(gallery.Exhibit, "title", lambda self, language: "</title><script>alert(1)</script>")
    files = dict(site._files(exhibit, site.ADDRESS)) | {"index.html": site._front([exhibit], "en", site.ADDRESS)}
    shown = [text for name, text in files.items() if name.endswith((".html", ".svg"))]
    assert len(shown) == 4
    assert not any("<script>alert" in text for text in shown)


def test_the_command_writes_it_and_writes_it_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("terminal.site.exhibits", lambda: few()[:1])
    monkeypatch.setattr("terminal.site.LESSONS", ["ring"])
    for _ in range(2):
        assert cli.main(["site", str(tmp_path / "out"), "--json"]) == DONE
        answer = json.loads(capsys.readouterr().out)
        assert (answer["scenes"], answer["files"]) == (1, len([*(tmp_path / "out").rglob("*.*")]))


def ways(front: Path) -> set[str]:
    """What a front page leads to in its folder."""
    return {way for way in re.findall(r'(?:href|src)="([^"#:]+)"', front.read_text()) if not way.startswith("http")}


def test_a_site_that_was_interrupted_can_be_used_and_goes_on_where_it_was(tmp_path, monkeypatch):
    examples, made = few()[:3], []

    def files(exhibit: gallery.Exhibit, address: str) -> Iterator[tuple[str, str]]:
        made.append(exhibit.name)
        yield f"scenes/{exhibit.name}.svg", "<svg/>"
        if made == [example.name for example in examples[:2]]:
            raise KeyboardInterrupt
        for ending in ("yaml", "ipynb", "html"):
            yield f"scenes/{exhibit.name}.{ending}", exhibit.name
        yield f"zh/scenes/{exhibit.name}.html", exhibit.name

    monkeypatch.setattr(site, "_files", files)
    monkeypatch.setattr(site, "_first_minute", lambda language: iter([(site._at(language, "story.html"), "")]))
    monkeypatch.setattr(site, "_lesson", lambda language, name, runs: iter([(site._at(language, f"{name}.html"), "")]))
    site.check(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        site.write(tmp_path, examples, lambda done, of: None, taught=["ring"])
    for way in ways(tmp_path / "index.html"):
        assert (tmp_path / way).exists(), way
    site.check(tmp_path)
    for _ in range(2):
        count = site.write(tmp_path, examples, lambda done, of: None, taught=["ring"])
    assert made == [examples[0].name, examples[1].name, examples[1].name, examples[2].name]
    assert count == len([*tmp_path.rglob("*.*")])
    assert {f"scenes/{example.name}.html" for example in examples} <= ways(tmp_path / "index.html")


def test_a_page_is_made_again_where_it_is_gone_changed_or_was_made_otherwise(tmp_path):
    def pages(address: str = "http://a/") -> site._Pages:
        return site._Pages(tmp_path, [], address, [])

    pages().make("x", 1, lambda: [("x.html", "x")])
    assert pages().whole("x", 1) == ["x.html"]
    assert not pages().whole("x", 2)
    assert not pages("http://b/").whole("x", 1)
    (tmp_path / "x.html").unlink()
    assert not pages().whole("x", 1)
    for damaged in ("[]", "{", "3", '{"x": 1}', '{"x": {"files": 3, "from": ""}}', "[1]"):
        (tmp_path / site.RECORD).write_text(damaged)
        assert not pages().whole("x", 1)


@pytest.mark.parametrize("variable", ["RINGSIDE_MAX_SECONDS", "RINGSIDE_MAX_MEMORY"])
def test_what_limits_visitors_limits_no_batch(variable, tmp_path, monkeypatch, capsys):
    limits = []
    monkeypatch.setenv(variable, "7")
    monkeypatch.setattr("terminal.site.exhibits", lambda: limits.append(watching()) or [])
    monkeypatch.setattr("terminal.site.LESSONS", [])
    for words in ([], ["--max-seconds", "5"]):
        cli.main(["site", str(tmp_path / "out"), *words])
    assert [limit.seconds for limit in limits] == [math.inf, 5]
    assert all(limit.memory > 1e6 for limit in limits)


def test_so_many_seconds_are_for_each_example_of_a_site(tmp_path, monkeypatch):
    clock = itertools.count(step=4.0)
    monkeypatch.setattr("sim.base.watch.time.monotonic", lambda: next(clock))

    def files(exhibit: gallery.Exhibit, address: str) -> Iterator[tuple[str, str]]:
        passing()
        yield from ()

    monkeypatch.setattr(site, "_files", files)
    monkeypatch.setattr(site, "_first_minute", lambda language: iter(()))
    with watched(Watch(seconds=10.0)):
        site.write(tmp_path, few(), lambda done, of: None)


def test_folders_that_hold_something_else_are_left_alone(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("my own page")
    (tmp_path / "file").write_text("x")
    for words, says in [
        (["mine"], "holds other files: name an empty folder, or one that was written so"),
        (["file"], "file is a file: name a folder"),
        (["x" * 5000], "cannot be written: File name too long; name another folder"),
        (["file/below"], "cannot be written: Not a directory; name another folder"),
        (["new", "--address", "javascript:alert(1)"], "is no address of a page: write one like http://localhost:8501/"),
    ]:
        assert cli.main(["site", str(tmp_path / words[0]), *words[1:]]) == BAD_INPUT
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert says in err
    assert (tmp_path / "mine" / "index.html").read_text() == "my own page"
    assert not (tmp_path / "new").exists()

"""What `show` makes of runs, sweeps and training steps, without a browser: values, stills, links and refusals."""

import base64
import io
import json
import re
import sys
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest
from PIL import Image

from ops import ALGORITHMS
from ops.lab.cells import rows
from ops.lab.winners import winner_map
from ops.plan import Plan, link
from ops.plan.link import from_link
from ops.plan.plan_file import to_yaml
from ops.plan.training import WorkloadPlan, to_query
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row
from ui import notebook
from ui.notebook import show
from ui.player.payload import unpack

RING = Plan(machine="switch:ranks=4", size="1MiB")
RACE = Plan(machine="switch:ranks=4", size="1MiB", against="algorithm=allreduce.rabenseifner")
STEP = WorkloadPlan(machine=Plan(machine="switch:ranks=2,bandwidth=3GBps"))


@pytest.fixture(scope="module")
def trace():
    return simulate(build("switch:ranks=4"), ALGORITHMS["allreduce.ring"].schedule(4), 1 << 20, history=True)


@pytest.fixture(scope="module")
def sweep():
    cells = [
        Plan(f"allreduce.{name}", "switch:ranks=4", size=size, ranks=4)
        for name in ("ring", "recursive_doubling")
        for size in ("1KiB", "1MiB")
    ]
    return rows(cells, budget=60.0)


@pytest.fixture(scope="module")
def run():
    return show(RACE)


def link_of(html):
    return dict(parse_qsl(urlsplit(unescape(re.search(r'href="([^"]+)"', html)[1])).query))


def test_a_run_is_packed_as_the_player_takes_it(run):
    headers = [unpack(packed)[0]["meta"]["algorithm"] for packed in run.data["runs"]]
    assert headers == ["ring", "rabenseifner"]
    assert [packed["title"] for packed in run.data["runs"]] == ["Ring", "Rabenseifner"]
    assert json.loads(json.dumps(run.data, allow_nan=False)) == run.data


def test_values_follow_the_instant(run):
    run.time, run.view = 0.0, "machine"
    assert run.step == 0
    run.time, run.view = run.end / 2, "matrix"
    assert run.step == 3
    assert "step 3 of 6" in run.caption
    assert {"t": f"{run.time:.12g}", "view": "matrix"}.items() <= run.link.items()


@pytest.mark.parametrize("time", [-1e-9, 1.0, float("nan"), float("inf")])
def test_an_instant_outside_the_run_is_refused(run, time):
    before = run.time
    with pytest.raises(InputError, match=r"is not within the run, which takes \d.* µs: give 0 to"):
        run.time = time
    assert run.time == before


def test_a_view_there_is_none_of_is_refused(run):
    with pytest.raises(InputError, match="no view is called 'front': choose from machine, shape"):
        run.view = "front"


def test_nothing_is_loaded_from_elsewhere(run):
    code = run._esm + run._css
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|\bimport\(|\bimport .* from", code)


def test_a_saved_notebook_has_a_still_of_each_run_and_the_link_to_them(run):
    run.time, run.view = run.end / 2, "matrix"
    html = run.still()
    images = re.findall(r'<img alt="(step \d of \d[^"]+)" src="data:image/png;base64,([^"]+)"', html)
    assert [Image.open(io.BytesIO(base64.b64decode(source))).size for _, source in images] == [(960, 540)] * 2
    words = link_of(html)
    assert from_link(words) == RACE
    assert (words["view"], float(words["t"])) == ("matrix", pytest.approx(run.time))
    assert "<script" not in html


def test_a_trace_alone_is_linked_as_far_as_a_link_can_hold_it(trace, monkeypatch):
    short = show(trace)
    assert from_link(short.link).run().trace.time == trace.time
    monkeypatch.setattr(link, "LONGEST", 100)
    long = show(trace)
    assert long.link == {}
    assert "href" not in long.still()
    assert "<img" in long.still()


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_several_runs_stand_on_one_clock(trace, kind):
    runs = {"here": trace, "there": Plan(machine="ring:ranks=4", size="1MiB").prepare()}
    both = show(runs if kind is dict else kind(runs.values()))
    titles = [packed["title"] for packed in both.data["runs"]]
    assert titles == (["here", "there"] if kind is dict else ["ideal switch (ranks=4)", "ring of links (ranks=4)"])
    assert both.end == max(it.time for it in both.traces)


def test_a_run_that_stalls_is_shown_up_to_there():
    stalled = show(Plan(machine="dual_socket_pcie", size="1MiB", fault="dead_link:src=GPU0,dst=PCI0"))
    (packed,) = stalled.data["runs"]
    assert unpack(packed)[0]["meta"]["stalled"]


@pytest.mark.parametrize("address", ["?", "http://localhost:8501/?", "https://example.org/ringside?embed=true&"])
def test_a_link_shows_what_its_page_shows(address):
    shown = show(f"{address}machine=switch:ranks=4&size=1MiB&t=0.00001&view=shape&lang=zh")
    assert (shown.time, shown.view) == (0.00001, "shape")
    assert shown.data["text"]["page.title"]
    assert "在" in shown.still()


def test_files_are_read_and_never_run(tmp_path, trace, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(to_yaml(RACE), encoding="utf-8")
    assert len(show("plan.yaml").traces) == 2
    (tmp_path / "run.json").write_text(trace.to_json(), encoding="utf-8")
    assert show(tmp_path / "run.json").end == trace.time
    (tmp_path / "evil.yaml").write_text("ringside: scenario-1\npython: evil.py:f\nmachine: dgx1v\nsize: 1MiB\n")
    with pytest.raises(InputError, match="this plan runs a Python file: only the terminal does that"):
        show("evil.yaml")


@each_row(
    "what, says",
    [
        (None, "nothing can be shown of NoneType: give a trace"),
        ([], "nothing can be shown of list"),
        ([1], "int is no run: give traces"),
        ([RING] * 5, "5 runs do not fit beside each other: show 4 at most"),
        ("nowhere.yaml", "nowhere.yaml cannot be read: No such file or directory; give a file or a link"),
        ("?machine=nonsense", "nonsense"),
        ("?t=soon", "the link's t='soon' is not a time in seconds: correct the address"),
        ("?view=front", "the link's view='front' is none of machine"),
        ("?lang=tlh", "the link's lang='tlh' is none of en, zh"),
        ("?page=measured", "page='measured' shows no run"),
    ],
)
def test_what_cannot_be_shown_is_told_in_one_sentence(what, says):
    with pytest.raises(InputError) as error:
        show(what)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"language": "tlh"}, "language='tlh' is not available: choose from en, zh"),
        ({"height": 10}, "a height of 10 pixels is not between 200 and 2000: try 460"),
        ({"view": "front"}, "no view is called 'front'"),
        ({"time": -1.0}, "time=-1 s is not within the run"),
    ],
)
def test_looks_that_cannot_be_are_refused(how, says):
    with pytest.raises(InputError, match=re.escape(says)):
        show(RING, **how)


def test_the_cell_of_a_map_is_a_value_with_a_run(sweep):
    places = show(sweep)
    assert (places.cell, places.winner) == (None, "")
    places.cell = {"ranks": 4, "bytes": 1 << 20}
    assert places.winner == winner_map(sweep).winner(4, 1 << 20)
    assert show(places.plan).traces[0].schedule.name == places.winner
    with pytest.raises(InputError, match="is not on the map: give ranks of 4 and bytes of 1024, 1048576"):
        places.cell = {"ranks": 5, "bytes": 1}
    places.cell = None
    with pytest.raises(InputError, match="no cell with a winner is chosen"):
        _ = places.plan
    assert "<img" in places.still()
    said = [cell["said"] for row in places.data["rows"] for cell in row["cells"]]
    assert all(winner_map(sweep).winner(4, size) in words for size, words in zip((1024, 1 << 20), said, strict=True))


def test_a_map_without_its_rows_tells_no_machine(sweep):
    places = show(winner_map(sweep))
    places.cell = {"ranks": 4, "bytes": 1024}
    with pytest.raises(InputError, match="a map names no machine: show the rows"):
        _ = places.plan


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_training_step_tells_what_every_rank_does(language):
    step = STEP.run()
    shown = show(step, language=language)
    shown.time = step.time / 2
    assert shown.doing.keys() == set(range(step.ranks))
    for rank, names in shown.doing.items():
        spans = shown.data["spans"][rank]["under"]
        assert names == [name for start, end, name in spans if start <= shown.time < end]
    assert any(shown.doing.values())
    with pytest.raises(InputError, match="is not within the step"):
        shown.time = 2 * step.time
    assert show(STEP).link == {"page": "train"} | to_query(STEP)
    assert 'data-ringside="timeline"' in show(STEP).still()


def test_files_of_a_run_can_be_written(run, tmp_path):
    run.time, run.view = run.end / 2, "machine"
    for ending, begins in (("svg", b"<?xml"), ("html", b"<!doctype html>"), ("perfetto.json", b"{")):
        run.save(str(tmp_path / f"x.{ending}"))
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(begins)
    with pytest.raises(InputError, match=r"no kind of file ends in .x\.doc"):
        run.save("x.doc")


def test_without_anywidget_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "ui.notebook.widgets")
    monkeypatch.delattr(notebook, "widgets")
    with pytest.raises(ImportError) as error:
        show(RING)
    assert str(error.value) == "a notebook shows nothing without anywidget: run `pip install anywidget`"

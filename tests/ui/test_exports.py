"""Files to take away: every kind is opened again by what opens such files, and says what the run says."""

import base64
import io
import json
import re
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from ops import ALGORITHMS
from ops.answers import answer_alone, of_trace
from ops.formats import read_schedule
from ops.plan import Plan
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.trace import from_json
from sim.units import MiB
from tests.tables import each_row
from tests.ui.filmed import HOSTS, SMALL, SVG, TRACE, TREE, run
from ui.drawing.frames import Film
from ui.drawing.lettering import Lettering
from ui.drawings import DRAWINGS, still
from ui.export.exports import EXPORTS, Shot, render
from ui.export.reel import Reel
from ui.layout.palette import DARK, LIGHT
from ui.player import payload
from ui.player.answer import read
from ui.player.payload import pack, unpack
from ui.player.titles import heading
from ui.text import languages, speaking, worded

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dark", [False, True])
def test_a_png_has_the_width_asked_for_and_its_paper(dark):
    picture = Image.open(io.BytesIO(render(TRACE, "png", replace(SMALL, dark=dark))))
    assert (picture.format, picture.size) == ("PNG", (960, 540))
    assert (np.asarray(picture.convert("L"))[2, 2] < 128) == dark


@pytest.mark.parametrize("view", sorted(DRAWINGS))
def test_an_svg_is_xml_and_a_pdf_is_one_page(view):
    root = ET.fromstring(render(TRACE, "svg", replace(SMALL, view=view)))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 50
    page = render(TRACE, "pdf", replace(SMALL, view=view))
    assert page.startswith(b"%PDF-")
    assert page.count(b"/Type /Page\n") + page.count(b"/Type /Page ") == 1


def test_the_instant_of_a_picture_can_be_chosen():
    early, late = (render(TRACE, "png", replace(SMALL, at=TRACE.time * share)) for share in (0.1, 0.9))
    assert early != late
    assert render(TRACE, "png", replace(SMALL, at=TRACE.time * 0.1)) == early


def test_a_page_holds_the_run_and_asks_nobody_for_anything():
    page = render(TRACE, "html", SMALL).decode()
    data = json.loads(re.search(r'id="run">(.*?)</script>', page, re.DOTALL)[1])
    header, columns = unpack(data["runs"][0])
    assert header["meta"]["algorithm"] == "ring"
    assert len(columns["end"]) == TRACE.schedule.transfers
    assert data["runs"][0]["tl"] == pack(TRACE)["tl"]
    code = zlib.decompress(base64.b64decode(re.search(r'atob\("(.*?)"\)', page)[1])).decode()
    for text in (page, code):
        assert not re.search(r"<\w[^>]*\s(src|href)=|@import|https?://(?!www\.w3\.org)", text)
        assert "export default" not in text
    assert "<!--" not in page


def test_a_page_of_64_ranks_is_small_though_it_answers_what_if():
    trace = simulate(build("switch:ranks=64"), ALGORITHMS["allreduce.ring"].schedule(64), MiB, history=True)
    assert {"waiters", "waiter", "channel"} <= unpack(pack(trace))[1].keys()
    assert len(render(trace, "html", SMALL)) < 300_000  # at most 60 kB more than the 240 kB of a page without what-ifs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "rerun_columns", lambda trace: {})
        without = len(pack(trace)["tl"])
    assert len(pack(trace)["tl"]) - without < 800  # 600 bytes in base64


def test_names_cannot_break_out_of_a_page():
    evil = replace(TRACE, topology=replace(TRACE.topology, name="</script><script>alert(1)</script>"))
    page = render(evil, "html", SMALL).decode()
    assert "<script>alert" not in page


def test_traces_and_schedules_can_be_read_again():
    assert from_json(render(TRACE, "json").decode()).time == TRACE.time
    events = json.loads(render(TRACE, "perfetto.json"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) >= 2 * TRACE.schedule.messages
    again = read_schedule(render(TRACE, "xml").decode(), "again")
    assert simulate(TRACE.topology, again, 8 * MiB).time == pytest.approx(TRACE.time, rel=1e-12)


@pytest.mark.parametrize("language", languages())
def test_words_are_in_the_language_asked_for(language):
    assert (
        f'lang="{"zh-Hans" if language == "zh" else language}"'
        in render(TRACE, "html", replace(SMALL, language=language)).decode()
    )
    assert len(render(TRACE, "png", replace(SMALL, language=language))) > 10_000


@pytest.mark.parametrize(
    ("shot", "says"),
    [
        (Shot(view="front"), "no view is called 'front': choose from machine, shape, matrix, time"),
        (Shot(width=10), "10 pixels is not between 320"),
        (Shot(fps=0), "frames"),
        (Shot(seconds=1e9), "frames"),
        (Shot(seconds=float("nan")), "frames"),
    ],
)
def test_shots_that_cannot_be_are_refused(shot, says):
    with pytest.raises(InputError, match=says):
        render(TRACE, "gif", shot)
    with pytest.raises(InputError, match=r"ends in 'docx': choose from png, svg"):
        render(TRACE, "docx")


@pytest.mark.slow
@each_row(
    "name, machine, n",
    [
        ("barrier.dissemination", "switch:ranks=5", 5),
        ("allreduce.nvls", "dgx_h100", 8),
        ("alltoall.bruck", "torus:dims=3x3", 9),
        ("broadcast.chain", "numa:p2p=no", 8),
        ("allgather.linear", "nodes:nodes=8,gpus=8", 64),
    ],
    days=5,
)
@each_row("view", sorted(DRAWINGS))
def test_any_run_can_be_drawn(name, machine, n, view):
    trace = run(name, machine, n, 0 if name.startswith("barrier") else n * MiB)
    assert len(render(trace, "png", replace(SMALL, view=view))) > 5000


@pytest.mark.turns("trace", "width", "look")
@pytest.mark.parametrize("view", sorted(DRAWINGS))
@pytest.mark.parametrize(
    ("trace", "width", "look"), [(TRACE, 4.8, LIGHT), (HOSTS, 4.8, DARK), (HOSTS, 9.6, LIGHT), (TREE, 3.2, LIGHT)]
)
def test_a_frame_is_what_a_still_of_its_instant_shows(view, trace, width, look):
    reel = Reel(Film(trace), view, width, look)
    for share in (0.0, 0.11, 0.115, 0.2, 0.9, 0.115, 0.6, 1.0):  # what stays is drawn once, and what comes to it alone
        t = share * trace.time
        canvas = FigureCanvasAgg(still(view, Film(trace), t, width, look))
        canvas.draw()
        assert (reel.frame(t) == np.asarray(canvas.buffer_rgba())).all(), share


@pytest.mark.parametrize(("trace", "width", "words"), [(TRACE, 12.8, True), (HOSTS, 12.8, False), (HOSTS, 40, True)])
def test_ranks_are_called_by_a_word_where_it_has_room_and_by_their_number_where_not(trace, width, words):
    figure = still("machine", Film(trace), 0.0, width, LIGHT)
    figure.canvas.draw()
    said = {text.get_text() for each in figure.findobj(Lettering) for text in each.texts()}
    assert ("GPU 0" in said) == words
    assert words or "0" in said


@pytest.mark.parametrize("language", languages())
def test_the_sentence_ends_on_the_page(language):
    film = Film(TRACE, language)
    for width, share in ((4.8, 0.3), (7.2, 0.4), (12.8, 0.4)):
        page = still("machine", film, share * TRACE.time, width, LIGHT)
        texts = [text for words in page.artists for text in words.texts()]
        said = next(text for text in texts if text.get_text() == film.caption(share * TRACE.time))
        box = said.get_window_extent(FigureCanvasAgg(page).get_renderer())
        assert 0 <= box.x0 < box.x1 <= page.bbox.width
        assert (said.get_fontsize() > 11) == (width > 8)


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("view", sorted(DRAWINGS))
def test_a_picture_has_the_title_and_the_answer_of_its_run_above_it(view, language):
    answer = answer_alone(of_trace(TRACE))
    with speaking(language):
        lines = [worded(answer.sentence), worded(answer.reason)]
    for width in (3.2, 7.2, 12.8):
        page = still(view, Film(TRACE, language), 0.4 * TRACE.time, width, LIGHT)
        texts, canvas = [text for words in page.artists for text in words.texts()], FigureCanvasAgg(page).get_renderer()
        boxes = [
            next(text for text in texts if text.get_text() == line).get_window_extent(canvas)
            for line in (heading(TRACE, language), *lines, Film(TRACE, language).caption(0.4 * TRACE.time))
        ]
        assert all(0 <= box.x0 < box.x1 <= page.bbox.width for box in boxes)
        assert all(upper.y0 > lower.y0 for upper, lower in pairwise(boxes))
        low, high = (axis * page.bbox.height for axis in page.axes[0].get_position(original=True).intervaly)
        assert boxes[3].y1 < low < high < boxes[2].y0


@pytest.mark.parametrize("ending", ["html", "film.svg"])
@pytest.mark.parametrize("language", languages())
def test_files_with_words_have_the_title_and_the_answer_in_them(ending, language):
    text = render(
        TRACE, ending, replace(SMALL, language=language, end=TRACE.time / 2 if "svg" in ending else None)
    ).decode()
    with speaking(language):
        sentence = worded(answer_alone(of_trace(TRACE)).sentence)
    if ending == "html":
        data = json.loads(re.search(r'id="run">(.*?)</script>', text, re.DOTALL)[1])
        assert read(data["answer"]["headline"]) == sentence
        assert f"<h1>{heading(TRACE, language)}</h1>" in text
        return
    words = ["".join(each.itertext()) for each in ET.fromstring(text).iter(f"{SVG}text")]
    assert {heading(TRACE, language), sentence} <= set(words)


@pytest.mark.parametrize(
    ("plan", "language", "title"),
    [
        (Plan(machine="dgx_a100"), "en", "All-reduce by ring on DGX A100 with 64 MiB"),
        (Plan("nccl.allreduce", machine="dgx_a100"), "en", "All-reduce by NCCL on DGX A100 with 64 MiB"),
        (
            Plan("barrier.dissemination", machine="switch:ranks=4"),
            "en",
            "Barrier by dissemination on ideal switch (ranks=4)",
        ),
        (Plan(machine="dgx_a100"), "zh", "在 DGX A100 上用环对 64 MiB 数据做 all-reduce"),
    ],
)
def test_a_title_is_the_sentence_that_the_page_has(plan, language, title):
    assert heading(plan.run().trace, language, plan) == title


def test_every_kind_is_looked_at():
    pictures = {"png", "svg", "pdf", "gif", "mp4", "film.svg"}
    printed = {f"{kind}.{ending}" for kind in ("worksheet", "answers") for ending in ("html", "pdf")}
    assert set(EXPORTS) == pictures | printed | {"html", "json", "perfetto.json", "xml", "yaml"}

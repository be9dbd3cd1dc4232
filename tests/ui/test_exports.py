"""Files to take away: every kind is opened again by what opens such files, and says what the run says."""

import base64
import io
import json
import re
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace
from itertools import pairwise

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from ui.drawing import figure_holdings
from ui.drawing.frames import Film
from ui.drawing.lettering import Lettering
from ui.drawings import DRAWINGS, still
from ui.export import exports
from ui.export.exports import EXPORTS, Shot, render
from ui.export.gif import gif
from ui.export.reel import Reel
from ui.layout.palette import DARK, LIGHT
from ui.player import payload
from ui.player.answer import read
from ui.player.payload import pack, unpack
from ui.player.titles import heading
from ui.text import languages, speaking, worded

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
SMALL = Shot(seconds=1, fps=5, width=480)


def run(name="allreduce.ring", machine="dgx1v", n=8, size=8 * MiB):
    return simulate(build(machine), ALGORITHMS[name].schedule(n), size, history=True)


TRACE = run()


@pytest.mark.slow
@pytest.mark.parametrize("view", sorted(DRAWINGS))
def test_a_gif_has_every_frame_and_the_last_is_the_longest(view):
    film = Image.open(io.BytesIO(render(TRACE, "gif", replace(SMALL, view=view))))
    assert (film.format, film.n_frames, film.size) == ("GIF", 5, (480, 270))
    pictures, waits = [], []
    for k in range(film.n_frames):
        film.seek(k)
        pictures.append(np.asarray(film.convert("RGB")).copy())
        waits.append(film.info["duration"])
    assert waits == [200, 200, 200, 200, 1000]
    assert all((a != b).any() for a, b in pairwise(pictures))


def test_an_mp4_has_every_frame_and_plays_at_its_speed():
    with av.open(io.BytesIO(render(TRACE, "mp4", SMALL))) as file:
        (stream,) = file.streams.video
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(stream)]
        assert stream.codec_context.name == "h264"
        assert (len(frames), float(stream.average_rate)) == (5, 5.0)
    assert frames[0].shape == (270, 480, 3)
    assert np.abs(frames[0].astype(int) - frames[2]).max() > 60


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
)
@each_row("view", sorted(DRAWINGS))
def test_any_run_can_be_drawn(name, machine, n, view):
    trace = run(name, machine, n, 0 if name.startswith("barrier") else n * MiB)
    assert len(render(trace, "png", replace(SMALL, view=view))) > 5000


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_film_shows_the_same_instant_from_wherever_it_comes(shares):
    film = Film(TRACE)
    for share in shares:
        t, fresh = share * TRACE.time, Film(TRACE)
        assert film.blocks(t, film.machine) == fresh.blocks(t, fresh.machine)
        assert (film.held(t).count == fresh.held(t).count).all()
        assert (film.loads(t, film.machine) <= 1 + 1e-9).all()
    whole = film.held(TRACE.ended)
    assert (whole.count[:, :8] == 8).all()


HOSTS = run(machine="dgx_a100:hosts=2", n=16)
TREE = run("scatter.binomial", "switch:ranks=12", 12)


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


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted), st.integers(1, 16), st.integers(1, 16))
def test_what_has_changed_since_an_instant_is_all_that_has(shares, places, slots):
    film, (since, t) = Film(HOSTS), (share * HOSTS.time for share in shares)
    before = film.held(since)
    block, count = before.block.copy(), before.count.copy()
    after = film.held(t)
    differs = ((after.block != block) | (after.count != count))[:places, :slots]
    changed = film.changed(since, t, places, slots)
    assert {(int(place), int(slot)) for place, slot in zip(*np.nonzero(differs), strict=True)} <= set(changed)
    assert len(set(changed)) == len(changed) <= len(film.changed(None, t, places, slots)) == places * slots


def test_a_film_draws_what_has_changed_alone(monkeypatch):
    drawn = []
    rectangles = figure_holdings._bars
    monkeypatch.setattr(
        figure_holdings, "_bars", lambda axes, bars, z: (drawn.append(len(bars)), rectangles(axes, bars, z))
    )
    reel = Reel(Film(HOSTS), "machine", 16, LIGHT)
    for t in np.linspace(0, HOSTS.time, 60):
        reel.frame(float(t))
    first, *later = drawn[::2]
    assert first == 2 * 16 * 16
    assert sum(later) <= 2 * HOSTS.schedule.transfers
    assert drawn[1::2] == drawn[::2]


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


def test_a_gif_keeps_the_colours_of_its_frames():
    frames = [Reel(Film(TRACE), "machine", 4.8, LIGHT).frame(share * TRACE.time) for share in (0.1, 0.6)]
    film = Image.open(io.BytesIO(gif(frames, frames, fps=20, last=0.06)))
    for k, frame in enumerate(frames):
        film.seek(k)
        off = np.abs(np.asarray(film.convert("RGB")).astype(int) - frame[:, :, :3])
        assert (off.max(axis=2) > 24).mean() < 0.01  # of soft edges
        assert (np.asarray(film.convert("RGB"))[2, 2] == frame[2, 2, :3]).all()


def test_a_gif_holds_what_changes_and_takes_as_long_as_it_should():
    reel = Reel(Film(TRACE), "machine", 4.8, LIGHT)
    one, two = (reel.frame(share * TRACE.time) for share in (0.1, 0.1001))
    still, films = (len(gif(frames, [one], fps=12, last=0.5)) for frames in ([one, one], [one] * 24 + [two]))
    assert films < 1.2 * still
    film = Image.open(io.BytesIO(gif([one, two] * 12, [one], fps=12, last=0.5)))
    waits = []
    for k in range(film.n_frames):
        film.seek(k)
        waits.append(film.info["duration"])
    assert (len(waits), waits[-1]) == (24, 500)
    assert sum(waits[:-1]) == pytest.approx(23 / 12 * 1000, abs=10)


def test_a_part_of_a_run_is_filmed_at_its_tempo():
    length = TRACE.time
    whole = exports._times(TRACE, Shot(seconds=2, fps=10))
    assert (len(whole), whole[0], whole[-1]) == (20, TRACE.began, pytest.approx(TRACE.ended))
    part = exports._times(TRACE, Shot(fps=10, begin=length / 4, end=length / 2, tempo=length / 8))
    assert (len(part), part[0], part[-1]) == (20, pytest.approx(length / 4), pytest.approx(length / 2))
    assert exports._times(TRACE, Shot(end=2 * length))[-1] == pytest.approx(TRACE.ended)


@pytest.mark.parametrize(
    ("shot", "says"),
    [
        (Shot(begin=1.0), "nothing happens from 1 s to .*: the run takes"),
        (Shot(begin=-1.0), "nothing happens from"),
        (Shot(begin=1e-6, end=1e-6), "nothing happens from 1 µs to 1 µs"),
        (Shot(tempo=0.0), "a tempo of .* a second stands still: give one like 100us"),
        (Shot(tempo=1e-12), "more than 3000 frames: give a larger tempo"),
    ],
)
def test_parts_that_cannot_be_filmed_are_refused(shot, says):
    with pytest.raises(InputError, match=says):
        render(TRACE, "mp4", shot)


def test_a_still_has_no_tempo():
    with pytest.raises(InputError, match=r"are for films: leave them out, or write \.gif or \.mp4"):
        render(TRACE, "png", Shot(begin=0.0))


def test_every_kind_is_looked_at():
    pictures = {"png", "svg", "pdf", "gif", "mp4", "film.svg"}
    printed = {f"{kind}.{ending}" for kind in ("worksheet", "answers") for ending in ("html", "pdf")}
    assert set(EXPORTS) == pictures | printed | {"html", "json", "perfetto.json", "xml", "yaml"}


@pytest.mark.parametrize("view", sorted(DRAWINGS))
def test_a_drawing_that_moves_shows_every_frame_in_its_turn(view, monkeypatch):
    trace = run(machine="switch:ranks=3", n=3)
    part = replace(SMALL, view=view, begin=trace.time / 4, end=trace.time / 2)
    done = []
    text = render(trace, "svg", replace(part, progress=lambda k, of: done.append((k, of))))
    assert text == render(trace, "film.svg", part)
    assert done == [(k, 5) for k in range(1, 6)]
    root = ET.fromstring(text)
    names = {each.get("id") for each in root.iter() if each.get("id")}
    uses = {each.get("href")[1:] for each in root.iter(f"{SVG}use") if each.get("href")}
    assert uses <= names
    clock, *layers = root.findall(f"{SVG}g")
    length = float(clock.find(f"{SVG}animate").get("dur")[:-1])
    assert length == pytest.approx(4 / 5 + 1)
    spans = [
        (float(each.get("begin").removeprefix("all.begin+")[:-1]), float(each.get("dur")[:-1]))
        for layer in layers
        for each in layer.findall(f"{SVG}set")
    ]
    assert len(spans) == len(layers)
    for instant in (0.05, 0.25, 0.45, 0.65, 0.85, 1.75):  # what stays and what moves, whenever one looks
        assert sum(begin <= instant < begin + span for begin, span in spans) == 2
    said = {text for layer in layers for text in ("".join(each.itertext()) for each in layer.iter(f"{SVG}text"))}
    assert any("rank" in words for words in said)
    monkeypatch.setattr("ui.export.moving_drawing.LARGEST", 1000)
    with pytest.raises(InputError, match="give fewer frames"):
        render(trace, "film.svg", part)

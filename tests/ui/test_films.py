"""Files that move: every frame is in them, each for as long as it should."""

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sim.errors import InputError
from tests.ui.filmed import HOSTS, SMALL, SVG, TRACE, run
from ui.drawing import figure_holdings
from ui.drawing.frames import Film
from ui.drawings import DRAWINGS
from ui.export import exports
from ui.export.exports import Shot, render
from ui.export.gif import gif
from ui.export.reel import Reel
from ui.layout.palette import LIGHT

pytestmark = pytest.mark.slow


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

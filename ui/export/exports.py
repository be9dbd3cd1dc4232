"""Runs as files to take away, one function per kind of file; `@export` puts it on the only list."""

import base64
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ops.answers import of_trace
from ops.formats import write_schedule
from ops.plan import Plan
from ops.plan.plan_file import to_yaml
from sim.base.watch import begin, passing
from sim.errors import InputError
from sim.trace import Trace
from sim.trace.chrome_trace import to_perfetto
from sim.units import fmt_time
from ui.drawings import DRAWINGS
from ui.drawings import still as drawn
from ui.player.answer import answer_of
from ui.player.titles import heading
from ui.player.views import FIRST, VIEWS

if TYPE_CHECKING:
    from ui.drawing.frames import Film
    from ui.export.reel import Reel

MOST_FRAMES, MOST_PIXELS = 3000, 3840
SAMPLES = 4
"""Frames of a film in which its colours are counted, or one more."""
X264 = {"crf": "16", "preset": "veryfast", "x264-params": "me=dia:subme=1:weightp=0"}
"""Blocks move little from one frame to the next: a short search finds them, and makes files a twentieth larger."""


def unseen(done: int, of: int) -> None:
    """What is told of a film's progress where nobody looks."""


@dataclass(frozen=True)
class Shot:
    """How a run is shown: the view, pixels across, the language, on dark paper or light.

    `at` is the instant of a still in s from the run's beginning; a film takes `seconds` at `fps` frames per second. It
    shows the run from `begin` to `end`, likewise in s, and where `tempo` is set so many s of it in each of its own.
    `plan` is what the run came from, where that is known, and `answer` what is said of it.
    """

    view: str = FIRST
    at: float | None = None
    seconds: float = 8.0
    fps: int = 12
    width: int = 1280
    language: str = "en"
    dark: bool = False
    plan: Plan | None = None
    answer: Mapping[str, Any] | None = None
    progress: Callable[[int, int], None] = unseen
    begin: float | None = None
    end: float | None = None
    tempo: float | None = None

    @property
    def is_part(self) -> bool:
        """Whether a part of the run is to be seen, or a tempo: what moves can show these."""
        return {self.begin, self.end, self.tempo} != {None}

    def check(self, ending: str = "") -> None:
        """Raise InputError for what cannot be shown, or not in a file of this kind."""
        if self.view not in VIEWS:
            raise InputError("view.unknown", view=self.view, choices=VIEWS)
        if ending in EXPORTS and EXPORTS[ending].drawn and self.view not in DRAWINGS:
            drawn = ", ".join(view for view in VIEWS if view in DRAWINGS)
            raise InputError("view.player_only", view=self.view, choices=drawn)
        if ending in EXPORTS and ending != "svg" and not EXPORTS[ending].filmed and self.is_part:
            films = " or ".join(f".{kind}" for kind, entry in EXPORTS.items() if entry.filmed)
            raise InputError("export.film_only", films=films)
        if not 320 <= self.width <= MOST_PIXELS:
            raise InputError("export.width", width=self.width, most=MOST_PIXELS)
        if not (1 <= self.fps <= 60 and 0 < self.seconds * self.fps <= MOST_FRAMES):
            raise InputError("export.frames", seconds=self.seconds, fps=self.fps, most=MOST_FRAMES)


Writer = Callable[[Trace, Shot], bytes]


@dataclass(frozen=True)
class Export:
    """A kind of file: its ending, what a person calls it, its media type, and how a trace becomes its bytes.

    `drawn` is one that shows a view as a drawing, `filmed` one that shows it move.
    """

    ending: str
    title: str
    media: str
    write: Writer
    drawn: bool = False
    filmed: bool = False


EXPORTS: dict[str, Export] = {}


def export(
    ending: str, title: str, media: str, *, drawn: bool = False, filmed: bool = False
) -> Callable[[Writer], Writer]:
    """Register a kind of file."""

    def register(write: Writer) -> Writer:
        EXPORTS[ending] = Export(ending, title, media, write, drawn, filmed)
        return write

    return register


def render(trace: Trace, ending: str, shot: Shot | None = None) -> bytes:
    """A run as a file of some kind. Raises InputError for a kind there is none of, or a shot that cannot be."""
    shot = shot or Shot()
    if ending not in EXPORTS:
        raise InputError("export.ending", ending=ending, choices=EXPORTS)
    if ending == "svg" and shot.is_part:
        ending = "film.svg"
    kind = EXPORTS[ending]
    shot.check(ending)
    return kind.write(trace, shot)


@export("png", "PNG of this instant", "image/png", drawn=True)
def png(trace: Trace, shot: Shot) -> bytes:
    """The instant `at`, or the middle of the run, at twice the pixels per inch of a screen."""
    return _still(trace, shot, "png", dpi=200)


@export("svg", "SVG of this instant", "image/svg+xml", drawn=True)
def svg(trace: Trace, shot: Shot) -> bytes:
    """The instant `at`, or the middle of the run, as shapes and text."""
    return _still(trace, shot, "svg", dpi=100)


@export("pdf", "PDF of this instant", "application/pdf", drawn=True)
def pdf(trace: Trace, shot: Shot) -> bytes:
    """The instant `at`, or the middle of the run, as a page of shapes and text."""
    return _still(trace, shot, "pdf", dpi=100)


@export("gif", "an animated image (GIF)", "image/gif", drawn=True, filmed=True)
def gif(trace: Trace, shot: Shot) -> bytes:
    """The run, or a part of it, on the true clock, then its end for a second."""
    from ui.export import gif as film

    reel, times = _reel(trace, shot), _times(trace, shot)
    samples = [reel.frame(float(t)) for t in times[:: max(1, len(times) // SAMPLES)]]
    return film.gif(_frames(reel, times, shot), samples, fps=shot.fps, last=1.0)


@export("mp4", "video for slides (MP4)", "video/mp4", drawn=True, filmed=True)
def mp4(trace: Trace, shot: Shot) -> bytes:
    """The run, or a part of it, on the true clock; H.264, which every browser plays."""
    import av

    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        stream = file.add_stream("libx264", rate=Fraction(shot.fps), options=X264)
        stream.pix_fmt = "yuv420p"
        for k, pixels in enumerate(_frames(_reel(trace, shot), _times(trace, shot), shot)):
            even = pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2]
            if not k:
                stream.height, stream.width = even.shape[:2]
            file.mux(stream.encode(av.VideoFrame.from_numpy_buffer(even, format="rgba")))
        file.mux(stream.encode())
    return out.getvalue()


@export("film.svg", "an animated image (SVG)", "image/svg+xml", drawn=True, filmed=True)
def moving_svg(trace: Trace, shot: Shot) -> bytes:
    """The run, or a part of it, on the true clock, as shapes and text; then its end for a second, and again."""
    from ui.export.moving_drawing import MovingDrawing
    from ui.export.moving_drawing import svg as moving
    from ui.layout.palette import DARK, LIGHT

    look = DARK if shot.dark else LIGHT
    times = [float(t) for t in _times(trace, shot)]
    drawing = MovingDrawing(_film(trace, shot), shot.view, shot.width / 100, look)
    begin()
    return moving(drawing, times, shot.fps, lambda k: _came_to(shot, k, len(times))).encode()


def _worksheet(trace: Trace, shot: Shot, *, ending: str, answered: bool) -> bytes:
    """Every step with small pictures and a table of what ranks hold after it, to fill in or `answered`."""
    from ui.export.worksheet import html, worksheet
    from ui.export.worksheet_pdf import pdf

    title = heading(trace, shot.language, shot.plan)
    sheet = worksheet(trace, title, shot.view, shot.language, shot.plan, answered=answered)
    return html(sheet) if ending == "html" else pdf(sheet)


for _ending, _media in (("html", "text/html"), ("pdf", "application/pdf")):
    for _name, _title in (("worksheet", "a worksheet to print"), ("answers", "the worksheet with its answers")):
        export(f"{_name}.{_ending}", f"{_title} ({_ending.upper()})", _media, drawn=True)(
            partial(_worksheet, ending=_ending, answered=_name == "answers")
        )


@export("html", "web page that plays offline", "text/html")
def html(trace: Trace, shot: Shot) -> bytes:
    """The player and the run in one file."""
    return played([trace], shot, answer=shot.answer)


def played(
    traces: Sequence[Trace], shot: Shot, titles: Sequence[str] = (), answer: Mapping[str, Any] | None = None
) -> bytes:
    """A page of one file with a player of one run, or of several on one clock, each called something.

    Without their `answer` that of the traces alone is shown.
    """
    from ui.drawing.fonts import faces
    from ui.player.component import Start, player_data, style
    from ui.player.offers import offers
    from ui.player.payload import pack
    from ui.player.scripts import ASSETS, script

    names = titles or [""] * len(traces)
    packed = [
        pack(trace, shot.language, plan=shot.plan) | {"title": name} for trace, name in zip(traces, names, strict=True)
    ]
    answer = answer or answer_of([*map(of_trace, traces)], names, shot.language, remedies=False)
    more = {"offers": offers(shot.language), "answer": answer}
    data = player_data(packed, shot.language, Start(shot.at or 0.0, shot.view), **more)
    title = heading(traces[0], shot.language, shot.plan)
    page = (ASSETS / "player" / "offline.html").read_text(encoding="utf-8")
    parts = {
        "language": "zh-Hans" if shot.language == "zh" else shot.language,
        "title": _escaped(title),
        "fonts": faces(),
        "style": style(),
        "script": base64.b64encode(zlib.compress(script().encode(), 9)).decode(),
        "data": json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
    }
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page.encode()


@export("json", "run as JSON, to open here again", "application/json")
def trace_json(trace: Trace, shot: Shot) -> bytes:
    """The trace itself."""
    return trace.to_json().encode()


@export("perfetto.json", "trace for ui.perfetto.dev", "application/json")
def perfetto(trace: Trace, shot: Shot) -> bytes:
    """Who sends and receives when, and how full every link is."""
    return to_perfetto(trace).encode()


@export("xml", "the schedule as MSCCL XML", "application/xml")
def msccl(trace: Trace, shot: Shot) -> bytes:
    """What MSCCL and RCCL run."""
    return write_schedule(trace.schedule, "msccl_xml", machine=trace.topology).encode()


@export("yaml", "plan as YAML, to open here again", "application/yaml")
def yaml(trace: Trace, shot: Shot) -> bytes:
    """What was chosen, for `--plan` and the dashboard."""
    if shot.plan is None:
        raise InputError("export.unknown_origin")
    return to_yaml(shot.plan).encode()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _film(trace: Trace, shot: Shot) -> "Film":
    from ui.drawing.frames import Film

    title = heading(trace, shot.language, shot.plan)
    return Film(trace, shot.language, plan=shot.plan, answer=shot.answer, title=title)


def _still(trace: Trace, shot: Shot, kind: str, *, dpi: int) -> bytes:
    from ui.layout.palette import DARK, LIGHT

    whole = shot.view == "time" and shot.at is None
    t = trace.ended if whole else trace.began + trace.time / 2 if shot.at is None else trace.began + shot.at
    look = DARK if shot.dark else LIGHT
    figure = drawn(shot.view, _film(trace, shot), t, shot.width / 100, look)
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=dpi, facecolor=look.paper)
    return out.getvalue()


def _times(trace: Trace, shot: Shot) -> NDArray[np.float64]:
    """The instants of a film's frames, s. Raises InputError for a part there is none of."""
    start, end = shot.begin or 0.0, trace.time if shot.end is None else min(shot.end, trace.time)
    if not 0 <= start < max(end, 1e-15):
        last = trace.time if shot.end is None else shot.end
        raise InputError("export.nothing_seen", start=fmt_time(start), last=fmt_time(last), time=fmt_time(trace.time))
    if shot.tempo is not None and not shot.tempo > 0:
        raise InputError("export.tempo_still", tempo=fmt_time(shot.tempo))
    seconds = shot.seconds if shot.tempo is None else (end - start) / shot.tempo
    count = max(2, round(seconds * shot.fps)) if seconds * shot.fps <= MOST_FRAMES else math.inf
    if count > MOST_FRAMES:
        raise InputError("export.tempo_frames", tempo=fmt_time(shot.tempo or 0.0), most=MOST_FRAMES)
    return trace.began + np.linspace(start, end, int(count))


def _reel(trace: Trace, shot: Shot) -> "Reel":
    from ui.export.reel import Reel
    from ui.layout.palette import DARK, LIGHT

    return Reel(_film(trace, shot), shot.view, shot.width / 100, DARK if shot.dark else LIGHT)


def _frames(reel: "Reel", times: NDArray[np.float64], shot: Shot) -> Iterator[NDArray[np.uint8]]:
    """Pixels `[row, column, rgba]` of every frame, from the first instant to the last."""
    for k, t in enumerate(times, 1):
        begin()
        yield reel.frame(float(t))
        _came_to(shot, k, len(times))


def _came_to(shot: Shot, k: int, count: int) -> None:
    """Tell that frame k is made; time is short for a run, not for pictures of it, of which there are so many."""
    passing(k / count)
    shot.progress(k, count)
    begin()

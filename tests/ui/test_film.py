"""A film from the menu of a run: the part, the length and the paper that were chosen, made in the page."""

import io

import pytest
from PIL import Image

from ops.plan import Plan
from ui.export.exports import Shot
from ui.share.menu import Standing
from ui.workers import tasks

PLAN = Plan(machine="switch:ranks=2", size="1MiB")
NAME = "allreduce-ring-switch-ranks-2"


@pytest.mark.slow
def test_a_part_of_a_run_is_made_into_a_film():
    standing = Standing(PLAN, {"view": "shape"})
    options = {"begin": 50, "end": 100, "seconds": 1, "width": 640, "theme": "dark"}
    request = standing.file("gif", options)
    length = PLAN.run().trace.time
    shot = Shot(view="shape", seconds=1.0, width=640, dark=True, begin=length / 2, end=length)
    made = request.make()
    assert (request.name, made) == (f"{NAME}.gif", tasks.export(PLAN, "gif", shot))
    film = Image.open(io.BytesIO(made))
    assert (film.n_frames, film.size) == (12, (640, 360))
    assert film.convert("L").getpixel((2, 2)) < 128


@pytest.mark.parametrize("word", [None, "x", [], {}, float("nan"), float("inf"), -1e9, 1e9, True])
def test_options_from_a_browser_may_be_anything(word):
    options = dict.fromkeys(("begin", "end", "seconds", "width", "theme"), word)
    shot = Standing(PLAN, {"view": "machine"}).shot("gif", options)
    shot.check("gif")
    assert 0 <= shot.begin < shot.end


def test_a_film_tells_how_far_it_is(monkeypatch):
    shares = []
    monkeypatch.setattr("ui.export.exports.passing", shares.append)
    tasks.export(PLAN, "gif", Shot(seconds=0.5, fps=8, width=320))
    assert shares == [0.25, 0.5, 0.75, 1.0]

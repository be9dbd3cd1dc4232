"""A film from the page: the part, the tempo and the paper that were chosen, made with a bar and then saved."""

import io
from pathlib import Path

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from ops.plan import Plan
from sim.units import fmt_time
from tests.ui.visited import state_of
from ui.export.exports import Shot
from ui.share.saving import SavingState
from ui.text import say
from ui.workers import tasks

APP = str(Path(__file__).parents[2] / "app.py")
PLAN = {"machine": "switch:ranks=2", "size": "1MiB"}
NAME, VIEW = "allreduce-ring-switch-ranks-2", "shape"
"""What a file of the plan is called, and the view in which the page shows it first."""


@pytest.mark.slow
def test_a_part_of_a_run_is_made_into_a_film_and_saved():
    at = AppTest.from_file(APP, default_timeout=120)
    for name, word in PLAN.items():
        at.query_params[name] = word
    at.run()
    at.selectbox(key="kind").select("gif").run()
    at.slider(key="film_part").set_value((50.0, 100.0))
    at.number_input(key="film_seconds").set_value(1.0)
    at.selectbox(key="film_width").select(640)
    at.selectbox(key="film_theme").select("dark").run()
    assert not at.exception
    length = Plan(**PLAN).run().trace.time
    told = say("page.film.tempo", begin=fmt_time(length / 2), end=fmt_time(length), tempo=fmt_time(length / 2))
    assert told in [caption.value for caption in at.caption]
    at.button(key="take_away").click().run()
    assert not at.exception
    assert not at.error
    (made,) = state_of(at, SavingState).made
    shot = Shot(view=VIEW, seconds=1.0, width=640, dark=True, begin=length / 2, end=length)
    assert (made.name, made.data) == (f"{NAME}.gif", tasks.export(Plan(**PLAN), "gif", shot))
    film = Image.open(io.BytesIO(made.data))
    assert (film.n_frames, film.size) == (12, (640, 360))
    assert state_of(at, SavingState).saved(made.number).made == ()
    assert film.convert("L").getpixel((2, 2)) < 128


def test_a_film_tells_how_far_it_is(monkeypatch):
    shares = []
    monkeypatch.setattr("ui.export.exports.passing", shares.append)
    tasks.export(Plan(**PLAN), "gif", Shot(seconds=0.5, fps=8, width=320))
    assert shares == [0.25, 0.5, 0.75, 1.0]

"""Texts that are stamped look like texts that are set where they stand, and are texts where shapes are written."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import IdentityTransform

from tests.tables import each_row
from ui.drawing import lettering
from ui.drawing.lettering import PARTS, Lettering

NAMES = [("rank 0", {"ha": "center", "va": "center"}), ("NVS1", {"ha": "right"}), ("7", {"alpha": 0.6})]


def page() -> tuple[Figure, FigureCanvasAgg]:
    figure = Figure(figsize=(3, 2), dpi=100)
    return figure, FigureCanvasAgg(figure)


def pixels(canvas: FigureCanvasAgg) -> np.ndarray:
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).astype(int)


def lettered(figure: Figure) -> Lettering:
    """Words at places in pixels."""
    words = Lettering(3)
    words.set_transform(IdentityTransform())
    figure.add_artist(words)
    return words


@each_row("text, style", NAMES)
@each_row("x, y", [(151, 80), (151.5, 80.5), (60.5, 130), (299, 199)])
def test_a_stamp_is_what_would_be_set_there(text, style, x, y):
    paints = {"fontsize": 9, "color": "#31333f"} | style
    plain, second = page()
    plain.text(x, y, text, transform=IdentityTransform(), **paints)
    for _ in range(2):  # as it is made, and as it is kept
        figure, first = page()
        lettered(figure).add(x, y, text, paints)
        assert np.abs(pixels(first) - pixels(second)).max() <= 3  # coverage and opacity are rounded once more
    assert (pixels(first) != 255).any() == (x < 299 or "ha" in style)


@each_row("side", ["left", "center", "right"])
@each_row("size", [7.5, 11.5, 11.13])
def test_a_line_of_stamped_parts_is_the_line_that_would_be_set(side, size):
    text, paints = (
        "Ring to rank 4-15,  which adds it: 2.204 ms $1 / 17.41",
        {"color": "#31333f", "fontsize": size, "ha": side},
    )
    at = {"left": 2, "center": 240, "right": 478}[side]
    plain, stamped = (Figure(figsize=(4.8, 1), dpi=100) for _ in range(2))
    first, second = FigureCanvasAgg(plain), FigureCanvasAgg(stamped)
    plain.text(at, 50, text, transform=IdentityTransform(), parse_math=False, **paints)
    lettered(stamped).add(at, 50, text, paints)
    assert np.abs(pixels(first) - pixels(second)).max() <= 3


def test_a_word_and_a_digit_are_set_once_for_all_lines(monkeypatch):
    monkeypatch.setattr(lettering, "_stamps", {})
    for k in range(8):
        figure, canvas = page()
        lettered(figure).add(20, 50, f"step 1{k}7 of 30", {"fontsize": 8})
        canvas.draw()
    assert {key[2] for key in lettering._stamps} == {"step", "of", *"01234567"}


def test_neighbours_within_a_part_of_a_pixel_share_a_stamp(monkeypatch):
    monkeypatch.setattr(lettering, "_stamps", {})
    figure, canvas = page()
    words = lettered(figure)
    for k in range(8):
        words.add(100 + 10 * k + 0.4 * k / PARTS / 8, 50, "3", {"fontsize": 7})
    assert pixels(canvas)[:, 170:].min() < 128
    assert len(lettering._stamps) == 1


def test_shapes_have_texts():
    figure, _ = page()
    words = lettered(figure)
    words.add(100, 50, "rank 0", {"fontsize": 7})
    out = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(out, format="svg")
    assert ">rank 0</text>" in out.getvalue().decode()
    assert [text.get_text() for text in words.texts()] == ["rank 0"]

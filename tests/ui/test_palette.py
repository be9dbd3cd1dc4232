"""Colours: blocks and loads stay apart for every kind of eyes, and words can be read on what they stand on."""

import re

import numpy as np
import pytest

from ui.layout.palette import DARK, LIGHT, contrast, ink_on
from ui.player.component import style
from ui.player.scripts import ASSETS

# Machado, Oliveira and Fernandes 2009, full deficiency; linear RGB
EYES = {
    "trichromat": np.eye(3),
    "protanope": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranope": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanope": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = [
    [0.4123908, 0.3575843, 0.1804808],
    [0.2126390, 0.7151687, 0.0721923],
    [0.0193308, 0.1191948, 0.9505322],
]
WHITE = [0.9504559, 1.0, 1.0890578]
LEAST = {LIGHT: 20, DARK: 17}
"""CIELAB distance (1976), in whole numbers, of any two blocks, and of a block and a grey or red of a link."""


def lab(colours, eyes):
    """Colours `#rrggbb` in CIELAB, as these eyes see them."""
    rgb = np.array([numbers(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(EYES[eyes]), 0, 1) @ np.transpose(TO_XYZ) / WHITE
    f = np.where(seen > (6 / 29) ** 3, np.cbrt(seen), seen / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def numbers(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def distances(look, eyes):
    """From every block to every other block, grey and red."""
    blocks, lines = lab(look.blocks, eyes), lab([*look.load, look.red], eyes)
    pairs = np.linalg.norm(blocks[:, None] - blocks, axis=2)[np.triu_indices(len(blocks), 1)]
    return pairs, np.linalg.norm(blocks[:, None] - lines, axis=2)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_blocks_differ_from_each_other_and_from_lines(look, eyes):
    pairs, lines = distances(look, eyes)
    assert round(min(pairs.min(), lines.min())) >= LEAST[look], f"{pairs.min():.1f}, {lines.min():.1f}"


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_a_link_stands_out_more_the_more_it_carries(look):
    stands = [contrast(grey, look.paper) for grey in look.load]
    assert stands == sorted(stands)
    assert contrast(look.load[-1], look.paper) >= 3
    assert contrast(look.red, look.paper) >= 3


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read_on_all_that_they_stand_on(look):
    assert all(contrast(ink_on(colour), colour) >= 4.7 for colour in look.blocks)
    for ground in (look.paper, look.surface, look.panel):
        assert contrast(look.ink, ground) >= 4.5
        assert contrast(look.quiet, ground) >= 4.5


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_quiet_words_can_be_read_on_paper_and_on_boxes(look):
    quiet = float(
        re.search(r"quiet = \(colours\) => faint\(colours, ([\d.]+)\)", (ASSETS / "paint" / "ink.js").read_text())[1]
    )
    assert f"CanvasText) {quiet * 100:.0f}%" in style()
    ink, paper = np.array(numbers(look.ink)), np.array(numbers(look.paper))
    mixed = "#" + "".join(f"{round(255 * v):02x}" for v in ink * quiet + paper * (1 - quiet))
    assert contrast(mixed, look.paper) >= 4.5
    assert contrast(mixed, look.panel) >= 4.5


def test_words_are_never_paler_than_quiet():
    for part in sorted(ASSETS.rglob("*.js")):
        text = part.read_text(encoding="utf-8")
        for call in re.finditer(r"fillText\(", text):
            ink = text.rindex("fillStyle = ", 0, call.start())
            assert "faint(" not in text[ink : text.index(";", ink)], f"{part.name}: {text[ink : ink + 60]}"
    assert not re.findall(r"(?<!:disabled \{\n  )opacity: 0", style())

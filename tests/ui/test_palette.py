"""Colours: blocks and loads stay apart for every kind of eyes, and words can be read on what they stand on."""

import re

import numpy as np
import pytest

from ui.drawing.figures import DARK, LIGHT, SHADES
from ui.layout.palette import BLOCKS, LOAD, contrast, ink_on
from ui.player.component import style
from ui.player.scripts import ASSETS

# Machado, Oliveira and Fernandes 2009, full deficiency; linear RGB
EYES = {
    "trichromat": np.eye(3),
    "protanope": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranope": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanope": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_CONES = [
    [0.41222147, 0.53633254, 0.05144599],
    [0.2119035, 0.68069955, 0.10739696],
    [0.08830246, 0.28171884, 0.62997870],
]
TO_LAB = [
    [0.21045426, 0.79361779, -0.00407205],
    [1.9779985, -2.42859221, 0.45059371],
    [0.02590404, 0.78277177, -0.80867577],
]


def oklab(colours, eyes):
    """Colours as sRGB 0 to 1 in Ottosson's Oklab, as these eyes see them."""
    rgb = np.asarray(colours, float)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(EYES[eyes]), 0, 1)
    return np.cbrt(seen @ np.transpose(TO_CONES)) @ np.transpose(TO_LAB)


def numbers(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


@pytest.mark.parametrize("eyes", EYES)
def test_no_load_looks_like_a_block(eyes):
    blocks = oklab([numbers(colour) for colour in BLOCKS], eyes)
    loads = oklab(SHADES(np.linspace(0, 1, 65))[:, :3], eyes)
    apart = np.linalg.norm(loads[:, None] - blocks[None], axis=2)
    assert apart.min() > 0.075, f"load {apart.min(axis=1).argmin() / 64:.2f} is block {apart.min(axis=0).argmin()}"


@pytest.mark.parametrize("eyes", EYES)
def test_idle_half_and_full_look_different(eyes):
    low, half, full = oklab([numbers(colour) for colour in LOAD], eyes)
    assert np.linalg.norm(half - full) > 0.1
    assert np.linalg.norm(half - low) > 0.07


def test_numbers_on_blocks_can_be_read():
    assert all(contrast(ink_on(colour), colour) >= 4.5 for colour in BLOCKS)


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_loaded_links_stand_out_on_paper_and_panels_and_so_do_frames_of_ranks_and_blocks(look):
    assert all(contrast(colour, ground) >= 3 for colour in LOAD for ground in (look.paper, look.panel))
    painted = {part: (ASSETS / "paint" / part).read_text(encoding="utf-8") for part in ("devices.js", "blocks.js")}
    assert "frame: { colour: colours.ink," in painted["devices.js"]
    assert "g.strokeStyle = colours.ink;" in painted["blocks.js"]  # yellow on white is told by its edge
    assert contrast(look.ink, look.paper) >= 4.5
    assert contrast(look.ink, look.panel) >= 4.5


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

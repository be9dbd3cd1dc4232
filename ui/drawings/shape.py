"""The algorithm: every rank where its own shape puts it; the machine where that would be a smudge."""

from ui.drawing.figure_stage import stage_of

page, PARTS, moving = stage_of("shape")

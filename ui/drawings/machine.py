"""The machine with every block on its way, and what each rank holds."""

from ui.drawing.figure_stage import stage_of

page, PARTS, moving = stage_of("machine")

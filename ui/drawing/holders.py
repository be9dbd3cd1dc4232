"""Who has what in the middle of a run, for questions about it."""

import numpy as np

from ops.run import Run
from ui.drawing.frames import Film
from ui.lessons import after


def holders(outcome: Run, block: int, contributions: int, step: int) -> list[int]:
    """Ranks that hold a block with so many contributions or more when a step has ended."""
    held = Film(outcome.trace).held(after(outcome, step))
    holds = (held.block == block) & (held.count >= contributions)
    return [int(r) for r in np.nonzero(holds.any(axis=1))[0] if r < outcome.timing.ranks]

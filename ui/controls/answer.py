"""The answer line of runs: the player shows it above their picture."""

from collections.abc import Sequence
from typing import Any

from ui.controls.compare import Run
from ui.player.answer import answer_of
from ui.text import spoken


def of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what the player says of a plan's run and those beside it; what wins a loss back is asked for later."""
    outcomes = [picture.outcome for _, picture, _ in runs]
    return answer_of(outcomes, [title for _, _, title in runs], spoken(), remedies=False)

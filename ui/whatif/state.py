"""The state of the list of what-ifs, and its transitions."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import Changes
from ops.whatif import MOST, Sheet, changes_of
from ops.whatif.history import UndoHistory
from ops.whatif.sheet import MACHINE
from sim.errors import InputError
from ui.state import PageState, become, state
from ui.text import retold
from ui.visit import VisitState


@dataclass(frozen=True)
class WhatIfState(PageState):
    """The list with its past and future, and the row that is chosen.

    `has_baseline` says that a run of the visit, a link or a file is the baseline. `row` is the place of the chosen
    variant, -1 for none. `problem` was wrong with the link.
    """

    history: UndoHistory[Sheet] = field(default_factory=lambda: UndoHistory(Sheet()))
    has_baseline: bool = False
    row: int = -1
    problem: str = ""

    @property
    def sheet(self) -> Sheet:
        """The list as it is now."""
        return self.history.now

    def began(self, sheet: Sheet) -> "WhatIfState":
        """Show another list; the one before, if there is one, can be undone to."""
        history = self.history.became(sheet) if self.has_baseline else UndoHistory(sheet)
        return replace(self, history=history, has_baseline=True, row=-1, problem="")

    def did(self, sheet: Sheet, row: int) -> "WhatIfState":
        """Show the list after an action, and choose a row of it."""
        history = self.history.became(sheet)
        return replace(self, history=history, row=min(row, len(sheet.variants) - 1), problem="")

    def undone(self) -> "WhatIfState":
        """Undo the last action."""
        return self._moved(self.history.undone())

    def redone(self) -> "WhatIfState":
        """Redo what was undone last."""
        return self._moved(self.history.redone())

    def _moved(self, history: UndoHistory[Sheet]) -> "WhatIfState":
        return replace(self, history=history, row=min(self.row, len(history.now.variants) - 1))

    def followed(self, plan: Plan) -> "WhatIfState":
        """Add a plan that was simulated; before the first variant, one on another machine becomes the baseline.

        A plan of another collective, or with a schedule of its own, is no variant and changes nothing.
        """
        plan, before = replace(plan, against=""), self.sheet.baseline
        if plan.is_kept or plan.python:
            return self
        is_elsewhere = any(getattr(plan, word) != getattr(before, word) for word in MACHINE if word != "edits")
        if not self.has_baseline or (not self.sheet.variants and is_elsewhere):
            return replace(self, history=UndoHistory(Sheet(plan)), has_baseline=True)
        if collective_of(plan.algorithm) != collective_of(before.algorithm) or len(self.sheet.variants) >= MOST:
            return self
        try:
            changes = changes_of(before, plan)
        except InputError:  # a capture that no link can hold
            return self
        return self.did(self.sheet.added(changes), MOST) if changes else self


def record(plan: Plan) -> None:
    """Add a plan that was simulated to the list."""
    now = state(WhatIfState)
    after = now.followed(plan)
    if after != now:
        become(after)


def act(action: Callable[[WhatIfState], WhatIfState]) -> None:
    """Show the list after an action, or say why it is not possible; widgets take the values of the row chosen then."""
    now = state(WhatIfState)
    try:
        become(action(now))
    except InputError as error:
        become(replace(now, problem=retold(error)))
    become(state(VisitState).renewed())


def add(changes: Callable[[], Changes | None]) -> None:
    """Add a variant with some changes and choose it, or say why it cannot be added."""
    act(lambda now: now.did(now.sheet.added(changes() or {}), MOST))

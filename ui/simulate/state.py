"""The state of the page that simulates, and its transitions."""

import math
from dataclasses import dataclass, field, replace

from ops.plan import Plan
from ui.plan.beginning import FROM_THE_START, Beginning
from ui.state import PageState
from ui.story.state import StoryState

MOST = 50
"""Plans that are kept for undoing."""


@dataclass(frozen=True)
class SimulateState(PageState):
    """What is simulated, how it came to that, and where the player stands.

    `good` is the last plan that ran; a form that `is_broken` says something else. `past` and `future` are plans to undo
    and redo. `is_first` says that nothing was chosen yet, not even by a link, and `asks_machine` that a machine of
    one's own is asked for next. `problem` was wrong with a link in whose place the plan `instead` is shown. The player
    begins at `start`, again whenever `number` is another one, and was left at `stood` (s, view). `forked` are the
    faults that a hand asked for, and sliders in `rested` have just come to rest.
    """

    plan: Plan = field(default_factory=Plan)
    has_plan: bool = False
    is_first: bool = False
    asks_machine: bool = False
    good: Plan | None = None
    is_broken: bool = False
    is_unopened: bool = False
    past: tuple[Plan, ...] = ()
    future: tuple[Plan, ...] = ()
    problem: str = ""
    instead: Plan | None = None
    start: Beginning = FROM_THE_START
    number: int = 0
    stood: tuple[float, str] | None = None
    keeps_instant: bool = False
    brush: str = ""
    is_brushed: bool = False
    forked: str = ""
    drawings: int = 0
    is_brief: bool = False
    rested: frozenset[str] = frozenset()
    question: str = ""
    story: StoryState = field(default_factory=StoryState)

    def moved_on(self, plan: Plan) -> "SimulateState":
        """Show another plan; the one before can be undone to."""
        is_first = self.is_first and plan == self.plan
        after = replace(self, plan=plan, has_plan=True, is_read=True, is_first=is_first)
        if not self.has_plan or plan == self.plan:
            return after
        return replace(after, past=(*self.past, self.plan)[-MOST:], future=())

    def restored(self, plan: Plan, start: Beginning = FROM_THE_START) -> "SimulateState":
        """Show another plan from `start` on; where that names a view the player begins again."""
        number = self.number + bool(start.view)
        return replace(self.moved_on(plan), start=start, stood=None, number=number)

    def arrived(self, plan: Plan, start: Beginning, problem: str, *, is_first: bool = False) -> "SimulateState":
        """Show what an address names, or a stand-in and what is wrong with the address."""
        after = replace(self.moved_on(plan), start=start, number=self.number + 1)
        return replace(after, problem=problem, instead=plan, is_first=is_first)

    def drawn_again(self, *, has_come: bool) -> "SimulateState":
        """Forget a problem once another plan is shown; after another page begin where the player was left."""
        after = self if self.plan == self.instead else replace(self, problem="", instead=None)
        if not has_come or self.stood is None:
            return after
        return replace(after, start=Beginning(*self.stood, self.start.place))

    def ran(self, plan: Plan, *, is_refused: bool) -> "SimulateState":
        """Keep a plan that ran, while a field of the form may be refused."""
        return replace(self.moved_on(plan), good=plan, is_broken=is_refused)

    def undone(self) -> "SimulateState":
        """Show the plan before; what was typed and never ran goes first."""
        is_typed = self.is_broken and self.plan == self.good  # and is not what a hand asked for
        if is_typed or not self.past:
            return self.restored(self.plan)
        return replace(self.restored(self.past[-1]), past=self.past[:-1], future=(*self.future, self.plan))

    def redone(self) -> "SimulateState":
        """Show again the plan that was undone last."""
        if not self.future:
            return self
        return replace(self.restored(self.future[-1]), past=(*self.past, self.plan), future=self.future[:-1])

    def played(self, t: object, view: object, views: tuple[str, ...], brush: str) -> "SimulateState":
        """Keep where the player stands and what is marked in it; what is no number or view leaves the former one."""
        t_before, view_before = self.stood or self.start[:2]
        t_now = float(t) if isinstance(t, int | float) and math.isfinite(t) else t_before
        view_now = str(view) if view in views else view_before
        return replace(self, stood=(t_now, view_now), brush=brush, is_brushed=brush != self.brush)

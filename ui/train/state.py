"""The state of the page for training steps, and its transitions."""

from dataclasses import dataclass, replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.step import TrainingStep
from ui.state import PageState

FIRST = WorkloadPlan(machine=Plan(machine="switch:ranks=4,bandwidth=3GBps"))
"""What the page opens with: a network where some communication is exposed."""


@dataclass(frozen=True)
class TrainState(PageState):
    """The step that is chosen, and in `good` the last one that ran, with its plan.

    `program` is the text and the name of a program's result that is shown instead. A collective of the step plays from
    `share` of its time on, again whenever `plays` is another number.
    """

    plan: WorkloadPlan = FIRST
    good: tuple[WorkloadPlan, TrainingStep] | None = None
    program: tuple[str, str] | None = None
    share: float = 0.0
    plays: int = 0

    def arrived(self, plan: WorkloadPlan) -> "TrainState":
        """Show what an address names."""
        return replace(self, plan=plan, is_read=True)

    def ran(self, plan: WorkloadPlan, step: TrainingStep) -> "TrainState":
        """Keep a step that ran."""
        return replace(self, plan=plan, good=(plan, step))

    def playing(self, share: float) -> "TrainState":
        """Play the chosen collective from a share of its time on."""
        return replace(self, share=share, plays=self.plays + 1)

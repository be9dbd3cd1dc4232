"""The state of the page for training steps, and its transitions."""

from dataclasses import dataclass, replace

from ops.request import Request
from ops.request.training import TrainingRequest
from ops.training.step import TrainingStep
from ui.state import PageState

FIRST = TrainingRequest(machine=Request(machine="switch:ranks=4,bandwidth=3GBps"))
"""What the page opens with: a network where some communication is exposed."""


@dataclass(frozen=True)
class TrainState(PageState):
    """The step that is chosen, and in `good` the last one that ran, with its request.

    A collective of it plays from `share` of its time on, again whenever `plays` is another number.
    """

    request: TrainingRequest = FIRST
    good: tuple[TrainingRequest, TrainingStep] | None = None
    share: float = 0.0
    plays: int = 0

    def arrived(self, request: TrainingRequest) -> "TrainState":
        """Show what an address names."""
        return replace(self, request=request, is_read=True)

    def ran(self, request: TrainingRequest, step: TrainingStep) -> "TrainState":
        """Keep a step that ran."""
        return replace(self, request=request, good=(request, step))

    def playing(self, share: float) -> "TrainState":
        """Play the chosen collective from a share of its time on."""
        return replace(self, share=share, plays=self.plays + 1)

"""What all pages of a visit share: where it is, the folds that were opened, what a form refuses, and arrivals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ops.plan import Plan

REMEMBERED = 50
"""Long plans that a visit remembers."""


class Refusal(NamedTuple):
    """What was refused on which page, and the time of the monotonic clock until which it is shown."""

    error: Exception
    page: str | None
    until: float


class Turned(NamedTuple):
    """The words of the address before somebody turned to another page, and after it."""

    before: dict[str, str]
    after: dict[str, str]


@dataclass(frozen=True)
class VisitState:
    """The state of a visit that belongs to no page.

    `page` was drawn last, after another one if `has_come`; `turn` and `shift` number widgets, so that new ones take
    their places; `address` is what the address stands for, and `long_plans` are those too long for it, by name.
    `stopped` is the call that the visitor stopped, `waits` counts bars; `received` is what was dropped and not opened;
    `turned` is the last turn to another page.
    """

    page: str = ""
    has_come: bool = False
    turn: int = 0
    shift: int = 0
    folds: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    address: object = None
    long_plans: Mapping[str, Plan] = field(default_factory=dict)
    stopped: object = None
    waits: int = 0
    received: Any = None
    refusal: Refusal | None = None
    turned: Turned | None = None

    def drawing(self, page: str) -> "VisitState":
        """Draw a page."""
        return replace(self, page=page, has_come=self.page not in ("", page))

    def renewed(self) -> "VisitState":
        """Give every widget a new key."""
        return replace(self, turn=self.turn + 1)

    def remembering(self, name: str, plan: Plan) -> "VisitState":
        """Keep a long plan under a name, and no more than the newest."""
        plans = {**{key: old for key, old in self.long_plans.items() if key != name}, name: plan}
        return replace(self, long_plans={key: plans[key] for key in [*plans][-REMEMBERED:]})

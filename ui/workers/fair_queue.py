"""Who is next: one line per visitor, and of several whoever had least of the workers lately, or else waits longest.

So nobody's hundred jobs keep another's one, nor do jobs of a second each keep those of a hundredth.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Waiting(Protocol):
    """What can stand in line: whose it is, and whether it is known to take long."""

    @property
    def visitor(self) -> str:
        """Whose line it stands in."""

    @property
    def long(self) -> bool:
        """Whether it has been found to take long."""


Item = TypeVar("Item", bound=Waiting)
HALF = 10.0
"""Seconds in which half of what somebody had is forgotten."""
LITTLE = 0.05
"""Seconds that make no difference."""


class FairQueue(Generic[Item]):
    """Jobs by visitor; not for several threads at once without a lock around it. `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        self._had: dict[str, tuple[float, float]] = {}
        self._clock = clock

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def put(self, item: Item, *, first: bool = False) -> None:
        """Stand at the end of the visitor's line, or again at its head."""
        line = self._lines.setdefault(item.visitor, deque())
        (line.appendleft if first else line.append)(item)

    def take(self, *, long: bool = True) -> Item | None:
        """The first of the next visitor's line, who then stands last of those who had as much; None if nobody waits.

        Without `long` what is known to take long stays; what stands behind it in its line goes first.
        """
        for visitor in sorted(self._lines, key=self._had_lately):
            line = self._lines[visitor]
            item = next((item for item in line if long or not item.long), None)
            if item is not None:
                line.remove(item)
                self._lines.move_to_end(visitor)
                if not line:
                    del self._lines[visitor]
                return item
        return None

    def charge(self, visitor: str, seconds: float) -> None:
        """A worker was a visitor's for so many seconds."""
        self._had[visitor] = self._had_lately(visitor) + seconds, self._clock()
        for other in [other for other in self._had if not self._had_lately(other)]:
            del self._had[other]

    def _had_lately(self, visitor: str) -> float:
        had, when = self._had.get(visitor, (0.0, 0.0))
        left = had * 0.5 ** ((self._clock() - when) / HALF)
        return left if left > LITTLE else 0.0

    def drop(self, is_dropped: Callable[[Item], bool]) -> list[Item]:
        """Take out of all lines, and return, what need not be done any more."""
        dropped = [item for line in self._lines.values() for item in line if is_dropped(item)]
        for item in dropped:
            self._lines[item.visitor].remove(item)
            if not self._lines[item.visitor]:
                del self._lines[item.visitor]
        return dropped

    def of(self, visitor: str) -> int:
        """How many jobs stand in a visitor's line."""
        return len(self._lines.get(visitor, ()))

    def has_short(self) -> bool:
        """Whether anything waits that is not known to take long."""
        return any(not item.long for line in self._lines.values() for item in line)

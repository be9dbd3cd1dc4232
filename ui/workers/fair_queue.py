"""Who is next: one line per visitor, the lines served in turn, so that nobody's hundred jobs keep another's one."""

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


class FairQueue(Generic[Item]):
    """Jobs by visitor; not for several threads at once without a lock around it."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def put(self, item: Item, *, first: bool = False) -> None:
        """Stand at the end of the visitor's line, or again at its head."""
        line = self._lines.setdefault(item.visitor, deque())
        (line.appendleft if first else line.append)(item)

    def take(self, *, long: bool = True) -> Item | None:
        """The first of the next visitor's line, who then stands last among visitors; None where nobody waits.

        Without `long` what is known to take long stays; what stands behind it in its line goes first.
        """
        for visitor, line in self._lines.items():
            item = next((item for item in line if long or not item.long), None)
            if item is not None:
                line.remove(item)
                self._lines.move_to_end(visitor)
                if not line:
                    del self._lines[visitor]
                return item
        return None

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

"""What undo and redo go through."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

MOST = 200
"""Steps that can be undone."""
Held = TypeVar("Held")


@dataclass(frozen=True)
class UndoHistory(Generic[Held]):
    """What is shown now, and what was shown before and after it."""

    now: Held
    past: tuple[Held, ...] = ()
    future: tuple[Held, ...] = ()

    def became(self, held: Held) -> "UndoHistory[Held]":
        """Show something else, which can be undone; the same changes nothing."""
        if held == self.now:
            return self
        return UndoHistory(held, (*self.past, self.now)[-MOST:])

    def undone(self) -> "UndoHistory[Held]":
        """Show what was shown before; the first stays."""
        if not self.past:
            return self
        return replace(self, now=self.past[-1], past=self.past[:-1], future=(*self.future, self.now))

    def redone(self) -> "UndoHistory[Held]":
        """Show again what was undone last."""
        if not self.future:
            return self
        return replace(self, now=self.future[-1], past=(*self.past, self.now), future=self.future[:-1])

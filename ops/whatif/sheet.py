"""A list of what-ifs and what one does with it; every action returns another list."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ops.plan import Plan
from ops.plan.notation import CHANGEABLE, Changes
from ops.plan.packing import packed
from sim.errors import InputError

MOST = 200
"""Variants of a list."""
LONGEST_NAME = 200
"""Characters of a name."""
MACHINE = ("machine", "capture", "capture_name", "rates", "network", "placement", "edits", "calibration")
"""Words of a plan that describe its machine."""


@dataclass(frozen=True)
class Variant:
    """A plan that differs from a baseline.

    Parameters
    ----------
    changes : tuple of (str, str)
        The words that differ, and their values, as `Plan.changed` takes them.
    name : str
        A name of its own; empty for one that the changes give it.
    """

    changes: tuple[tuple[str, str], ...]
    name: str = ""

    def plan(self, baseline: Plan) -> Plan:
        """Return the plan of this variant of a baseline. Raises InputError."""
        return baseline.changed(dict(self.changes))


@dataclass(frozen=True)
class Sheet:
    """A baseline and its variants, in the order of the rows."""

    baseline: Plan = field(default_factory=Plan)
    variants: tuple[Variant, ...] = ()

    def added(self, changes: Changes, name: str = "") -> "Sheet":
        """Add a variant at the end, unless nothing changes or there is one with these changes.

        Raises InputError for one too many.
        """
        variant = Variant(tuple(changes.items()), name)
        if not changes or any(dict(one.changes) == changes for one in self.variants):
            return self
        if len(self.variants) >= MOST:
            raise InputError("whatif.most", most=MOST)
        return replace(self, variants=(*self.variants, variant))

    def renamed(self, k: int, name: str) -> "Sheet":
        """Give a variant another name; an empty name is the one that the changes give it."""
        return self._with(k, replace(self.variants[k], name=name.strip()[:LONGEST_NAME]))

    def removed(self, k: int) -> "Sheet":
        """Remove a variant."""
        return self._with(k)

    def ordered(self, order: Sequence[int]) -> "Sheet":
        """Put the variants into another order, given by their places now."""
        return replace(self, variants=tuple(self.variants[k] for k in order))

    def rebased(self, k: int) -> "Sheet":
        """Make a variant the baseline, and the baseline a variant in its place. Raises InputError.

        A variant that changes cannot make of the new baseline is left out.
        """
        plans = [(one, one.plan(self.baseline)) for one in self.variants]
        baseline = plans[k][1]
        plans[k] = (Variant((), ""), self.baseline)
        changed = [(one, changes_of(baseline, plan)) for one, plan in plans]
        return Sheet(baseline, tuple(Variant(tuple(words.items()), one.name) for one, words in changed if words))

    def on(self, machine: Plan) -> "Sheet":
        """Run the list on the machine of another plan."""
        words: dict[str, Any] = {word: getattr(machine, word) for word in MACHINE}
        return replace(self, baseline=replace(self.baseline, **words))

    def _with(self, k: int, *instead: Variant) -> "Sheet":
        return replace(self, variants=(*self.variants[:k], *instead, *self.variants[k + 1 :]))


def changes_of(baseline: Plan, plan: Plan) -> Changes | None:
    """Return the changes that make one plan of another; None where changes cannot say it, as for another schedule.

    >>> changes_of(Plan(), Plan(size="1MiB", lockstep=True))
    {'size': '1MiB', 'lockstep': 'yes'}
    """
    target = replace(plan, against="")
    changes: Changes = {}
    for _ in range(2):  # a change of the machine or the algorithm resets other words
        changed = baseline.changed(changes)
        changes |= {word: _text(plan, word) for word in CHANGEABLE if getattr(changed, word) != getattr(plan, word)}
    made = replace(baseline.changed(changes), capture_name=plan.capture_name, schedule_name=plan.schedule_name)
    return changes if made == target else None


def _text(plan: Plan, word: str) -> str:
    value = getattr(plan, word)
    if word == "capture":
        return packed(value, {}) if value else ""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)

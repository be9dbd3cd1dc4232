"""Links that were removed and are needed: the same plan with dead links, which runs until it stalls."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ops.plan import Plan
from ops.plan.notation import entries, listed
from sim.errors import UnreachableError

CUT = "cut_cable:"
T = TypeVar("T")


def until_it_stalls(run: Callable[[Plan], T], plan: Plan) -> T:
    """Return what `run` makes of a plan; where a removed link cuts ranks off, of that link being dead from the start.

    What can go another way does so; the rest waits for ever. Raises what `run` raises.
    """
    try:
        return run(plan)
    except UnreachableError as error:
        cut = [spec for spec in entries(plan.edits) if spec.startswith(CUT)]
        if not cut or error.trace:
            raise
        kept = listed([spec for spec in entries(plan.edits) if spec not in cut])
        dead = [f"dead_link:{spec.removeprefix(CUT)},reroute=yes" for spec in cut]
        return run(replace(plan, edits=kept, fault=listed([*plan.faults, *dead])))

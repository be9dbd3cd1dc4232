"""A future that a hand asks for on the stage: it is run and drawn with what would have been, ahead of the page.

All of a page takes several times as long to draw as one run takes; so the player asks for both futures by itself
(`ui.server.future`) and draws them, and tells the page what was asked once the hand rests.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

import streamlit as st

from ops.plan import Plan
from ops.plan.notation import entries
from ui.controls import compare, whatif
from ui.simulate.state import SimulateState
from ui.state import become, change, state

UNDO = "undo"
"""What a hand asks that takes back what it asked for last."""


def take(shown: Plan) -> None:
    """Take what a hand asked for since the picture of this plan was drawn, and draw the page again."""
    now = state(SimulateState)
    if not now.forked:
        return
    change(SimulateState, forked="")
    specs = entries(now.forked)
    after = now if specs[0] == UNDO else now.moved_on(shown)  # what is refused is undone first
    for spec in specs:
        if spec == UNDO:
            after = after.undone() if after.past else after.moved_on(next(iter(after.plan.others()), after.plan))
        else:
            after = after.moved_on(compare.forked(after.plan, spec))
    become(replace(after, forked="", keeps_instant=True))
    whatif.forget()
    st.rerun()


def applied(plan: Plan, specs: str) -> Plan:
    """The plan after all faults and edits that hands asked for, one after the other."""
    return reduce(compare.forked, entries(specs), plan)


def packed(runs: Iterable[compare.Run]) -> list[dict[str, Any]]:
    """Runs as the player gets them: each with its title where there are several, and what is left out of it.

    One that `stays` is what the first is held against, whatever hands change next.
    """
    runs = list(runs)
    stays = bool(runs) and compare.has_baseline(runs[0][0])
    more = [{"title": name if len(runs) > 1 else "", "stays": stays} for _, _, name in runs]
    return [picture.payload["packed"] | each for (_, picture, _), each in zip(runs, more, strict=True)]

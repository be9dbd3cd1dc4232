"""Runs that stand beside a plan's own on one clock: what each of them does otherwise, as words of the plan."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from ops.answers.outcome import CUT
from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import MOST, beside, differences, entries, is_whole, listed, size_word
from sim.errors import StalledError
from sim.faults.edits import EDITS
from sim.parameters import pairs
from sim.trace.breakdown import PARTS
from sim.units import TimeScale
from ui.plan.picture import STALLED, Picture
from ui.player.titles import algorithm_title, run_titles
from ui.simulate.past import restore
from ui.state import callback
from ui.text import spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

COMPARED = ("run", "time", "busbw", "messages")
"""Columns of the table below the runs, before those of what their times are made of."""
NUMBERS = re.compile(r"(?<=[,:])(bandwidth|latency|share|late|slower)=[^,]+")
"""What of a fault or an edit a slider moves, but for factors, of which one more goes on from the last."""
SIZE = "size:bytes="
"""What a hand asks that moves the size, before the bytes."""
HANDS = {"fault", "edits", "size"}
"""Words of a plan that hands change."""
Run = tuple[Plan, Picture, str]
"""A plan, what it looks like run, and what it is called beside others."""


def forked(plan: Plan, spec: str) -> Plan:
    """The plan with one more fault or edit, against what it was before hands changed anything.

    What a slider moves once more takes the place of what it moved before.
    """
    if spec.startswith(SIZE):
        word, now = "size", size_word(int(spec.removeprefix(SIZE)))
    else:
        word = "edits" if spec.partition(":")[0] in EDITS else "fault"
        before = entries(getattr(plan, word))
        now = listed([*(before[:-1] if is_further(before, spec) else before), spec])
    changed: dict[str, Any] = {word: now}
    if spec.startswith(CUT) and (fault := _elsewhere(plan.faults, spec)) != plan.fault:
        changed["fault"] = fault
    return replace(plan, **changed, against=_against(plan, list(changed), spec))


def _elsewhere(faults: Sequence[str], cut: str) -> str:
    """The faults that are not of a link that is removed.

    >>> _elsewhere(["slow_link:src=A,dst=B", "straggler:rank=1"], "cut_cable:src=B,dst=A")
    'straggler:rank=1'
    """

    def ends(spec: str) -> set[str | None]:
        named = pairs(spec.partition(":")[2])
        return {named.get("src"), named.get("dst")}

    return listed([spec for spec in faults if ends(spec) != ends(cut)])


def is_further(before: Sequence[str], spec: str) -> bool:
    """Whether a fault or an edit differs from the last of some in its numbers alone.

    >>> is_further(["jitter", "set_link:src=A,dst=B,bandwidth=8GBps"], "set_link:src=A,dst=B,bandwidth=4GBps")
    True
    """
    return any(NUMBERS.sub(r"\1", each) == NUMBERS.sub(r"\1", spec) for each in before[-1:])


def _against(plan: Plan, words: Sequence[str], spec: str) -> str:
    """What the plan is held against once a hand has changed words of it."""
    runs, before = differences(plan.against), {word: getattr(plan, word) for word in words}
    if has_baseline(plan):
        return plan.against if is_whole(runs[0]) else beside([before | runs[0]])
    if words[0] != "size" and is_further(entries(before[words[0]]), spec):
        return plan.against
    return beside([*runs, before][-MOST:])


def has_baseline(plan: Plan) -> bool:
    """Whether a plan is held against one run: a pinned one, or itself before hands changed anything."""
    runs = differences(plan.against)
    return len(runs) == 1 and (is_whole(runs[0]) or runs[0].keys() <= HANDS)


def keep(plan: Plan) -> None:
    """Buttons that pin a run, to compare whatever is chosen next with it, and that end a comparison."""
    runs = differences(plan.against)

    @callback
    def is_kept() -> None:
        restore(replace(plan, against=beside([*runs, plan.kept_beside()])))

    @callback
    def is_ended() -> None:
        restore(replace(plan, against=""))

    if runs:
        st.button(tell("page.compare.end"), icon=":material/close:", on_click=is_ended, key="end_comparison")
    full = len(runs) >= MOST
    st.button(
        tell("page.compare.keep"),
        icon=":material/keep:",
        on_click=is_kept,
        disabled=full or bool(plan.schedule),
        help=tell("page.compare.keep.full" if full else "page.compare.keep.help"),
        key="keep_beside",
    )


def picture_of(plan: Plan) -> Picture:
    """What a plan looks like run, whatever stands beside it. Raises InputError and StalledError."""
    return ask(tasks.run, replace(plan, against=""), spoken())


def titled(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The plan and those beside it, and what each is called. Raises InputError."""
    return zip(run_titles(plan), [plan, *plan.others()], strict=True)


def _table(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Runs by rows: what each took, and the parts that its time is made of, in figures that add up."""
    ended = [picture for _, picture, _ in runs if picture.verdict != STALLED]
    scale = TimeScale.of(max((picture.seconds for picture in ended), default=0.0))
    parts = [part for part in PARTS if any(picture.parts[part] for picture in ended)]
    words = [*(tell(f"page.compare.{word}") for word in COMPARED), *(tell(f"player.why.{part}") for part in parts)]
    return [dict(zip(words, _row(picture, title, scale, parts), strict=True)) for _, picture, title in runs]


def _row(picture: Picture, title: str, scale: TimeScale, parts: Sequence[str]) -> tuple[str, ...]:
    if picture.verdict == STALLED:
        return (title, tell("page.compare.never"), *("–" for _ in [*COMPARED[2:], *parts]))
    counts = scale.counts([picture.parts[part] for part in parts])
    return (title, scale.text(sum(counts)), picture.busbw, str(picture.messages), *map(scale.text, counts))


def _is_race(plans: Sequence[Plan]) -> bool:
    """Whether they differ in their algorithms alone, of one collective, which sizes may turn round."""
    plain = {replace(plan, algorithm="", settings="", against="") for plan in plans}
    names = {plan.algorithm for plan in plans}
    collectives = {collective_of(name) for name in names}
    first = plans[0]
    return len(plain) == len(collectives) == 1 and len(names) == len(plans) and not (first.fault or first.schedule)


def show(runs: Sequence[Run]) -> None:
    """What every run's critical path is made of, and the sizes at which the winner changes."""
    if len(runs) < 2:
        return
    st.dataframe(_table(runs), hide_index=True)
    compared = [plan for plan, _, _ in runs]
    if not _is_race(compared):
        return
    try:
        crossed = ask(tasks.crossings, compared[0], tuple(compared))
    except StalledError:  # at another size a library may take what cannot be done on this machine
        return
    for below, above, size in crossed:
        names = {"below": algorithm_title(below), "above": algorithm_title(above)}
        st.markdown(f"- {tell('page.compare.crossing', **names, size=size)}")
    if not crossed:
        st.caption(tell("page.compare.same"))

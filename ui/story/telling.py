"""The story as the player tells it: its runs, packed, the numbers they add up, and what is said of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from ops.plan import Plan
from ops.run import Run
from sim.trace import Trace
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time
from ui.lessons import after, sent
from ui.plan.picture import carried_out
from ui.player.payload import pack, unpack
from ui.story import CHAPTERS, Chapter
from ui.text import catalogue, say

DIGITS = "3141592653589793238462643383279502884197169399375105820974944592"
"""The digits of π: numbers to be added that nobody has chosen."""


def story(language: str, chapters: Sequence[Chapter] = CHAPTERS) -> dict[str, Any]:
    """Everything the player needs to tell it: `runs`, `chapters` in their order, and the words around them."""
    outcomes = {chapter.plan: carried_out(chapter.plan) for chapter in chapters}
    plans = list(outcomes)
    runs = [_run(outcome, language) for outcome in outcomes.values()]
    entries, before = [], plans[0]
    for chapter, last in zip(chapters, [chapters[0], *chapters], strict=False):
        before = before if last.plan == chapter.plan else last.plan
        k, outcome = plans.index(chapter.plan), outcomes[chapter.plan]
        facts = figures(outcome, outcomes[before], runs[k])
        stretches = [
            {**stretch, "text": say(f"story.{chapter.name}.{number}", language, **facts)}
            for number, stretch in enumerate(_stretches(chapter, outcome), 1)
        ]
        shown = {"goal": chapter.goal, "sent": chapter.sent, "loads": chapter.loads}
        title = say(f"story.{chapter.name}", language)
        entries.append({"name": chapter.name, "title": title, "run": k, "stretches": stretches} | shown)
    words = {name: text for name, text in catalogue(language).items() if name.startswith("story.say.")}
    return {"runs": runs, "chapters": entries, "text": words, "guesses": _guesses(chapters, outcomes)}


def _guesses(chapters: Sequence[Chapter], outcomes: Mapping[Plan, Run]) -> dict[str, Any]:
    """How many times faster the run that answers is than the one that asks, among wrong guesses."""
    asking, answering = (
        next((outcomes[c.plan] for c in chapters if any(getattr(s, part) for s in c.stretches)), None)
        for part in ("asks", "answers")
    )
    if asking is None or answering is None:
        return {}
    times = asking.time / answering.time
    return {"right": f"{times:.2g}", "all": [f"{times * part:.2g}" for part in (0.5, 1, 2)]}


def _stretches(chapter: Chapter, outcome: Run) -> list[dict[str, float]]:
    """When each stretch begins and ends, s from the run's beginning, and its seconds on screen."""
    began = outcome.trace.began
    return [
        {
            "from": after(outcome, stretch.begin) - began,
            "to": after(outcome, stretch.end) - began,
            "seconds": stretch.seconds,
            "asks": stretch.asks,
            "answers": stretch.answers,
        }
        for stretch in chapter.stretches
    ]


def gradients(n: int) -> list[list[int]]:
    """The numbers that each of n ranks begins with, n of them: as many as a ring cuts its data into.

    >>> gradients(2)
    [[3, 1], [4, 1]]
    """
    return [[int(DIGITS[(rank * n + k) % len(DIGITS)]) for k in range(n)] for rank in range(n)]


def added_up(trace: Trace, packed: dict[str, Any]) -> dict[str, Any]:
    """The numbers that every set of contributors of a packed run adds up to, and those that everyone needs."""
    header, columns = unpack(packed)
    own = gradients(trace.schedule.n)
    within = [
        [rank for rank in range(len(own)) if low >> rank & 1] for low, _ in columns["sets"].reshape(-1, 2).tolist()
    ]
    sums = [[sum(own[rank][k] for rank in ranks) for k in range(len(own))] for ranks in within]
    goal = [sum(column) for column in zip(*own, strict=True)]
    return {"sums": sums, "goal": goal, "least": header["meta"]["least"]}


def _run(outcome: Run, language: str) -> dict[str, Any]:
    """A run, packed, and its numbers."""
    packed = pack(outcome.trace, language)
    return packed | added_up(outcome.trace, packed)


def figures(outcome: Run, before: Run, run: Mapping[str, Any]) -> dict[str, str]:
    """What the words of a chapter may tell of its run, and of the one before it."""
    trace, n = outcome.trace, outcome.trace.schedule.n
    cable = trace.topology.path(f"GPU{trace.schedule.src[0]}", f"GPU{trace.schedule.dst[0]}")[0]
    figures = {
        "ranks": str(n),
        "half": str(n - 1),
        "size": fmt_size(trace.size),
        "time": fmt_time(trace.time),
        "before": fmt_time(before.time),
        "faster": f"{before.time / trace.time:.2g}",
        "slower": f"{trace.time / before.time:.2g}",
        "most": fmt_size(max(sent(outcome, rank) for rank in range(n))),
        "least": fmt_size(run["least"]),
        "added": " + ".join(str(own[0]) for own in gradients(n)),
        "sum": str(run["goal"][0]),
        "cable": fmt_bandwidth(cable.bandwidth),
    }
    use = outcome.bottleneck
    if use is None:
        return figures
    return figures | {
        "link": f"{use.src} → {use.dst}",
        "share": fmt_share(use.share),
        "rate": fmt_bandwidth(use.bandwidth),
    }

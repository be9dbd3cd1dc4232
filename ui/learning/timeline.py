"""A lesson's picture of training steps: the beginning until there is an answer, then all of it, drawn as time goes."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from ops.training.step import COMM, COMPUTE, WAIT, TrainingStep
from sim.units import fmt_size, fmt_time
from ui.charts import training
from ui.lessons import LessonStep
from ui.text import say

REVEAL = """<style>
@keyframes rl-reveal { from { clip-path: inset(0 100% 0 0); } to { clip-path: inset(0); } }
.rl-answered .tl-lanes { animation: rl-reveal 3s linear; }
@media (prefers-reduced-motion: reduce) { .rl-answered .tl-lanes { animation: none; } }
.rl-title { margin: 4px 0; font-weight: 600; }
.rl-said { margin: 4px 0 16px; opacity: 0.85; font-size: 14px; }
</style>"""
"""Bars come in as the step would make them, for who wants motion."""


def upto(step: TrainingStep, end: float) -> TrainingStep:
    """What is known of a step at an instant, s: what has begun by then, and the memory that was taken."""
    spans = [span._replace(end=min(span.end, end)) for span in step.spans if span.start < end]
    changes = [change for change in step.changes if change.time <= end]
    return replace(step, spans=spans, changes=changes)


def drawn(lesson_step: LessonStep, steps: Sequence[TrainingStep]) -> list[TrainingStep]:
    """The steps as the lesson shows them: without their memory where it does not matter."""
    return [step if lesson_step.memory else replace(step, changes=[]) for step in steps]


def picture(
    lesson_step: LessonStep, steps: Sequence[TrainingStep], titles: Sequence[str], language: str, *, answered: bool
) -> str:
    """Every step's timeline under its title, as HTML: its beginning, or once there is an answer all of it."""
    longest = max(step.time for step in steps)
    end = longest if answered else longest * lesson_step.before
    if not end:
        return f'<div class="rl-said">{escape(say("page.learn.timeline.nothing", language))}</div>'
    parts = [REVEAL, f'<div class="{"rl-answered" if answered else "rl-asked"}">']
    for step, title in zip(drawn(lesson_step, steps), titles, strict=True):
        shown = step if answered else upto(step, end)
        if title:
            parts.append(f'<div class="rl-title">{escape(title)}</div>')
        ranks = range(min(lesson_step.rows, step.ranks))
        parts.append(training.timeline(shown, ranks, (0.0, end), training.texts_of(step, language)))
        parts.append(f'<div class="rl-said">{escape(sentence(shown, end, language, answered=answered))}</div>')
    return "".join([*parts, "</div>"])


def sentence(step: TrainingStep, end: float, language: str, *, answered: bool) -> str:
    """The picture in words, for who reads and for who listens."""
    if not answered:
        return say("page.learn.timeline.beginning", language, time=fmt_time(end))
    rank = max(range(step.ranks), key=step.exposed)
    compute, exposed = step.busy(rank, COMPUTE), step.exposed(rank)
    moving = step.busy(rank, COMM) + step.busy(rank, WAIT)
    words = {
        "rank": rank,
        "compute": fmt_time(compute),
        "moving": fmt_time(moving),
        "exposed": fmt_time(max(0.0, exposed)),
        "time": fmt_time(step.time),
    }
    kept = held(step, rank)
    if not kept:
        return say("page.learn.timeline.whole", language, **words)
    names = training.texts_of(step, language)
    listed = say("page.learn.timeline.comma", language).join(
        f"{names.get(kind, kind)} {fmt_size(most)}" for kind, most in kept.items()
    )
    return say("page.learn.timeline.memory", language, **words, kinds=listed)


def held(step: TrainingStep, rank: int) -> dict[str, float]:
    """The most bytes that a rank held of every kind."""
    now: dict[str, float] = {}
    most: dict[str, float] = {}
    for change in sorted((c for c in step.changes if c.rank == rank), key=lambda change: change.time):
        now[change.kind] = now.get(change.kind, 0.0) + change.bytes
        most[change.kind] = max(most.get(change.kind, 0.0), now[change.kind])
    return most

"""Lessons as a page without a server has them: words, runs and, as the simulator has graded them, answers."""

import base64
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import fmt_number
from ui.learning import timeline
from ui.learning.runs import figures, runs_of, titles
from ui.lessons import LESSONS, AnyPlan, Ask, Lesson, LessonStep, after
from ui.plan.subject import Played, read
from ui.player.payload import pack
from ui.player.views import label_of
from ui.text import catalogue, say

WORDS = ("back", "next", "finish", "done", "check", "guess", "first", "tell", "lessons")
"""Texts `page.learn.WORD` that the page says."""
Runs = Callable[[tuple[AnyPlan, ...]], list[Any]]
"""The runs of a step's plans."""


def unseen(done: int, of: int) -> None:
    """What is told of the way there where nobody looks."""


def packed(
    language: str, names: Collection[str], progress: Callable[[int, int], None] = unseen, runs_of: Runs = runs_of
) -> dict[str, Any]:
    """Lessons by their names, in their order, with every run once, for `assets/talk/lesson.js`."""
    chosen = sorted(LESSONS.values(), key=lambda lesson: lesson.order)
    chosen = [lesson for lesson in chosen if lesson.name in names]
    every: dict[str, dict[str, Any]] = {}
    entries = []
    for done, lesson in enumerate(chosen, 1):
        steps = [
            _step(lesson, number, step, runs_of(step.plans), language, every)
            for number, step in enumerate(lesson.steps, 1)
        ]
        entries.append({"name": lesson.name, "title": say(f"lesson.{lesson.name}.title", language), "steps": steps})
        progress(done, len(chosen))
    words = {f"learn.{word}": say(f"page.learn.{word}", language) for word in WORDS}
    return {"text": words, "all": every, "lessons": entries}


def _step(
    lesson: Lesson, number: int, step: LessonStep, runs: list[Any], language: str, every: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """A step: what it says, what it asks, and what is seen beside it; its runs join `every`."""
    facts = figures(runs) | dict(step.ask.facts(runs) if step.ask else {})
    key = f"lesson.{lesson.name}.{number}"
    count = say("page.learn.step", language, step=number, steps=len(lesson.steps))
    shown = _runs(step, runs, language, every) if isinstance(step.plan, Plan) else _timelines(step, runs, language)
    return {
        "step": count,
        "words": _filled(key, step.text or lesson.about, language, facts),
        "reads": step.reads,
        "ask": _ask(key, step, step.ask, runs, facts, language) if step.ask else None,
        **shown,
    }


def _filled(key: str, english: str, language: str, facts: Mapping[str, Any]) -> str:
    return catalogue(language).get(key, english).format(**facts)


def _runs(step: LessonStep, runs: list[Any], language: str, every: dict[str, dict[str, Any]]) -> dict[str, Any]:
    played = read(runs)[0]
    assert isinstance(played, Played), "runs are played"
    plans = [plan for plan in step.plans if isinstance(plan, Plan)]
    entries = [pack(trace, language, plan=plan) for trace, plan in zip(played.traces, plans, strict=True)]
    every |= {entry["id"]: entry for entry in entries}
    began = runs[0].trace.began
    start = {"t": after(runs[0], step.at) - began, "view": step.view, "place": {}}
    until = after(runs[0], step.until) - began if step.until else None
    names = [{"id": entry["id"], "title": title} for entry, title in zip(entries, played.titles, strict=True)]
    return {"runs": names, "start": start, "until": until}


def _timelines(step: LessonStep, runs: list[Any], language: str) -> dict[str, Any]:
    """A training step's picture before there is an answer and after it, each packed, as they say the same often."""
    names = titles([plan for plan in step.plans if isinstance(plan, WorkloadPlan)])
    both = [timeline.picture(step, runs, names, language, answered=answered) for answered in (False, True)]
    return {"timelines": [base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii") for text in both]}


def _ask(
    key: str, step: LessonStep, ask: Ask, runs: list[Any], facts: Mapping[str, Any], language: str
) -> dict[str, Any]:
    """A question, its answer, and what is said to each."""
    answer = ask.answer(runs)
    unit = _named(f"page.learn.unit.{ask.unit}", ask.unit, language)
    option = _named(f"lesson.option.{answer}", str(answer), language)
    said = option if isinstance(answer, str) else fmt_number(answer, unit)
    because = _filled(f"{key}.because", ask.because, language, {**facts, "answer": said})
    hint = say("page.learn.wrong", language, view=label_of(step.view, language))
    return {
        "question": _filled(f"{key}.ask", ask.question or say("page.learn.guess", language), language, facts),
        "options": [[word, _named(f"lesson.option.{word}", word, language)] for word in ask.options],
        "label": say("page.learn.guess.unit", language, unit=unit) if unit else say("page.learn.guess", language),
        "answer": answer,
        "within": ask.within,
        "hint": hint if isinstance(step.plan, Plan) else say("page.learn.wrong.timeline", language),
        "right": f"{say('page.learn.right', language, answer=said)} {because}",
        "shown": f"{say('page.learn.answer', language, answer=said)} {because}",
    }


def _named(key: str, word: str, language: str) -> str:
    return catalogue(language).get(key, word)

"""Every lesson with wrong and right answers, and every task of the ladder with its best and with less, in Chromium.

Run `python -m tests.browser.walk [PART OF A NAME]...`: names are like `ring-1440-en` and `ladder-390-zh`. Lessons and
tasks are those of their lists, so that new ones are walked without being named here. What is wrong is printed as seen;
the command ends with 1 where anything is.
"""

import re
import sys
from itertools import product
from urllib.parse import quote

from playwright.sync_api import Error

from ops.ladder import TASKS
from ops.plan import Plan
from ops.sketch import written_columns
from sim.units import fmt_number
from tests.browser.visit import PATIENCE, PLAYER
from tests.browser.windows import visits
from ui.learning.runs import figures, runs_of
from ui.lessons import LESSONS
from ui.text import catalogue, languages, say

SIZES = ((1440, 900), (390, 844))
LADDER = "ladder"
FORM, TIMELINE = '[data-testid="stForm"]', ".rl-asked, .rl-answered, .rl-said"
BOARD = ".rb-root[data-judged=yes]"
TWO_COLUMNS = 1000
"""Pixels from which on a question and its picture stand side by side."""
ALOUD = """() => [...document.querySelectorAll('*')].map((e) => e.shadowRoot?.querySelector('p[role=status]'))
  .find((e) => e)?.textContent ?? document.querySelector('p[role=status]')?.textContent ?? ''"""


class Walk:
    """One person in one lesson, who sees what is wrong with it."""

    def __init__(self, visit, language, lesson):
        self.visit, self.page, self.language, self.lesson = visit, visit.page, language, lesson
        self.wrong = []
        self.at = ""

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(f"{self.lesson.name}, {self.at}: {what}")

    def told(self, key, **values):
        return say(key, self.language, **values)

    def words(self, number, part, facts):
        """A text of the lesson as it stands on the page, without the signs of Markdown."""
        key = f"lesson.{self.lesson.name}.{number}{part}"
        return re.sub(r"[*`]", "", catalogue(self.language)[key].format(**facts))

    def from_first_to_last(self):
        """Walk the lesson; returns what is wrong with it."""
        self.visit.open(f"?page=learn&lesson={self.lesson.name}&lang={self.language}", f"{FORM}, {PLAYER}")
        for number, step in enumerate(self.lesson.steps, 1):
            self.at = f"step {number}"
            self.page.get_by_text(
                self.told("page.learn.step", step=number, steps=len(self.lesson.steps))
            ).first.wait_for()
            self.visit.settle()
            if step.ask:
                self.question(number, step)
            self.page.locator(".st-key-next button").first.click()
        self.page.get_by_text(self.told("page.learn.done")).wait_for(timeout=PATIENCE)
        self.expect(not self.visit.complaints, self.visit.complaints[:2])
        self.expect(not self.visit.strangers, self.visit.strangers[:2])
        return self.wrong

    def question(self, number, step):
        """Answer it wrongly, look, answer it rightly, look again."""
        ask, runs = step.ask, runs_of(step.plans)
        facts = figures(runs) | dict(ask.facts(runs))
        answer = ask.answer(runs)
        self.in_sight(step)
        try:
            self.page.wait_for_function(f"words => ({ALOUD})().includes(words)", arg=self.words(number, ".ask", facts))
        except Error:
            self.expect(False, "the question is not read out")
        self.expect(not self.plays(step), "it plays before there is an answer")
        self.answer(ask, self.other(ask, answer, runs))
        self.page.get_by_test_id("stAlert").first.wait_for(timeout=PATIENCE)
        alert = self.page.get_by_test_id("stAlert").first.inner_text()
        self.expect(self.told("page.learn.wrong", view="").split("“")[0][:8] in alert, f"wrong, and told: {alert[:80]}")
        words = self.said(ask, answer)
        because = self.words(number, ".because", {**facts, "answer": words})
        self.expect(because not in alert, "a wrong answer is told the solution")
        self.answer(ask, answer)
        right = self.page.get_by_test_id("stAlert").get_by_text(self.told("page.learn.right", answer=words))
        try:
            right.wait_for(timeout=PATIENCE)
        except Error:
            self.expect(False, f"the right answer {words} is not right")
            return
        self.expect(because in right.inner_text(), f"no reason: {right.inner_text()[:120]}")
        self.expect(self.plays(step), "the answer sets nothing going")

    def said(self, ask, answer):
        if isinstance(answer, str):
            return catalogue(self.language).get(f"lesson.option.{answer}", answer)
        unit = catalogue(self.language).get(f"page.learn.unit.{ask.unit}", ask.unit)
        return fmt_number(answer, unit)

    def other(self, ask, answer, runs):
        """An answer that is wrong."""
        if ask.options:
            return next(option for option in ask.options if not ask.grade(option, runs))
        return 3 * answer + 1

    def answer(self, ask, answer):
        form = self.page.locator(FORM)
        if ask.options:
            form.get_by_text(self.said(ask, answer), exact=True).click()
        else:
            form.get_by_role("spinbutton").fill(f"{answer:.5g}")
        form.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
        self.visit.settle()

    def plays(self, step):
        """Whether the picture moves, or has moved; a timeline, whether all of it is there."""
        if not isinstance(step.plan, Plan):
            return self.page.locator(".rl-answered").count() > 0
        first = self.visit.player.first
        return first.get_attribute("data-playing") == "true" or float(first.get_attribute("data-step")) > step.at

    def in_sight(self, step):
        """A desk shows question and picture without scrolling; a telephone needs no scrolling sideways."""
        width, height = self.page.viewport_size.values()
        self.expect(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than the window")
        if width >= TWO_COLUMNS:
            picture = self.visit.player.first if isinstance(step.plan, Plan) else self.page.locator(TIMELINE).first
            for name, thing in (("question", self.page.locator(FORM)), ("picture", picture)):
                top = thing.bounding_box()["y"]
                self.expect(0 <= top < 0.62 * height, f"the {name} begins at {top:.0f} of {height}")


def ladder(visit, language):
    """Every task: solved by its best, and not by less; returns what is wrong."""
    wrong = []
    for name, task in TASKS.items():
        for columns, verdict in ((task.best.columns, "right"), (task.best.columns[:-1], "wrong")):
            steps = written_columns(columns)
            verdict = verdict if columns else "empty"
            visit.open(f"?page=build&task={name}&lang={language}&steps={quote(steps)}", BOARD)
            visit.settle()
            judged = visit.page.locator(BOARD).get_attribute("data-verdict")
            said = visit.page.locator(".rb-said").inner_text()
            solved = visit.page.get_by_test_id("stAlert").count()
            if judged != verdict or bool(solved) != (verdict == "right") or not said:
                wrong.append(f"ladder, {name}: {steps} is {judged}, not {verdict}: {said[:80]}")
            if not visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
                wrong.append(f"ladder, {name}: wider than the window")
    return wrong + [f"ladder: {fault}" for fault in (visit.complaints + visit.strangers)[:2]]


def walked(visit, name, language):
    """What is wrong with a lesson, or with the ladder."""
    try:
        return ladder(visit, language) if name == LADDER else Walk(visit, language, LESSONS[name]).from_first_to_last()
    except Error as error:
        return [f"{name}: {str(error).splitlines()[0]}"]


def main(*parts):
    """Walk all whose name has one of the parts in it, or all; returns how many have a fault."""
    faulty = 0
    cases = {
        f"{name}-{size[0]}-{language}": (size, name, language)
        for size, language, name in product(SIZES, languages(), (*LESSONS, LADDER))
    }
    windows = [(title, {"viewport": {"width": w, "height": h}}) for title, ((w, h), *_) in cases.items()]
    for title, visit in visits(windows, parts):
        faults = walked(visit, *cases[title][1:])
        print("\n  ".join([f"{title}: {len(faults) or 'well'}", *map(str, faults)]), flush=True)
        faulty += bool(faults)
    print(f"{faulty} have a fault")
    return faulty


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)

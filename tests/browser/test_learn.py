"""Two lessons in Chromium: one walked as `tests.browser.walk` walks all of them, one finished with keys alone."""

import pytest

from tests.browser.walk import ALOUD, FORM, Walk
from ui.learning.runs import runs_of
from ui.lessons import LESSONS

pytestmark = pytest.mark.browser
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
FOCUSED = """() => {
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  return [e?.type ?? '', (e?.innerText ?? '').trim(), e?.getAttribute('aria-label') ?? ''].join('|');
}"""
FAR = 60
"""Presses of Tab within which everything on the page is reached."""


def test_a_lesson_is_walked_with_wrong_and_right_answers_on_a_telephone(visit):
    one = visit("?page=learn&lesson=ring_numbers&lang=zh", "canvas", viewport=PHONE)
    assert Walk(one, "zh", LESSONS["ring_numbers"]).from_first_to_last() == []


def reach(page, word):
    """Press Tab until what has the focus is of this type, or called so."""
    for _ in range(FAR):
        page.keyboard.press("Tab")
        if word in page.evaluate(FOCUSED):
            return
    raise AssertionError(f"no key leads to {word}")


def first_choice(page):
    """The one button that is filled with colour."""
    filled = page.locator('[data-testid^="stBaseButton-primary"]')
    return " ".join(filled.nth(k).locator("p").inner_text() for k in range(filled.count()))


def listened(page, heard):
    """What is read out, once that is something else than what was heard last."""
    page.wait_for_function(f"before => ![before, ''].includes(({ALOUD})())", arg=heard[-1] if heard else "")
    return page.evaluate(ALOUD)


def test_a_lesson_is_finished_with_keys_alone_and_read_out(visit):
    lesson = LESSONS["buckets"]
    one = visit("?page=learn&lesson=buckets&lang=en", FORM, viewport=DESK)
    page = one.page
    heard = []
    for number, step in enumerate(lesson.steps, 1):
        page.get_by_text(one.told("page.learn.step", step=number, steps=len(lesson.steps))).first.wait_for()
        one.settle()
        heard.append(listened(page, heard))
        page.locator("h1").first.evaluate("e => { e.tabIndex = -1; e.focus(); }")
        reach(page, "radio|")
        page.keyboard.press("Space")
        for _ in range(step.ask.options.index(step.ask.answer(runs_of(step.plans)))):
            page.keyboard.press("ArrowDown")
        assert first_choice(page) == one.told("page.learn.check")
        reach(page, one.told("page.learn.check"))
        page.keyboard.press("Enter")
        page.get_by_test_id("stAlert").get_by_text("Right").wait_for()
        one.settle()
        heard.append(listened(page, heard))
        onward = one.told("page.learn.finish" if number == len(lesson.steps) else "page.learn.next")
        assert first_choice(page) == onward
        reach(page, onward)
        page.keyboard.press("Enter")
    page.get_by_text(one.told("page.learn.done")).wait_for()
    assert len(set(heard)) == 2 * len(lesson.steps)
    assert heard[0].startswith("Step 1 of 3. After every step, all 8 GPUs")
    assert "6.24 ms is exposed" in heard[1]
    assert "overlap=yes Rank" in heard[3]

"""Steps to hand out, on a phone: buttons, keys of a clicker, a tap and a finger; the address keeps the step."""

import pytest
from playwright.sync_api import expect

from ops.plan import Plan
from ops.run.values import values_of

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
STEPS = "[data-ringside=steps]"
PLAN = Plan(algorithm="allreduce.ring", machine="switch:ranks=4", size="4MiB", values="small")
QUERY = "?page=steps&embed=true&algorithm=allreduce.ring&machine=switch:ranks=4&size=4MiB&values=small"


def at(page, step):
    page.wait_for_selector(f"{STEPS}[data-step='{step}']")
    kept = "step => (new URLSearchParams(location.search).get('step') ?? '0') === String(step)"
    page.wait_for_function(kept, arg=step)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_steps_are_gone_through_by_hand_key_and_finger(visit, language):
    one = visit(f"{QUERY}&lang={language}", STEPS, viewport=PHONE)
    one.language = language
    page, values = one.page, values_of(PLAN.run().trace.schedule)
    back, on = (
        page.get_by_role("button", name=one.told(f"player.steps.{name}"), exact=True) for name in ("back", "on")
    )
    at(page, 0)
    expect(back).to_be_disabled()
    one.settle()
    on.click()
    at(page, 1)
    expect(page.locator(".rs-steps-words")).to_contain_text(values.sum_of(0))
    page.keyboard.press("PageDown")  # a clicker
    at(page, 2)
    page.keyboard.press("ArrowLeft")
    at(page, 1)
    x, y, wide, high = (page.locator(".rs-steps-room").bounding_box()[name] for name in ("x", "y", "width", "height"))
    page.mouse.click(x + 0.9 * wide, y + high / 2)
    at(page, 2)
    page.mouse.click(x + 0.1 * wide, y + high / 2)
    at(page, 1)
    page.mouse.move(x + 0.8 * wide, y + high / 2)  # a finger that pulls to the left
    page.mouse.down()
    page.mouse.move(x + 0.3 * wide, y + high / 2)
    page.mouse.up()
    at(page, 2)
    page.keyboard.press("End")
    at(page, 6)
    expect(on).to_be_disabled()
    page.reload()
    at(page, 6)
    one.settle()
    for button in (back, on):
        assert min(button.bounding_box()["width"], button.bounding_box()["height"]) >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    others = "[...document.querySelectorAll('button, a, input')].filter((e) => e.getBoundingClientRect().width > 1)"
    assert page.evaluate(f"{others}.map((e) => e.innerText)") in ([], ["Skip to main content"])


def test_a_plan_that_cannot_run_is_refused_in_a_sentence(visit):
    one = visit("?page=steps&embed=true&machine=nowhere&lang=zh", "[data-testid=stAlert]", viewport=PHONE)
    expect(one.page.get_by_test_id("stAlert")).to_contain_text("nowhere")

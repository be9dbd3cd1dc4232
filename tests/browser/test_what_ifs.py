"""The list of what-ifs: what was simulated is there, a variant is added, chosen, shown and undone."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
TABLE = "[data-testid=stDataFrame]"


def test_what_was_tried_is_listed_a_variant_is_added_shown_and_undone(visit):
    one = visit("?machine=switch:ranks=4&size=1MiB")
    one.nudge()
    one.settle()
    one.page.get_by_role("radio", name="What-ifs").click()
    lead = one.page.locator(".stMain h2").first
    expect(lead).to_contain_text("512 KiB instead of 1 MiB")
    one.where("list=")
    one.settle()
    one.page.get_by_role("combobox", name="Value").fill("recursive_doubling")
    one.page.keyboard.press("Enter")
    one.settle()
    one.page.get_by_role("button", name="Add", exact=True).click()
    expect(lead).to_contain_text("Recursive doubling instead of ring")
    one.settle()
    link = one.page.url
    one.page.get_by_role("button", name="Show", exact=True).click()
    one.player.first.wait_for()
    expect(one.page.locator(".rs-said")).to_contain_text("Recursive doubling instead of ring")
    one.page.goto(link)
    expect(one.page.locator(".stMain h2").first).to_contain_text("No variant that moves as much data")
    one.page.locator(TABLE).wait_for()
    one.settle()
    one.page.get_by_role("button", name="Redo").wait_for()


def test_on_a_phone_in_chinese_a_row_is_chosen_and_removed(visit):
    from ops.plan.packing import packed

    text = "ringside: what-if-1\nbaseline:\n  machine: switch:ranks=4\nvariants:\n  - size: 1MiB\n  - lockstep: yes\n"
    one = visit(
        f"?page=what_if&lang=zh&list={packed(text, {})}",
        awaited=TABLE,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        color_scheme="dark",
    )
    one.language = "zh"
    one.settle()
    box = one.page.locator(TABLE).bounding_box()
    one.page.touchscreen.tap(box["x"] + 17, box["y"] + 35 + 35 + 17)  # the box of the first variant
    remove = one.page.get_by_role("button", name="删除")
    expect(remove).to_be_visible()
    one.settle()
    remove.click()
    one.settle()
    one.where(f"!{packed(text, {})}")
    wide = "document.documentElement.scrollWidth <= innerWidth"
    one.page.wait_for_function(wide)

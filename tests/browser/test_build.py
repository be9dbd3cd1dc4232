"""A task of the ladder walked through in Chromium: with a mouse, with keys alone, and with a finger."""

import pytest
from playwright.sync_api import expect

from ops.ladder import TASKS
from ops.sketch import written_columns
from tests.browser.visit import HASTE

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
BOARD = ".rb-root[data-judged=yes]"
LINE = "?page=build&task=broadcast_line"


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class Player:
    """Someone who draws."""

    def __init__(self, one):
        self.one, self.page = one, one.page

    def cell(self, rank, slot=0):
        return self.page.locator(f'.rb-cell[data-rank="{rank}"][data-slot="{slot}"]')

    def act(self, name):
        self.page.locator(f'[data-act="{name}"]').click()

    def judged(self, steps, verdict):
        """Wait until the referee has seen these steps and says so."""
        self.page.locator(f'{BOARD}[data-steps="{steps}"][data-verdict={verdict}]').wait_for()

    def said(self):
        return self.page.locator(".rb-said").inner_text()

    def drag(self, cell, card):
        self.one.settle()  # nothing moves below the pointer
        x, y = middle(cell)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + 12, y + 12, steps=3)
        self.page.mouse.move(*middle(card), steps=4)
        self.page.mouse.up()

    def tap(self, cell, rank, steps):
        """Send what a place holds to a rank by two taps, after which the board has these steps."""

        def act():
            cell.tap(timeout=HASTE)
            self.page.locator('.rb-cell[aria-pressed="true"]').wait_for(timeout=HASTE)
            self.page.locator(f'[data-to="{rank}"]').tap(timeout=HASTE)
            self.page.locator(f'.rb-root[data-steps="{steps}"]').wait_for(timeout=HASTE)

        self.one.again(act)

    def swipe(self, cell, card):
        self.one.settle()
        session = self.page.context.new_cdp_session(self.page)
        (x, y), (to_x, to_y) = middle(cell), middle(card)
        for kind, a, b in (
            ("touchStart", x, y),
            ("touchMove", x + 9, y + 9),
            ("touchMove", to_x, to_y),
        ):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b}]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()


def test_a_mouse_and_keys_alone_solve_a_task(visit):
    one = visit(LINE, BOARD, viewport={"width": 1440, "height": 900})
    me, page = Player(one), one.page
    one.settle()
    assert page.locator(".rb-stage").bounding_box()["y"] < 500
    me.drag(me.cell(0), me.cell(1))
    me.judged("0>1:0", "wrong")
    assert one.told("build.wrong", done=2, owed=4) in me.said()
    assert one.told("build.fault.absent", rank=2, block="A") in page.locator(".rb-faults").inner_text()
    me.act("undo")
    me.judged("", "empty")
    one.settle()
    page.mouse.move(*middle(me.cell(0)))
    page.mouse.down()
    page.keyboard.press("Escape")  # has the board drawn anew under the finger
    page.mouse.up()
    expect(me.cell(0)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    me.drag(me.cell(3), me.cell(2))  # which holds nothing that could be taken
    me.drag(me.cell(0), me.cell(2))
    me.judged("0>2:0", "wrong")
    me.act("next")
    me.drag(me.cell(2), me.cell(1))
    me.judged("0>2:0;2>1:0", "wrong")
    me.drag(me.cell(2), me.cell(3))
    me.judged("0>2:0;2>1:0 2>3:0", "right")
    assert one.told("build.solved", time="2 ms") in me.said()
    page.get_by_role("button", name=one.told("build.go_on")).wait_for()
    one.where("steps=")
    one.open(f"{LINE}&lang=zh&steps=0%3E1:0%3B1%3E2:0%3B2%3E3:0", BOARD)  # right, and slower
    one.language = "zh"
    me.judged("0>1:0;1>2:0;2>3:0", "slower")
    assert one.told("build.slower", above="50%") in me.said()
    me.act("clear")
    me.judged("", "empty")
    me.cell(0).focus()
    for keys, steps in (
        (("Enter", "2"), "0>2:0"),
        (("PageDown", "ArrowDown", "ArrowDown", "Enter", "1"), "0>2:0;2>1:0"),
    ):
        for key in keys:
            page.keyboard.press(key)
        me.judged(steps, "wrong")
    page.keyboard.press("Enter")
    page.keyboard.press("3")
    me.judged("0>2:0;2>1:0 2>3:0", "right")
    page.keyboard.press("Control+z")
    me.judged("0>2:0;2>1:0", "wrong")
    page.keyboard.press("Control+y")
    me.judged("0>2:0;2>1:0 2>3:0", "right")
    assert one.told("build.solved", time="2 ms") in me.said()


def test_a_finger_solves_a_task_on_a_telephone(visit):
    one = visit(LINE, BOARD, viewport=PHONE, has_touch=True)
    me, page = Player(one), one.page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    cells = [cell.bounding_box() for cell in page.locator(".rb-cell, .rb-head").all()]
    assert all(min(box["width"], box["height"]) >= 24 for box in cells)
    me.swipe(me.cell(0), me.cell(2))
    me.judged("0>2:0", "wrong")
    me.act("next")
    me.tap(me.cell(2), 1, "0>2:0;2>1:0")  # and without dragging
    me.judged("0>2:0;2>1:0", "wrong")
    me.tap(me.cell(2), 3, "0>2:0;2>1:0 2>3:0")
    me.judged("0>2:0;2>1:0 2>3:0", "right")
    page.locator("[data-move]").last.tap()
    me.judged("0>2:0;2>1:0", "wrong")
    one.open("?page=build&task=reduce_scatter_ring&lang=zh", BOARD)
    one.language = "zh"
    me.act("alike")
    for column in range(3):
        if column:
            me.act("next")
        steps = written_columns(TASKS["reduce_scatter_ring"].best.columns[: column + 1])
        me.tap(me.cell(0, (3 - column) % 4), 1, steps)
        me.judged(steps, "wrong" if column < 2 else "right")
    assert one.told("build.solved", time="3 ms") in me.said()

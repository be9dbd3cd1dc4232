"""The tasks that strangers were given: how many clicks each takes, and whether its answer is then in sight.

Run `python -m tests.browser.tasks [PART OF A NAME]...`: names are like `numa_cost-1440` and `film-390`. A task takes at
most two clicks, three where a file is made. Keys are not clicked; a drag is a click, and what would have to be scrolled
to cannot be clicked. The command ends with 1 where a task takes more, or its answer is out of sight.
"""

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Download, Error, Locator

from ops.plan.examples import example_captures
from tests.browser.test_capture import PASTE
from tests.browser.visit import PATIENCE, STILL, Visit
from tests.browser.windows import visits

SIZES = ((1440, 900), (390, 844))
MOST, FILE = 2, 3
"""Clicks that a task takes at most, and one that ends with a file."""
MACHINE = "?machine=dual_socket_pcie&view=machine"
"""A machine in sight, from whose picture tasks about its links begin."""
LINK = "CPU0 → CPU1"
STORY = '[data-ringside="story"]'
SAID = ".rs-said-headline"
STATED = '.st-key-picture [data-testid="stAlert"], [data-testid="stAlert"]'
OUT = """e => {
  if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return "hidden";
  const { left, top, right, bottom } = e.getBoundingClientRect();
  const round = (...numbers) => numbers.map(Math.round).join("..");
  if (top < -1 || bottom > innerHeight + 1) return `${round(top, bottom)} of a height of ${innerHeight}`;
  if (left < -1 || right > innerWidth + 1) return `${round(left, right)} of a width of ${innerWidth}`;
  const deepest = (x, y) => {
    let [found, root] = [null, document];
    while (root) {
      const inner = root.elementFromPoint(x, y);
      [found, root] = inner && inner !== found ? [inner, inner.shadowRoot] : [found, null];
    }
    return found;
  };
  const holds = (inner) => inner && (inner === e || holds(inner.parentNode ?? inner.host));
  for (const part of [0.1, 0.5, 0.9]) {
    const top_one = deepest((left + right) / 2, top + part * (bottom - top));
    if (!holds(top_one)) return `covered by ${top_one?.className || top_one?.tagName}`;
  }
  return "";
}"""
"""Why an element cannot be seen whole where the window stands; empty where it can."""
SPOT = """(canvas, words) => {
  const { left, top, width, bottom } = canvas.getBoundingClientRect();
  const tip = canvas.getRootNode().querySelector(".rs-tip");
  const found = [];
  for (let x = left + 3; x < left + width; x += 20)
    for (let y = Math.max(top, 50) + 3; y < Math.min(bottom, innerHeight); y += 4) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
      if (tip.checkVisibility() && tip.textContent.startsWith(words)) found.push([x, y]);
    }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  return found[found.length >> 1] ?? null;
}"""
"""Where on a canvas that stands still something is whose tip begins with these words."""


class TaskError(Exception):
    """What keeps somebody from doing a task."""


class Hand:
    """Somebody's hand, whose clicks are counted: it reaches what is in sight, and scrolls nowhere."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        self.clicks, self.began = 0, time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since it began, without those that only this harness takes to find a place in a picture."""
        return time.monotonic() - self.began

    def click(self, name: str | re.Pattern[str], role: Any = "button", within: Locator | None = None) -> None:
        """Click a control by its name."""
        self.click_on((within or self.page).get_by_role(role, name=name, exact=isinstance(name, str)).first)

    def click_on(self, what: Locator) -> None:
        """Click an element, which is in sight."""
        what.wait_for()
        self._reaches(what)
        self.clicks += 1
        what.click()

    def explore(self, name: str) -> None:
        """Open an entry of Explore by its text's name."""
        self.click(self.visit.told("page.explore"))
        self.click(self.visit.told(f"example.{name}"))

    def paste(self, text: str) -> None:
        """Paste a text as the keys do, which counts as a click."""
        self.clicks += 1
        self.page.evaluate(PASTE, text)

    def spot(self, words: str) -> tuple[float, float]:
        """Where in the picture something is."""
        began = time.monotonic()
        found = self.visit.player.locator(".rs-stage").first.evaluate(SPOT, words)
        self.began += time.monotonic() - began
        if found is None:
            raise TaskError(f"{words} is nowhere in the picture")
        return found[0], found[1]

    def click_in_picture(self, words: str) -> None:
        """Click what is at a place of the picture."""
        self.clicks += 1
        self.page.mouse.click(*self.spot(words))

    def carry(self, what: str, onto: str) -> None:
        """Drag a device onto another."""
        start, end = self.spot(what), self.spot(onto)
        self._drag(start, end)

    def slide(self, key: str, share: float) -> None:
        """Drag a slider of the card to a share of its length."""
        slider = self.visit.player.locator(f"[data-drag={key}]").first
        slider.wait_for()
        self.visit.player.locator(".rs-curve:visible").first.wait_for()
        box = self._still(slider)
        self._reaches(slider)
        y, wide = box["y"] + box["height"] / 2, box["width"] - 16
        self._drag((box["x"] + 8 + wide * 2 / 3, y), (box["x"] + 8 + wide * share, y))

    def _drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.clicks += 1
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=6)
        self.page.mouse.up()

    def _still(self, what: Locator) -> dict[str, float]:
        """Where something is, once it stays there."""
        before = None
        while (box := what.bounding_box()) != before or box is None:
            before = box
            self.page.wait_for_timeout(200)
        return dict(box)  # type: ignore[call-overload]

    @staticmethod
    def _reaches(what: Locator) -> None:
        if why := what.evaluate(OUT):
            raise TaskError(f"cannot click {what.inner_text()[:30] or what}: {why}")

    def text(self, words: str) -> Locator:
        """The element with a text that matches."""
        return self.page.get_by_text(re.compile(words)).filter(visible=True).first

    def headline(self, words: str) -> Locator:
        """The answer line, once it says such words."""
        return self.page.locator(SAID).filter(has_text=re.compile(words)).first

    def stated(self, words: str) -> Locator:
        """What a question's answer states."""
        return self.page.locator(STATED).filter(has_text=re.compile(words)).first


Act = Callable[[Hand], Locator | None]
"""Returns nothing where the answer is a file, which the browser shows."""


@dataclass(frozen=True)
class Task:
    """What somebody does, which returns the element with the answer; its start, and clicks that it takes at most."""

    act: Act
    most: int = MOST
    start: str = ""


TASKS: dict[str, Task] = {}


def task(most: int = MOST, start: str = "") -> Callable[[Act], Act]:
    """Add a function to the tasks."""

    def add(act: Act) -> Act:
        TASKS[act.__name__] = Task(act, most, start)
        return act

    return add


@task()
def what_is_an_allreduce(hand: Hand) -> Locator:
    hand.explore("what_is_allreduce")
    return hand.page.locator(STORY).get_by_text("That is an all-reduce")


@task()
def why_a_ring(hand: Hand) -> Locator:
    hand.explore("why_ring")
    return hand.page.locator(STORY).get_by_text("times faster.")


@task()
def numa_cost(hand: Hand) -> Locator:
    hand.explore("numa_cost")
    return hand.stated(r"times as long .*: 7\.341 ms")


@task()
def which_link(hand: Hand) -> Locator:
    hand.explore("holds_back")
    return hand.stated(r"this is the bottleneck")


@task()
def nic_dies(hand: Hand) -> Locator:
    hand.explore("nic_dies")
    return hand.stated(r"H0\.NIC0 carries its traffic: .* instead of")


@task()
def which_algorithm(hand: Hand) -> Locator:
    hand.explore("which_algorithm")
    return hand.stated(r"is the fastest of \d+ algorithms")


@task()
def slower_than_bound(hand: Hand) -> Locator:
    hand.explore("slower_than_bound")
    return hand.stated(r"The lower bound on this machine is 4\.894 ms")


@task()
def exposed(hand: Hand) -> Locator:
    hand.explore("how_exposed")
    return hand.text("is exposed, .* of the step")


@task()
def paste_topo(hand: Hand) -> Locator:
    hand.paste(example_captures()["dual-socket-pcie"])
    return hand.text(r"Read as .*: 8 GPUs")


@task()
def in_class(hand: Hand) -> Locator:
    hand.page.keyboard.press("f")
    hand.page.wait_for_function("document.fullscreenElement !== null")
    return hand.visit.player.locator(".rs-stage").first


@task(start=MACHINE)
def half_a_link(hand: Hand) -> Locator:
    hand.click_in_picture(LINK)
    hand.slide("bandwidth", 1 / 3)
    return hand.headline("slower")


@task(start=MACHINE)
def twice_a_link(hand: Hand) -> Locator:
    hand.click_in_picture(LINK)
    hand.slide("bandwidth", 1)
    return hand.headline("faster")


@task(start=MACHINE)
def fail_a_link(hand: Hand) -> Locator:
    hand.click_in_picture(LINK)
    hand.click("Fail now")
    return hand.headline(r"^(?!Ring takes)")


@task(start=MACHINE)
def remove_a_link(hand: Hand) -> Locator:
    hand.click_in_picture(LINK)
    hand.click("Remove link")
    return hand.headline(r"^(?!Ring takes)")


@task(start=MACHINE)
def move_a_device(hand: Hand) -> Locator:
    hand.carry("GPU1 ·", "PCI1 ·")
    return hand.headline(r"^(?!Ring takes)")


@task()
def ring_and_tree(hand: Hand) -> Locator:
    hand.explore("ring_or_tree")
    return hand.stated("times as long")


@task(FILE)
def film(hand: Hand) -> None:
    hand.click(hand.visit.told("page.share"))
    hand.click("animated image (GIF)")
    with hand.page.expect_download() as coming:
        hand.click("Create film")
    expect_saved(coming.value, b"GIF89a")


@task(FILE)
def embed(hand: Hand) -> None:
    hand.click(hand.visit.told("page.share"))
    with hand.page.expect_download() as coming:
        hand.click(re.compile("^.{0,8}Embed"))
    expect_saved(coming.value, b"<iframe")


def expect_saved(download: Download, begins: bytes) -> None:
    """Raise TaskError unless a file begins so."""
    if not Path(download.path()).read_bytes().startswith(begins):
        raise TaskError(f"{download.suggested_filename} does not begin with {begins.decode()}")


def walked(visit: Visit, one: Task) -> tuple[int, float, str]:
    """Do a task; returns its clicks, the seconds until its answer was there, and what is wrong."""
    visit.page.set_default_timeout(PATIENCE / 2)
    visit.open(one.start)
    visit.settle()
    hand = Hand(visit)
    try:
        answer = one.act(hand)
        if answer:
            answer.wait_for()
        seconds = hand.seconds
        visit.page.wait_for_function(STILL)
        visit.painted()
        wrong = [f"more than {one.most} clicks"] if hand.clicks > one.most else []
        if answer and (why := answer.evaluate(OUT)):
            wrong.append(f"the answer: {why}")
        wrong += visit.complaints[:1]
    except (Error, TaskError) as error:
        seconds, wrong = hand.seconds, [str(error).splitlines()[0]]
    return hand.clicks, seconds, "; ".join(wrong)


def main(*parts: str) -> int:
    """Do all tasks whose name has one of the parts in it, or all; returns how many have a fault."""
    cases = {f"{name}-{width}": (one, width, height) for width, height in SIZES for name, one in TASKS.items()}
    windows = [(title, {"viewport": {"width": w, "height": h}}) for title, (_, w, h) in cases.items()]
    faulty = 0
    print(f"{'task':<22} {'size':>9} {'clicks':>6} {'s':>6}  answer")
    for title, visit in visits(windows, parts):
        one, width, height = cases[title]
        clicks, seconds, wrong = walked(visit, one)
        told = wrong or ("saved" if one.most == FILE else "in sight")
        size = f"{width}x{height}"
        print(f"{title.rpartition('-')[0]:<22} {size:>9} {clicks:>6} {seconds:>6.1f}  {told}", flush=True)
        faulty += bool(wrong)
    print(f"{faulty} have a fault")
    return faulty


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)

"""Files taken from the page, and the page that plays without a network."""

import pytest
from PIL import Image

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.units import MiB

pytestmark = pytest.mark.browser
DURING = """async ([first, second]) => {
  const { since } = window.wire;
  first.click();
  while (window.wire.since === since) await new Promise((done) => setTimeout(done));
  second.click();
}"""
"""Clicks on one thing, and on another while the page is drawn again for the first."""
OFTEN = 3
"""Clicks of which one at least came too soon for a deferred download, which a page drawn again takes back."""


def test_the_page_of_its_own_plays_steps_and_knows_the_run(play):
    trace = simulate(build("dgx1v"), ALGORITHMS["allreduce.ring"].schedule(8), 16 * MiB)
    page = play("?machine=dgx1v&algorithm=allreduce.ring&size=16MiB", viewport={"width": 1280, "height": 900}).page
    player = page.locator('[data-ringside="player"]')
    assert int(player.get_attribute("data-steps")) == trace.schedule.steps
    player.get_by_role("button", name="Step forward", exact=True).click()
    page.wait_for_function("document.querySelector('[data-ringside]').dataset.timeS > 0")
    player.evaluate(f"e => e.ringside.seek({trace.time / 2})")
    assert len(player.evaluate("e => e.ringside.blocks()")) > 0
    assert "rank" in player.get_attribute("data-caption")
    player.focus()
    page.keyboard.press("End")
    page.wait_for_function(f"document.querySelector('[data-ringside]').dataset.timeS >= {trace.time * 0.999}")
    held = player.evaluate("e => e.ringside.slots(3)")
    assert [slot["count"] for slot in held[:8]] == [8] * 8


def test_a_click_while_the_page_is_drawn_again_saves_the_picture(visit):
    one = visit("?machine=switch:ranks=4&size=1MiB")
    page = one.page
    one.settle()
    page.get_by_text("Export", exact=True).click()
    button = page.get_by_role("button", name="Create file")
    button.wait_for()
    fold = page.get_by_text("The algorithm", exact=True)
    for _ in range(OFTEN):
        one.settle()
        with page.expect_download() as coming:
            page.evaluate(DURING, [fold.element_handle(), button.element_handle()])
        assert coming.value.suggested_filename == "allreduce-ring-switch-ranks-4.png"
        with Image.open(coming.value.path()) as picture:
            assert picture.format == "PNG"


def test_a_marked_stretch_of_time_becomes_a_film_that_is_saved(visit, tmp_path):
    one = visit("?machine=switch:ranks=2&size=1MiB&brush=1e-05_2e-05")
    page = one.page
    one.settle()
    page.get_by_text("Export", exact=True).click()
    one.choose(one.told("page.export.kind"), ".film.svg – animated image (SVG)")
    page.get_by_text("10 µs to 20 µs", exact=False).wait_for()
    page.get_by_label(one.told("page.film.seconds")).fill("1")
    page.get_by_label(one.told("page.film.seconds")).press("Enter")
    one.settle()
    with page.expect_download() as coming:
        page.get_by_role("button", name=one.told("page.export.make")).click()
    assert coming.value.suggested_filename == "allreduce-ring-switch-ranks-2.film.svg"
    film = tmp_path / "film.svg"
    coming.value.save_as(film)
    alone = page.context.new_page()
    alone.goto(film.as_uri())
    shown = "[...document.querySelectorAll('svg > g')].filter((g) => getComputedStyle(g).display !== 'none')"
    frame = f"[...document.querySelectorAll('svg > g')].indexOf({shown}.at(-1))"
    first = alone.evaluate(frame)
    assert alone.evaluate(f"({shown}).length") == 3  # the clock, what stays, and the blocks of one frame
    alone.wait_for_function(f"{frame} !== {first}")
    alone.close()

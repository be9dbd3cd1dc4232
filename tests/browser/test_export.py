"""Files taken from the page, and the page that plays without a network."""

from pathlib import Path

import pytest
from PIL import Image

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.plan_file import from_yaml, place_in
from sim.engine import simulate
from sim.machines import build
from sim.units import MiB
from tests.browser.sites import served
from tests.browser.visit import PLAYER

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


@pytest.fixture
def share(visit):
    """Opens a link and its menu *Share*; returns the visit, and what saves a file that a button makes."""

    def opened(query, **options):
        one = visit(query, **options)
        one.settle()
        one.page.get_by_role("button", name="Share", exact=True).click()

        def saved(name):
            with one.page.expect_download() as coming:
                one.page.get_by_role("button", name=name).click()
            return coming.value

        return one, saved

    return opened


def test_a_click_while_the_page_is_drawn_again_saves_the_picture(share):
    one, _ = share("?machine=switch:ranks=4&size=1MiB")
    page = one.page
    first, second = (
        page.get_by_role("button", name=name).element_handle() for name in ("Add to talk", "PNG of this instant")
    )
    for _ in range(OFTEN):
        one.settle()
        with page.expect_download() as coming:
            page.evaluate(DURING, [first, second])
        assert coming.value.suggested_filename == "allreduce-ring-switch-ranks-4.png"
        with Image.open(coming.value.path()) as picture:
            assert picture.format == "PNG"


def test_a_marked_stretch_of_time_becomes_a_film_that_is_saved(share, tmp_path):
    one, saved = share("?machine=switch:ranks=2&size=1MiB&brush=1e-05_2e-05")
    page = one.page
    page.get_by_role("button", name="animated image (SVG)").click()
    length = Plan(machine="switch:ranks=2", size="1MiB").run().trace.time
    for name, share_of in (("From, %", 1e-5 / length), ("To, %", 2e-5 / length)):
        assert float(page.get_by_label(name).input_value()) == pytest.approx(100 * share_of, abs=0.06)
    page.get_by_label("Seconds").fill("1")
    page.get_by_label("Seconds").press("Enter")
    one.settle()
    film = tmp_path / "film.svg"
    coming = saved("Create film")
    assert coming.suggested_filename == "allreduce-ring-switch-ranks-2.film.svg"
    coming.save_as(film)
    alone = page.context.new_page()
    alone.goto(film.as_uri())
    shown = "[...document.querySelectorAll('svg > g')].filter((g) => getComputedStyle(g).display !== 'none')"
    frame = f"[...document.querySelectorAll('svg > g')].indexOf({shown}.at(-1))"
    first = alone.evaluate(frame)
    assert alone.evaluate(f"({shown}).length") == 3  # the clock, what stays, and the blocks of one frame
    alone.wait_for_function(f"{frame} !== {first}")
    alone.close()


def is_copied(page, text):
    assert text in page.evaluate("navigator.clipboard.readText()")


def covers(screen, size):
    assert screen.bounding_box() == {"x": 0, "y": 0} | size


def test_a_run_is_shared_as_link_code_page_plan_and_qr_code(share, enter, tmp_path):
    one, saved = share("?machine=switch:ranks=4&size=1MiB&t=0.00003&view=machine")
    page = one.page
    one.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = 'show("?machine=switch%3Aranks%3D4&size=1MiB&t=0.00003&view=machine")'
    for name, text in [("Copy link", page.url), ("Notebook cell", cell)]:
        page.get_by_role("button", name=name).click()
        page.get_by_text("Copied.").wait_for()
        one.soon(is_copied, page, text)
    plan = Path(saved("plan as YAML").path()).read_text()
    assert from_yaml(plan, "it") == Plan(machine="switch:ranks=4", size="1MiB")
    assert place_in(plan, "it")["t"] == "0.00003"
    assert Path(saved("Page").path()).read_bytes().startswith(b"<!doctype html>")
    page.get_by_role("button", name="QR code").click()
    screen = page.get_by_role("dialog", name="QR code")
    one.soon(covers, screen, page.viewport_size)
    assert screen.locator("img").evaluate("async (e) => (await e.decode(), e.naturalWidth)") > 0
    screen.click()
    screen.wait_for(state="hidden")
    saved("Embed").save_as(tmp_path / "code.html")
    (tmp_path / "notes.html").write_text(f"<!doctype html><h1>Notes</h1>{(tmp_path / 'code.html').read_text()}")
    with served(tmp_path) as elsewhere:
        notes = enter(elsewhere)
        notes.page.goto(f"{elsewhere}/notes.html")
        player = notes.page.frame_locator("iframe").locator(PLAYER)
        player.wait_for()
        assert float(player.get_attribute("data-time-s")) == pytest.approx(3e-5)
        assert len(player.evaluate("(e) => e.ringside.blocks()")) > 0
        assert player.locator("canvas").first.evaluate("(e) => e.width * e.height") > 10_000

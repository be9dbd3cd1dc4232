"""A talk given from one file: its keys, the second window in step, the whole screen; at a desk and on a phone."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_capture import PASTE
from tests.browser.visit import DESK, FILES, PLAYER
from ui.learning.runs import runs_of
from ui.lessons import LESSONS
from ui.talk import Talk, document, lessons, pages
from ui.text import say

pytestmark = pytest.mark.browser

SAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "ring.talk.yaml"
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1920, "height": 1080}
RIGHT = int(LESSONS["ring"].steps[1].ask.answer(runs_of(LESSONS["ring"].steps[1].plans)).split()[1])
"""The rank that is the answer to the first question about the ring; it is not 0."""
STATE = "document.querySelector('[data-ringside=talk]').ringside.state()"
TALK = '[data-ringside="talk"]'

IN_FRAME = """() => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const seen = all(document).filter((e) => e.getBoundingClientRect().width > 0);
  const named = seen.filter((e) => e.matches?.(".rs-stage, .rs-caption, .rs-controls"));
  const boxes = named.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom]);
  const inside = named[0].closest(".rs-frame").querySelectorAll("*");
  const cut = [named[0].closest(".rs-frame"), ...inside].filter((e) =>
    ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 1);
  const worded = seen.filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
  const sizes = worded.map((e) => parseFloat(getComputedStyle(e).fontSize));
  return [boxes, cut.map((e) => e.className), Math.min(...sizes)];
}"""
FITS = "document.documentElement.scrollWidth <= innerWidth"


def written(folder, language):
    talk = document.from_text(SAMPLE.read_text(encoding="utf-8"), "sample")
    file = folder / f"{language}.html"
    shown = pages.shown(Talk(talk.title, talk.scenes, language))
    file.write_bytes(pages.page(shown, lessons.packed(language, ["ring", "buckets"])))
    return file


def stands(page, scene, t=None, playing=False):
    """Wait until the talk stands there."""
    at = "true" if t is None else f"Math.abs(s.t - {t}) < 1e-9"
    page.wait_for_function(f"(() => {{ const s = {STATE}; return s.scene === {scene} && {at} && "
                           f"s.playing === {str(playing).lower()}; }})()")  # fmt: skip


def is_closed(speaker):
    assert speaker.is_closed()


def shows(speaker, words):
    speaker.wait_for_function("words => document.body.textContent.includes(words)", arg=words)


@pytest.mark.turns("viewport", "language")
@pytest.mark.parametrize(("viewport", "language"), [(DESK, "en"), (PHONE, "zh")])
def test_a_talk_is_given_from_a_file(enter, tmp_path, viewport, language):
    one = enter(FILES, offline=True, viewport=viewport)
    page = one.page
    page.goto(written(tmp_path, language).as_uri())
    page.locator(PLAYER).wait_for()
    stands(page, 0, 0)
    assert page.evaluate(FITS)
    words = page.locator(".rs-talk-words")
    assert words.text_content() == "Everyone sends to one GPU."
    page.keyboard.press("PageDown")
    stands(page, 0, playing=True)
    page.keyboard.press("PageDown")
    stands(page, 0, 0.004)
    with page.expect_popup() as opening:
        page.get_by_role("button", name=say("talk.notes", language)).click()
    speaker = opening.value
    shows(speaker, "Ask first: **which cable")  # as it is written
    shows(speaker, say("talk.stops", language, done=1, stops=2))
    assert speaker.evaluate("document.querySelector('img').decode().then(() => true)")
    assert speaker.title() == f"{say('talk.notes', language)} · Why a ring wins"
    assert speaker.evaluate("document.documentElement.lang") == ("zh-Hans" if language == "zh" else "en")
    began = speaker.locator(".clocks strong").first.text_content()
    speaker.keyboard.press("PageDown")
    stands(page, 0, playing=True)
    speaker.keyboard.press("PageDown")
    stands(page, 0, 0.008)
    page.wait_for_function("document.querySelector('.rs-talk-words').textContent.startsWith('Now')")
    speaker.get_by_role("button", name=say("talk.next", language)).click()
    speaker.get_by_role("button", name=say("talk.next", language)).click()
    speaker.get_by_role("button", name=say("talk.next", language)).click()
    stands(page, 1, 0)
    expect(words).to_be_hidden()
    shows(speaker, "Every cable is busy")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    stands(page, 2)
    page.wait_for_function("location.hash === '#3'")
    shows(speaker, "3 / 3 · Side by side")
    shows(speaker, say("talk.notes.none", language))
    expect(speaker.locator("img")).to_be_hidden()
    page.keyboard.press("9")
    page.keyboard.press("Enter")
    expect(page.locator(".rs-talk-said")).to_have_text(say("talk.nowhere", language))
    speaker.get_by_role("combobox").select_option("1")
    stands(page, 1, 0)
    page.keyboard.press("PageUp")
    stands(page, 0, 0)
    page.locator(PLAYER).first.focus()
    page.keyboard.press("ArrowRight")  # in the picture the keys are the player's
    page.wait_for_function(f"{STATE}.t > 0")
    stands(page, 0)
    speaker.wait_for_function("began => document.querySelector('.clocks strong').textContent !== began", arg=began)
    page.reload()
    page.locator(PLAYER).wait_for()
    one.soon(is_closed, speaker)
    stands(page, 0)
    page.locator("summary", has_text=say("page.learn.lessons", language)).click()
    learning = page.locator('[data-ringside="lessons"]')
    page.locator(".rs-lesson-bar").get_by_role("button", name=say("page.learn.next", language)).click()
    form = page.locator(".rs-lesson-form")
    for choice, verdict in ((0, "wrong"), (RIGHT, "right")):
        form.get_by_role("radio").nth(choice).check()
        form.get_by_role("button").click()
        expect(learning).to_have_attribute("data-answered", verdict)
    learning.locator(f"{PLAYER}[data-playing=true]").wait_for()
    page.locator(".rs-lesson-bar select").select_option("1")
    page.locator(".rs-lesson-timeline .tl-lanes").first.wait_for()
    assert page.evaluate(FITS)


WHOLE = """() => {
  const boxes = [...document.querySelectorAll(".rs-stage")].map((each) => each.getBoundingClientRect());
  const letters = [...document.querySelectorAll(".rs-caption")].map((each) => getComputedStyle(each));
  const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
  const bottom = document.querySelector(".rs-controls").getBoundingClientRect().bottom;
  const high = Math.max(bottom, document.querySelector(".rs-filling").scrollHeight);
  return [area / innerWidth / innerHeight, letters.map(({ fontSize }) => parseFloat(fontSize)), high];
}"""


def fills(page, scene, view):
    share, letters, high = page.evaluate(WHOLE)
    assert share > 0.6, (scene, view)
    assert min(letters) >= 32
    assert high <= SCREEN["height"]


def test_the_whole_screen_is_the_picture(enter, tmp_path):
    one = enter(FILES, offline=True, viewport=SCREEN)
    page = one.page
    page.goto(written(tmp_path, "en").as_uri())
    page.locator(PLAYER).wait_for()
    for scene in range(3):
        page.keyboard.press(str(scene + 1))
        page.keyboard.press("Enter")
        stands(page, scene)
        page.keyboard.press("f")
        page.wait_for_function("document.fullscreenElement !== null")
        views = set()
        for _ in range(4):
            page.locator(PLAYER).first.focus()
            page.keyboard.press("v")
            view = page.locator(PLAYER).first.get_attribute("data-view")
            views.add(view)
            one.soon(fills, page, scene, view)
        assert len(views) == 4
        page.keyboard.press("Escape")
        page.wait_for_function("document.fullscreenElement === null && !document.querySelector('.rs-filling')")
        page.evaluate("document.activeElement.blur()")


@pytest.mark.turns("viewport", "language")
@pytest.mark.parametrize(("viewport", "language"), [(DESK, "en"), (PHONE, "zh")])
def test_a_talk_is_put_together_from_the_stage_and_a_file(visit, viewport, language):
    one = visit(f"?machine=switch:ranks=3&size=1MiB&lang={language}", viewport=viewport)
    one.language, page = language, one.page
    one.settle()
    page.get_by_role("button", name=one.told("page.share")).click()
    page.get_by_role("button", name=one.told("page.share.talk")).click()
    page.get_by_role("button", name=one.told("page.share.talk.open", count=1)).click()
    page.locator(TALK).wait_for()
    one.settle()
    page.wait_for_function(FITS)
    expect(page.locator(TALK)).to_have_attribute("data-scenes", "1")
    text = SAMPLE.read_text(encoding="utf-8")
    page.evaluate(PASTE, text.replace("[4ms", "[4 parsecs"))
    page.get_by_text("4 parsecs").wait_for()  # refused, and what is there stays
    expect(page.locator(TALK)).to_have_attribute("data-scenes", "1")
    page.evaluate(PASTE, text)
    page.locator(f"{TALK}[data-scenes='3']").wait_for()
    one.settle()
    page.locator(f"{TALK} .rs-talk-next").click()
    page.locator(f"{TALK} {PLAYER}[data-playing=true]").wait_for()
    with page.expect_popup() as opening:
        page.locator(".rs-talk-second").click()
    speaker = opening.value
    shows(speaker, "Ask first")
    speaker.get_by_role("combobox").select_option("2")
    page.locator(f"{TALK}[data-scene='2']").wait_for()
    one.settle()
    stops = page.get_by_role("textbox", name=one.told("page.talk.scene.stops"))
    stops.fill("4ms, soon")
    stops.press("Enter")
    page.get_by_text("'soon'").wait_for()
    one.settle()
    stops.fill("3ms")
    stops.press("Enter")
    one.settle()
    page.get_by_role("button", name=one.told("page.talk.down")).click()
    one.settle()
    with page.expect_download() as coming:
        page.get_by_role("button", name=one.told("page.talk.save"), exact=True).click()
    saved = document.from_text(Path(coming.value.path()).read_text(encoding="utf-8"), "saved")
    assert [entry.title for entry in saved.scenes] == ["The ring", "One cable carries it all", "Side by side"]
    assert saved.scenes[1].stops == pytest.approx((3e-3,))
    assert saved.language == language
    with page.expect_download() as coming:
        page.get_by_role("button", name=one.told("page.talk.save.page"), exact=True).click()
    assert "One cable carries it all" in Path(coming.value.path()).read_text(encoding="utf-8")
    speaker.close()


def test_a_frame_in_another_page_shows_stage_transport_and_sentence_whole(visit):
    one = visit("?machine=dual_socket_pcie&size=64MiB&t=0.0001&embed=true", viewport={"width": 960, "height": 540})
    for query in ("", "&against=algorithm%3Dallreduce.recursive_doubling&lang=zh"):
        if query:
            one.open(f"?machine=dual_socket_pcie&size=64MiB&t=0.0001&embed=true{query}")
        for width, height in ((960, 540), (640, 360), (390, 300)):
            one.page.set_viewport_size({"width": width, "height": height})
            one.painted()
            one.soon(whole_in_frame, one.page, width, height, 5 if query else 3)


def whole_in_frame(page, width, height, parts):
    boxes, scrolled, smallest = page.evaluate(IN_FRAME)
    assert len(boxes) == parts, width
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
    assert scrolled == []
    assert smallest >= 11

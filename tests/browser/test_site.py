"""The site from a plain file server: from its front page to an example that plays, in any width and every language."""

import pytest
from playwright.sync_api import expect

from tests.browser.sites import lessons_of_the_day, served
from tests.browser.visit import FILES, PLAYER
from ui.text import languages, say

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def plain_server(site):
    with served(site) as address:
        yield address


@pytest.mark.parametrize("width", [1440, 390])
def test_a_example_is_two_clicks_away_and_plays(enter, plain_server, width):
    one = enter(plain_server, viewport={"width": width, "height": 900})
    for language in languages():
        one.page.goto(f"{plain_server}/{'' if language == 'en' else f'{language}/'}")
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        assert one.page.locator("img").first.evaluate("async e => (await e.decode(), e.naturalWidth)") == 320
        for k in range(2):
            one.page.locator(".card > a").nth(k).click()
            one.page.locator(PLAYER).first.wait_for()
            assert one.page.evaluate("document.documentElement.scrollWidth") <= width
            one.player.first.focus()
            one.page.keyboard.press("ArrowRight")
            one.page.wait_for_function("document.querySelector('[data-ringside=player]').dataset.timeS > 0")
            one.page.go_back()


@pytest.mark.turns("width", "language")
@pytest.mark.parametrize(("width", "language"), [(1440, "en"), (390, "zh")])
def test_a_lesson_and_the_story_play(enter, plain_server, site, tmp_path, width, language):
    one = enter(plain_server, viewport={"width": width, "height": 900})
    page = one.page
    top = "" if language == "en" else f"{language}/"
    page.goto(f"{plain_server}/{top}")
    page.get_by_role("link", name=say("lesson.ring.title", language)).click()
    page.locator(PLAYER).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as coming:
        page.locator("#keep").click()
    file = tmp_path / "lesson.html"
    coming.value.save_as(file)
    written = {each.stem: each.stat().st_size for each in sorted((site / top).glob("lessons/*.html"))}
    assert written.keys() == {*lessons_of_the_day()}
    more = file.stat().st_size - written["ring"]
    assert {name: size for name, size in written.items() if size + more >= 300_000} == {}  # kept as this one is
    page.get_by_role("button", name=say("page.learn.next", language), exact=True).click()
    filled = page.locator(".rs-lessons .rs-talk-next")
    expect(filled).to_have_text([say("page.learn.check", language)])  # to answer comes before to go on
    page.locator(".rs-lesson-form").get_by_role("radio").first.check()
    page.get_by_role("button", name=say("page.learn.check", language)).click()
    expect(page.locator('[data-ringside="lessons"]')).to_have_attribute("data-answered", "wrong")
    page.get_by_role("button", name=say("page.learn.tell", language)).click()
    expect(filled).to_have_text([say("page.learn.next", language)])
    expect(page.locator(".rs-lesson-said strong, .rs-lesson-said").first).not_to_be_empty()
    page.get_by_role("link", name=say("examples.all", language)).click()
    page.get_by_role("link", name=say("story.title", language)).click()
    page.locator('[data-ringside="story"]').wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    page.locator(PLAYER).first.wait_for()
    expect(page.locator('[data-ringside="story"]')).to_have_count(0)
    alone = enter(FILES, offline=True)
    alone.page.goto(file.as_uri())
    alone.page.locator(PLAYER).first.wait_for()
    assert alone.page.locator("#keep").count() == 0


def test_a_page_is_kept_as_one_file_that_plays_alone(enter, plain_server, tmp_path):
    one = enter(plain_server)
    one.page.goto(f"{plain_server}/zh/scenes/what_is_allreduce.html")
    one.page.locator(PLAYER).wait_for()
    with one.page.expect_download() as coming:
        one.page.locator("#keep").click()
    file = tmp_path / coming.value.suggested_filename
    coming.value.save_as(file)
    assert file.stat().st_size < 300_000
    alone = enter(FILES, offline=True)
    alone.page.goto(file.as_uri())
    alone.page.locator(PLAYER).wait_for()
    assert alone.page.locator("#keep").count() == 0
    assert "rank" in alone.player.get_attribute("data-caption")
    links = alone.player.locator(".rs-look option", has_text="→")
    alone.player.locator(".rs-look select").select_option(value=links.first.get_attribute("value"))
    alone.player.locator(".rs-curve:visible").first.wait_for()
    alone.player.locator("[data-drag=bandwidth]").fill("-10")
    expect(alone.player.locator(".rs-undo")).to_be_visible()

"""The site from a plain file server: from its front page to a scene that plays, in any width and every language."""

import functools
import http.server
import threading

import pytest

from tests.browser.conftest import FILES, PLAYER
from ui.files import site
from ui.scene.gallery import exhibits
from ui.text import languages

pytestmark = pytest.mark.browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        """Say nothing."""


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    scenes = [exhibit for exhibit in exhibits() if exhibit.name in ("what_is_allreduce", "which_algorithm")]
    site.write(folder, scenes, lambda done, of: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_scene_is_two_clicks_away_and_plays(enter, plain_server, width):
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

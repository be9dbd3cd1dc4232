"""A dashboard on a port of its own and Debian's Chromium; both are started once, and windows are used again.

Opening a window and reading the dashboard's scripts is most of the work of a page's first load, and neither is done
twice. So a visitor gets a window that another one has left, once all that it could remember is wiped out.
"""

import fcntl
import os
from collections import defaultdict
from dataclasses import replace
from functools import cache
from urllib.parse import parse_qsl

import pytest

from ops.plan.link import from_link
from tests.browser.sites import lessons_of_the_day, write_site
from tests.browser.visit import BRIEF, FILES, FLAGS, PLAYER, Visit, chromium_path, serve
from ui.export.exports import Shot, render
from ui.plan.picture import carried_out
from ui.player.views import FIRST


@pytest.fixture(scope="session")
def address():
    where, server = serve()
    yield where
    server.terminate()
    server.wait()


@pytest.fixture(scope="session")
def chromium():
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on this machine; `./check` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, BRIEF])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def windows():
    """Windows that nobody uses, by what is not usual about them."""
    return defaultdict(list)


@pytest.fixture
def enter(chromium, windows):
    """A visit of an address, in a window that somebody has left; afterwards nothing may have been complained about."""
    visits = []

    def visit_of(address, **options):
        left = windows[str(sorted((name, it) for name, it in options.items() if name != "viewport"))]
        visits.append((left, Visit(chromium, address, window=left.pop() if left else None, **options)))
        return visits[-1][1]

    yield visit_of
    for left, one in visits:
        left.append(one.leave())
    for _, one in visits:
        assert one.complaints == []
        assert one.strangers == []


@pytest.fixture
def visit(enter, address):
    """Opens a page; nothing may be asked of a stranger."""
    return lambda query="", awaited=PLAYER, **options: enter(address, **options).open(query, awaited)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site with a plan of one run, one of several, and the lessons of the day; tests of several workers look at it.

    The second worker finds every page whole and leaves it as it is.
    """
    top = tmp_path_factory.getbasetemp()
    shared = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return write_site(shared / "site", lessons_of_the_day())


@cache
def page_of_its_own(query, language):
    """A link's run as a file that plays without the dashboard; what one test has made others take too."""
    words = dict(parse_qsl(query.removeprefix("?")))
    shot = Shot(words.pop("view", FIRST), float(words.pop("t", 0)), language=language)
    plan = from_link(words)
    return render(_trace(plan), "html", replace(shot, plan=plan))


@cache
def _trace(plan):
    return carried_out(plan).trace


@pytest.fixture
def play(enter, tmp_path):
    """Opens a link's player alone, from disk, without a network.

    What a test says of the player and not of the dashboard around it needs no dashboard, which takes seconds to load.
    """

    def open_player(query, language="en", **options):
        file = tmp_path / f"{len([*tmp_path.iterdir()])}.html"
        file.write_bytes(page_of_its_own(query, language))
        one = enter(FILES, offline=True, **options)
        one.language = language
        one.page.goto(file.as_uri())
        one.page.locator(PLAYER).wait_for()
        return one

    return open_player

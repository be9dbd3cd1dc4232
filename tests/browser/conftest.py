"""A dashboard on a port of its own and Debian's Chromium; both are started once."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from ui.text import catalogue, say

ROOT = Path(__file__).parents[2]
PLAYER = '[data-ringside="player"][data-steps]'
"""What a page with a player shows when it is ready."""
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def chromium_path():
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


def _healthy(address):
    try:
        urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
    except OSError:
        return False
    return True


def serve():
    """Start the dashboard; returns its address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        if _healthy(address):
            return address, server
        time.sleep(0.1)
    server.kill()
    raise RuntimeError("the dashboard did not start within 30 s")


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
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """One person's page: opens links, reads the player's outside surface, remembers what the console said."""

    def __init__(self, browser, address, **options):
        self.address = address
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
        self.page = self.context.new_page()
        self.language = "en"
        self.complaints = []
        self.strangers = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self._asked(r.url))

    def _asked(self, url):
        if not url.startswith((self.address, self.address.replace("http", "ws"), "data:", "blob:")):
            self.strangers.append(url)

    @property
    def player(self):
        return self.page.locator('[data-ringside="player"]')

    def open(self, query="", awaited=PLAYER):
        self.page.goto(f"{self.address}/{query}")
        self.page.locator(awaited).first.wait_for(timeout=30_000)
        return self

    def data(self, name):
        return self.player.evaluate(f"e => e.dataset.{name}")

    @property
    def t(self):
        return float(self.data("timeS"))

    def ask(self, call):
        return self.player.evaluate(f"e => e.ringside.{call}")

    def settle(self):
        """Wait until the page has stopped running: what is clicked while it is drawn again may be lost."""
        self.page.wait_for_function(
            "!document.querySelector('[data-testid=\"stApp\"][data-test-script-state=running]')"
        )
        self.page.wait_for_timeout(500)

    def said(self, text):
        """One of the player's English words or sentences in this visit's language."""
        key = next(
            k for k, t in catalogue("en").items() if t == text and k.startswith(("player.", "page.", "caption."))
        )
        return catalogue(self.language)[key]

    def told(self, key, **values):
        """A text by its id, in this visit's language."""
        return say(key, self.language, **values)

    def choose(self, label, option):
        """Choose from one of Streamlit's own menus, by the texts of this visit's language."""
        self.settle()
        self.page.get_by_role("combobox", name=label).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def press(self, label):
        """Click a button, by its English name whatever the language."""
        names = [label] if label not in catalogue("en").values() else [label, self.said(label)]
        self.player.get_by_role("button", name=names[-1], exact=True).click()


@pytest.fixture
def visit(chromium, address):
    """Opens a page; afterwards nothing may have been complained about or asked of a stranger."""
    visits = []

    def open_page(query="", awaited=PLAYER, **options):
        visits.append(Visit(chromium, address, **options))
        return visits[-1].open(query, awaited)

    yield open_page
    for one in visits:
        one.context.close()
        assert one.complaints == []
        assert one.strangers == []

"""A person's visit of a dashboard on a port of its own, in Debian's Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

from playwright.sync_api import TimeoutError, expect

from sim.base.share import MOST_SECONDS
from ui.player.views import VIEWS
from ui.text import catalogue, say
from ui.workers.one import ALONE

ROOT = Path(__file__).parents[2]
PLAYER = '[data-ringside="player"][data-steps]'
"""What a page with a player shows when it is ready."""
PATIENCE = 180_000
"""Milliseconds that a page may take; others may have the processor, and a test that waits for nothing ends at last."""
STILL = "document.querySelector('[data-testid=\"stApp\"][data-test-script-state=notRunning]') !== null"
"""What holds in a page that is not being drawn again, and not about to be."""
OVER = "document.querySelector('#ringside-first') === null"
"""What holds once the page has taken over the picture that was there before it, or goes without one."""
MADE = "!document.querySelector('[data-testid=stSidebar] [class*=st-key-script_watch_]')"
"""What holds of settings that are made, as they are when somebody looks."""
HASTE = 15_000
"""Milliseconds after which something is tried again on a page that may have been drawn again meanwhile."""
AGAIN = 0.1
"""Seconds from one look at what is to come to the next."""
DESK = {"width": 1440, "height": 1000}
FILES = "file://"
"""Where files come from, as browsers call it."""
STORES = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,websql"
"""All that a page can write down in a browser; tabs' own notes go with `local_storage`."""
expect.set_options(timeout=PATIENCE)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
BRIEF = "--js-flags=--max-optimized-bytecode-size=0"
"""A page that lives for seconds does not earn back what optimizing its scripts takes."""
AT_ONCE = """{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    [data-testid=stSkeleton] { animation: none !important }
    [data-testid=stApp], [data-testid=stApp] * { transition: none !important }
  `);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}"""
"""What Streamlit has in place of a page that is coming does not pulse, and its drawer is open once it is opened.

Without a graphics card sixty frames a second of that are a fourth of all work, more where pages are waited for longer.
Players are in shadows of their own, or alone in a file, where they keep their motion.
"""


WIRE = (Path(__file__).parent / "wire.js").read_text(encoding="utf-8")
"""Notes in a page whether it has asked to be drawn again, and is being drawn: a busy machine takes time over both."""
QUIET = f"""(() => {{
  const {{ asked, running, since }} = window.wire, rest = performance.now() - since;
  return {STILL} && !running && rest > (asked ? 10_000 : 300); // what is asked twice may be answered once
}})()"""
"""What holds once nobody is drawing the page, and what it does by itself after a moment has begun, if it does."""


def chromium_path():
    """Chromium without its windows where it is installed, whose own pages and tabs are a third of the work."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return next((path for name in names if (path := shutil.which(name))), None)


def _healthy(address):
    try:
        urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
    except OSError:
        return False
    return True


def serve(log=subprocess.DEVNULL, script="app.py", descriptors="", **settings):
    """Start the dashboard, or another script, what it says going to `log`; returns its address and process.

    It may open so many `descriptors`; `settings` are environment variables.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    if descriptors:
        command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]
    own = {name: value for name, value in os.environ.items() if name != ALONE}  # as people have it: with workers
    own |= {"PYTHONPATH": str(ROOT), MOST_SECONDS: str(PATIENCE / 1000)} | settings  # no run is stopped for being late
    server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=own)
    address = f"http://127.0.0.1:{port}"
    last = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < last and server.poll() is None:
        if _healthy(address):
            return address, server
        time.sleep(AGAIN)
    server.kill()
    raise RuntimeError(f"the dashboard did not start within {PATIENCE / 1000:.0f} s")


def painted(page):
    """Wait two frames: then the page is laid out again and its size observers have run."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


class Visit:
    """One person's page: opens links, reads the player's outside surface, remembers what the console said.

    The window is a new one, or `window`, which somebody has left.
    """

    def __init__(self, browser, address, *, window=None, viewport=DESK, **options):
        self.address = address
        self.page = window or self._new_window(browser, **options)
        self.page.set_viewport_size(viewport)
        self.page.set_default_timeout(PATIENCE)
        self.context = self.page.context
        self.language = "en"
        self.complaints = []
        self.strangers = []
        self._listeners = {
            "console": lambda m: self.complaints.append(m.text) if m.type == "error" else None,
            "pageerror": lambda e: self.complaints.append(str(e)),
            "request": lambda r: self._asked(r.url),
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)

    @staticmethod
    def _new_window(browser, **options):
        context = browser.new_context(**options)
        context.add_init_script(f"{AT_ONCE}\n{WIRE}")
        page = context.new_page()
        # looked for now and then: to look at every frame is to have frames made
        page.wait_for_function = partial(page.wait_for_function, polling=1000 * AGAIN / 2)
        return page

    def leave(self):
        """Go, and leave the window as if nobody had been there; its cache of files alone stays."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.context.clear_cookies()
        session = self.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": self.address, "storageTypes": STORES})
        session.detach()
        return self.page

    def _asked(self, url):
        if not url.startswith((self.address, self.address.replace("http", "ws"), "data:", "blob:")):
            self.strangers.append(url)

    @property
    def player(self):
        return self.page.locator(PLAYER)

    def open(self, query="", awaited=PLAYER):
        self.page.goto(f"{self.address}/{query}")
        self.page.locator(awaited).first.wait_for()
        self.page.wait_for_function(f"{STILL} && {OVER}")
        return self

    def data(self, name):
        return self.player.evaluate(f"e => e.dataset.{name}")

    @property
    def t(self):
        return float(self.data("timeS"))

    def moved(self):
        """Wait until the player stands at another instant."""
        self.page.wait_for_function(
            "([player, t]) => Number(player.dataset.timeS) !== t", arg=[self.player.element_handle(), self.t]
        )

    def has(self, **data):
        """Wait until the player says so of itself."""
        for name, value in data.items():
            expect(self.player).to_have_attribute(f"data-{name}", value)

    def words(self):
        """What the page's address holds, as the page itself has it: what drives the browser hears of it later."""
        return dict(parse_qsl(self.page.evaluate("location.search").removeprefix("?")))

    def ask(self, call):
        return self.player.evaluate(f"e => e.ringside.{call}")

    def settle(self):
        """Wait until the page has stopped running, and does not begin again: what is clicked meanwhile may be lost."""
        try:
            self.page.wait_for_function(QUIET)
        except TimeoutError:
            state = "[JSON.stringify(window.wire), performance.now(), document.querySelector('.stApp').dataset]"
            raise TimeoutError(f"never at rest: {self.page.evaluate(state)}") from None

    def painted(self):
        """Wait until what has changed is laid out and painted."""
        painted(self.page)

    def soon(self, holds, *words):
        """Wait until all that is asserted in `holds` is so; what it returns."""
        last = time.monotonic() + PATIENCE / 1000
        while True:
            try:
                return holds(*words)
            except AssertionError:
                if time.monotonic() > last:
                    raise
            time.sleep(AGAIN)

    def where(self, word):
        """Wait until the address has, or with a `!` before has not, a word."""
        has = f"location.search.includes({word.removeprefix('!')!r})"
        try:
            self.page.wait_for_function(f"!{has}" if word.startswith("!") else has)
        except TimeoutError as error:
            raise AssertionError(word, self.page.url) from error

    def said(self, text):
        """One of the player's English words or sentences in this visit's language."""
        key = next(
            k for k, t in catalogue("en").items() if t == text and k.startswith(("player.", "page.", "caption."))
        )
        return catalogue(self.language)[key]

    def told(self, key, **values):
        """A text by its id, in this visit's language."""
        return say(key, self.language, **values)

    @property
    def settings_button(self):
        """What opens and closes the settings."""
        return self.page.locator(".st-key-settings button")

    def open_settings(self):
        """The settings, which are opened where they are closed."""
        button = self.settings_button
        if button.get_attribute("aria-expanded") == "false":
            button.click(timeout=HASTE)
            expect(button).to_have_attribute("aria-expanded", "true")
            self.page.wait_for_function(MADE)
            self.page.wait_for_function(STILL)
        return self.page.get_by_test_id("stSidebar")

    def close_settings(self):
        """Close the settings, which are open."""
        button = self.settings_button
        expect(button).to_have_attribute("aria-expanded", "true")
        button.click()
        expect(button).to_have_attribute("aria-expanded", "false")

    def nudge(self):
        """Move the slider of sizes to the next smaller one, and wait until the address has that."""
        size = "new URLSearchParams(location.search).get('size')"
        before = self.page.evaluate(size)
        slider = self.page.get_by_test_id("stSidebar").get_by_role("slider", name=self.told("page.size"))
        self.open_settings()
        stood = slider.get_attribute("aria-valuetext")

        def act():
            self.open_settings()
            if slider.get_attribute("aria-valuetext") == stood:  # not moved yet, or put back by a page drawn again
                slider.press("ArrowLeft", timeout=HASTE)
            self.page.wait_for_function(f"before => {size} !== before", arg=before, timeout=HASTE)

        self.again(act)
        self.close_settings()

    def choose(self, label, option):
        """Choose from one of Streamlit's own menus, by the texts of this visit's language; of the settings, too."""
        menu = self.page.get_by_role("combobox", name=label)

        def act():
            if not menu.is_visible():
                self.open_settings()
            menu.click(timeout=HASTE)
            self.page.get_by_role("option", name=option, exact=True).click(timeout=HASTE)
            # a list that still moves may have gone from below the pointer
            self.page.get_by_role("option").first.wait_for(state="hidden", timeout=HASTE)

        self.again(act)

    def explore(self, title):
        """Open an entry of Explore."""

        def act():
            self.page.get_by_role("button", name=self.told("page.explore"), exact=True).click(timeout=HASTE)
            self.page.get_by_role("button", name=title).click(timeout=HASTE)

        self.again(act)

    def again(self, act):
        """Do something on a page that has settled, and again where it was drawn again meanwhile."""
        last = time.monotonic() + PATIENCE / 1000
        while True:
            self.settle()
            try:
                return act()
            except TimeoutError:
                if time.monotonic() > last:
                    raise
            self.page.keyboard.press("Escape")

    def press(self, label):
        """Click a button or choose a view, by its English name whatever the language."""
        names = [label] if label not in catalogue("en").values() else [label, self.said(label)]
        if names[-1] in [self.told(f"player.view.{view}") for view in VIEWS]:
            self.player.locator(".rs-view").select_option(label=names[-1])
        else:
            self.player.get_by_role("button", name=names[-1], exact=True).click()

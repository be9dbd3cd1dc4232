"""The monkey in Chromium: pointer, keyboard, pastes, files, back and forward, on every page in every language."""

import random
import re
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Error, sync_playwright

from tests.browser.conftest import FLAGS, STILL, chromium_path, serve
from tests.monkey.garbage import LINKS, TEXTS
from ui.pages import PAGES
from ui.text import languages

VISIT = 60
"""Actions after which the next visit begins."""
MOST = 20
PATIENCE = 60_000
"""ms that an answer may take on a busy machine."""
BROKEN = '[data-testid="stException"]'
COMPLAINTS = re.compile(r"Traceback|Exception|^\w*Error|ERROR|not found", re.MULTILINE)
"""What a clean log of the server does not hold."""
THINGS = {
    "button": "button:visible:not([disabled])",
    "menu": '[role="combobox"]:visible',
    "slider": '[role="slider"]:visible, input[type="range"]:visible',
    "field": 'input[type="text"]:visible:not([role="combobox"]), input[type="number"]:visible, textarea:visible',
    "switch": 'label:has(input[type="checkbox"]):visible, label:has(input[type="radio"]):visible',
    "fold": "summary:visible",
    "select": "select:visible",
    "canvas": "canvas:visible",
    "player": '[data-ringside="player"]:visible',
    "file": 'input[type="file"]',
}
KEYS = (
    "Space",
    "ArrowRight",
    "ArrowLeft",
    "Shift+ArrowRight",
    ",",
    ".",
    "Home",
    "End",
    "-",
    "+",
    "t",
    "m",
    "v",
    "c",
    "?",
)
KEYS += ("v", "c", "?", "Escape", "PageDown", "PageUp", "Tab", "Enter", "k")
SLOW = re.compile(r"1,?024|8 (nodes|个节点)|GB200|gb200|rerun|Deploy", re.IGNORECASE)
DOWNLOADS = "stDownloadButton"


class Monkey:
    """One visit after the other in one browser; `broken` says what went wrong and after what."""

    def __init__(self, seed, browser, address):
        self.draw, self.browser, self.address = random.Random(seed), browser, address
        self.done, self.broken, self.log, self.page = 0, [], [], None
        self.open()

    def open(self):
        """Begin a visit."""
        if self.page:
            self.page.context.close()
        size = self.draw.choice([(1440, 900), (1280, 720), (390, 844)])
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, accept_downloads=False)
        context.grant_permissions(["clipboard-read", "clipboard-write"])  # who clicks on "copy" is asked, and allows it
        self.page = context.new_page()
        self.page.set_default_timeout(3000)
        self.page.set_default_navigation_timeout(PATIENCE)  # a busy machine's first page is no fault
        self.said = []
        self.page.on("console", lambda m: self.said.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        words = [f"page={self.draw.choice(list(PAGES))}", f"lang={self.draw.choice(languages())}"]
        if self.draw.random() < 0.4:
            name, _, word = self.draw.choice(LINKS).partition("=")
            words.append(f"{name}={quote(word)}")
        self.log = [f"open {size} ?{'&'.join(words)}"]
        self.page.goto(f"{self.address}/?{'&'.join(words)}")
        self._look()

    def act(self):
        """Do one thing, and look at what became of the page."""
        if len(self.log) > VISIT:
            self.open()
            return
        kind = self.draw.choice([*THINGS, "button", "menu", "field", "canvas", "history"])
        try:
            getattr(self, f"_{kind}")() if kind == "history" else self._touch(kind)
        except Error as error:  # what was there a moment ago is covered or gone: a person would miss it too
            self.log.append(f"missed {kind}: {str(error).splitlines()[0][:60]}")
        self._look()

    def _touch(self, kind):
        things = self.page.locator(THINGS[kind])
        count = things.count()
        if not count:
            return
        thing = things.nth(self.draw.randrange(count))
        name = thing.evaluate("e => e.getAttribute('aria-label') || e.innerText || e.tagName")[:40]
        away = thing.evaluate(f"e => Boolean(e.closest('[data-testid={DOWNLOADS}], [data-testid=stToolbar]'))")
        if away or SLOW.search(name):
            return
        self.log.append(f"{kind} {name!r}")
        getattr(self, f"_{kind}", self._click)(thing)

    def _click(self, thing):
        thing.click()

    def _menu(self, thing):
        thing.click()
        options = self.page.get_by_role("option")
        choices = [k for k in range(options.count()) if not SLOW.search(options.nth(k).inner_text())]
        if not choices:
            self.page.keyboard.press("Escape")
            return
        option = options.nth(self.draw.choice(choices))
        self.log[-1] += f" -> {option.inner_text()[:40]!r}"
        option.click()

    def _slider(self, thing):
        thing.focus()
        for _ in range(self.draw.randint(1, 4)):
            thing.press(self.draw.choice(["ArrowLeft", "ArrowRight", "ArrowLeft"]))

    def _field(self, thing):
        number = thing.get_attribute("type") == "number"
        text = str(self.draw.randint(-3, 20)) if number else self.draw.choice(TEXTS)
        self.log[-1] += f" = {text[:30]!r}"
        thing.fill(text)
        thing.press(self.draw.choice(["Enter", "Tab", "Control+Enter"]))

    def _select(self, thing):
        count = thing.locator("option").count()
        thing.select_option(index=self.draw.randrange(count) if count else None)

    def _canvas(self, thing):
        box = thing.bounding_box()
        if box and box["width"] > 1 and box["height"] > 1:
            thing.click(position={"x": self.draw.random() * box["width"], "y": self.draw.random() * box["height"]})

    def _player(self, thing):
        thing.focus()
        for _ in range(self.draw.randint(1, 5)):
            key = self.draw.choice(KEYS)
            self.log[-1] += f" {key}"
            self.page.keyboard.press(key)

    def _file(self, thing):
        data = self.draw.choice([*(text.encode() for text in TEXTS), b"\0\1\2\3", bytes(range(256))])
        thing.set_input_files({"name": "given.txt", "mimeType": "text/plain", "buffer": data})

    def _history(self):
        self.log.append("history")
        if self.draw.random() < 0.6 and len(self.log) > 8:
            self.page.go_back()
        else:
            self.page.go_forward()

    def _look(self):
        """Wait until the page has come to rest; it must show something, and nothing may have complained."""
        self.done += 1
        self.page.wait_for_timeout(self.draw.choice([50, 50, 400]))  # a person does not always wait
        if self.page.url == "about:blank":
            self.open()
            return
        try:
            self.page.wait_for_function(STILL, timeout=PATIENCE)
            self.page.wait_for_function(
                "(document.querySelector('[data-testid=stMain]')?.innerText ?? '').length > 40"
                " || document.querySelector('[data-ringside=player][data-steps]')",
                timeout=PATIENCE,
            )
        except Error:
            shown = " ".join(self.page.locator('[data-testid="stMain"]').all_inner_texts())
            self._complain(f"an empty page, or one that never comes to rest: {shown[-300:]!r}, {self.page.url}")
            return
        if self.page.locator(BROKEN).count():
            self._complain(self.page.locator(BROKEN).first.inner_text())
        elif self.said:
            self._complain("; ".join(self.said))

    def _complain(self, what):
        self.broken.append(f"{what[:600]}\n    after {' | '.join(self.log[-6:])}")
        if len(self.broken) < MOST:
            self.open()


def play(actions, seed, seconds):
    """So many actions, or as many as fit into so many seconds; how many, and what broke."""
    until = time.perf_counter() + seconds
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "log")
        with path.open("wb") as log:
            address, server = serve(log)
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            try:
                monkey = Monkey(seed, browser, address)
                while monkey.done < actions and time.perf_counter() < until and len(monkey.broken) < MOST:
                    monkey.act()
            finally:
                browser.close()
                server.terminate()
                server.wait()
        said = path.read_text(encoding="utf-8", errors="replace")
    broken = monkey.broken
    if COMPLAINTS.search(said):
        broken = [*broken, f"the server's log: {said[COMPLAINTS.search(said).start() :][:3000]}"]
    return monkey.done, broken

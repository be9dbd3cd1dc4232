"""The first picture of a visit: it is drawn while Streamlit's page is still being read, which takes it over as it is.

A page of Streamlit's asks its script only once all of its own code is there, and the run comes with the answer. So what
is sent for a plan says at once where its runs are to be had, and the player draws them by itself.
"""

import re
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

import streamlit
from starlette.requests import Request as Asked
from starlette.responses import Response

from ops.plan.link import from_link
from ui.address import PLAN
from ui.controls import answer as answer_line
from ui.controls import fork
from ui.navigation import first
from ui.plan.beginning import beginning_of, explaining, is_first_visit
from ui.player.component import Start, player_data, player_file
from ui.server.future import NOTHING, answer, in_turn, runs_of, written
from ui.simulate.story import WORD
from ui.text import named_by, speaking

WHERE = "ahead/first"
"""The address of it, below that of the page, with the page's own words."""
LONGEST = 2000
"""Characters of an address that a header repeats."""
LARGEST = 1 << 20
"""Bytes of a picture: more of them come once, with the page."""
PLAIN = re.compile(rb"[\w%&=.:,;~+*/@!()'$?|-]*")
FONT = re.compile(r"[^\"']*/SourceSansVF-Upright[^\"']*\.woff2")
SHELL = """<style>
@font-face { font-family: "Source Sans"; font-weight: 200 900; src: url("%s") format("woff2"); }
#ringside-first {
  --beside: max(32px, 50vw - 848px);
  position: fixed; z-index: 1; top: 104px; bottom: 0; overflow: hidden; visibility: hidden; color-scheme: light dark;
  left: var(--beside); right: var(--beside); font: 1rem/1.6 var(--st-font);
  color: var(--st-text-color); background: var(--st-background-color);
  --st-font: "Source Sans", sans-serif; --st-primary-color: #17191E; --st-text-color: #17191E;
  --st-background-color: #FBFBF9; --st-secondary-background-color: #F2F2EF;
}
#ringside-first.beside-words { left: calc(var(--beside) + 488px); }
#ringside-first.drawn { visibility: visible; }
body:has(> .drawn#ringside-first) [data-testid="stAppSkeleton"] { visibility: hidden; }
@media (max-width: 1099px) { #ringside-first.beside-words { left: var(--beside); top: 177px; } }
@media (max-width: 768px) {
  #ringside-first { --beside: 16px; top: 156.8px; }
  #ringside-first.beside-words { top: 304.4px; }
}
@media (prefers-color-scheme: dark) {
  #ringside-first {
    --st-primary-color: #F1F2F3; --st-text-color: #F1F2F3;
    --st-background-color: #131519; --st-secondary-background-color: #22262D;
  }
}
</style><div id="ringside-first" class="%s" data-from="%s"></div><script async type="module" src="%s"></script>"""
"""Where the picture stands until the page has it, in the same place and in the same colours."""


def is_early(query: str) -> bool:
    """Whether an address names a page whose picture may come before it."""
    words = dict(parse_qsl(query, keep_blank_values=True))
    is_framed = words.get("embed", "false").lower() != "false"
    is_plan = words.get("page", first()) == first() and not {PLAN, WORD} & words.keys()
    return is_plan and not is_framed and not words.get("capture")


@cache
def shell(is_first: bool = False) -> str:
    """What stands in a page for it; the one of a first visit stands beside words."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    font = FONT.search(page)
    return SHELL % (font[0] if font else "", "beside-words" if is_first else "", WHERE, player_file().name)


def announced(query: bytes) -> bytes:
    """What a header says of it, so that a browser asks before anything of the page has been read."""
    if len(query) > LONGEST or not PLAIN.fullmatch(query):
        return b""
    return b"<%b%b>; rel=preload; as=fetch; crossorigin" % (WHERE.encode(), b"?" + query if query else b"")


async def first_picture(request: Asked) -> Response:
    """What the player is mounted with for the page's own words; null where the page has more to do or to say."""
    query = request.url.query
    locale = request.headers.get("accept-language", "").partition(",")[0]
    whose = request.client.host if request.client else ""
    if not is_early(query):
        return answer(NOTHING)
    return await in_turn(request, picture, query, named_by(query, locale), whose)


def picture(query: str, language: str, whose: str) -> bytes:
    """What is answered to a page's words, as JSON.

    Raises InputError, StalledError or TimeoutError for what the page tells.
    """
    words = dict(parse_qsl(query, keep_blank_values=True))
    begun, wrong = beginning_of(words)
    if wrong:
        return NOTHING
    with speaking(language):
        plan = from_link(words)
        runs = runs_of(plan, language, f"first {whose}", LARGEST)
        if not runs:
            return NOTHING
        usual = explaining(plan, (picture.shaped for _, picture, _ in runs))
        start = Start(
            begun.t, begun.view or usual, number=1, place=begun.place, usual=usual, plays=is_first_visit(words)
        )
        return written(player_data(fork.packed(runs), language, start, answer=answer_line.of(runs)))

"""Pages to read and to print, which need no network and no script."""

from html import escape

from ui.drawing import fonts
from ui.player.scripts import ASSETS


def paper(title: str, body: str, language: str) -> bytes:
    """Return a page with a title and a body in HTML, in a language."""
    text = (ASSETS / "site" / "paper.html").read_text(encoding="utf-8")
    parts = {
        "language": "zh-Hans" if language == "zh" else language,
        "title": escape(title),
        "faces": fonts.faces(),
        "body": body,
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text.encode()

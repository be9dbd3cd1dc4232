"""Code that shows a run inside another page: a frame where this server allows one, else the whole run in the code."""

import os
import re
from html import escape

EMBED_FROM = "RINGSIDE_EMBED_FROM"
"""Environment variable: origins whose pages may frame this server, spaces between."""
LOOK = "display:block;width:100%;max-width:1280px;aspect-ratio:16/9;min-height:300px;border:0"
MAY = 'allow="fullscreen" sandbox="allow-scripts"'
"""A run that is part of the code cannot reach the page around it."""


def origins() -> list[str]:
    """Origins whose pages may frame this server."""
    return [origin for origin in os.environ.get(EMBED_FROM, "").split() if is_origin(origin)]


def is_origin(origin: str) -> bool:
    """Whether it is an origin that a header can name, and nothing else."""
    return origin == "*" or re.fullmatch(r"https?://[A-Za-z0-9.*\-]+(:(\d+|\*))?", origin) is not None


def around(page: bytes, title: str) -> bytes:
    """Return the code of a frame that contains a page of one file, for pages of any origin."""
    inside = page.decode().replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe {MAY} title="{escape(title)}" style="{LOOK}" srcdoc="{inside}"></iframe>\n'.encode()

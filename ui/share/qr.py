"""A link as a QR code."""

from functools import lru_cache

import segno

LONGEST = 1200
"""Characters of a link: a camera at the back of a lecture hall reads no more."""
MASK = 2
"""The pattern that suits most links best: to try all eight takes five times as long, with every page."""


@lru_cache(64)
def picture_of(link: str) -> str:
    """Return the address of an SVG, black on white with a quiet margin, or nothing for a link that is too long."""
    if len(link) > LONGEST:
        return ""
    return str(segno.make_qr(link, error="l", mask=MASK).svg_data_uri(border=4, light="#fff", omitsize=True))

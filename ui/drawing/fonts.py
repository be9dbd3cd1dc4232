"""The font of pictures, which files bring with them."""

import base64
from functools import cache
from pathlib import Path

FAMILY = "Ringside Sans"
FOLDER = Path(__file__).parents[2] / "assets" / "fonts"
WEIGHTS = {"Regular": 400, "Semibold": 600}


@cache
def faces() -> str:
    """Return the fonts and colours of a page of its own as a style sheet with all that it needs."""
    files = "\n".join(
        f'@font-face {{ font-family: "{FAMILY}"; font-weight: {weight}; src: url(data:font/woff2;base64,'
        f"{base64.b64encode((FOLDER / f'RingsideSans-{name}.woff2').read_bytes()).decode()}) }}"
        for name, weight in WEIGHTS.items()
    )
    return f"{files}\n{(FOLDER.parent / 'player' / 'alone.css').read_text(encoding='utf-8')}"

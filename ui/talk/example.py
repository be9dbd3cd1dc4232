"""The talk that comes with the project, for whoever has none yet."""

from functools import cache
from pathlib import Path

from ui.talk import Talk
from ui.talk.document import from_text

FOLDER = Path(__file__).parents[2] / "assets" / "talks"


@cache
def example(language: str) -> Talk:
    """Why the ring wins, in this language; in English where nobody has written it."""
    file = FOLDER / f"ring.{language}.yaml"
    file = file if file.is_file() else FOLDER / "ring.en.yaml"
    return from_text(file.read_text(encoding="utf-8"), file.name)

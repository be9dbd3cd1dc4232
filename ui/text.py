"""Every word a person reads, by id; one catalogue per language in `assets/text`."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "assets" / "text"


@cache
def catalogue(language: str) -> dict[str, str]:
    """All texts of a language by id. Raises KeyError for a language without a file."""
    path = FOLDER / f"{language}.json"
    if not path.is_file():
        raise KeyError(language)
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts


def languages() -> list[str]:
    """The languages there are catalogues for."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def say(key: str, language: str = "en", **values: Any) -> str:
    """The text of an id with its placeholders filled in."""
    return catalogue(language)[key].format(**values)

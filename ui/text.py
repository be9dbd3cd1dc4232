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


def spoken() -> str:
    """The language of this visit, which its address says; English where it names none that there is."""
    import streamlit as st

    wanted = st.query_params.get("lang", "en")
    return wanted if wanted in languages() else "en"


def language_names() -> dict[str, str]:
    """What every language calls itself."""
    return {language: say("page.language.own", language) for language in languages()}


def tell(key: str, **values: Any) -> str:
    """The text of an id in the language of this visit."""
    return say(key, spoken(), **values)


def summary(name: str, english: str) -> str:
    """What an algorithm, collective, machine or trouble does, in the language of this visit.

    English stands in the thing itself; other catalogues may have `summary.NAME`, one for a collective and its v form.
    """
    words = catalogue(spoken())
    return words.get(f"summary.{name}") or words.get(f"summary.{name.replace('v.', '.', 1).removesuffix('v')}", english)

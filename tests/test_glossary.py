"""Every word of the glossary is a name in the code, and stands in the file where that is."""

import importlib
import re
from functools import reduce
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"\*\*(.+?)\*\*: (.+)\s\[`([\w.]+):([\w.]+)`\]\(\.\./([\w./]+)\)", re.DOTALL)
PARAGRAPHS = [paragraph for paragraph in PAGE.strip().split("\n\n") if paragraph.startswith("**")]


def letters(text: str) -> str:
    """Lower case, line breaks and hyphens as spaces, so that `in lock-step` is found however it is broken."""
    return re.sub(r"[\W_]+", " ", text).lower()


def test_the_page_has_words_in_order():
    words = [paragraph.split("**")[1].casefold() for paragraph in PARAGRAPHS]
    assert len(words) > 40
    assert words[0] == "algbw, algorithm bandwidth"
    greek = [word for word in words if word[0] > "z"]
    plain = [word for word in words if word[0] <= "z"]
    assert plain == sorted(plain)
    assert greek == ["α, β, γ"]


@each_row("paragraph", PARAGRAPHS)
def test_a_word_is_a_name_and_stands_in_its_file(paragraph):
    entry = ENTRY.fullmatch(paragraph)
    assert entry, "write it **word**: what it means. [`module:name`](../file)"
    words, _, module, name, path = entry.groups()
    assert reduce(getattr, name.split("."), importlib.import_module(module)) is not None
    source = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(def|class) {name}\b|^{name}\b", source, re.MULTILINE), f"{name} is made in another file"
    assert [word for word in words.split(", ") if letters(word).strip() not in letters(source)] == []

"""A percent sign follows its number at once, in both languages, whoever writes it: Python, the player or a text."""

import re
from pathlib import Path

import pytest

from sim.units import fmt_number, fmt_share
from ui.text import languages, written

ROOT = Path(__file__).parents[2]
SPACED = re.compile(r"[\d}] %(?![\w(%])")


def lines(folder, ending, name="**/*"):
    for path in sorted((ROOT / folder).glob(f"{name}.{ending}")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@pytest.mark.parametrize("language", languages())
def test_texts_put_no_space_before_the_sign(language):
    assert {key: text for key, text in written(language).items() if SPACED.search(text)} == {}


def test_pages_ask_one_function():
    assert [where for where, line in lines("ui", "py") if re.search(r"%\}|[dfg] %%", line)] == []
    assert [where for where, line in lines("assets", "js") if re.search(r"\} %", line)] == []


def test_pages_of_the_documentation_put_none_either():
    pages = [*lines("docs", "md"), *(each for name in ("README", "CONTRIBUTING") for each in lines(".", "md", name))]
    assert [where for where, line in pages if re.search(r"\d %(?!\w)", line)] == []


def test_it_follows_at_once():
    assert [fmt_share(0.504), fmt_share(0.504, 1), fmt_share(-0.02, sign=True)] == ["50%", "50.4%", "-2%"]
    assert [fmt_number(84.477, "%"), fmt_number(3, "ranks")] == ["84.48%", "3 ranks"]

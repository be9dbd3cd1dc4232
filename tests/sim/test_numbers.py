"""One function for whole numbers and one for others: signs, scripts, lengths, and what is no number."""

import re
from pathlib import Path

from sim.base.numbers import real, whole, with_unit
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
WHOLE = {
    "8": 8, " 8\n": 8, "+8": 8, "-8": -8, "−8": -8, "–8": -8, "－8": -8, "007": 7, "1_024": 1024, "８": 8, "٨": 8,
    "९": 9, "𝟗": 9, "9" * 18: 10**18 - 1,
}  # fmt: skip
NOT_WHOLE = (
    *("", " ", "-", "--8", "²", "½", "Ⅷ", "①", "1e3", "1.0", "0x10", "1__0", "_1", "1_", "1,0", "1 0", "nan", "inf"),
    *("9" * 19, "9" * 5000, "0" * 5000, "eight", "8\u200b", "\ud800"),
)
REAL = {"1.5": 1.5, ".5": 0.5, "5.": 5.0, "1e-6": 1e-6, "−2E+3": -2000.0, "1_0.5": 10.5, "９.５": 9.5, "1e-999": 0.0}
NOT_REAL = ("", ".", "e5", "1e", "1e5.5", "1e999", "nan", "-inf", "Infinity", "0x1p3", "1,5", "9" * 5000, "²", "1.2.3")


@each_row("text", WHOLE)
def test_whole_numbers(text):
    assert whole(text) == WHOLE[text]


@each_row("text", NOT_WHOLE)
def test_what_is_no_whole_number(text):
    assert whole(text) is None


@each_row("text", REAL)
def test_real_numbers(text):
    assert real(text) == REAL[text]


@each_row("text", NOT_REAL)
def test_what_is_no_finite_number(text):
    assert real(text) is None


def test_a_number_and_its_unit():
    assert [with_unit(text) and str(with_unit(text)[1]) for text in ("64 MiB", "1.5us", "5", "5 m s", "5²x", "x5")] == [
        *("MiB", "us", "", None, "²x", None)
    ]
    assert with_unit("nan")[0].is_infinite()
    assert with_unit("1e400 s")[0].is_infinite()


def test_nothing_else_decides_what_a_digit_is():
    """`²`.isdigit() is true and int("²") fails."""
    for folder in ("sim/formats", "sim/topology", "ops/formats", "ops/measured", "ops/plan", "ops/training"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"\.isdigit\(|\.isnumeric\(", file.read_text(encoding="utf-8")), file

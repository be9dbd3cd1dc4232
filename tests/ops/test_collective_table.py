"""The table of collectives is read off their promises, so that a new one is in it."""

import pytest

from docs import catalogue
from ops.collectives import COLLECTIVES, blank_promise, collective
from ops.collectives.table import WORDS, markdown, row_of, rows
from tests.tables import each_row
from ui.text import languages, say, written

SHAPES = {
    "broadcast": ("1 → n", "m → m", "all", False),
    "reduce": ("n → 1", "m → m", "root", False),
    "gather": ("n → 1", "m → n · m", "root", False),
    "scatter": ("1 → n", "n · m → m", "each", False),
    "allreduce": ("n → n", "m → m", "all", True),
    "allgather": ("n → n", "m → n · m", "all", True),
    "reduce_scatter": ("n → n", "n · m → m", "each", True),
    "alltoall": ("n → n", "n · m → n · m", "each", True),
    "scan": ("n → n", "m → m", "each", False),
    "barrier": ("n → n", "", "all", True),
}


@each_row("name", SHAPES)
def test_a_row_says_who_gives_how_much_and_who_holds_what(name):
    assert row_of(COLLECTIVES[name])[1:5] == SHAPES[name]


@pytest.mark.slow
def test_every_collective_has_one_row_and_says_what_training_uses_it_for():
    assert [row.collective for row in rows()] == [name for name, entry in COLLECTIVES.items() if not entry.vector]
    page = catalogue.page()
    for row in rows():
        assert len(row.use) > 10
        assert row.use in page


@pytest.mark.parametrize("language", languages())
def test_the_table_is_told_in_every_language(language):
    def use(name, english):
        assert language == "en" or f"use.{name}" in written(language)
        return written(language).get(f"use.{name}", english)

    lines = markdown(lambda word: say(f"collectives.{word}", language), use).split("\n")
    assert len(lines) == 2 + len(list(rows()))
    assert {line.count("|") for line in lines} == {7}
    for word in WORDS:
        assert f"collectives.{word}" in written(language)


def test_a_new_collective_stands_in_the_table_by_itself():
    with COLLECTIVES.also():

        @collective(rooted=True)
        def shout(n, pieces, root):
            """Every rank ends with the root's word."""
            p = blank_promise("shout", n, pieces, pieces, range(pieces), range(pieces))
            p.given[root] = 0
            p.owed[:], p.first[:], p.last[:] = 0, root, root + 1
            return p

        assert "| `shout` | 1 → n | m → m | every rank | no | – |" in catalogue.page()

"""What `./check` tries of cases that show the same of different things, and what it leaves to `./check --long`."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FEW, SOME, shorten, waiting_for_their_turn

PAGES, LANGUAGES = range(4), ("en", "zh", "fr")


def case(test, *over, **params):
    """A test's case as pytest collects it."""
    mark = pytest.mark.turns(*over).mark if over else None
    return SimpleNamespace(
        nodeid=f"{test}[{params}]", get_closest_marker=lambda _: mark, callspec=SimpleNamespace(params=params)
    )


def tried(cases):
    waiting = list(waiting_for_their_turn(cases))
    return [one.callspec.params for one in cases if not any(one is other for other in waiting)]


def test_one_of_each_group_is_tried_and_every_value_has_its_turn():
    taken = tried([case("test", "language", page=page, language=word) for page in PAGES for word in LANGUAGES])
    assert [params["page"] for params in taken] == [*PAGES]
    assert {params["language"] for params in taken} == {*LANGUAGES}


def test_tests_begin_at_different_values():
    names = [f"test_{i}" for i in range(20)]
    taken = tried([case(name, "language", language=word) for name in names for word in LANGUAGES])
    assert len(taken) == len(names)
    assert {params["language"] for params in taken} == {*LANGUAGES}


def test_what_is_not_marked_is_tried_whole():
    assert len(tried([case("test", page=page) for page in PAGES])) == len(PAGES)


@pytest.mark.parametrize(
    ("marks", "most", "is_long"),
    [
        ("not long", SOME, False),
        ("not slow and not browser and not long", FEW, False),
        ("long", 10 * SOME, True),
        ("", 10 * SOME, False),
    ],
)
def test_drawn_examples_are_fewer_and_those_after_them_are_long(marks, most, is_long):
    tried, marked = [], []

    @settings(max_examples=10 * SOME, database=None)
    @given(st.integers(0, 1 << 60))
    def test(number):
        tried.append(number)

    def plain():
        """No example is drawn of this one."""

    items = [SimpleNamespace(obj=each, add_marker=marked.append) for each in (test, plain)]
    shorten(items, marks)
    test()
    assert len(tried) == most
    assert marked == ["long"] * is_long

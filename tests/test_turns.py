"""What `./check` tries of cases that show the same of different things, and what it leaves to `./check --long`."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import waiting_for_their_turn

PAGES, LANGUAGES = range(4), ("en", "zh", "fr")


def case(test, *over, **params):
    """A test's case as pytest collects it."""
    mark = pytest.mark.turns(*over).mark if over else None
    return SimpleNamespace(
        nodeid=f"{test}[{params}]", get_closest_marker=lambda _: mark, callspec=SimpleNamespace(params=params)
    )


def tried(cases, day=0):
    waiting = list(waiting_for_their_turn(cases, day))
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


def test_every_case_has_its_day():
    cases = [case("test", "language", language=word) for word in LANGUAGES]
    assert {params["language"] for day in range(len(LANGUAGES)) for params in tried(cases, day)} == {*LANGUAGES}


def test_a_profile_says_how_many_examples_are_drawn():
    numbers = []

    @given(number=st.integers(0, 1 << 60))
    def test(number):
        numbers.append(number)

    test()
    assert len(numbers) == settings.default.max_examples
    assert [settings.get_profile(name).derandomize for name in ("quick", "check", "long")] == [False] * 3

"""What `./check` tries of cases that show the same of different things, and what it leaves to `./check --long`."""

from inspect import signature
from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import waiting_for_their_turn
from tests.tables import Day, each_row

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


def table(failing):
    met = []

    @each_row("page, language", product(PAGES, LANGUAGES), over=["language"])
    def test(page, language):
        met.append((page, language))
        assert page not in failing

    return test, met


def test_every_case_has_its_day(monkeypatch):
    cases, days = [case("test", "language", language=word) for word in LANGUAGES], set()
    test, met = table(())
    for day in range(len(LANGUAGES)):
        monkeypatch.setattr(Day, "number", day)
        days |= {params["language"] for params in tried(cases)}
        test()
        assert len(met) == len(PAGES) * (day + 1)
    assert days == {*LANGUAGES}
    assert sorted(met) == sorted(product(PAGES, LANGUAGES))


def test_a_table_reports_every_row_that_fails(monkeypatch):
    monkeypatch.setattr(Day, "is_long", True)
    test, met = table((1, 3))
    with pytest.raises(BaseExceptionGroup, match=r"^6 of 12 rows") as failed:
        test()
    assert met == [*product(PAGES, LANGUAGES)]
    assert failed.value.exceptions[0].__notes__ == ["with page=1, language='en'"]


def test_what_a_row_does_not_name_is_a_fixture():
    assert [*signature(each_row("b", [1])(lambda a, b: None)).parameters] == ["a"]


def test_a_profile_says_how_many_examples_are_drawn():
    numbers = []

    @given(number=st.integers(0, 1 << 60))
    def test(number):
        numbers.append(number)

    test()
    assert len(numbers) == settings.default.max_examples
    assert [settings.get_profile(name).derandomize for name in ("quick", "check", "long")] == [False] * 3

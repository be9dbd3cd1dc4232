"""A table of cases as one test: `@each_row("a, b", [...])` stands in the place of `pytest.mark.parametrize`.

All rows are tried, and every one that fails is reported. What the rows share is set up once; a row must leave it as it
was.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any
from zlib import crc32

import pytest


class Day:
    """Which turn it is, on a long day everyone's; and what rows must name to be tried, where that is asked for."""

    number = 0
    is_long = False
    row = ""


def is_named(values: Iterable[Any]) -> bool:
    """Whether one of a row's values has the word that is asked for."""
    return any(Day.row in str(value) for value in values)


def left_out(test: str, cases: Sequence[Mapping[str, Any]], over: Sequence[str], days: int = 0) -> Iterator[int]:
    """Yield the places of the cases that have another day.

    Of cases that differ in the parameters `over` alone one is tried, of the next such group another one; with `days`,
    one of every so many. Which comes first differs from test to test, and moves on from day to day.
    """
    groups = defaultdict(list)
    for place, case in enumerate(cases):
        values = tuple(f"{name}={value}" for name, value in case.items() if name not in over)
        groups[(place // days,) if days else values].append(place)
    for turn, group in enumerate(groups.values(), crc32(test.encode()) + Day.number):
        yield from (place for i, place in enumerate(group) if i != turn % len(group))


def each_row(
    names: str, cases: Iterable[Any], *, over: Sequence[str] = (), days: int = 0
) -> Callable[..., Callable[..., None]]:
    """Return a decorator that calls a test with the values of every case, and fails with all that failed.

    Of cases that differ in the names `over` alone, or of so many `days` in a row, one is tried a day; `./check --long`
    tries all.
    """
    named = [name.strip() for name in names.split(",")]
    table = [_values(case, len(named)) for case in cases]

    def of(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def every_row(**fixtures: Any) -> None:
            failures, skips = [], []
            every = [dict(zip(named, case, strict=True)) for case in table]
            skipped = {*left_out(test.__qualname__, every, over, days)} if (over or days) and not Day.is_long else ()
            if Day.row:
                every, skipped = [case for case in every if is_named(case.values())], ()
            for case in (case for place, case in enumerate(every) if place not in skipped):
                try:
                    test(**fixtures, **case)
                except pytest.skip.Exception as skip:
                    skips.append(skip)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  the others are tried, too
                    error.add_note(f"with {', '.join(f'{name}={value!r}' for name, value in case.items())}"[:1000])
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(every) - len(skipped)} rows", failures)
            if len(skips) == len(every) - len(skipped) > 0:
                raise skips[0]

        whole = signature(test)
        others = [parameter for name, parameter in whole.parameters.items() if name not in named]
        every_row.__signature__ = whole.replace(parameters=others)  # type: ignore[attr-defined]
        every_row.table = [*getattr(test, "table", ()), *table]  # type: ignore[attr-defined]
        return pytest.mark.rotating(every_row) if over or days else every_row

    return of


def dealt(numbers: Iterable[int]) -> list[tuple[int, ...]]:
    """Return numbers of ranks in three parts, each with powers of two and with others, to be tried in turn."""
    ordered = sorted(numbers, key=lambda n: (n & (n - 1) != 0, n))
    return [tuple(sorted(ordered[k::3])) for k in range(3)]


def _values(case: Any, count: int) -> Sequence[Any]:
    if isinstance(case, type(pytest.param())):
        return case.values
    return case if count > 1 else (case,)

"""Every name of the package `ringside` says what it takes, returns and raises, in the sections of numpydoc."""

import inspect
from functools import cache

import pytest

from docs.api_page import names
from tests.tables import each_row

LEFT_OUT = {
    "ES01": "a summary may say all",
    "SA01": "the page of the API has all names beside each other",
    "EX01": "what makes no result has no example; those that are there are run as tests",
}
"""Checks of numpydoc that are not made, and why."""


@cache
def described():
    """Functions and classes of the package by name, and the public methods and properties of each class."""
    return {one.name: one for one in names() if inspect.isfunction(one.value) or inspect.isclass(one.value)}


@each_row("name", sorted(described()))
def test_a_public_name_has_the_sections_of_numpydoc(name):
    validate = pytest.importorskip("numpydoc.validate")
    one = described()[name]
    found = validate.validate(f"{one.value.__module__}.{one.value.__qualname__}")["errors"]
    assert [error for error in found if error[0] not in LEFT_OUT] == []


@each_row("name", sorted(name for name in described() if inspect.isclass(described()[name].value)))
def test_what_a_public_class_has_says_what_it_is(name):
    for member, value in vars(described()[name].value).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        if not member.startswith("_") and inspect.isfunction(function):
            assert (inspect.getdoc(function) or "").partition("\n")[0].endswith((".", "?")), member


def test_the_page_of_the_api_has_these_names_and_nothing_else():
    from docs.api_page import page

    headings = [line.removeprefix("### ") for line in page().splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted(described())
    listed = [line.split("`")[1] for line in page().rpartition("## Lists, units and kinds")[2].splitlines() if line]
    assert sorted([*headings, *listed]) == sorted(one.name for one in names())

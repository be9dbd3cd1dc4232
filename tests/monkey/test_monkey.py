"""A slice of what `python -m tests.monkey` does at length: random actions break nothing."""

import pytest

from tests.monkey import browser, pages

SLICE = 30.0
"""Seconds."""


def test_random_values_in_random_widgets_break_no_page():
    done, broken = pages.play(20_000, 1, SLICE)
    assert done > 1
    assert not broken, "\n".join(broken)


@pytest.mark.browser
def test_a_person_who_clicks_on_everything_breaks_no_page(chromium_found):
    assert chromium_found
    done, broken = browser.play(2_000, 1, SLICE)
    assert done > 1
    assert not broken, "\n".join(broken)

"""The page of a report, alone from disk: it is whole, and asks nobody for anything."""

import pytest

import cli
from terminal import DONE
from tests.browser.visit import FILES
from tests.test_report import CAPTURES

pytestmark = pytest.mark.browser


def test_a_page_asks_for_nothing(enter, tmp_path):
    path = tmp_path / "report.html"
    for capture in CAPTURES:
        assert cli.main(["report", capture, "-o", str(path)]) == DONE
        page = enter(FILES, offline=True).page  # which notes what is asked of strangers
        page.goto(path.as_uri())
        assert page.get_by_role("heading", level=1).is_visible()
        assert page.locator(".machine svg text").count() >= 8

"""A slice of what `python -m tests.monkey` does at length: random actions break nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.monkey import pages

ROOT = Path(__file__).resolve().parents[2]
SLICE = 30.0
"""Seconds."""
FEW = 10
"""Actions."""


@pytest.mark.slow
def test_a_few_random_values_break_no_page():
    done, broken = pages.play(FEW, 2, SLICE)
    assert done == FEW
    assert not broken, "\n".join(broken)


@pytest.mark.long
def test_random_values_in_random_widgets_break_no_page():
    done, broken = pages.play(20_000, 1, SLICE)
    assert done > FEW
    assert not broken, "\n".join(broken)


@pytest.mark.browser
@pytest.mark.parametrize("actions, seconds", [(FEW, 4 * SLICE), pytest.param(60, 10 * SLICE, marks=pytest.mark.long)])
def test_a_person_who_clicks_on_everything_breaks_no_page(chromium_found, actions, seconds):
    assert chromium_found
    # in a process of its own: Playwright runs once in a process, where browser tests may hold it already
    words = f"-m tests.monkey --browser --actions {actions} --seed 1 --seconds {seconds}"
    command = [sys.executable, *words.split()]
    monkey = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert monkey.returncode == 0, monkey.stdout + monkey.stderr
    assert int(monkey.stdout.split()[0].replace(",", "")) > 1

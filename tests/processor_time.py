"""Processor seconds of every test file, its child processes included: `pytest -p tests.processor_time -n 0 ...`.

A process that still runs when its test ends counts where it is waited for; a browser's count with the session.
"""

import os
from collections import Counter

import pytest

SPENT: Counter[str] = Counter()
LISTED = 40


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = sum(os.times()[:4])
    answer = yield
    SPENT[item.nodeid.partition("::")[0]] += sum(os.times()[:4]) - before
    return answer


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section(f"{sum(os.times()[:4]):.1f} s of processor time, {sum(SPENT.values()):.1f} s in tests")
    for name, seconds in SPENT.most_common(LISTED):
        terminalreporter.line(f"{seconds:7.1f} {name}")

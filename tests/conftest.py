"""What holds for all tests."""

import gc
import os
import sys
from collections import defaultdict
from functools import wraps
from zlib import crc32

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from sim.base import formats

os.environ.setdefault("RINGSIDE_NO_WORKERS", "1")
"""Pages that a test draws in its own process have their runs there, too: one process, one set of kernels."""
os.environ.setdefault("RINGSIDE_QUIET", "1")
"""What a command prints does not depend on which kernels tests before it had compiled."""
settings.register_profile("ringside", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ringside")
"""No test is late: others may have the processor, and the first example is the one that imports."""
gc.disable()
"""Until all tests are collected: what is imported and collected stays."""


class OnlyExamples:
    """Modules are searched for doctests where they have examples; most have none, and need not be imported for that."""

    @staticmethod
    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(file_path):
        collectors = yield
        has_examples = file_path.suffix != ".py" or b">>>" in file_path.read_bytes()
        return [it for it in collectors if has_examples or type(it).__name__ != "DoctestModule"]


def pytest_configure(config):
    config.pluginmanager.register(OnlyExamples())


def waiting_for_their_turn(items):
    """Cases that `./check` leaves to `./check --long`.

    A test marked `turns(a, b)` has groups of cases that differ in its parameters a and b alone. Of each one is tried,
    of the next group another one, and which comes first differs from test to test.
    """
    tests = defaultdict(lambda: defaultdict(list))
    for item in items:
        mark = item.get_closest_marker("turns")
        if mark and hasattr(item, "callspec"):
            group = tuple(f"{name}={value}" for name, value in item.callspec.params.items() if name not in mark.args)
            tests[item.nodeid.partition("[")[0]][group].append(item)
    for test, groups in tests.items():
        for turn, cases in enumerate(groups.values(), crc32(test.encode())):
            yield from (case for i, case in enumerate(cases) if i != turn % len(cases))


FEW, SOME = 20, 25
"""Drawn examples of each test that `./check --quick` tries, and `./check`; those after them are left to `--long`."""


def drawn(items):
    """The tests whose examples are drawn, each with its settings."""
    for item in items:
        test = getattr(item, "obj", None)
        if is_hypothesis_test(test):
            yield item, test, getattr(test, "_hypothesis_internal_use_settings", None) or settings.default


def shorten(items, marks):
    """Leave examples out where tests that are marked are, and have tests with more of them be among the long ones."""
    most = (FEW if "not slow" in marks else SOME) if "not long" in marks else None
    for item, test, kept in drawn(items):
        if most is not None:
            test._hypothesis_internal_use_settings = settings(kept, max_examples=min(kept.max_examples, most))
        elif kept.max_examples > SOME and "long" in marks:
            item.add_marker("long")


@pytest.hookimpl(tryfirst=True)  # before what is marked is left out
def pytest_collection_modifyitems(config, items):
    for item in waiting_for_their_turn(items):
        item.add_marker("long")
    shorten(items, config.getoption("markexpr"))


@pytest.fixture(autouse=True, scope="session")
def readers_refuse_in_sentences_of_their_own():
    """The readers here are tested without the net that keeps a newcomer's slip from being a traceback."""
    formats.SLIPS = ()


@pytest.fixture(autouse=True, scope="session")
def pages_look_for_components_once():
    """Nothing is installed meanwhile."""
    if "streamlit.testing.v1" in sys.modules:
        from tests.monkey.once import look_for_components_once

        look_for_components_once()


@pytest.fixture(autouse=True, scope="session")
def pages_have_all_their_folds_open():
    """Without a browser nobody can open one."""
    if "streamlit.testing.v1" in sys.modules:
        from ui.controls import folds

        folds.is_made = wraps(folds.is_made)(lambda _fold, **_: True)


@pytest.fixture(autouse=True, scope="session")
def garbage_is_looked_for_among_what_tests_make():
    """Collected tests and modules are no garbage, and most of what a page looks through after every run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(7_000)  # ten times the usual: to look through syntax trees as they grow was most of reading them
    gc.enable()
    yield
    gc.unfreeze()  # what is left over at the end is cleared away as ever

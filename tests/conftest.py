"""What holds for all tests."""

import gc
import os
import sys
from collections import defaultdict
from functools import wraps

import pytest
from hypothesis import HealthCheck, settings

from sim.base import formats
from tests.tables import Day, is_named, left_out

os.environ.setdefault("RINGSIDE_NO_WORKERS", "1")
"""Pages that a test draws in its own process have their runs there, too: one process, one set of kernels."""
os.environ.setdefault("RINGSIDE_QUIET", "1")
"""What a command prints does not depend on which kernels tests before it had compiled."""
for profile, examples in {"quick": 20, "check": 25, "long": 200}.items():
    # no test is late: others may have the processor, and the first example is the one that imports
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=False,
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("check")
"""`./check` asks for the profile it needs, and for today's seed: other examples are drawn every day."""
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


def pytest_addoption(parser):
    parser.addoption("--row", default="", metavar="WORD", help="try nothing but rows of tables that name the word")


@pytest.hookimpl(trylast=True)  # after Hypothesis, which loads its profile
def pytest_configure(config):
    Day.number = int(config.getoption("hypothesis_seed") or 0)
    Day.row = config.getoption("row")
    Day.is_long = settings.get_current_profile_name() == "long"
    config.pluginmanager.register(OnlyExamples())


def waiting_for_their_turn(items):
    """Cases of tests marked `turns(a, b)` that have another day."""
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("turns") and hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for test, cases in tests.items():
        over = cases[0].get_closest_marker("turns").args
        yield from (cases[place] for place in left_out(test, [case.callspec.params for case in cases], over))


@pytest.hookimpl(tryfirst=True)  # before what is marked is left out
def pytest_collection_modifyitems(config, items):
    if Day.row:
        tables = [getattr(getattr(item, "obj", None), "table", ()) for item in items]
        named = [any(map(is_named, rows)) or Day.row in item.name for item, rows in zip(items, tables, strict=True)]
        config.hook.pytest_deselected(items=[item for item, chosen in zip(items, named, strict=True) if not chosen])
        items[:] = [item for item, chosen in zip(items, named, strict=True) if chosen]
    for item in waiting_for_their_turn(items):
        item.add_marker("long")


@pytest.fixture(autouse=True, scope="session")
def readers_refuse_in_sentences_of_their_own():
    """The readers here are tested without the net that keeps a newcomer's slip from being a traceback."""
    formats.SLIPS = ()


@pytest.fixture(autouse=True, scope="session")
def pages_look_for_components_once_and_are_waited_for():
    """Nothing is installed meanwhile."""
    if "streamlit.testing.v1" in sys.modules:
        from tests.once import look_at_one_entry, look_for_components_once, wait_for_pages

        look_for_components_once()
        look_at_one_entry()
        wait_for_pages()


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

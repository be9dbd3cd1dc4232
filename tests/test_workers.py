"""Several processes run what one has collected: everything once, and nothing that happens to one of them is lost."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.workers import OVER, Plan

ROOT = Path(__file__).parents[1]
TESTS = """
import os
import pytest

@pytest.fixture(scope="module")
def made(request):
    with open(f"{request.node.path}.made", "a") as file:
        file.write("made")
    yield
    with open(f"{request.node.path}.made", "a") as file:
        file.write(" and ended")

@pytest.mark.parametrize("case", range(4))
def test_passes(made, case):
    pass

def test_tells(made):
    print("something was told")
    assert os.getpid() == 0
"""
DIES = """
import os

def test_dies():
    os._exit(0)

def test_goes_on():
    pass
"""


def run_of(folder, *words):
    """What pytest tells of a folder's tests, run by two workers."""
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "pytest", "-p", "tests.workers", "--workers", "2", "-q", *words]
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_every_test_is_run_once_what_a_file_shares_is_made_once_and_a_process_that_dies_is_told(tmp_path):
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text(TESTS)
    (tmp_path / "test_d.py").write_text(DIES)
    ran = run_of(tmp_path)
    assert ran.returncode == 1
    assert ran.stdout.count("something was told") == 3 * 2  # with what it says, and as the line that says it
    assert "FAILED test_d.py::test_dies - the process ended with 0" in ran.stdout
    assert "4 failed, 13 passed" in ran.stdout
    made = [file.read_text() for file in tmp_path.glob("*.made")]  # twice at most, where a file is divided at the end
    assert len(made) == 3
    assert {*made} <= {"made and ended", 2 * "made and ended"}


def test_nothing_is_begun_after_the_first_failure_where_that_is_asked(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_fails():\n    assert False\n" + DIES.replace("os._exit(0)", "pass"))
    ran = run_of(tmp_path, "-x")
    assert ran.returncode == 1
    assert "1 failed" in ran.stdout
    assert "stopping after 1 failures" in ran.stdout


def given(plan, *turns):
    """Which tests workers get who ask in turn, by worker."""
    got = [(worker, plan.next(worker)) for worker in turns]
    return {worker: [test for one, test in got if one == worker] for worker in {*turns}}


def test_files_stay_whole_and_folders_together_until_the_last_file_is_divided():
    files = ["a/1", "a/1", "a/2", "b/3", "b/3", "b/3", "b/3"]
    assert given(Plan(files), 0, 1, 0, 1, 0, 1, 1) == {0: [0, 1, 2], 1: [3, 4, 5, 6]}
    assert given(Plan(files), 0, 1, 0, 0, 0) == {
        0: [0, 1, 2, 5],
        1: [3],
    }  # of the three that the other one has not begun


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_every_test_is_given_once_whoever_is_fast(workers):
    files = [f"{i % 3}/{i % 7}" for i in range(50)]
    for pace in range(1, 4):
        plan, got, turns = Plan(sorted(files)), Counter(), [range(0, workers, 1 + i % pace) for i in range(200)]
        got.update(plan.next(worker) for turn in turns for worker in turn)
        assert {test: times for test, times in got.items() if test is not OVER} == dict.fromkeys(range(50), 1)


def test_what_a_worker_that_died_had_not_begun_is_given_again():
    plan = Plan(["a", "a", "a"])
    assert [plan.next(0), plan.next(0)] == [0, 1]
    plan.again(0, 1)
    assert [plan.next(0), plan.next(0), plan.next(0)] == [1, 2, OVER]

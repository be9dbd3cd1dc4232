"""The small faults that are put in on purpose: where, and that one of them is noticed."""

import subprocess
import sys
import tomllib

import pytest

from tests.mutants.mutate import EQUIVALENT, TESTS, Mutant, path_of, sample, text_of


def test_a_sample_is_the_same_for_everybody_and_changes_one_place():
    mutants = sample(1, ("sim.fabric.lone",))
    assert mutants == sample(1, ("sim.fabric.lone",)) != sample(2, ("sim.fabric.lone",))
    assert len(set(mutants)) == len(mutants) > 100
    for mutant in mutants[:20]:
        was, now = mutant.change()
        assert was != now
        assert "\n" not in was + now


def test_functions_with_decorators_are_changed_too():
    mutant = Mutant("sim.fabric.lone", "RemoveDecorator", 0)
    assert mutant.change() == ("@helper", "")
    inside = Mutant("sim.fabric.lone", "ReplaceComparisonOperator_Gt_Lt", 0)
    assert inside.change()[1].startswith("if net.state[link, LOAD] < 0")


def test_what_is_tried_exists_and_what_is_equivalent_is_still_there():
    for module, tests in TESTS.items():
        assert path_of(module).is_file()
        for file, _, name in (test.partition("::") for test in tests):
            assert f"def {name}" in (path_of("sim").parents[0] / file).read_text("utf-8")
    for entry in tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", []):
        lines = {" ".join(line.split()) for line in text_of(entry["module"]).splitlines()}
        assert set(entry["was"].splitlines()) <= lines, f"{entry['was']}: this line has changed: try its mutants again"
        assert entry["why"]


@pytest.mark.slow
def test_a_fault_is_noticed():
    line = ("--only", "sim.symmetry.follow", "--count", "1", "--seed", "3")
    command = [sys.executable, "-m", "tests.mutants", *line]
    done = subprocess.run(command, cwd=path_of("sim").parent, capture_output=True, text=True, check=False)
    assert "1 killed, 0 survived, 0 change nothing: 100.0% of 1 killed" in done.stdout, done.stdout + done.stderr

"""Plans in words: what is written is read again, by the dashboard and the terminal; what is wrong is told."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import main
from ops.plan import Plan
from ops.plan.examples import example_captures
from ops.plan.plan_file import from_yaml, is_plan, to_yaml
from sim.errors import InputError
from tests.tables import each_row
from ui.plan.examples import EXAMPLES


@each_row("name", EXAMPLES)
def test_every_plan_is_read_as_it_was_written(name):
    text = to_yaml(EXAMPLES[name].plan)
    assert is_plan(text)
    again = from_yaml(text, "a plan")
    hidden = {"machine": Plan().machine} if EXAMPLES[name].plan.capture else {}
    hidden |= {"algorithm": Plan().algorithm, "size": Plan().size} if EXAMPLES[name].plan.schedule else {}
    wanted = replace(EXAMPLES[name].plan, **hidden)
    assert replace(again, capture=again.capture.strip(), schedule=again.schedule.strip()) == replace(
        wanted, capture=wanted.capture.strip(), schedule=wanted.schedule.strip()
    )


@given(
    st.builds(
        Plan,
        settings=st.sampled_from(["", "segments=4", "radix=3,segments=2"]),
        fault=st.sampled_from(["", "slow_link:src=GPU0,dst=NVS0", "jitter;straggler:rank=1,late=2us"]),
        ranks=st.integers(0, 4096),
        root=st.integers(0, 7),
        size=st.sampled_from(["1KiB", "64MiB", "123"]),
        against=st.sampled_from(["", "algorithm=allreduce.linear|fault="]),
    )
)
def test_any_plan_is_read_as_it_was_written(plan):
    assert from_yaml(to_yaml(plan), "a plan") == plan


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("algorithm: allreduce.ring\n", "begin it with ringside: scenario-1"),
        ("ringside: scenario-1\nalgorithms: x\n", "line 2: the plan has no key 'algorithms': did you mean"),
        ("ringside: scenario-1\nranks: many\n", "line 2: ranks='many' is not a whole number: correct it"),
        ("ringside: scenario-1\nsize: [1, 2]\n", "line 2: size is a list"),
        ("ringside: scenario-2\n", "begin it with ringside: scenario-1"),
        ("ringside: [", "line"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, says):
    with pytest.raises(InputError) as error:
        from_yaml(text, "a.yaml")
    assert says in str(error.value)


def test_the_terminal_runs_a_plan_and_writes_one(tmp_path, capsys):
    file, capture = tmp_path / "plan.yaml", tmp_path / "topo.txt"
    capture.write_text(example_captures()["dgx-1v"])
    run = ["allreduce.ring", "--topology", str(capture), "--size", "8MiB", "--fault", "jitter:mean=2us"]
    assert main(["run", *run, "--json"]) == 0
    direct = json.loads(capsys.readouterr().out)
    assert main(["render", *run, "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["run", "--plan", str(file), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["time_s"] == direct["time_s"]
    assert again["faults"] == direct["faults"]


def test_a_plan_stands_alone(tmp_path, capsys):
    file = tmp_path / "plan.yaml"
    file.write_text(to_yaml(Plan()))
    assert main(["run", "--plan", str(file), "--size", "1MiB"]) == 2
    assert "leave out size" in capsys.readouterr().err
    assert main(["run", "--plan", str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err

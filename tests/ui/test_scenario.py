"""Scenes in words: what is written is read again, by the dashboard and the terminal; what is wrong is told."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import main
from ops.request import Request
from ops.request.examples import example_captures
from ops.request.scenario import from_yaml, is_scenario, to_yaml
from sim.errors import InputError
from tests.tables import each_row
from ui.scene.examples import SCENARIOS


@each_row("name", SCENARIOS)
def test_every_scenario_is_read_as_it_was_written(name):
    text = to_yaml(SCENARIOS[name].scene)
    assert is_scenario(text)
    again = from_yaml(text, "a scenario")
    hidden = {"machine": Request().machine} if SCENARIOS[name].scene.capture else {}
    hidden |= {"algorithm": Request().algorithm, "size": Request().size} if SCENARIOS[name].scene.schedule else {}
    wanted = replace(SCENARIOS[name].scene, **hidden)
    assert replace(again, capture=again.capture.strip(), schedule=again.schedule.strip()) == replace(
        wanted, capture=wanted.capture.strip(), schedule=wanted.schedule.strip()
    )


@given(
    st.builds(
        Request,
        settings=st.sampled_from(["", "segments=4", "radix=3,segments=2"]),
        trouble=st.sampled_from(["", "slow_link:src=GPU0,dst=NVS0", "jitter;straggler:rank=1,late=2us"]),
        ranks=st.integers(0, 4096),
        root=st.integers(0, 7),
        size=st.sampled_from(["1KiB", "64MiB", "123"]),
        against=st.sampled_from(["", "algorithm=allreduce.linear|trouble="]),
    )
)
def test_any_scene_is_read_as_it_was_written(scene):
    assert from_yaml(to_yaml(scene), "a scenario") == scene


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("algorithm: allreduce.ring\n", "begin it with ringside: scenario-1"),
        ("ringside: scenario-1\nalgorithms: x\n", "line 2: the scenario has no key 'algorithms': did you mean"),
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


def test_the_terminal_runs_a_scenario_and_writes_one(tmp_path, capsys):
    file, capture = tmp_path / "scene.yaml", tmp_path / "topo.txt"
    capture.write_text(example_captures()["dgx-1v"])
    run = ["allreduce.ring", "--topology", str(capture), "--size", "8MiB", "--fault", "jitter:mean=2us"]
    assert main(["run", *run, "--json"]) == 0
    direct = json.loads(capsys.readouterr().out)
    assert main(["render", *run, "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["run", "--scenario", str(file), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["time_s"] == direct["time_s"]
    assert again["troubles"] == direct["troubles"]


def test_a_scenario_stands_alone(tmp_path, capsys):
    file = tmp_path / "scene.yaml"
    file.write_text(to_yaml(Request()))
    assert main(["run", "--scenario", str(file), "--size", "1MiB"]) == 2
    assert "leave out size" in capsys.readouterr().err
    assert main(["run", "--scenario", str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err

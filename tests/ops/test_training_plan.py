"""One description of a training step: a link, a file and the terminal's line bring the same one back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops.plan import Plan
from ops.plan.training import WorkloadPlan, from_query, from_yaml, to_query, to_yaml
from ops.workloads import WORKLOADS
from sim.errors import InputError
from terminal import BAD_INPUT, DONE

LAYERS = "# two layers\na 100x100 1ms 2ms\n\nb 100x100 1ms 2ms"
CAPTURE = "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n"
PLANS = st.builds(
    WorkloadPlan,
    workload=st.just("ddp"),
    settings=st.lists(
        st.sampled_from([("bucket", "1MiB"), ("layers", LAYERS), ("backend", "ideal"), ("best", "yes"), ("slow", "2")]),
        unique=True,
    ).map(lambda pairs: tuple(sorted(pairs, key=lambda pair: list(WORKLOADS["ddp"].params).index(pair[0])))),
    machine=st.sampled_from(
        [Plan(), Plan(machine="switch:ranks=4"), Plan(machine="", capture=CAPTURE.strip(), rates="pix=20GBps")]
    ),
)


def same(plan, other):
    """The same workload and parameters, on machines that tell the same."""
    assert (plan.workload, plan.settings) == (other.workload, other.settings)
    assert plan.machine.topology().links == other.machine.topology().links


@given(PLANS)
def test_a_link_and_a_file_bring_a_step_back(plan):
    same(from_query(to_query(plan)), plan)
    same(from_yaml(to_yaml(plan), "a file"), plan)


def test_words_of_other_things_in_an_address_are_passed_over():
    assert from_query({"page": "train", "lang": "zh", "fault": "x", "against": "y"}) == WorkloadPlan()


@pytest.mark.parametrize("source", ["--machine", "--topology"])
def test_what_the_terminal_runs_it_writes_as_a_plan_that_runs_the_same(source, tmp_path, capsys):
    (tmp_path / "box.txt").write_text(CAPTURE)
    (tmp_path / "layers.txt").write_text(LAYERS)
    machine = {"--machine": ["switch:ranks=2"], "--topology": [str(tmp_path / "box.txt"), "--default", "pix=20GBps"]}
    kept = str(tmp_path / "step.yaml")
    line = ["workload", "ddp:bucket=4MB", source, *machine[source], "--ranks", "2", "--set", "overlap=no"]
    assert cli.main([*line, "--layers", str(tmp_path / "layers.txt"), "-o", kept, "--json"]) == DONE
    first = json.loads(capsys.readouterr().out)
    assert cli.main(["workload", "--plan", kept, "--json"]) == DONE
    second = json.loads(capsys.readouterr().out)
    assert {**first, "machine": ""} == {**second, "machine": ""}


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "holds no values"),
        ("- 1\n", "write key: value"),
        ("workload: ddp\nmachine: switch\n", "begin it with ringside: training-1"),
        ("ringside: scenario-1\nmachine: switch\n", "begin it with ringside: training-1"),
        ("ringside: training-1\nworkload: ddp\n", "a machine must be given once"),
        ("ringside: training-1\nworkload: ddp\nmachine: switch\ncapture: x\n", "a machine must be given once"),
        ("ringside: training-1\nmachine: switch\n", "no workload is named"),
        ("ringside: training-1\nworkload: dpp\nmachine: switch\n", "line 2: no workload is called 'dpp'"),
        ("ringside: training-1\nworkload: [ddp]\nmachine: switch\n", "line 2: workload is a list"),
        ("ringside: training-1\nworkload: ddp\nmachine: switch\nsize: 1\n", "line 4: the plan has no key 'size'"),
        ("ringside: training-1\nworkload: ddp\nmachine: switch\nsettings: 3\n", "line 4: settings is"),
        (
            "ringside: training-1\nworkload: ddp\nmachine: switch\nsettings:\n  buckt: 1MiB\n",
            "line 5: settings has no key 'buckt': did you mean bucket?",
        ),
        ("ringside: training-1\nworkload: ddp\nmachine: switch\nsettings:\n  bucket: much\n", "line 5: ddp: bucket"),
        ("ringside: training-1\nworkload: ddp\nmachine: toaster\n", "no machine is called 'toaster'"),
    ],
)
def test_a_file_that_is_no_step_is_told_in_one_sentence(text, says, tmp_path, capsys):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    assert cli.main(["workload", "--plan", str(file)]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


@pytest.mark.parametrize(
    "words, says",
    [
        (["ddp"], "leave out name"),
        (["--machine", "switch"], "leave out machine"),
        (["--ranks", "2", "--set", "bucket=1MiB"], "leave out ranks, settings"),
    ],
)
def test_a_plan_stands_alone(words, says, tmp_path, capsys):
    file = tmp_path / "x.yaml"
    file.write_text(to_yaml(WorkloadPlan()))
    assert cli.main(["workload", *words, "--plan", str(file)]) == BAD_INPUT
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "no workload is named: choose from"),
        (["ddp", "--pairs", "bandwidths.txt"], "--pairs adds rates to a capture"),
        (["ddp", "--set", "bucket"], "--set: 'bucket' is not key=value"),
    ],
)
def test_a_workload_s_options_are_read_as_those_of_a_run(words, says, capsys):
    assert cli.main(["workload", *words, "--machine", "switch"]) == BAD_INPUT
    assert says in capsys.readouterr().err


def test_a_parameter_that_cannot_be_is_refused_in_a_link():
    with pytest.raises(InputError, match="ddp: bucket"):
        from_query({"bucket": "much"})
    with pytest.raises(InputError, match="no workload is called"):
        from_query({"workload": "dpp"})


def test_links_and_files_of_old_open_for_ever_after():
    """Written as they were first; neither is ever written anew."""
    words = (("layers", "a 100x100 1ms 2ms\nb 100x100 1ms 2ms"), ("bucket", "1MiB"))
    plan = WorkloadPlan("ddp", words, Plan(machine="dgx1v"))
    assert from_query({"workload": "ddp", "machine": "dgx1v"} | dict(words)) == plan
    text = """ringside: training-1
workload: ddp
machine: dgx1v
settings:
  layers: |2-
    a 100x100 1ms 2ms
    b 100x100 1ms 2ms
  bucket: 1MiB
"""
    assert from_yaml(text, "a file") == plan

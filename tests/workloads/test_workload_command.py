"""`workload` in the terminal: every one of them, on several machines, as text, JSON and a trace."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops.communicators.records import Span
from ops.training.step import COMM, COMPUTE, TrainingStep
from ops.workloads import WORKLOADS
from sim.machines import build
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

MACHINES = ("switch:ranks=4", "nodes:nodes=2,gpus=2", "dgx1v:hosts=1", "torus:dims=2x2")
SMALL = {"ddp": "model=resnet50", "zero": "model=gpt2", "fsdp": "model=gpt2", "pipeline_parallel": "model=gpt2"}
ROWS = {"rank", "compute_s", "communication_s", "waiting_s", "exposed_s", "peak_memory_bytes"}


@pytest.mark.slow
@each_row("name, machine", product(WORKLOADS, MACHINES), days=8)
def test_every_workload_runs_everywhere(name, machine, capsys):
    extra = ["--set", SMALL[name]] if name in SMALL else []
    assert cli.main(["workload", name, "--machine", machine, "--ranks", "4", *extra, "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["workload"] == name
    one_process = name == "data_parallel" and machine.startswith("nodes")  # which cannot leave its host
    assert found["ranks"] == len(found["per_rank"]) == len(found["peak_memory_bytes"]) == (2 if one_process else 4)
    assert 0 <= found["exposed_communication_s"] <= found["step_time_s"]
    assert found["verified"]
    assert {frozenset(row) for row in found["per_rank"]} == {frozenset(ROWS)}
    assert sum(link["bytes"] for link in found["link_bytes"]) > 0 or name == "zero_first"
    for row in found["per_rank"]:
        assert 0 <= row["compute_s"] <= found["step_time_s"] * (1 + 1e-12)
    for span in found["timeline"]:
        assert 0 <= span["start"] <= span["end"] <= found["step_time_s"] * (1 + 1e-9)


@each_row("name", list(WORKLOADS))
def test_one_rank_is_a_step_too(name, capsys):
    extra = ["--set", SMALL[name]] if name in SMALL else []
    assert cli.main(["workload", name, "--machine", "switch:ranks=2", "--ranks", "1", *extra, "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["link_bytes"] == []
    assert (found["nccl"], found["expected_error"]) == (None, None)


def test_the_text_has_the_figures_and_a_timeline(capsys):
    assert cli.main(["workload", "ddp:model=resnet101", "--machine", "switch:ranks=16,bandwidth=5GBps"]) == DONE
    out = capsys.readouterr().out
    assert out.startswith("The step takes ")
    assert "\nddp on switch:ranks=16,bandwidth=5GBps: 16 ranks, " in out
    for words in ("exposed communication", "peak memory per rank", "busiest link", "overlap saves", "and 8 more ranks"):
        assert words in out
    (row,) = (line for line in out.splitlines() if line.strip().startswith("rank 0 |"))
    assert row.count("#") > 60


def test_a_trace_has_a_process_per_rank(tmp_path, capsys):
    file = tmp_path / "x.json"
    command = ["workload", "ddp", "--machine", "switch:ranks=2", "--trace", str(file)]
    assert cli.main(command) == DONE
    events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    assert {e["pid"] for e in events} == {0, 1}
    assert {e["ph"] for e in events} == {"M", "C", "X"}
    slices = [e for e in events if e["ph"] == "X" and e["pid"] == 1 and e["cat"] == "comm"]
    assert [e["name"] for e in slices] == [f"bucket {k}" for k in range(5)]


def test_a_model_of_ones_own_comes_from_a_file(tmp_path, capsys):
    file = tmp_path / "layers.txt"
    file.write_text("# two layers\na 1000x1000 1ms 2ms\nb 1000x1000 1ms 2ms\n", encoding="utf-8")
    base = ["workload", "ddp:backend=ideal,bucket=4MB,first_bucket=4MB", "--machine", "switch:ranks=2", "--json"]
    assert cli.main([*base, "--layers", str(file)]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["step_time_s"] == pytest.approx(6e-3 + 2 * 2e-6 + 4e6 / 25e9, abs=1e-9)


@pytest.mark.parametrize(
    "words, told",
    (
        (["nothing", "--machine", "switch"], "no workload is called 'nothing'"),
        (["ddp"], "a machine must be given once"),
        (["ddp", "--machine", "switch", "--set", "buckets=3"], "has no parameter 'buckets'"),
        (["ddp:bucket=1MiB", "--machine", "switch", "--set", "bucket=2MiB"], "bucket is given twice"),
        (["ddp:ranks=2", "--machine", "switch", "--ranks", "3"], "ranks is given twice"),
        (["ddp", "--machine", "switch", "--ranks", "many"], "is not a whole number"),
        (["ddp", "--machine", "switch", "--layers", "/nowhere"], "/nowhere cannot be read"),
        (["ddp", "--machine", "switch", "--set", "layers=a b c d"], "layers, line 1"),
        (["iallgather", "--machine", "switch", "--layers", "{layers}"], "has no parameter 'layers'"),
    ),
)
def test_bad_input_is_one_sentence(words, told, capsys, tmp_path):
    file = tmp_path / "layers.txt"
    file.write_text("a 1 1s 1s", encoding="utf-8")
    assert cli.main(["workload", *(word.format(layers=file) for word in words)]) == BAD_INPUT
    complaint = capsys.readouterr().err.strip()
    assert told in complaint
    assert "\n" not in complaint


def test_the_list_has_all_of_them(capsys):
    assert cli.main(["list", "workloads"]) == DONE
    out = capsys.readouterr().out
    for name in ("data_parallel", "ddp", "zero", "fsdp", "contrastive", "allgatherv", "iallgather", "zero_first",
                 "tensor_parallel", "pipeline_parallel", "expert_parallel", "sequence_parallel"):  # fmt: skip
        assert f"{name} " in out


SPANS = st.lists(
    st.tuples(st.sampled_from((COMPUTE, COMM)), st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=20
)


@given(SPANS)
def test_exposed_is_what_compute_does_not_cover(drawn):
    """Counted second by second, with spans that overlap as they like."""
    spans = [Span(0, lane, start, start + length, "x") for lane, start, length in drawn]
    machine = build("switch:ranks=2")
    step = TrainingStep(machine, 1, 70.0, spans, [], machine.bandwidth * 0, [])
    seconds = {
        lane: {s for span in spans if span.lane == lane for s in range(int(span.start), int(span.end))}
        for lane in (COMPUTE, COMM)
    }
    assert step.exposed(0) == len(seconds[COMM] - seconds[COMPUTE])
    assert step.busy(0, COMPUTE) == len(seconds[COMPUTE])

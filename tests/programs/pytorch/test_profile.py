"""What torch.profiler recorded of one GPU says how long operations take."""

import json

import pytest

import cli
from ops.programs.pytorch.profile import Profile, read_profile
from ops.training.step import COMPUTE
from sim.errors import InputError
from terminal import BAD_INPUT


def event(kind, name, start, length, thread=1, **args):
    return {"ph": "X", "cat": kind, "name": name, "pid": 7, "tid": thread, "ts": start, "dur": length, "args": args}


def launched(number, start, length, thread=1):
    """A kernel of `length` µs, and the call that launched it at `start`."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", start, 1, thread, correlation=number),
        event("kernel", "gemm", 1000 + start, length, 0, correlation=number),
    ]


TRACE = [
    event("cpu_op", "aten::linear", 0, 50, **{"Input Dims": [[2, 16], [4, 16], [4]]}),
    event("cpu_op", "aten::addmm", 10, 30, **{"Input Dims": [[4], [2, 16], [16, 4], [], []]}),
    *launched(1, 15, 100),
    *launched(2, 30, 20),
    event("cpu_op", "aten::addmm", 60, 30, **{"Input Dims": [[4], [8, 16], [16, 4], [], []]}),
    *launched(3, 65, 240),
    event("cpu_op", "aten::add_", 60, 5, 2, **{"Input Dims": [[4], [4], []]}),
    *launched(4, 62, 7, thread=2),
    event("user_annotation", "Optimizer.step#SGD.step", 100, 50),
    event("cpu_op", "aten::_foreach_add_", 110, 20, **{"Input Dims": [[[4], [4, 16]], []]}),
    *launched(5, 112, 11),
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
]
TIMES = {
    "aten::linear": {"[[2, 16], [4, 16], [4]]": 120e-6, "": 120e-6},
    "aten::addmm": {"[[4], [2, 16], [16, 4]]": 120e-6, "[[4], [8, 16], [16, 4]]": 240e-6, "": 180e-6},
    "aten::add_": {"[[4], [4]]": 7e-6, "": 7e-6},
    "Optimizer.step#SGD.step": {"[]": 11e-6, "": 11e-6},
    "aten::_foreach_add_": {"[[4], [4, 16]]": 11e-6, "": 11e-6},
}
TABLE = """
-----------------  ------------  ------------  ------------  ------------  ----------------------------------
             Name      Self CPU    Self CUDA     CUDA total    # of Calls                        Input Shapes
-----------------  ------------  ------------  ------------  ------------  ----------------------------------
     aten::linear      10.000us       0.000us     120.000us             1           [[2, 16], [4, 16], [4]]
      aten::addmm      10.000us     120.000us     120.000us             1  [[4], [2, 16], [16, 4], [], []]
      aten::addmm      10.000us     240.000us       0.480ms             2  [[4], [8, 16], [16, 4], [], []]
      aten::stack      10.000us       3.000us       3.000us             1            [[[4], [4], [4], [4], ...
             gemm       0.000us     999.000us     999.000us             9                                  []
-----------------  ------------  ------------  ------------  ------------  ----------------------------------
Self CPU time total: 9.000us
"""


def written(folder, text):
    file = folder / "profile.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return str(file)


def flat(times):
    return {(name, shapes): seconds for name, by in times.items() for shapes, seconds in by.items()}


@pytest.mark.parametrize("whole", [{"schemaVersion": 1, "traceEvents": TRACE}, TRACE])
def test_a_trace_says_what_kernels_each_operation_launched(tmp_path, whole):
    profile = read_profile(written(tmp_path, whole))
    assert flat(profile.times) == pytest.approx(flat(TIMES))
    assert str(profile) == "compute by a profile of 5 operations"


def test_a_table_of_averages_says_it_too(tmp_path):
    times = read_profile(written(tmp_path, TABLE)).times
    assert times["aten::addmm"] == pytest.approx(
        {"[[4], [2, 16], [16, 4]]": 120e-6, "[[4], [8, 16], [16, 4]]": 240e-6, "": 200e-6}
    )
    assert times["aten::stack"] == pytest.approx({"": 3e-6})
    assert "gemm" not in times


CPU = [e for e in TRACE if e.get("cat") == "cpu_op"]
BAD = {
    "": "neither a trace nor a table",
    "{": "not JSON",
    '{"a": 1}': "no traceEvents",
    "[" * 100_000: "not JSON",
    json.dumps(CPU): "no GPU kernels",
    json.dumps(launched(1, 0, 5)): "none of PyTorch's operations",
    json.dumps([event("kernel", "gemm", 0, "long")]): "event 0 has no dur",
    json.dumps([event("kernel", "gemm", -4, 1)]): "event 0 has no ts",
    json.dumps([event("kernel", "gemm", float("nan"), 1)]): "event 0 has no ts",
    TABLE.replace("CUDA total", " CPU total"): "no columns `CUDA total`",
    TABLE.replace("0.480ms", "    ?ms"): "line 7",
    TABLE.replace("           2 ", "          -2 "): "is no number of calls",
    "\n----\n": "neither a trace nor a table",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_profile_is_told_in_one_sentence(tmp_path, text):
    with pytest.raises(InputError, match=BAD[text]) as told:
        read_profile(written(tmp_path, text))
    assert "\n" not in str(told.value)


def test_a_profile_and_a_gpu_exclude_each_other(tmp_path, capsys):
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text("pass\n", encoding="utf-8")
    flags = ["--gpu", "h100", "--profile", written(tmp_path, TRACE)]
    assert cli.main(["torchrun", *flags, str(script)]) == BAD_INPUT
    assert "--gpu and --profile say how fast ranks compute: give one" in capsys.readouterr().err.splitlines()[-1]


def test_a_script_takes_what_was_recorded(run):
    script = """
import time
import torch
import torch.nn as nn
import torch.distributed as dist
dist.init_process_group("nccl")
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in (2, 8, 3):
    begin = time.perf_counter()
    loss = model(torch.ones(rows, 16))
    torch.cuda.synchronize()
    print(round((time.perf_counter() - begin) * 1e6))
loss.sum().backward()
begin = time.perf_counter()
optimizer.step()
print(round((time.perf_counter() - begin) * 1e6))
"""
    outcome = run(script, ranks=1, machine="switch:ranks=2", compute=Profile(TIMES))
    assert (outcome.failure, outcome.output.split()) == (None, ["120", "240", "180", "11"])
    assert outcome.guessed == {"aten::addmm": 1}
    assert outcome.untimed["aten::sum"] == 2  # the loss, and the gradient of the bias
    assert outcome.compute == "compute by a profile of 5 operations"
    assert {span.name for span in outcome.spans if span.lane == COMPUTE} == {"forward", "optimizer"}

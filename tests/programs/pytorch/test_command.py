"""`torchrun`: what it prints, writes and returns; with and without PyTorch."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import cli
from ops.programs.pytorch import processes
from ops.programs.result import is_result, read_result
from terminal import BAD_INPUT, NO

TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
SPAWNED = """
import os
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size, fail):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", sys.argv[1]
    dist.init_process_group("gloo", rank=rank, world_size=size)
    x = torch.ones(1)
    dist.all_reduce(x)
    print(rank, x.item())
    if fail and rank == 1:
        raise ValueError("no more")
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(work, args=(2, "fail" in sys.argv), nprocs=2)
"""


def test_without_torch_one_sentence_says_how_to_get_it(tmp_path, capsys, monkeypatch):
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.setattr(processes, "find_spec", lambda _: None)
    assert cli.main(["torchrun", "--nproc-per-node", "2", str(tmp_path / "train.py")]) == BAD_INPUT
    assert "pip install 'torch>=2.13'" in capsys.readouterr().err.splitlines()[-1]


def test_nothing_but_a_script_imports_torch():
    script = "import sys, cli, ops.programs.pytorch, terminal.torchrun; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_script_that_imports_torch_is_sent_to_torchrun(tmp_path, capsys):
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    assert cli.main(["mpi", "-n", "2", str(tmp_path / "train.py")]) == NO
    told = capsys.readouterr().err.splitlines()[-1]
    assert "rank 0 failed at train.py:1" in told
    assert "is run by `torchrun`" in told


@TORCH
@pytest.mark.long
def test_a_script_that_starts_its_own_ranks(tmp_path, capsys):
    file, port = tmp_path / "train.py", str(processes._free_port())
    file.write_text(SPAWNED, encoding="utf-8")
    trace = str(tmp_path / "trace.json")
    assert cli.main(["torchrun", "--json", str(file), port, "fail", "--machine", "dgx_h100", "--trace", trace]) == NO
    answer = capsys.readouterr().out
    assert is_result(answer)
    result = json.loads(answer)
    assert (result["ranks"], result["machine"]) == (2, "dgx_h100")
    assert result["failure"] == "rank 1 failed at train.py:16: ValueError: no more"
    assert sorted(result["output"].splitlines()) == ["0 2.0", "1 2.0"]
    assert read_result(answer, "answer").step.calls[-1].name == "all_reduce"
    with open(trace, encoding="utf-8") as events:
        assert "all_reduce" in {event["name"] for event in json.load(events)["traceEvents"]}


@pytest.mark.parametrize(
    "flags, part",
    [
        (["--nproc-per-node", "0"], "at least one of each"),
        (["--nproc-per-node", "2", "--nnodes", "3", "--machine", "nodes:nodes=2,gpus=2"], "has 2 hosts"),
        (["--nproc-per-node", "2", "--library", "lam"], "no rule is called"),
    ],
)
@TORCH
def test_bad_input_is_told_in_one_line(tmp_path, capsys, flags, part):
    (tmp_path / "train.py").write_text("pass\n", encoding="utf-8")
    assert cli.main(["torchrun", *flags, str(tmp_path / "train.py")]) == BAD_INPUT
    assert part in capsys.readouterr().err.splitlines()[-1]


@TORCH
def test_a_table_and_a_gpu_exclude_each_other(tmp_path, capsys):
    (tmp_path / "train.py").write_text("pass\n", encoding="utf-8")
    flags = ["--machine", "dgx_h100", "--gpu", "h100", "--layers", str(tmp_path / "train.py")]
    assert cli.main(["torchrun", *flags, str(tmp_path / "train.py")]) == BAD_INPUT
    assert "--gpu and --layers say how fast ranks compute" in capsys.readouterr().err.splitlines()[-1]

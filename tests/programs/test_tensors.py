"""Tensors where no PyTorch is installed, and an installed PyTorch, which stays in sight."""

import sys
from textwrap import dedent

import pytest

from tests.programs.running import simulated

LOOKS = [
    ("torch.zeros(1)[0]", "tensor(0.)"),
    ("torch.ones(2, 2)", "tensor([[1., 1.],\n        [1., 1.]])"),
    ("torch.tensor([1, -20])", "tensor([  1, -20])"),
    ("torch.tensor([0.5, -1.25])", "tensor([ 0.5000, -1.2500])"),
    ("torch.tensor([True, False])", "tensor([ True, False])"),
    ("torch.tensor([1.0, 10000.0])", "tensor([1.0000e+00, 1.0000e+04])"),
    ("torch.tensor([0.00001])", "tensor([1.0000e-05])"),
    ("torch.zeros(2, dtype=torch.float64)", "tensor([0., 0.], dtype=torch.float64)"),
    ("torch.tensor([float('inf'), 1.0])", "tensor([inf, 1.])"),
    ("torch.tensor([])", "tensor([])"),
    ("torch.arange(1001)", "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ("torch.arange(20).float()", "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
     "        14., 15., 16., 17., 18., 19.])"),
    ("torch.zeros(2, 3).shape", "torch.Size([2, 3])"),
    ("torch.arange(3).dtype", "torch.int64"),
    ("(torch.arange(3) / 2).dtype", "torch.float32"),
    ("(torch.ones(2) * 0.1).dtype", "torch.float32"),
    ("torch.ones(2).double().sum().dtype", "torch.float64"),
    ("f'{torch.ones(3).mean():.2f}'", "1.00"),
    ("torch.tensor([[1, 2], [3, 4]]).sum(dim=0)", "tensor([4, 6])"),
    ("torch.tensor([1.5]).item()", "1.5"),
]  # fmt: skip


@pytest.mark.parametrize("expression, text", LOOKS)
def test_tensors_look_as_pytorchs(tmp_path, expression, text):
    outcome = simulated(f"import torch\nprint({expression})\n", tmp_path, 1)
    assert (outcome.failure, outcome.output) == (None, f"{text}\n")


def test_a_script_of_torchruns_sends_and_reduces_tensors(tmp_path):
    script = """
        import os
        import torch
        import torch.distributed as dist
        dist.init_process_group(backend="gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
        rank, size = dist.get_rank(), dist.get_world_size()
        tensor = torch.zeros(1)
        if rank == 0:
            tensor += 1
            dist.send(tensor=tensor, dst=1)
        elif rank == 1:
            print(dist.recv(tensor=tensor), tensor[0], tensor.item())
        grad = torch.full((2, 2), float(rank))
        dist.all_reduce(grad, op=dist.ReduceOp.SUM)
        grad /= size
        parts = [torch.empty(2, dtype=torch.int64) for _ in range(size)]
        dist.all_gather(parts, torch.tensor([rank, rank * 10]))
        send, came = torch.ones(3) * rank, torch.zeros(3)
        work = [dist.isend(send.clone(), (rank + 1) % size), dist.irecv(came, (rank - 1) % size)]
        for each in work:
            each.wait()
        came.add_(1).mul_(2)
        if rank == 0:
            print(grad, torch.cat(parts), came, dist.get_backend())
        try:
            torch.nn.Linear(1, 1)
        except NotImplementedError:
            assert not hasattr(torch, "nn") and not torch.cuda.is_available()
    """
    outcome = simulated(script, tmp_path, 2)
    assert outcome.failure is None
    grad = "tensor([[0.5000, 0.5000],\n        [0.5000, 0.5000]])"
    gathered = "tensor([ 0,  0,  1, 10]) tensor([4., 4., 4.]) gloo"
    assert sorted(outcome.output.splitlines()) == sorted(f"0 tensor(1.) 1.0\n{grad} {gathered}".splitlines())


INSTALLED = """
import numpy as np

class Tensor:
    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad
    def detach(self):
        return Tensor(self.array)
    def __array__(self, dtype=None, copy=None):
        assert not self.requires_grad, "Can't call numpy() on Tensor that requires grad"
        return self.array

def zeros(n):
    return Tensor(np.zeros(n), requires_grad=True)

from torch import distributed
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A place with a PyTorch in it."""
    package = tmp_path / "site" / "torch"
    (package / "distributed").mkdir(parents=True)
    (package / "__init__.py").write_text(INSTALLED, encoding="utf-8")
    (package / "distributed" / "__init__.py").write_text("real = True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]


def test_a_script_that_looks_for_a_device_finds_the_processor(tmp_path):
    script = """
        import torch
        torch.backends.cudnn.benchmark = True
        found = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        device, second = torch.device(found), torch.device("cuda", 1)
        print(torch.zeros(1, device=device), device.type, device.index, second, second.type, second.index)
    """
    assert simulated(script, tmp_path, 1).output == "tensor([0.]) cpu None cuda:1 cuda 1\n"


def test_an_installed_pytorch_is_used_and_only_its_distributed_is_simulated(site, tmp_path):
    script = """
        import torch, torch.distributed as dist
        from torch import distributed
        assert dist is distributed is torch.distributed and not hasattr(dist, "real")
        dist.init_process_group("nccl")
        x = torch.zeros(2)
        x.array[:] = dist.get_rank() + 1
        dist.all_reduce(x)
        print(x.array.tolist())
    """
    (tmp_path / "run").mkdir()
    outcome = simulated(script, tmp_path / "run", 2)
    assert (outcome.failure, outcome.output) == (None, "[3.0, 3.0]\n" * 2)
    import torch

    assert torch.distributed.real
    assert sys.modules["torch.distributed"] is torch.distributed


def test_a_pytorch_that_cannot_be_imported_is_told_of(site, tmp_path, capsys):
    (site / "__init__.py").write_text("raise OSError('libcudart.so.12: not found')\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    assert simulated("import torch\nprint(torch.zeros(1))\n", tmp_path / "run", 1).output == "tensor([0.])\n"
    assert "PyTorch is installed but cannot be imported (libcudart.so.12: not found)" in capsys.readouterr().err


def test_a_script_that_speaks_of_no_torch_does_not_load_it(site, tmp_path):
    (tmp_path / "run").mkdir()
    simulated(dedent("print('no tensors here')\n"), tmp_path / "run", 1)
    assert "torch" not in sys.modules

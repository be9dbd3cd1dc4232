"""`torch.multiprocessing`: processes that a script starts are the ranks."""

import pytest

from tests.programs.running import simulated

WORK = """
import os
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing import Process
import torch

def work(rank, size, factor=1):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("gloo", rank=rank)
    sum = torch.ones(1) * rank
    dist.all_reduce(sum)
    print(rank, sum.item() * factor)
    dist.destroy_process_group()
"""
LOOP = """
    started = []
    for rank in range(3):
        p = Process(target=work, args=(rank, 3), kwargs={"factor": 10})
        p.start()
        started.append(p)
    for p in started:
        p.join()
        assert p.exitcode == 0 and not p.is_alive()
"""


@pytest.mark.parametrize(
    "start",
    [
        "    mp.spawn(work, args=(3, 10), nprocs=3, join=True)",
        "    assert mp.spawn(work, (3, 10), 3, join=False).join()",
        LOOP,
        "    mp.set_start_method('spawn')\n" + LOOP.replace("Process(", "mp.get_context('spawn').Process("),
    ],
)
def test_processes_that_a_script_starts_are_the_ranks(tmp_path, start):
    outcome = simulated(f"{WORK}\nif __name__ == '__main__':\n{start}\n", tmp_path, 3)
    assert (outcome.failure, outcome.output) == (None, "0 30.0\n1 30.0\n2 30.0\n")
    assert [call.name for call in outcome.calls].count("all_reduce") == 1


def test_a_class_of_processes_is_started_too(tmp_path):
    body = """
class Worker(mp.Process):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank

    def run(self):
        work(self.rank, 2)

workers = [Worker(rank) for rank in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""
    assert simulated(WORK + body, tmp_path, 2).output == "0 1.0\n1 1.0\n"


@pytest.mark.parametrize(
    ("ranks", "start", "told"),
    [
        (2, "mp.spawn(work, (4,), nprocs=4)", "RuntimeError: the script starts 4 processes, which are the ranks, and"
         " there are 2: -n 4"),
        (4, "mp.spawn(work, (2,), nprocs=2)", "starts 2 processes, which are the ranks, and there are 4: -n 2"),
        (4, f"if True:\n{LOOP}", "starts 3 processes, which are the ranks, and there are 4: -n 3"),
        (2, "mp.Queue()", "NotImplementedError: torch.multiprocessing.Queue is not simulated: docs/programs.md lists"),
        (2, "mp.spaw", "AttributeError: module 'torch.multiprocessing' has no attribute 'spaw'"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_is_told(tmp_path, ranks, start, told):
    outcome = simulated(f"{WORK}\n{start}\n", tmp_path, ranks)
    assert outcome.failure is not None
    assert told in outcome.failure

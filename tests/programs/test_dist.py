"""torch.distributed on numpy arrays."""

import pytest

from tests.programs.running import simulated

HEAD = """
import numpy as np
import torch.distributed as dist
dist.init_process_group("nccl")
rank, n = dist.get_rank(), dist.get_world_size()
"""


def run(body, tmp_path, ranks=4, **options):
    return simulated(HEAD + body, tmp_path, ranks, **options)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_collective_leaves_what_it_promises(tmp_path, ranks):
    body = """
total = np.full(3, float(rank)); dist.all_reduce(total)
mean = np.array([float(rank)]); dist.all_reduce(mean, op=dist.ReduceOp.AVG)
top = np.array([rank]); dist.reduce(top, dst=n - 1, op=dist.ReduceOp.MAX)
parts = [np.empty(2, int) for _ in range(n)]; dist.all_gather(parts, np.array([rank, -rank]))
flat = np.empty((n, 2)); dist.all_gather_into_tensor(flat, np.array([rank, 1.0]))
share = np.empty(2); dist.reduce_scatter_tensor(share, np.arange(2.0 * n) + rank)
one = np.empty(1); dist.reduce_scatter(one, [np.array([float(rank * k)]) for k in range(n)])
data = np.arange(4) if rank == n - 1 else np.zeros(4, int); dist.broadcast(data, src=n - 1)
swapped = [np.empty(1, int) for _ in range(n)]
dist.all_to_all(swapped, [np.array([10 * rank + k]) for k in range(n)])
single = np.empty(n); dist.all_to_all_single(single, np.arange(float(n)) + 10 * rank)
piece = np.empty(1); dist.scatter(piece, [np.array([k + 0.5]) for k in range(n)] if rank == 0 else None, src=0)
back = [np.empty(1) for _ in range(n)] if rank == 0 else None; dist.gather(piece, back, dst=0)
dist.barrier()
s = n * (n - 1) / 2
assert (total == s).all() and mean[0] == s / n and (rank < n - 1 or top[0] == n - 1)
assert [p.tolist() for p in parts] == [[k, -k] for k in range(n)] and flat[:, 0].tolist() == list(range(n))
assert share.tolist() == [2 * rank * n + s, (2 * rank + 1) * n + s] and one[0] == rank * s
assert data.tolist() == [0, 1, 2, 3]
assert [int(x[0]) for x in swapped] == [10 * k + rank for k in range(n)] == single.astype(int).tolist()
assert piece[0] == rank + 0.5 and (rank or [b[0] for b in back] == [k + 0.5 for k in range(n)])
print("right")
"""
    outcome = run(body, tmp_path, ranks)
    assert outcome.failure is None
    assert outcome.output == "right\n" * ranks


def test_asynchronous_work_overlaps_with_compute(tmp_path):
    body = """
import time
x = np.ones(10**6)
begin = time.perf_counter()
work = dist.all_reduce(x, async_op=True)
assert not work.is_completed()
time.sleep(1.0)
assert work.is_completed() and work.wait() and (x == n).all()
print(round(time.perf_counter() - begin, 6))
"""
    assert run(body, tmp_path).output == "1.0\n" * 4


def test_groups_and_messages(tmp_path):
    body = """
evens = dist.new_group([0, 2])
if rank % 2 == 0:
    x = np.array([rank + 1.0]); dist.all_reduce(x, group=evens)
    print(x[0], dist.get_rank(evens), dist.get_world_size(evens))
    dist.broadcast(x, src=2, group=evens)
else:
    assert dist.get_rank() == rank
if rank == 0:
    dist.send(np.array([4.0]), dst=3)
elif rank == 3:
    y = np.empty(1); work = dist.irecv(y, src=0); work.wait(); print(y[0])
"""
    assert sorted(run(body, tmp_path).output.splitlines()) == ["4.0", "4.0 0 2", "4.0 1 2"]


def test_nccl_chooses_unless_another_library_is_asked_for(tmp_path):
    body = "dist.all_reduce(np.ones(10**6))\n"
    assert run(body, tmp_path).calls[-1].algorithm == "allreduce.ring"
    assert run(body, tmp_path, library="openmpi").calls[-1].algorithm == "allreduce.rabenseifner"


@pytest.mark.parametrize(
    "body, part",
    [
        ("dist.all_reduce(np.ones((2, 2)).T[:1])\n", "contiguous"),
        ("dist.all_gather_into_tensor(np.empty(5), np.ones(1))\n", "5 elements are no 4 equal shares"),
        ("dist.broadcast(np.ones(1), src=9)\n", "Global rank 9"),
        ("import torch\ntorch.nn.Linear(3, 3)\n", "torch.nn is not simulated"),
        ("dist.destroy_process_group()\ndist.barrier()\n", "init_process_group"),
    ],
)
def test_wrong_calls_fail_where_they_are_made(tmp_path, body, part):
    assert part in run(body, tmp_path).failure


def test_ranks_that_reduce_differently_are_told_apart(tmp_path):
    told = run("dist.all_reduce(np.ones(1), op='MAX' if rank else 'SUM')\n", tmp_path).failure
    assert "collective mismatch" in told
    assert "op=SUM" in told


@pytest.mark.parametrize(
    "asked, backend, algorithm",
    [
        ("'gloo'", "gloo", "allreduce.ring"),
        ("backend='NCCL'", "nccl", "allreduce.ring"),
        ("'mpi'", "mpi", "allreduce.rabenseifner"),
        ("'cpu:gloo,cuda:nccl'", "cpu:gloo,cuda:nccl", "allreduce.ring"),
        ("", "nccl", "allreduce.ring"),
    ],
)
def test_the_backend_that_was_asked_for_is_told_and_chooses(tmp_path, asked, backend, algorithm):
    body = f"""
import numpy as np
import torch.distributed as dist
dist.init_process_group({asked})
print(dist.get_backend(), dist.get_backend() == dist.Backend("{backend}"), dist.is_initialized())
dist.all_reduce(np.ones(10**6))
half = dist.new_group([0, 1], backend="mpi")
if dist.get_rank() < 2:
    dist.all_reduce(np.ones(10**6), group=half)
    print(dist.get_backend(half))
"""
    outcome = simulated(body, tmp_path, 4)
    assert outcome.output.splitlines().count(f"{backend} True True") == 4
    assert outcome.output.splitlines().count("mpi") >= 2
    assert outcome.calls[1].algorithm == algorithm
    begun = {"gloo": "barrier.dissemination", "mpi": "barrier.linear"}
    assert outcome.calls[0].algorithm == begun.get(backend, "allreduce.ring")
    assert simulated(body, tmp_path, 4, library="openmpi").calls[1].algorithm == "allreduce.rabenseifner"


def test_objects_travel_by_every_collective_and_by_messages(tmp_path):
    body = """
every = [None] * n
dist.all_gather_object(every, {"rank": rank})
gathered = [None] * n if rank == 1 else None
dist.gather_object(("r", rank), gathered, dst=1)
told = ["a", 2] if rank == 2 else [None, None]
dist.broadcast_object_list(told, src=2)
part = [None]
dist.scatter_object_list(part, [f"for {k}" for k in range(n)] if rank == 0 else None, src=0)
if rank == 3:
    dist.send_object_list([1, "x"], dst=0)
elif rank == 0:
    letter = [None, None]
    assert dist.recv_object_list(letter) == 3 and letter == [1, "x"]
assert every == [{"rank": r} for r in range(n)] and (rank != 1 or gathered == [("r", r) for r in range(n)])
assert told == ["a", 2] and part == [f"for {rank}"]
print("right")
"""
    outcome = run(body, tmp_path)
    assert (outcome.failure, outcome.output) == (None, "right\n" * 4)


def test_batches_groups_and_receives_from_anybody(tmp_path):
    body = """
right, left = (rank + 1) % n, (rank - 1) % n
came = np.zeros(2)
pair = [dist.P2POp(dist.isend, np.full(2, 1.0 * rank), right), dist.P2POp(dist.irecv, came, left)]
for work in dist.batch_isend_irecv(pair):
    work.wait()
if rank == 0:
    senders = []
    for _ in range(n - 1):
        x = np.zeros(1)
        sender = dist.recv(x)
        senders.append((sender, x[0]))
    assert sorted(senders) == [(r, r * 2.0) for r in range(1, n)]
else:
    dist.send(np.array([rank * 2.0]), 0)
own, every = dist.new_subgroups(2)
total = np.array([float(rank)])
dist.all_reduce(total, group=own)
odd = dist.new_group([1, 3])
number = dist.get_rank(odd), dist.get_world_size(odd)
assert dist.all_reduce(total, group=odd) is None and dist.broadcast(total, group=odd, group_src=1) is None
names = dist.get_global_rank(own, 1), dist.get_group_rank(own, rank), own.rank(), own.size(), own.name()
dist.monitored_barrier()
print(came[0] == left, total[0], number, names, dist.get_node_local_rank(), dist.is_torchelastic_launched())
"""
    outcome = run(body, tmp_path)
    assert outcome.failure is None
    assert sorted(outcome.output.splitlines()) == [
        "True 1.0 (-1, -1) (1, 0, 0, 2, 'nccl') 0 True",
        "True 5.0 (-1, -1) (3, 0, 0, 2, 'nccl') 2 True",
        "True 6.0 (0, 2) (1, 1, 1, 2, 'nccl') 1 True",
        "True 6.0 (1, 2) (3, 1, 1, 2, 'nccl') 3 True",
    ]


@pytest.mark.parametrize(
    "body, part",
    [
        ("dist.init_process_group('gloo')\n", "initialize the default process group twice"),
        ("dist.destroy_process_group()\ndist.get_rank()\n", "has not been initialized"),
        ("dist.destroy_process_group()\ndist.init_process_group('foo')\n", "Unknown c10d backend type FOO"),
        ("dist.destroy_process_group()\ndist.init_process_group('gloo', world_size=9)\n", "world_size 9 was named"),
        ("dist.send(np.ones(1), rank)\n", "destination rank should not be the same"),
        ("dist.all_reduce([1.0])\n", "Expected a tensor, not list"),
        ("dist.gather(np.ones(1), None)\n", "must be specified on the destination rank"),
        ("dist.P2POp(print, np.ones(1), 1)\n", "Invalid ``op``"),
        ("dist.recv(np.ones(1), 0) if rank else dist.send(np.ones(2), 1)\n", "16 bytes came"),
    ],
)  # fmt: skip
def test_calls_that_torch_refuses_are_refused(tmp_path, body, part):
    assert part in run(body, tmp_path, 2).failure

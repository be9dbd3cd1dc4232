"""Forty wrong programs: each ends with one sentence that names the ranks and the lines of both sides."""

from random import Random

import pytest

HEAD = """
import os
import sys
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
rank, n = dist.get_rank(), dist.get_world_size()
x = torch.ones(8)
"""
CALLS = {
    "all_reduce": "dist.all_reduce({x})",
    "all_gather_into_tensor": "dist.all_gather_into_tensor(torch.empty(4 * len({x}), dtype={x}.dtype), {x})",
    "reduce_scatter_tensor": "dist.reduce_scatter_tensor(torch.empty(len({x}) // 4, dtype={x}.dtype), {x})",
    "broadcast": "dist.broadcast({x}, src=0)",
    "reduce": "dist.reduce({x}, dst=0)",
    "all_to_all_single": "dist.all_to_all_single(torch.empty_like({x}), {x})",
    "barrier": "dist.barrier()",
}
SIZED = ["all_reduce", "all_gather_into_tensor", "broadcast", "reduce", "reduce_scatter_tensor"]
NAMES = {0: "ranks 1-3", 1: "ranks 0, 2, 3", 2: "ranks 0, 1, 3", 3: "ranks 0-2"}


def apart(odd, one, other):
    """One rank at line A, all others at line B."""
    return f"if rank == {odd}:\n    {one}  # A\nelse:\n    {other}  # B\n"


def other_call(draw, odd):
    one, other = draw.sample(list(CALLS), 2)
    body = apart(odd, CALLS[one].format(x="x"), CALLS[other].format(x="x"))
    return body, ["collective mismatch on default group", f"{one}(", f"{other}(", f"rank {odd} calls"]


def other_size(draw, odd):
    name, size = draw.choice(SIZED), draw.choice([4, 12, 16, 64])
    call = CALLS[name].format(x="x")
    body = f"x = torch.ones({size} if rank == {odd} else 8)\n" + apart(odd, call, call)
    told = f"rank {odd} calls {name} with {4 * size} bytes at script.py:A, but {NAMES[odd]} with 32 bytes at"
    return body, [f"{told} script.py:B"]


def other_type(draw, odd):
    name, dtype = draw.choice(SIZED), draw.choice(["float16", "float64", "int32"])
    call = CALLS[name].format(x="x")
    body = f"x = x.to(torch.{dtype}) if rank == {odd} else x\n" + apart(odd, call, call)
    return body, ["collective mismatch", f"dtype={dtype}", "dtype=float32", f"rank {odd} calls {name}("]


def other_root(draw, odd):
    call = draw.choice(["dist.broadcast(x, src={})", "dist.reduce(x, dst={})"])
    return apart(odd, call.format(1), call.format(0)), ["root=1", "root=0", f"rank {odd} calls"]


def other_operation(draw, odd):
    one, other = draw.sample(["SUM", "MAX", "PRODUCT", "MIN"], 2)
    calls = [f"dist.all_reduce(x, op=dist.ReduceOp.{op})" for op in (one, other)]
    return apart(odd, *calls), [f"op={one}", f"op={other}", f"rank {odd} calls"]


def missing_rank(draw, odd):
    name = draw.choice(list(CALLS))
    body = f"if rank != {odd}:\n    {CALLS[name].format(x='x')}  # A\n"
    return body, ["deadlock", f"{NAMES[odd]} wait in {name}", f"rank {odd} to call {name}", f"(rank {odd} has ended)"]


def uneven_batches(draw, odd):
    body = f"for _ in range({draw.randint(1, 3)} + (rank == {odd})):\n    dist.all_reduce(x)  # A\n"
    return body, ["deadlock", f"rank {odd} waits in all_reduce at script.py:A", f"({NAMES[odd]} have ended)"]


def early_exit(draw, odd):
    body = f"if rank == {odd}:\n    sys.exit({draw.choice([0, 3])})\ndist.all_reduce(x)  # A\n"
    return body, [f"{NAMES[odd]} wait in all_reduce at script.py:A", f"(rank {odd} has ended)"]


def exception(draw, odd):
    wrong, told = draw.choice(
        [("1 / 0", "ZeroDivisionError"), ("{}['k']", "KeyError"), ("x @ x.view(2, 4)", "Runtime")]
    )
    return f"if rank == {odd}:\n    {wrong}  # A\ndist.all_reduce(x)\n", [f"rank {odd} failed at script.py:A: {told}"]


def send_to_each_other(draw, odd):
    body = "y = torch.ones(1 << 16)\ndist.send(y, (rank + 1) % n)  # A\ndist.recv(y, (rank - 1) % n)\n"
    return body, ["deadlock", "rank 0 waits in send at script.py:A for rank 1 to receive", "0 -> 1 -> 2 -> 3 -> 0"]


def nobody_sends(draw, odd):
    other = (odd + 1) % 4
    body = f"if rank == {odd}:\n    dist.recv(x, {other})  # A\n"
    return body, [
        f"rank {odd} waits in recv at script.py:A for a message",
        f"from rank {other} (rank {other} has ended)",
    ]


def other_message(draw, odd):
    other = (odd + 1) % 4
    wrong, told = draw.choice([("torch.ones(6)", "24 bytes"), ("torch.ones(8, dtype=torch.int32)", "int32")])
    body = (
        f"if rank == {odd}:\n    dist.send({wrong}, {other})  # A\nif rank == {other}:\n    dist.recv(x, {odd})  # B\n"
    )
    return body, [f"rank {odd} sends {told} at script.py:A", f"rank {other} receives", "at script.py:B"]


def group_of_members_alone(draw, odd):
    body = f"if rank != {odd}:\n    g = dist.new_group([r for r in range(4) if r != {odd}])  # A\ndist.barrier()  # B\n"
    return body, [f"{NAMES[odd]} wait in new_group at script.py:A", f"rank {odd} waits in barrier at script.py:B"]


def groups_crossed(draw, odd):
    calls = [f"dist.all_reduce(x, group={name})" for name in ("a", "b")]
    body = "a, b = dist.new_group([0, 1, 2, 3]), dist.new_group([0, 1, 2, 3])\n" + apart(odd, calls[0], calls[1])
    return body, ["deadlock", f"rank {odd} waits in all_reduce at script.py:A", f"{NAMES[odd]} wait in all_reduce"]


def other_shares(draw, odd):
    call = "dist.all_to_all_single(torch.empty(sum(want)), torch.ones(8), want, [2] * n)"
    body = f"want = [2 + (rank == {odd})] * n\n" + apart(odd, call, call)
    return body, [f"but rank {odd} expects 12 at script.py:A", "sends 8 bytes in all_to_all_single"]


def no_backward(draw, odd):
    body = f"""
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
loss = model(x).sum()
if rank != {odd}:
    loss.backward()  # A
"""
    return body, [f"{NAMES[odd]} wait in all_reduce at script.py:A", f"(rank {odd} has ended)"]


def killed(draw, odd):
    return f"if rank == {odd}:\n    os.kill(os.getpid(), 9)\ndist.barrier()  # A\n", [
        f"rank {odd} has ended",
        "signal 9",
    ]


KINDS = (
    *(other_call, other_call, other_call, other_size, other_size, other_size, other_size, other_type, other_type),
    *(other_root, other_operation, missing_rank, missing_rank, uneven_batches, early_exit, exception, exception),
    *(send_to_each_other, nobody_sends, other_message, other_message, group_of_members_alone, groups_crossed),
    *(other_shares, no_backward, killed),
)
CASES = [(kind, seed) for seed in (1, 2) for kind in KINDS][:44]


@pytest.mark.parametrize("kind, seed", CASES, ids=[f"{kind.__name__}-{i}" for i, (kind, _) in enumerate(CASES)])
def test_a_wrong_program_ends_with_a_sentence_that_names_ranks_and_lines(run, kind, seed, request):
    draw = Random(f"{kind.__name__} {request.node.callspec.id}")
    body, parts = kind(draw, draw.randrange(4))
    script = HEAD + body
    told = run(script).failure
    assert told is not None
    assert "\n" not in told
    for mark in "AB":
        if f"# {mark}" in script:
            line = 1 + next(i for i, text in enumerate(script.splitlines()) if text.endswith(f"# {mark}"))
            parts = [part.replace(f"script.py:{mark}", f"script.py:{line}") for part in parts]
            assert f"script.py:{line}" in told
    for part in parts:
        assert part in told

"""How tensors are combined: the operations of torch.distributed in terms of those that gloo has."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

Tensors = Sequence[torch.Tensor]


def op_of(opts: Any) -> Any:
    """Return the operation of a call's options, or the operation itself."""
    if opts is None:
        return dist.ReduceOp.SUM
    return getattr(opts, "reduceOp", opts)


def name_of(op: Any) -> str:
    """Return the name of an operation, like SUM."""
    return str(getattr(op, "op", op)).rpartition(".")[2]


def for_gloo(op: Any, n: int) -> tuple[Any, Callable[[torch.Tensor], torch.Tensor] | None]:
    """Return what gloo combines with, and what turns its result into that of the operation."""
    if op == dist.ReduceOp.AVG:
        return dist.ReduceOp.SUM, lambda total: total / n
    if op == dist.ReduceOp.PREMUL_SUM:
        factor = op.__getstate__()[1]
        return dist.ReduceOp.SUM, lambda total: total * factor
    return op, None


def scaled(tensors: Tensors, scale: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], None]:
    """Return what scales tensors in place."""

    def then() -> None:
        with torch.no_grad():
            for tensor in tensors:
                tensor.copy_(scale(tensor))

    return then

"""How long the script's own operations take: each the longer of its floating-point operations and its bytes.

Every operation of PyTorch that makes or changes a tensor counts, except those that only look at one in another way.
"""

import json
import os
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from .link import GPU, LINK

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
HALVES = (torch.float16, torch.bfloat16)
FREE = {"empty", "empty_strided", "empty_like", "new_empty", "detach", "lift_fresh", "_local_scalar_dense", "set_"}
"""Operations that move no data on a GPU."""


def install() -> None:
    """Count from now on, where a GPU is named."""
    if os.environ.get(GPU):
        TimedOperations(json.loads(os.environ[GPU])).__enter__()


class TimedOperations(TorchDispatchMode):
    """Advances the clock by every operation; `speeds` are per second."""

    def __init__(self, speeds: dict[str, float]) -> None:
        super().__init__()
        self._speeds = speeds
        self._optimizing = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.namespace == "profiler":
            self._follow(func, args)
        elif func.namespace == "aten" and not (LINK.quiet or func.is_view or _name(func) in FREE):
            LINK.advance(self._seconds(func, args, kwargs, result), self._phase())
        return result

    def _seconds(self, func: Any, args: Any, kwargs: Any, result: Any) -> float:
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)]
        moved = sum({id(tensor): tensor.nbytes for tensor in tensors}.values()) / self._speeds["memory"]
        count = flop_registry.get(func._overloadpacket)
        if count is None:
            return moved
        half = any(tensor.dtype in HALVES for tensor in tensors)
        operations = count(*args, **kwargs, out_val=result)
        return max(moved, operations / self._speeds["half" if half else "single"])

    def _phase(self) -> str:
        if self._optimizing:
            return OPTIMIZER
        return BACKWARD if torch._C._current_graph_task_id() != -1 else FORWARD

    def _follow(self, func: Any, args: Any) -> None:
        """Notice when an optimizer begins its step and ends it."""
        entered = "enter" in func.name()
        if entered and args and str(args[0]).startswith("Optimizer.step"):
            self._optimizing = 1
        elif self._optimizing:
            self._optimizing += 1 if entered else -1


def _name(func: Any) -> str:
    return str(func._overloadpacket.__name__)

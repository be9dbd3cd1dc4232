"""How long the script's own work takes: by a table of its modules, or operation by operation.

An operation takes the longer of its floating-point operations and its bytes. Every operation of PyTorch that makes or
changes a tensor counts, except those that only look at one in another way.
"""

import json
import os
import weakref
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from .link import GPU, LINK

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
WRAPPERS = ("module", "_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module")
"""Names under which wrappers of PyTorch keep a model."""
HALVES = (torch.float16, torch.bfloat16)
FREE = {"empty", "empty_strided", "empty_like", "new_empty", "detach", "lift_fresh", "_local_scalar_dense", "set_"}
"""Operations that move no data on a GPU."""


def install() -> None:
    """Count from now on, where a file says how fast."""
    if not os.environ.get(GPU):
        return
    with open(os.environ[GPU], encoding="utf-8") as file:
        costs = json.load(file)
    if "layers" in costs:
        TimedModules(costs["layers"]).install()
    else:
        TimedOperations(costs).__enter__()


def _phase() -> str:
    return BACKWARD if torch._C._current_graph_task_id() != -1 else FORWARD


class TimedModules:
    """Advances the clock by what a table says of a module: before its forward pass, and before its backward pass."""

    def __init__(self, layers: dict[str, tuple[float, float]]) -> None:
        self._layers = layers
        self._names: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Look at every module from now on."""
        modules.register_module_forward_pre_hook(self._before)
        modules.register_module_forward_hook(self._after)

    def _before(self, module: torch.nn.Module, _: Any) -> None:
        if module not in self._names:
            self._name(module)
        LINK.advance(self._times(module)[0], _phase())

    def _after(self, module: torch.nn.Module, _: Any, output: Any) -> None:
        backward = self._times(module)[1]
        results = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        if backward and results:
            results[0].register_hook(lambda gradient: LINK.advance(backward, BACKWARD))

    def _times(self, module: torch.nn.Module) -> tuple[float, float]:
        return self._layers.get(self._names[module], (0.0, 0.0))

    def _name(self, root: torch.nn.Module) -> None:
        """Name a model's modules, without what wrappers put before their names."""
        for name, module in root.named_modules():
            parts = [part for part in name.split(".") if part not in WRAPPERS]
            self._names.setdefault(module, ".".join(parts))
        inside = {self._names[module] for module in root.modules()}
        if len(inside) > 1 and not inside & self._layers.keys():
            some = ", ".join(sorted(inside - {""})[:4])
            raise RuntimeError(f"none of the table's layers is a module of this model, which has {some} and so on")


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
            LINK.advance(self._seconds(func, args, kwargs, result), OPTIMIZER if self._optimizing else _phase())
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

    def _follow(self, func: Any, args: Any) -> None:
        """Notice when an optimizer begins its step and ends it."""
        entered = "enter" in func.name()
        if entered and args and str(args[0]).startswith("Optimizer.step"):
            self._optimizing = 1
        elif self._optimizing:
            self._optimizing += 1 if entered else -1


def _name(func: Any) -> str:
    return str(func._overloadpacket.__name__)

"""How long the script's own work takes: by a table of its modules, or operation by operation; what memory it takes.

Every operation of PyTorch that makes or changes a tensor counts, except those that only look at one in another way.
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
from .memory import HELD
from .streams import current_stream

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
WRAPPERS = ("module", "_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module")
"""Names under which wrappers of PyTorch keep a model."""
HALVES = (torch.float16, torch.bfloat16)
KINDS = {FORWARD: "activations", BACKWARD: "gradients", OPTIMIZER: "optimizer"}
"""What a pass leaves in memory."""
COPIES = {"_to_copy", "clone"}
PLAIN = torch.Tensor.__torch_dispatch__
FREE = {"empty", "empty_strided", "empty_like", "new_empty", "detach", "lift_fresh", "_local_scalar_dense", "set_"}
"""Operations that move no data on a GPU."""


def install() -> None:
    """Count from now on, where a file says how fast."""
    if not os.environ.get(GPU):
        return
    with open(os.environ[GPU], encoding="utf-8") as file:
        costs = json.load(file)
    HELD.install()
    if "layers" in costs:
        TimedModules(costs["layers"]).install()
        CountedOperations(None).__enter__()
    elif "operations" in costs:
        CountedOperations(RecordedTimes(costs["operations"])).__enter__()
    else:
        CountedOperations(OperationTimes(costs)).__enter__()


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


class OperationTimes:
    """How long an operation takes by a roofline; `speeds` are per second."""

    def __init__(self, speeds: dict[str, float]) -> None:
        self._speeds = speeds

    def seconds(self, func: Any, args: Any, kwargs: Any, result: Any) -> float:
        """Return the longer of what its floating-point operations and its bytes take."""
        tensors = _tensors((args, kwargs, result))
        moved = sum({id(tensor): tensor.nbytes for tensor in tensors}.values()) / self._speeds["memory"]
        count = flop_registry.get(func._overloadpacket)
        if count is None:
            return moved
        half = any(tensor.dtype in HALVES for tensor in tensors)
        operations = count(*args, **kwargs, out_val=result)
        return max(moved, operations / self._speeds["half" if half else "single"])

    def optimizer(self, name: str) -> float | None:  # noqa: ARG002
        """Return the seconds of an optimizer's whole step; None where its operations say it."""
        return None


class RecordedTimes:
    """How long an operation takes by a profile; `operations` are seconds by name and shapes, "" for the mean."""

    def __init__(self, operations: dict[str, dict[str, float]]) -> None:
        self._operations = operations

    def seconds(self, func: Any, args: Any, kwargs: Any, result: Any) -> float:  # noqa: ARG002
        """Return what it took with tensors of these shapes, or else on average."""
        name = func._schema.name
        times = self._operations.get(name)
        if times is None:
            LINK.untimed[name] += 1
            return 0.0
        shapes = str([list(tensor.shape) for tensor in _tensors((args, kwargs)) if tensor.dim()])
        if shapes not in times:
            LINK.guessed[name] += 1
        return times.get(shapes, times[""])

    def optimizer(self, name: str) -> float | None:
        """Return the seconds of an optimizer's whole step, if the profile has it."""
        return self._operations.get(name, {}).get("")


class CountedOperations(TorchDispatchMode):
    """Advances the clock by every operation, where `times` says how long it takes, and notes what memory it takes."""

    def __init__(self, times: OperationTimes | RecordedTimes | None) -> None:
        super().__init__()
        self._times = times
        self._optimizing = 0
        self._whole = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        others = {kind.__name__ for kind in types if kind.__torch_dispatch__ is not PLAIN}
        if others - {"FakeTensor"}:
            return NotImplemented  # a tensor of several ranks, say, whose own part is seen next
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if others:
            return result  # a shape without numbers
        if func.namespace == "profiler":
            self._follow(func, args)
        elif not LINK.quiet:
            phase = OPTIMIZER if self._optimizing else _phase()
            HELD.made(_tensors(result), KINDS[phase], args[0] if _name(func) in COPIES else None)
            if _name(func) == "_local_scalar_dense":
                current_stream().synchronize()
            if self._times and func.namespace == "aten" and not (func.is_view or self._whole or _name(func) in FREE):
                LINK.advance(self._times.seconds(func, args, kwargs, result), phase)
        return result

    def _follow(self, func: Any, args: Any) -> None:
        """Notice when an optimizer begins its step and ends it."""
        entered = "enter" in func.name()
        if entered and args and str(args[0]).startswith("Optimizer.step"):
            self._optimizing = 1
            whole = self._times.optimizer(str(args[0])) if self._times else None
            self._whole = whole is not None
            LINK.advance(whole or 0.0, OPTIMIZER)
        elif self._optimizing:
            self._optimizing += 1 if entered else -1
            self._whole = self._whole and self._optimizing > 0


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _name(func: Any) -> str:
    return str(func._overloadpacket.__name__)

"""`torch` as the ranks import it: an installed PyTorch with this torch.distributed, or tensors of numpy's alone."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from ops.programs.pytorch import processes, tensors
from ops.programs.pytorch.collectives import ReduceOp
from ops.programs.pytorch.groups import DistGroup, GroupMember, NamedBackend
from ops.programs.pytorch.messages import AsyncWork, P2POp
from ops.programs.pytorch.objects import Distributed
from ops.programs.runtime.transport import Transport

ABSENT = [
    "DeviceMesh", "init_device_mesh", "TCPStore", "FileStore", "HashStore", "PrefixStore", "Store", "ProcessGroupGloo",
    "ProcessGroupNCCL", "ProcessGroupMPI", "split_group", "reduce_scatter_coalesced", "register_rendezvous_handler",
    "rendezvous", "supports_complex", "breakpoint", "set_debug_level", "get_debug_level", "DebugLevel", "get_pg_count",
    "register_backend",
]  # fmt: skip
"""What torch.distributed has and is not simulated."""


def serve(world: Transport, installed: bool) -> dict[str, ModuleType]:
    """The modules that stand in for torch.distributed during a run; where `wanted`, in an installed PyTorch."""
    dist = ModuleType("torch.distributed")
    functions = Distributed(world)
    dist.__dict__.update(_names(functions), __path__=[], __getattr__=_refuser("torch.distributed", ABSENT))
    if installed and _installed() is not None:
        return {"torch.distributed": dist, "torch.multiprocessing": processes.serve(world, installed=True)}
    torch = ModuleType("torch")
    started = processes.serve(world, installed=False)
    parts = {"distributed": dist, "multiprocessing": started}
    torch.__dict__.update(tensors.NAMES, __path__=[], **parts, __getattr__=_no_torch)
    return {"torch": torch, **{f"torch.{name}": part for name, part in parts.items()}}


def _names(functions: Distributed) -> dict[str, Any]:
    """What torch.distributed holds."""
    hidden = {"members", "place", "root", "library", "run", "world", "begun", "everyone"}
    public = {name: getattr(functions, name) for name in dir(type(functions)) if not name.startswith("_")}
    return {
        **{name: function for name, function in public.items() if name not in hidden},
        "ReduceOp": ReduceOp, "reduce_op": ReduceOp, "Backend": NamedBackend, "Work": AsyncWork, "P2POp": P2POp,
        "ProcessGroup": DistGroup, "GroupMember": GroupMember, "group": GroupMember,
        **{name: type(name, (RuntimeError,), {}) for name in ("DistError", "DistBackendError", "DistNetworkError")},
        "DistStoreError": type("DistStoreError", (RuntimeError,), {}),
    }  # fmt: skip


def _refuser(module: str, absent: list[str]) -> Callable[[str], Any]:
    """What a module answers for names that it lacks: those of torch's can be had and not called."""

    def look(name: str) -> Any:
        if name not in absent:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise NotImplementedError(f"{module}.{name} is not simulated: docs/programs.md lists what is")

        return refuse

    return look


def _no_torch(name: str) -> NoReturn:
    tensors.missing(f"torch.{name}")


def _installed() -> ModuleType | None:
    """PyTorch, where it is installed and can be imported. What stands in the way is told."""
    if importlib.util.find_spec("torch") is None:
        return None
    try:
        return importlib.import_module("torch")
    except Exception as error:  # noqa: BLE001  a broken installation raises whatever it likes
        why = " ".join(str(error).split())[:200]
        sys.stderr.write(f"PyTorch is installed but cannot be imported ({why}): torch is tensors of numpy's alone\n")
        return None

"""`torch.distributed` in a process of the script: every group is one with a clock, whatever backend it asks for."""

import importlib
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from .group import RingsideGroup
from .link import HUB, LINK, report

NAME = "ringside"


_EVERY_NAME = [True]
"""Whether the names of other backends stand for this one."""


def install(*, every_name: bool = True) -> None:
    """Register the backend; `every_name` lets the names of others stand for it."""
    if not dist.is_available():
        return
    _EVERY_NAME[0] = every_name
    dist.Backend.register_backend(NAME, RingsideGroup.create, extended_api=True, devices=["cpu"])
    _wrap("init_process_group", _init_process_group)
    _wrap("new_group", _new_group)
    _report_spawned()


def replace(name: str, real: Any, value: Any) -> None:
    """Give every module of PyTorch that has `real` under a name something else."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torch") and vars(module).get(name) is real:
            setattr(module, name, value)


def _wrap(name: str, around: Callable[..., Any]) -> None:
    real = getattr(c10d, name)

    @wraps(real)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(real, *args, **kwargs)

    replace(name, real, wrapped)


def _report_spawned() -> None:
    """Let what a process that `spawn` starts fails with be known, before PyTorch hands it to the process's parent."""
    spawn = importlib.import_module("torch.multiprocessing.spawn")  # a function has the same name
    real = spawn._wrap

    @wraps(real)
    def wrapped(fn: Any, i: int, args: Any, error_file: Any) -> None:
        def reported(*values: Any) -> Any:
            try:
                return fn(*values)
            except Exception as error:
                report(error)
                raise

        real(reported, i, args, error_file)

    setattr(spawn, "_wrap", wrapped)  # noqa: B010


def _init_process_group(real: Callable[..., Any], backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
    if not _EVERY_NAME[0] and str(backend).lower() != NAME:
        return real(backend, *args, **kwargs)
    name = _backend(backend)
    rank, size = kwargs.get("rank", -1), kwargs.get("world_size", -1)
    rank = int(os.environ.get("RANK", "-1")) if rank < 0 else rank
    size = int(os.environ.get("WORLD_SIZE", "-1")) if size < 0 else size
    if rank < 0 or size < 1 or c10d.is_initialized():
        return real(backend, *args, **kwargs)  # which says what is missing
    if not LINK.open:
        LINK.connect(_address(rank, size), rank, size, name)
    LINK.ask("meet", name="init_process_group", ranks=list(range(size)), backend=name, same={"backend": name})
    kwargs.pop("device_id", None)
    result = real(NAME, *args, **kwargs)
    _call_it(c10d._get_default_group(), name)
    return result


def _new_group(
    real: Callable[..., Any], ranks: Any = None, timeout: Any = None, backend: str | None = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if not c10d.is_initialized():
        return real(ranks, timeout, backend, *args, **kwargs)
    default = c10d._get_default_group()
    if not isinstance(default, RingsideGroup) or not (_EVERY_NAME[0] or str(backend).lower() in ("none", NAME)):
        return real(ranks, timeout, backend, *args, **kwargs)
    name = default.backend if backend is None else _backend(backend)
    chosen = list(range(default.size())) if ranks is None else sorted(map(int, ranks))
    callers = chosen if kwargs.get("use_local_synchronization") else list(range(default.size()))
    if default.rank() in callers:
        LINK.ask("meet", name="new_group", ranks=callers, backend=name, same={"ranks": chosen})
    kwargs.pop("device_id", None)
    group = real(ranks, timeout, NAME, *args, **kwargs)
    _call_it(group, name)
    return group


def _backend(backend: str | None) -> str:
    """The backend that a script asks for; nothing and PyTorch's own name for it are NCCL, as on GPUs."""
    name = str(backend).lower()
    return "nccl" if backend is None or name in (NAME, "undefined", "none") else name


def _call_it(group: Any, name: str) -> None:
    """Let `get_backend` show the name that was asked for."""
    if isinstance(group, RingsideGroup):
        group.backend = name
        entry = c10d._world.pg_map[group]
        c10d._world.pg_map[group] = (name if ":" in name else dist.Backend(name), entry[1])


def _address(rank: int, size: int) -> str:
    """The simulator's socket; under another launcher rank 0 starts a simulator."""
    if HUB in os.environ:
        return os.environ[HUB]
    from .alone import start

    return start(rank, size)

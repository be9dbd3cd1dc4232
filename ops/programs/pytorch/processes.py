"""`torch.multiprocessing`: processes that a script starts are the ranks, which are there already.

Every rank goes through the script, and runs of the processes that are started there the one with its number.
"""

import importlib
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from ops.programs.runtime.transport import Transport

ABSENT = [
    "Array", "AuthenticationError", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock",
    "Manager", "Pipe", "Pool", "Queue", "RLock", "RawArray", "RawValue", "Semaphore", "SimpleQueue", "Value",
    "active_children", "start_processes", "SpawnContext", "ForkContext",
]  # fmt: skip
"""What processes share, or wait for each other with, beside torch.distributed."""


class Starter:
    """How many processes every rank has seen started."""

    def __init__(self, world: Transport) -> None:
        self._world, self._started = world, [0] * world.size

    def expect(self, more: int) -> None:
        """Refuse to start so many more than there are ranks."""
        count = self._started[self._world.me.rank] + more
        if count > self._world.size:
            self._refuse(count)

    def start(self, run: Callable[[], Any]) -> None:
        """Run a process where it has this rank's number."""
        self.expect(1)
        rank = self._world.me.rank
        self._started[rank] += 1
        if self._started[rank] == rank + 1:
            run()

    def await_all(self, more: int = 0) -> None:
        """Refuse where there are fewer processes than ranks, some of which have nothing to do."""
        count = self._started[self._world.me.rank] + more
        if count < self._world.size:
            self._refuse(count)

    def spawn(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, *_: Any, **__: Any
    ) -> "Spawned | None":
        """Call `fn(i, *args)` in the i-th of `nprocs` processes."""
        self.expect(nprocs)
        self.await_all(nprocs)
        for i in range(nprocs):
            self.start(partial(fn, i, *args))
        return None if join else Spawned(range(nprocs))

    def _refuse(self, count: int) -> NoReturn:
        size = self._world.size
        raise RuntimeError(
            f"the script starts {count} processes, which are the ranks, and there are {size}: -n {count}"
        )


class StartedProcess:
    """`Process` of multiprocessing: a rank runs its own one and passes by the others."""

    starter: Starter
    exitcode, pid, sentinel, authkey = 0, 0, 0, b""

    def __init__(
        self,
        _group: None = None,
        target: Callable[..., Any] | None = None,
        name: str = "",
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._call = partial(target, *args, **(kwargs or {})) if target else None
        self.name, self.daemon = name or "Process", bool(options.get("daemon"))

    def run(self) -> None:
        """What it does; classes of a script's own have another."""
        if self._call is not None:
            self._call()

    def start(self) -> None:
        """Do it, in the rank that this is."""
        self.starter.start(self.run)

    def join(self, *_: Any, **__: Any) -> None:
        """All have run that are this rank's."""
        self.starter.await_all()

    def is_alive(self) -> bool:
        """It has run."""
        return False

    def terminate(self) -> None:
        """It has run."""

    kill = close = terminate


class Spawned:
    """What `spawn` with join=False returns."""

    def __init__(self, places: range) -> None:
        self._places = list(places)

    def join(self, *_: Any, **__: Any) -> bool:
        """All have run."""
        return True

    def pids(self) -> list[int]:
        """Numbers of the processes."""
        return self._places


def serve(world: Transport, installed: bool) -> ModuleType:
    """The module during a run; an installed PyTorch's keeps all that starts no process."""
    module = ModuleType("torch.multiprocessing")
    module.__dict__.update(__path__=[], __getattr__=_refuse)
    if installed:
        with suppress(ImportError):
            module.__dict__.update(vars(importlib.import_module("torch.multiprocessing")))
    starter = Starter(world)
    module.__dict__.update(
        Process=type("Process", (StartedProcess,), {"starter": starter}), spawn=starter.spawn,
        get_context=lambda method=None: module, set_start_method=lambda *_, **__: None,
        get_start_method=lambda allow_none=False: "spawn", get_all_start_methods=lambda: ["fork", "spawn"],
        set_sharing_strategy=lambda _: None, get_sharing_strategy=lambda: "file_system",
        freeze_support=lambda: None, cpu_count=multiprocessing.cpu_count,
    )  # fmt: skip
    return module


def _refuse(name: str) -> Callable[..., Any]:
    if name not in ABSENT:
        raise AttributeError(f"module 'torch.multiprocessing' has no attribute {name!r}")

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"torch.multiprocessing.{name} is not simulated: docs/programs.md lists what is")

    return refuse

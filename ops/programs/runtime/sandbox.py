"""What every rank has of its own, as if it were a process: modules beside the script, argv, output, random numbers.

Ranks share one Python process. Between two ranks' turns, the script's own modules, `sys.argv` and the global
random generators are exchanged, and `os.environ` knows who asks; modules from elsewhere (numpy, the standard
library) are shared, as they are the same for all. `time` tells simulated time to a rank, and sleeping takes simulated
time.
"""

import importlib.abc
import importlib.machinery
import io
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from ops.programs.runtime.environment import RankEnvironment, launched
from ops.programs.runtime.tasks import Task
from ops.programs.runtime.transport import Transport
from sim.base.files.user_files import of_user

Echo = Callable[[str], None]
ELSEWHERE = "torch"
"""A package whose state is the process's, which ranks of one process cannot have: it has a command of its own."""


class _Beside(importlib.abc.MetaPathFinder):
    """Finds modules beside the script first, and remembers which they are."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: set[str] = set()
        self.random = False
        """Does any of them speak of random numbers?"""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top == ELSEWHERE:
            raise ModuleNotFoundError("a script that imports torch is run by `torchrun`, not by `mpi`", name=top)
        if path is not None and top not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, [self.folder] if path is None else path, target)
        if spec is not None:
            self.names.add(fullname)
            self.random = self.random or speaks_of_random(spec.origin)
        return spec and of_user(spec)


def speaks_of_random(file: str | None) -> bool:
    """Whether a source file may use the global random generators: exchanging their states takes time."""
    try:
        with open(file or "", "rb") as source:
            return b"rand" in source.read()
    except OSError:
        return False


class _Output(io.TextIOBase):
    """`sys.stdout` of a rank: whole lines go out in the order of simulated time, never two mixed."""

    encoding = "utf-8"

    def __init__(self, tasks: Transport, echo: Echo) -> None:
        self._tasks, self._echo = tasks, echo

    def writable(self) -> bool:
        return True

    @property
    def buffer(self) -> "_Bytes":
        """For scripts that write bytes."""
        return _Bytes(self)

    def write(self, text: str) -> int:
        task = self._tasks.current
        if task is None or not self._tasks.inside:
            self._echo(text)
            return len(text)
        lines, newline, rest = (task.unfinished_line + text).rpartition("\n")
        task.unfinished_line = rest
        if newline:
            self._echo(lines + newline)
        return len(text)


class _Bytes(io.RawIOBase):
    def __init__(self, text: _Output) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Isolation:
    """Serves modules, clock and output to the ranks while a run lasts, and puts everything back afterwards."""

    def __init__(
        self, tasks: Transport, argv: Sequence[str], served: dict[str, ModuleType], echo: Echo, source: bytes
    ) -> None:
        self._tasks, self._argv, self._served, self._echo = tasks, list(argv), served, echo
        self._beside = _Beside(tasks.folder.rstrip("/\\") or "/")
        self._beside.random = b"rand" in source
        self._undo = ExitStack()

    def __enter__(self) -> "Isolation":
        hidden = {name for name in sys.modules if self._stands_in(name)} | {"__main__"}
        hidden_modules = {name: sys.modules.pop(name) for name in hidden if name in sys.modules and name != "__main__"}
        hidden_modules["__main__"] = sys.modules["__main__"]
        self._undo.callback(self._put_back, hidden_modules, sys.argv, sys.stdout, list(sys.path))
        sys.modules.update(self._served)
        sys.meta_path.insert(0, self._beside)
        sys.path.insert(0, self._beside.folder)
        sys.stdout = _Output(self._tasks, self._echo)
        self._undo.callback(setattr, os, "environ", os.environ)
        setattr(os, "environ", RankEnvironment(self._tasks, os.environ, launched(self._tasks)))  # noqa: B010
        self._undo.callback(_set_random_state, _random_state())
        self._rule_the_clock()
        self._let_ranks_exit()
        self._tasks.enter, self._tasks.leave = self._enter, self._leave
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks.tasks:
            if task.unfinished_line:
                self._echo(task.unfinished_line + "\n")
        self._undo.close()

    def _stands_in(self, name: str) -> bool:
        """Whether a module, or the package that it is in, is served."""
        return any(name == served or name.startswith(f"{served}.") for served in (*self._served, ELSEWHERE))

    def _enter(self, task: Task) -> None:
        if not task.argv:
            task.argv = list(self._argv)
        sys.argv = task.argv
        sys.modules.update(task.modules)
        if self._beside.random:
            if task.random is None:  # processes would draw seeds of their own: so do ranks, the same in every run
                random.seed(task.rank)
                np.random.seed(task.rank)  # noqa: NPY002
            else:
                _set_random_state(task.random)

    def _leave(self, task: Task) -> None:
        for name in self._beside.names:
            module = sys.modules.pop(name, None)
            if module is not None:
                task.modules[name] = module
        if self._beside.random:
            task.random = _random_state()

    def _rule_the_clock(self) -> None:
        def simulated(real: Callable[[], float], begin: float) -> Callable[[], float]:
            return lambda: begin + self._tasks.clock() if self._asked_by_script() else real()

        def sleep(seconds: float) -> None:
            if self._asked_by_script():
                self._tasks.sleep(seconds)
            else:
                real_sleep(seconds)

        real_sleep = time.sleep
        for name in ("time", "perf_counter", "monotonic"):
            real = getattr(time, name)
            self._undo.callback(setattr, time, name, real)
            setattr(time, name, simulated(real, real()))
        self._undo.callback(setattr, time, "sleep", real_sleep)
        setattr(time, "sleep", sleep)  # noqa: B010  the stub of `sleep` takes more kinds of numbers

    def _let_ranks_exit(self) -> None:
        """`os._exit` ends a rank as `sys.exit` does, not all of them; a process that a script forks it ends."""
        leave, process = os._exit, os.getpid()

        def leave_rank(status: int) -> NoReturn:
            if self._tasks.inside and os.getpid() == process:
                raise SystemExit(status)
            leave(status)

        self._undo.callback(setattr, os, "_exit", leave)
        setattr(os, "_exit", leave_rank)  # noqa: B010

    def _asked_by_script(self) -> bool:
        """Libraries, and threads of a rank, go by the real clock."""
        return self._tasks.inside and self._tasks.is_script(sys._getframe(2).f_code.co_filename)

    def _put_back(self, hidden_modules: dict[str, ModuleType], argv: list[str], stdout: Any, path: list[str]) -> None:
        for name in [*self._served, *self._beside.names]:
            sys.modules.pop(name, None)
        sys.modules.update(hidden_modules)
        sys.argv, sys.stdout = argv, stdout
        sys.path[:] = path
        sys.meta_path.remove(self._beside)


def _random_state() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()  # noqa: NPY002  scripts may use the global generator


def _set_random_state(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])  # noqa: NPY002

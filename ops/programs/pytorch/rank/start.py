"""What a process of the script gets before its first line: the simulated clock, and what follows `import torch`."""

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import io
import multiprocessing.process
import os
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any

from .link import LINK, SLEEP, of_script, report
from .streams import synchronize


def begin() -> None:
    """Put everything in place."""
    sys.meta_path.insert(0, _AfterTorch())
    watch()


def watch() -> None:
    """Rule the clock of this process, and report how it ends."""
    sys.excepthook = _failed
    atexit.register(_ended)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)
    _rule_the_clock()
    _report_children()


class _AfterTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets torch be imported, and then puts the process group and the GPUs in."""

    def __init__(self) -> None:
        self._loader: Any = None

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return None
        self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        from . import compute, devices, distributed

        distributed.install()
        devices.install()
        compute.install()


def _rule_the_clock() -> None:
    """For the script's own lines, clocks show simulated time and sleeping takes it."""

    def simulated(real: Callable[[], float], begin: float) -> Callable[[], float]:
        return lambda: begin + LINK.clock() if _asked_by_script() else real()

    def in_nanoseconds(real: Callable[[], int], begin: int) -> Callable[[], int]:
        return lambda: begin + round(LINK.clock() * 1e9) if _asked_by_script() else real()

    def sleep(seconds: float) -> None:
        if _asked_by_script():
            if seconds < 0:
                raise ValueError("sleep length must be non-negative")
            LINK.advance(float(seconds), SLEEP)
        else:
            real_sleep(seconds)

    real_sleep = time.sleep
    for name in ("time", "perf_counter", "monotonic"):
        real = getattr(time, name)
        setattr(time, name, simulated(real, real()))
        real = getattr(time, f"{name}_ns")
        setattr(time, f"{name}_ns", in_nanoseconds(real, real()))
    setattr(time, "sleep", sleep)  # noqa: B010  the stub of `sleep` takes more kinds of numbers


def _report_children() -> None:
    """Let what a process of multiprocessing fails with be known."""
    real = multiprocessing.process.BaseProcess.run

    def run(self: Any) -> None:
        try:
            real(self)
        except Exception as error:
            report(error)
            raise

    multiprocessing.process.BaseProcess.run = run  # type: ignore[method-assign]


def _asked_by_script() -> bool:
    return of_script(sys._getframe(2).f_code.co_filename)


def _failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Tell the simulator what ended this process."""
    if os.environ.get("RINGSIDE_TRACEBACKS") or not report(error.with_traceback(trace)):
        sys.__excepthook__(kind, error, trace)


def _ended() -> None:
    synchronize()
    LINK.leave()

"""Mutants under test: a process each, forked from one that has loaded everything but the project."""

import contextlib
import importlib
import importlib.abc
import importlib.util
import json
import linecache
import math
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.mutants.mutate import TESTS, Mutant, path_of, text_of, version_of

TIMES = 3
"""As much of the processor as its tests take as the code is, which a mutant may take at most."""
FROZEN = 900.0
"""Seconds after which a process that waits for something is ended."""
MEMORY = 3 << 30
"""Bytes that it may take."""
PROJECT = ("sim", "ops", "ui", "terminal", "tests")
PASSED, FAILED = 0, 1


class Outcome(NamedTuple):
    """How a mutant's tests went."""

    number: int
    mutant: Mutant
    how: str
    seconds: float
    output: str = ""

    @property
    def killed(self) -> bool:
        return self.how != "survived"


class Running(NamedTuple):
    number: int
    mutant: Mutant
    output: Path
    begun: float


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a module another text when it is imported; nothing is written anywhere."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.file = module, str(path_of(module))
        self.code = compile(source, self.file, "exec")
        linecache.cache[self.file] = len(source), None, source.splitlines(keepends=True), self.file

    def find_spec(self, fullname, path, target=None):  # noqa: ARG002
        if fullname == self.module:
            return importlib.util.spec_from_file_location(fullname, self.file, loader=self)
        return None

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module):
        exec(self.code, module.__dict__)


def run(
    mutants: Iterable[tuple[int, Mutant]],
    *,
    jobs: int = 1,
    tell: Callable[[Outcome], object] = lambda outcome: None,
    keep: Path | None = None,
) -> list[Outcome]:
    """Try some mutants; `tell` gets each outcome at once, and `keep` is a file they are added to."""
    load()
    waiting, running, outcomes = [*mutants][::-1], {}, []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, mutant = waiting.pop()
                output = Path(folder) / f"{number}.txt"
                seconds = TIMES * usual(TESTS[mutant.module])
                process = _started(mutant.module, mutant.source(), output, seconds)
                running[process] = Running(number, mutant, output, time.monotonic())
            for process in [*running]:
                outcome = _ended(process, running[process])
                if outcome:
                    del running[process]
                    outcomes.append(outcome)
                    tell(outcome)
                    _keep(outcome, keep)
            time.sleep(0.02)
    return outcomes


@cache
def load() -> None:
    """Import what the tests import, and forget what of it is the project's: each mutant's process has that anew."""
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "RINGSIDE_NO_WORKERS": "1"}
    own = {name for name in sys.modules if name.split(".")[0] in PROJECT}
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    importlib.import_module("numba")
    for file in {test.partition("::")[0] for tests in TESTS.values() for test in tests}:
        importlib.import_module(file.removesuffix(".py").replace("/", "."))
    for name in [*sys.modules]:
        if name.split(".")[0] in PROJECT and name not in own:
            del sys.modules[name]


@cache
def usual(tests: tuple[str, ...]) -> float:
    """Seconds of the processor that tests take with the code as it is.

    Raises RuntimeError where they fail with it: every mutant would seem to be noticed.
    """
    load()
    module = next(module for module, its in TESTS.items() if its == tests)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        output = Path(folder) / module
        _, status, usage = os.wait4(_started(module, text_of(module), output, FROZEN), 0)
        if status:
            raise RuntimeError(f"{module}: its tests fail without any fault: {output.read_text('utf-8')[-3000:]}")
    return usage.ru_utime + usage.ru_stime


def _started(module: str, source: str, output: Path, seconds: float) -> int:
    """The process that has so many of the processor for the tests of a module with another text."""
    process = os.fork()
    if process:
        return process
    status = FAILED
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
        status = _tested(module, source, output)
    except BaseException:  # noqa: BLE001  what a mutant does when it is imported
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _tested(module: str, source: str, output: Path) -> int:
    """In the new process: run the tests of a module that has another text."""
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import hypothesis
    import pytest

    once = {"phases": [hypothesis.Phase.explicit, hypothesis.Phase.generate], "database": None, "deadline": None}
    hypothesis.settings.register_profile("mutants", derandomize=True, **once)
    hypothesis.settings.load_profile("mutants")
    try:
        sys.meta_path.insert(0, Changed(module, source))
    except SyntaxError:
        return FAILED
    words = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "-o", "addopts="]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis was loaded before
    return int(pytest.main([*words, *TESTS[module]]))


def _ended(process: int, running: Running) -> Outcome | None:
    """The outcome of a process that has ended."""
    seconds = time.monotonic() - running.begun
    ended, status, usage = os.wait4(process, os.WNOHANG)
    if not ended:
        if seconds < FROZEN:
            return None
        os.kill(process, 9)
        _, status, usage = os.wait4(process, 0)
    how = "killed" if os.WIFEXITED(status) else "ended"
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == PASSED:
        how = "survived"
    seconds = usage.ru_utime + usage.ru_stime
    text = ""
    with contextlib.suppress(OSError):
        text = running.output.read_text("utf-8", "replace")[-6000:]
    return Outcome(running.number, running.mutant, how, seconds, text)


def _keep(outcome: Outcome, file: Path | None) -> None:
    if file is not None:
        row = [outcome.mutant, version_of(outcome.mutant.module), outcome.how, outcome.seconds]
        with file.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")


def kept(file: Path | None, mutants: list[Mutant]) -> list[Outcome]:
    """Outcomes of earlier for some of these mutants, as far as their modules are what they were."""
    if file is None or not file.exists():
        return []
    rows = {tuple(row[0]): row[1:] for row in map(json.loads, file.read_text("utf-8").splitlines())}
    tried = [(k, mutant, *rows[mutant]) for k, mutant in enumerate(mutants) if mutant in rows]
    return [Outcome(k, m, how, seconds) for k, m, version, how, seconds in tried if version == version_of(m.module)]

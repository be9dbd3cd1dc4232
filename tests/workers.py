"""Tests are collected once, by a process that runs none: its copies do, each taking one after the other.

All that is imported and collected is alike for all workers, and they have it in memory once. Files stay whole while
there are enough of them: what the tests of a file share is made once. A worker stays in the folder where it has begun,
as a folder's tests may share something, too: a browser, say.
"""

import os
import signal
import sys
import traceback
import warnings
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

import pytest

OVER = None
"""What is sent in place of a test's number when there is no more."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run them in copies of this process, if more than one is asked for."""
    option = session.config.option
    if option.workers < 2 or option.collectonly or option.usepdb or session.testsfailed:
        return None
    Crew(session).run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class Plan:
    """Which tests nobody has begun, by number: whole files, until the last ones are divided."""

    def __init__(self, files: list[str]) -> None:
        self._files: dict[str, deque[int]] = {}
        for number, file in enumerate(files):
            self._files.setdefault(file, deque()).append(number)
        self._of: dict[int, deque[int]] = {}
        self._folder: dict[int, str] = {}

    def next(self, worker: int) -> int | None:
        """A test for a worker, the next one of its file where that has more."""
        if not self._of.get(worker):
            self._of[worker] = self._file(worker) if self._files else self._half()
        return self._of[worker].popleft() if self._of[worker] else OVER

    def _file(self, worker: int) -> deque[int]:
        names = [*self._files]
        near = [name for name in names if os.path.dirname(name) == self._folder.get(worker)]
        # those who come later begin at the other end
        name = near[0] if near else names[0 if worker % 2 == 0 else -1]
        self._folder[worker] = os.path.dirname(name)
        return self._files.pop(name)

    def again(self, worker: int, test: int) -> None:
        """A test that was given to a worker and not begun."""
        self._of.setdefault(worker, deque()).appendleft(test)

    def _half(self) -> deque[int]:
        most = max(self._of.values(), key=len, default=deque())
        return deque(reversed([most.pop() for _ in range((len(most) + 1) // 2)]))


class Worker(NamedTuple):
    """A copy of this process, seen from here."""

    number: int
    process: int
    pipe: Connection
    tests: list[int]
    """What it was given and has not told the end of."""


class Crew:
    """The workers, and what they are told and tell."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.plan = Plan([item.location[0] for item in session.items])
        self.workers: dict[Connection, Worker] = {}

    def run(self) -> None:
        try:
            for number in range(self.session.config.option.workers):
                self._begin(number)
            while self.workers:
                for pipe in wait([*self.workers]):
                    self._hear(self.workers[pipe])
        finally:
            for worker in [*self.workers.values()]:  # an interrupt has reached them, too, and they clear away
                worker.pipe.close()
                os.waitpid(worker.process, 0)

    def _begin(self, number: int) -> None:
        here, there = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's, which expects copies
            process = os.fork()
        if process == 0:
            for pipe in (here, *self.workers):
                pipe.close()
            _work(self.session, there)
        there.close()
        self.workers[here] = Worker(number, process, here, [])

    def _hear(self, worker: Worker) -> None:
        """One thing that a worker says: the name of a hook of pytest, and what it is called with."""
        hook = self.session.config.hook
        try:
            name, words = worker.pipe.recv()
        except EOFError:
            self._lost(worker)
            return
        if name == "next":
            over = self.session.shouldfail or self.session.shouldstop
            test = OVER if over else self.plan.next(worker.number)
            worker.tests.extend([] if test is OVER else [test])
            worker.pipe.send(test)
        elif name == "pytest_runtest_logreport":
            report = hook.pytest_report_from_serializable(config=self.session.config, data=words)
            hook.pytest_runtest_logreport(report=report)
        elif name == "over":
            worker.tests.clear()
        else:
            if name == "pytest_runtest_logfinish":
                del worker.tests[0]
            getattr(hook, name)(**words)

    def _lost(self, worker: Worker) -> None:
        """A worker has ended; what it was at has failed if it was at something, and another one goes on."""
        del self.workers[worker.pipe]
        worker.pipe.close()
        _, status = os.waitpid(worker.process, 0)
        code = os.waitstatus_to_exitcode(status)
        if not worker.tests and code == 0:
            return
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
        place = self.session.items[worker.tests[0]] if worker.tests else None
        name, location = (place.nodeid, place.location) if place else ("the end of a worker", ("tests", None, "end"))
        report = pytest.TestReport(name, location, {}, "failed", f"the process ended {how}", "call")
        self.session.config.hook.pytest_runtest_logreport(report=report)
        for test in worker.tests[1:]:
            self.plan.again(worker.number, test)
        if worker.tests:
            self._begin(worker.number)


class Teller:
    """In a worker: passes on what the hooks are told there, instead of showing it."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._pipe.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("pytest_runtest_logreport", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._pipe.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def next(self) -> int | None:
        """The number of a test to run after those that were told."""
        self._pipe.send(("next", {}))
        return self._pipe.recv()

    def over(self) -> None:
        """Whatever was given and not told is left undone."""
        self._pipe.send(("over", {}))


def _work(session: pytest.Session, pipe: Connection) -> None:
    """Run tests until there are no more, and end this process."""
    status = 1
    plugins = session.config.pluginmanager
    try:
        if capture := plugins.get_plugin("capturemanager"):  # into files of its own
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        plugins.unregister(name="terminalreporter")
        teller = Teller(session.config, pipe)
        plugins.register(teller)
        _run(session, teller)
        teller.over()
        session.config._ensure_unconfigure()
        status = 0
    except (KeyboardInterrupt, EOFError, ConnectionError):
        status = 0  # told where the tests were begun, or by nobody who is there still
    except BaseException:  # noqa: BLE001 - it is told, and this process ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(session: pytest.Session, teller: Teller) -> None:
    """The next test is known before one is run, which leaves standing what the next one needs, too."""
    try:
        here = teller.next()
        while here is not OVER and not session.shouldfail:
            after = teller.next()
            item, following = session.items[here], None if after is OVER else session.items[after]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            here = after
    finally:
        session._setupstate.teardown_exact(None)

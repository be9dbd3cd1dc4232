"""Cases one after the other, in processes that are limited, watched, and replaced when they end.

A case is made of a seed, a kind and a number alone, so that each can be repeated.
"""

import contextlib
import faulthandler
import logging
import os
import queue
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from sim.errors import LONGEST, InputError, Message

ROOT = Path(__file__).resolve().parents[2]
SHARES = {"files": 0.5, "links": 0.3, "commands": 0.2}
"""Of the time."""
SECONDS = {"files": 10.0, "links": 20.0, "commands": 20.0}
"""Of the processor, for one case."""
OURS = (str(Message("addition.remedy")), str(Message("worker.fault", what="|")).partition("|")[0])
"""What sentences about our own faults have in them, which no input may ever bring up."""
STUCK = 75
"""How a process ends that has a thread which cannot be ended."""
FROZEN = 300.0
"""Seconds after which a process that no signal reaches is ended."""
MEMORY = 1 << 30
"""Bytes that a process may take beyond what it has at first."""


SETTINGS = {
    "RINGSIDE_NO_WORKERS": "1",
    "RINGSIDE_QUIET": "1",
    "RINGSIDE_MAX_DEVICES": "600",
    "RINGSIDE_MAX_SECONDS": "15",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Machines of thousands and what says that it takes long are refused: what a large run may take is not what is
looked for here. Arrow's own allocator sets 1 GiB aside at once, which counts as taken."""


class LateError(BaseException):
    """A case takes too long; not an Exception, so that nobody takes it for something else."""


class Finding(NamedTuple):
    """What a case did that none may."""

    kind: str
    number: int
    what: str
    case: str


class Case(NamedTuple):
    """What is tried, as it can be read, and how."""

    text: str
    run: Callable[[], Any]


def case(kind: str, seed: int, number: int, folder: Path) -> Case:
    """One case of a kind."""
    draw = Random(f"{seed} {kind} {number}")
    if kind == "files":
        from tests.attack import files

        reader = draw.choice(_readers())
        samples = reader.samples()
        mutant = files.hostile(draw.choice(samples), draw, samples)
        use = partial(_decoded, reader.use) if reader.is_text else reader.use
        return Case(f"{reader.name}:\n{mutant}", lambda: use(mutant))
    if kind == "links":
        from tests.attack import links

        words = links.link(draw)
        return Case(repr(words), lambda: links.run(words))
    from tests.attack import commands

    line = commands.command_line(draw, folder)
    return Case(repr(line), lambda: commands.run(line, folder))


def _readers() -> list[Any]:
    from tests.attack import files

    if not _READERS:
        _READERS.extend(reader for reader in files.readers() if reader.samples())
    return _READERS


_READERS: list[Any] = []


def _decoded(use: Callable[[str], Any], mutant: str) -> None:
    """A text as readers get it from a file."""
    from sim.base.files.textfile import decoded

    use(decoded(mutant.encode("utf-8", "replace"), "it"))


def outcome(kind: str, tried: Case) -> str:
    """What went wrong; nothing where a case was answered, or refused in a sentence."""

    def late(*_: object) -> None:
        raise LateError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS[kind])
    _OPENED.clear()
    try:
        tried.run()
    except InputError as error:
        if len(str(error)) > LONGEST:
            return f"a refusal of {len(str(error)):,} characters"
    except LateError:
        return f"more than {SECONDS[kind]:g} s"
    except MemoryError:
        return f"more than {MEMORY >> 20} MiB"
    except AssertionError as error:
        return f"{error}"[:1800] or _where(error)
    except Exception as error:  # noqa: BLE001  whatever is let through is what is looked for
        return _where(error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return f"opened {_OPENED[0]}" if _OPENED else ""


def _where(error: BaseException) -> str:
    frames = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)[-5:]]
    return f"{type(error).__name__}: {str(error)[:200]} at {' < '.join(reversed(frames))}"


_OPENED: list[str] = []
_OWN = tuple(
    map(str, (ROOT, sys.prefix, sys.base_prefix, tempfile.gettempdir(), "/proc", "/usr", "/etc", "/dev", "/sys"))
)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember sockets that are opened to anywhere, and programs that are started."""
    if event in ("socket.connect", "socket.bind", "os.system", "os.exec", "subprocess.Popen", "webbrowser.open"):
        _OPENED.append(f"{event} {str(arguments)[:200]}")
    elif event == "open" and arguments[0] == "/etc/passwd":
        _OPENED.append("/etc/passwd")


def work(board: Any, findings: Any, seed: int, worker: int, jobs: int, seconds: float, kinds: tuple[str, ...]) -> None:
    """Cases number `worker`, `worker + jobs`, … of each kind, whichever has had the least of its share of the time.

    The process that was here before has left what it took of the processor on the board.
    """
    before = board[5 * jobs + worker]
    os.environ |= SETTINGS
    logging.disable()
    from sim.base import formats

    formats.SLIPS = ()  # a slip that only the net behind all readers catches has no sentence of its own
    sys.setrecursionlimit(1000)
    sys.addaudithook(_watch)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    spent = dict.fromkeys(kinds, 0.0)
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        limited = False
        while goes_on(seconds - before):
            kind = min(kinds, key=lambda each: spent[each] / SHARES[each])
            place = 4 * worker + list(SHARES).index(kind)
            number = int(board[place])
            board[4 * worker + 3] = list(SHARES).index(kind)
            began = time.monotonic()
            board[4 * jobs + worker] = began
            folder = Path(name, f"{kind}-{number}")  # a case finds nothing that another has left
            folder.mkdir()
            tried = case(kind, seed, number, folder)
            if not limited:
                _limit()
                limited = True
            said = outcome(kind, tried)
            shutil.rmtree(folder, ignore_errors=True)
            if said.startswith("StuckError"):
                findings.close()
                findings.join_thread()
                os._exit(STUCK)
            if said:
                findings.put(Finding(kind, number, said, tried.text))
            board[place] = number + jobs
            spent[kind] += time.monotonic() - began
            board[4 * jobs + worker] = 0.0
            board[5 * jobs + worker] = before + time.process_time()


def goes_on(seconds: float) -> bool:
    """Whether the process has had no more than so many seconds of the processor, and whoever began is still there."""
    parent = parent_process()
    return time.process_time() < seconds and (parent is None or parent.is_alive())


def _limit() -> None:
    """Let no case take more memory than there may be."""
    used = int(Path("/proc/self/status").read_text().partition("VmData:")[2].split()[0]) << 10
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY + (MEMORY >> 1), hard))


def attack(
    seconds: float,
    seed: int,
    jobs: int = 1,
    kinds: tuple[str, ...] = tuple(SHARES),
    tell: Callable[[Finding], Any] = lambda finding: None,
) -> tuple[dict[str, int], list[Finding]]:
    """How many cases of each kind were tried, and what they did that none may.

    Every job has so many seconds of the processor, whoever else has it meanwhile.

    `tell` gets each finding at once.
    """
    context = get_context("spawn")
    board, findings = context.Array("d", 6 * jobs, lock=False), context.Queue()
    found = []

    def add(finding: Finding) -> None:
        found.append(finding)
        tell(finding)

    for worker in range(jobs):
        for k in range(3):
            board[4 * worker + k] = worker
    processes = [_start(context, board, findings, seed, w, jobs, seconds, kinds) for w in range(jobs)]
    while any(process.is_alive() for process in processes) or not findings.empty():
        with contextlib.suppress(queue.Empty):
            add(findings.get(timeout=0.2))
        for w, process in enumerate(processes):
            began = board[4 * jobs + w]
            frozen = began and time.monotonic() - began > FROZEN
            if frozen:
                os.kill(process.pid, signal.SIGUSR1)
                time.sleep(1)  # in which it writes where it stands
                process.kill()
                process.join()
            if process.exitcode not in (0, None):
                place = 4 * w + int(board[4 * w + 3])
                kind, number = list(SHARES)[int(board[4 * w + 3])], int(board[place])
                with tempfile.TemporaryDirectory() as folder:
                    text = case(kind, seed, number, Path(folder)).text
                why = f"nothing for {FROZEN:g} s" if frozen else f"the process ended with {process.exitcode}"
                why = "a page that was waited for in vain" if process.exitcode == STUCK else why
                add(Finding(kind, number, why, text))
                board[place] = number + jobs
                board[4 * jobs + w] = 0.0
                processes[w] = _start(context, board, findings, seed, w, jobs, seconds, kinds)
    done = {kind: sum(int(board[4 * w + k]) // jobs for w in range(jobs)) for k, kind in enumerate(SHARES)}
    return done, found


def _start(context: Any, board: Any, findings: Any, *words: Any) -> Any:
    process = context.Process(target=work, args=(board, findings, *words))
    process.start()
    return process

"""A worker: a process that carries out one call after the other, within its memory, and ends with its parent."""

import logging
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from sim.base import watch
from sim.base.compiled import wait_for_compiler
from sim.errors import InputError, Message, StalledError
from sim.registry import addition_fault

OWN_FAULT = "worker.fault"
"""The id of a sentence that nobody should ever read."""
FULL = "worker.memory"
"""The id of the sentence about a call that did not fit into memory."""
ROOT = Path(__file__).parents[__name__.count(".")]
"""Where the package begins that this module is of."""
CAN_COPY = "forkserver" in multiprocessing.get_all_start_methods()
POLITE = 10
"""How far workers stand behind the page for the processor."""
TELL = 0.2
"""Seconds between two words of how far a call is."""


class Call(NamedTuple):
    """What a worker is to do: a function of a module, and what it gets."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Progress(NamedTuple):
    """How far a call is, as a share between 0 and 1."""

    share: float


class Result(NamedTuple):
    """What a call came to, pickled; or in `refusal` why it could not be, with the status of that error."""

    value: bytes = b""
    refusal: Message = Message("")
    status: int = 0

    def read(self) -> Any:
        """The value, a copy of its own for everybody. Raises InputError or StalledError for what was refused."""
        if not self.status:
            return pickle.loads(self.value)
        raise InputError(self.refusal) if self.status == InputError.status else StalledError(self.refusal)


def serve(connection: Connection, memory: int, seconds: float) -> None:
    """Answer calls until the other end is closed; what a call takes is told as Progress, and as an Estimate before.

    `memory` are the bytes of data that this process may have, `seconds` those of a call.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends what it has started
    watch.limit_memory(memory)
    _give_way()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            call, is_compiling = connection.recv()
            wait_for_compiler(is_at_work=is_compiling)
            connection.send(Progress(0.0))  # it is here; who ends before this has been sent has lost nothing
            by = watch.Watch(
                seconds,
                memory,
                every=TELL,
                tell=lambda share: connection.send(Progress(share)),
                announce=connection.send,
                mend=_at_home,
            )
            connection.send(answer(call, by))


def kept_waiting(pid: int) -> float:
    """Seconds that a process has been ready and got no processor; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return 0.0


def _at_home(what: str, amount: str) -> Message:
    return Message("worker.at_home", option=what, amount=amount)


def answer(call: Call, by: watch.Watch | None = None) -> Result:
    """Carry out a call, watched; a person's error is an answer, too."""
    try:
        with watch.watched(by or watch.Watch()):
            value = call.function(*call.args)
        return Result(pickle.dumps(value, protocol=5))
    except (InputError, StalledError) as error:
        return Result(refusal=error.message, status=error.status)
    except MemoryError:
        return Result(refusal=Message(FULL), status=InputError.status)
    except Exception as error:
        logging.getLogger(__name__).exception("%s", call.function)
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        fault = addition_fault(error) or InputError(OWN_FAULT, what=what)
        return Result(refusal=fault.message, status=fault.status)


def _give_way() -> None:
    with suppress(AttributeError, OSError):
        os.nice(POLITE)  # the page draws while workers compute, however few cores there are
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")  # where memory runs out after all, this process goes before the page does


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def context() -> Any:
    """How processes are started: as copies of one that has loaded all it takes, where the system can do that."""
    return multiprocessing.get_context("forkserver" if CAN_COPY else "spawn")


def prepare_copies(modules: list[str]) -> None:
    """Start the process that workers are copies of; it imports these modules while the first visitor is on the way."""
    if not CAN_COPY:
        return
    from multiprocessing import forkserver

    context().set_forkserver_preload(modules)
    before = dict(os.environ)
    os.environ.update(environment())
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def environment() -> dict[str, str]:
    """That of a process which finds this project's modules, wherever it was started."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}

"""The one pool of a page's process, and what stands for it where there are no workers."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from sim.base.share import memory_share
from ui.workers.pool import PageJob, PoolLimits, WorkerPool
from ui.workers.process import CAN_COPY, Call, Result, answer, prepare_copies
from ui.workers.warm import are_made, make


class OwnProcess:
    """The same without processes: every call is carried out where it is asked, for tests and small computers."""

    is_compiling = False

    def __init__(self) -> None:
        self.limits = PoolLimits(1, memory_share(), float("inf"))
        self._kept: OrderedDict[Call, Result] = OrderedDict()

    def ask(self, visitor: str, call: Call, *, shared: bool = True) -> PageJob:
        """As a pool does; the job is done when this returns."""
        job = PageJob(visitor, call)
        result = self._kept.get(call) if shared else None
        if result is None:
            result = answer(call)
            if shared and not result.status:
                self._kept[call] = result
                while len(self._kept) > 64:
                    self._kept.popitem(last=False)
        job.set_result(result)
        return job

    def leave(self, job: PageJob) -> None:
        """Nothing is under way."""

    def load(self) -> dict[str, int]:
        """As a pool tells it."""
        return {"workers": 0, "running": 0, "waiting": 0, "done": 0, "died": 0, "remembered_bytes": 0}

    def processes(self) -> list[int]:
        """None."""
        return []

    def close(self) -> None:
        """Nothing is there to be ended."""


_POOL: list[WorkerPool | OwnProcess] = []
_STARTING = threading.Lock()
ALONE = "RINGSIDE_NO_WORKERS"
"""Set, this environment variable has everything done in the page's own process."""


def the_pool(limits: Callable[[], PoolLimits] = PoolLimits.fitting) -> WorkerPool | OwnProcess:
    """The one pool of this process, started when it is first asked for."""
    with _STARTING:
        if not _POOL:
            if os.environ.get(ALONE):
                _POOL.append(OwnProcess())
            else:
                ready = CAN_COPY and are_made()
                prepare_copies(["ui.workers.warmed"] if ready else ["ui.workers.tasks", "numba"])
                _POOL.append(WorkerPool(limits(), kernels=None if ready else make).start())
        return _POOL[0]


def close_pool() -> None:
    """End the pool of this process, if there is one."""
    with _STARTING, suppress(IndexError):
        _POOL.pop().close()

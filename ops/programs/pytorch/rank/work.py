"""Work under way: its data on its way through gloo, its end known to the simulator."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from .link import LINK

Then = Callable[[], None]


class RingsideWork(dist.Work):
    """What a collective or a message returns. Its caller's clock goes to its end when it is waited for.

    `move` begins to move the data and returns gloo's works; it gets the simulator's answer, which is empty before the
    call has ended. `then` puts the data in place when it has come. If the caller waits at once, as `opts` tells, data
    moves when the simulator has seen that all ranks' calls fit.
    """

    def __init__(
        self,
        number: int,
        result: Sequence[torch.Tensor],
        move: Callable[[Any], Sequence[Any]] = lambda _: (),
        then: Then | None = None,
        opts: Any = None,
        *,
        late: bool = False,
    ) -> None:
        super().__init__()
        self._late = late
        self.number, self.tensors = number, list(result)
        self._move, self._then = move, then
        self._inner: list[Any] | None = None
        self._waited = self._placed = False
        self._source = -1
        if not late and getattr(opts, "asyncOp", True):
            self._begin({})

    def _begin(self, answer: Any) -> list[Any]:
        if self._inner is None:
            with LINK.quietly():
                self._inner = list(self._move(answer))
        return self._inner

    def wait(self, timeout: Any = None) -> bool:  # noqa: ARG002  as torch calls it
        """Go on at its end."""
        self._await_end()
        self._take()
        return True

    synchronize = wait

    def _await_end(self) -> None:
        if self._waited:
            return
        if LINK.stream is not None and not self._late:
            LINK.stream.await_work(self.number)
            self._waited = True
            return
        answer = LINK.ask("wait", work=self.number)
        self._waited = True
        self._source = answer.get("source", -1)
        self._begin(answer)

    def _take(self) -> None:
        """Put the data where it belongs."""
        if self._placed:
            return
        for work in self._begin({}):
            work.wait()
        if self._then is not None:
            with LINK.quietly():
                self._then()
        self._placed = True

    def is_completed(self) -> bool:
        """Whether it has ended by now."""
        if not self._waited and LINK.ask("test", work=self.number)["done"]:
            self.wait()
        return self._waited

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self.is_completed()

    def exception(self) -> None:
        """Nothing: what goes wrong ends the run."""

    def source_rank(self) -> int:
        """Return the rank of the group that sent the message."""
        return self._source

    _source_rank = source_rank

    def result(self) -> list[torch.Tensor]:
        """Return the tensors that it fills."""
        return self.tensors

    def get_future(self) -> Any:
        """Return a future of the data. In a backward pass the clock goes to the end of the work when that pass ends."""
        if torch._C._current_graph_task_id() != -1:
            torch.autograd.Variable._execution_engine.queue_callback(self._await_end)
        else:
            self._await_end()
        inner = self._begin({})
        if self._then is None and len(inner) == 1:
            return inner[0].get_future()
        self._take()
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result(self.tensors)
        return future


class Together(dist.Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Any]) -> None:
        super().__init__()
        self._works = list(works)

    def wait(self, timeout: Any = None) -> bool:  # noqa: ARG002  as torch calls it
        """Go on when all have ended."""
        for work in self._works:
            work.wait()
        return True

    def is_completed(self) -> bool:
        """Whether all have ended by now."""
        return all(work.is_completed() for work in self._works)

    def get_future(self) -> Any:
        """Return a future of the last one's data."""
        return [work.get_future() for work in self._works][-1]

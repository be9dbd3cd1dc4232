"""Requests: what non-blocking calls return."""
# ruff: noqa: N802  methods and arguments are called as mpi4py calls them

from collections.abc import Callable, Sequence
from typing import Any, Self

from ops.programs.mpi4py.handles.constants import UNDEFINED
from ops.programs.mpi4py.handles.errors import wrong
from ops.programs.mpi4py.handles.handle import Numberless
from ops.programs.mpi4py.handles.status import Status
from ops.programs.runtime.messages import Mailbox, Receive
from ops.programs.runtime.tasks import Pending
from ops.programs.runtime.transport import Transport


class MpiRequest(Numberless):
    """A call under way. `result` gives what a lower-case wait returns, once, in the rank that asks.

    `MPI.Request(request)` is another one for the same call, which classes of programs' own are made of.
    """

    kind = "Request"
    _world: Transport | None = None
    _pending: Pending | None = None
    _result: Callable[[], Any] | None = None
    _also: tuple[Pending, ...] = ()
    _cancelled = False

    def __new__(cls, *args: Any, **_: Any) -> Self:
        """One for the same call as another, or a new one."""
        made = super().__new__(cls)
        if args and isinstance(args[0], MpiRequest):
            made.__dict__.update(args[0].__dict__)
        return made

    def __init__(
        self,
        world: "Transport | MpiRequest | None" = None,
        pending: Pending | None = None,
        result: Callable[[], Any] | None = None,
        also: tuple[Pending, ...] = (),
    ) -> None:
        if not (world is None or isinstance(world, (Transport, MpiRequest))):
            raise TypeError(f"Argument 'request' has incorrect type (got {type(world).__name__})")
        if pending is not None:
            self._world, self._pending = None if isinstance(world, MpiRequest) else world, pending
            self._result, self._also = result, also

    def __bool__(self) -> bool:
        return self._pending is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MpiRequest):
            return NotImplemented
        return self is other or (self._null and other._null) or bool(self.__dict__ and self.__dict__ == other.__dict__)

    @property
    def _null(self) -> bool:
        return self._pending is None

    __hash__ = object.__hash__

    @property
    def open(self) -> Pending | None:
        """What it stands for; None once it has been asked for."""
        return self._pending

    @property
    def parts(self) -> tuple[Pending, ...]:
        """All that must be done for it."""
        return () if self._pending is None else (self._pending, *self._also)

    @property
    def done(self) -> bool:
        """Whether all of it is done."""
        return all(part.done for part in self.parts)

    def collect(self, status: Status | None = None) -> Any:
        """The result of a finished call; the request is used up."""
        pending, self._pending = self._pending, None
        if pending is None:
            if status is not None:
                status.__init__()  # type: ignore[misc]
            return None
        if status is not None:
            status.__init__()  # type: ignore[misc]
            status.fill(pending.message if isinstance(pending, Receive) else None)
            status.cancelled = self._cancelled
        if pending.problem is not None:
            raise pending.problem
        return None if self._result is None or self._cancelled else self._result()

    def Wait(self, status: Status | None = None) -> bool:
        """Stop until it is done."""
        self._waited(status)
        return True

    def Test(self, status: Status | None = None) -> bool:
        """Whether it is done."""
        return self._tested(status)[0]

    def wait(self, status: Status | None = None) -> Any:
        """Stop until it is done; the object received, if any."""
        return self._waited(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether it is done, and the object received."""
        return self._tested(status)

    def _waited(self, status: Status | None) -> Any:
        _await([self], "Wait", every=True)
        return self.collect(status)

    def _tested(self, status: Status | None) -> tuple[bool, Any]:
        if not _is_enough([self], all):
            return False, None
        return True, self.collect(status)

    def Get_status(self, status: Status | None = None) -> bool:
        """Whether it is done; the request stays as it is."""
        done = _is_enough([self], all)
        if done and status is not None and isinstance(self._pending, Receive):
            status.fill(self._pending.message)
        return done

    get_status = Get_status

    def Cancel(self) -> None:
        """Take an unmatched receive back."""
        if self._null:
            wrong("ERR_REQUEST", "Null Request")
        if isinstance(self._pending, Receive):
            box: Mailbox = self._pending.box
            self._cancelled = box.cancel(self._pending)

    cancel = Cancel

    def Free(self) -> None:
        """Forget it; what is under way goes on."""
        if self._null:
            wrong("ERR_REQUEST", "Null Request")
        self._pending = None

    def free(self) -> None:
        """Forget it if there is anything to forget."""
        if not self._null:
            self.Free()

    def __reduce__(self) -> Any:
        if self is NULL:
            return "REQUEST_NULL"
        raise ValueError("cannot serialize 'mpi4py.MPI.Request' instance")

    @classmethod
    def Waitall(cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None) -> bool:
        """Stop until all are done."""
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def waitall(cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None) -> list[Any]:
        """Stop until all are done; the objects received."""
        _await(requests, "Waitall", every=True)
        return _collected(requests, statuses)

    @classmethod
    def Waitany(cls, requests: Sequence["MpiRequest"], status: Status | None = None) -> int:
        """Stop until one is done; its place, or UNDEFINED when none is open."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def waitany(cls, requests: Sequence["MpiRequest"], status: Status | None = None) -> tuple[int, Any]:
        """Stop until one is done; its place and the object received."""
        if not _any_open(requests):
            return UNDEFINED, None
        _await(requests, "Waitany", every=False)
        i = _done(requests)[0]
        return i, requests[i].collect(status)

    @classmethod
    def Waitsome(cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None) -> list[int] | None:
        """Stop until at least one is done; the places of all that are."""
        return cls.waitsome(requests, statuses)[0]

    @classmethod
    def waitsome(
        cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Stop until at least one is done; places and objects of all that are."""
        if not _any_open(requests):
            return None, None
        _await(requests, "Waitsome", every=False)
        places = _done(requests)
        return places, _collected([requests[i] for i in places], statuses)

    @classmethod
    def Testall(cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None) -> bool:
        """Whether all are done."""
        return cls.testall(requests, statuses)[0]

    @classmethod
    def testall(
        cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Whether all are done, and the objects received."""
        if not _is_enough(requests, all):
            return False, None
        return True, _collected(requests, statuses)

    @classmethod
    def Testany(cls, requests: Sequence["MpiRequest"], status: Status | None = None) -> tuple[int, bool]:
        """The place of one that is done, and whether there is one."""
        i, flag, _ = cls.testany(requests, status)
        return i, flag

    @classmethod
    def testany(cls, requests: Sequence["MpiRequest"], status: Status | None = None) -> tuple[int, bool, Any]:
        """The place of one that is done, whether there is one, and the object received."""
        if not _any_open(requests):
            return UNDEFINED, True, None
        if not _is_enough(requests, any):
            return UNDEFINED, False, None
        i = _done(requests)[0]
        return i, True, requests[i].collect(status)

    @classmethod
    def Testsome(cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None) -> list[int] | None:
        """The places of all that are done."""
        return cls.testsome(requests, statuses)[0]

    @classmethod
    def testsome(
        cls, requests: Sequence["MpiRequest"], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """Places and objects of all that are done."""
        if not _any_open(requests):
            return None, None
        places = _done(requests) if _is_enough(requests, any) else []
        return places, _collected([requests[i] for i in places], statuses)


class Prequest(MpiRequest):
    """A call that can be started again and again."""

    _begin: Callable[[], MpiRequest] | None = None
    _freed = False

    def __init__(self, begin: "Callable[[], MpiRequest] | MpiRequest | None" = None) -> None:
        super().__init__()
        if begin is not None and not isinstance(begin, MpiRequest):
            self._begin = begin

    def __bool__(self) -> bool:
        return not self._null

    @property
    def _null(self) -> bool:
        return self._freed or self._begin is None

    def Free(self) -> None:
        """It will not be started again."""
        super().Free()
        self._freed = True

    def Start(self) -> None:
        """Begin once more."""
        if self._begin is None or self._freed:
            wrong("ERR_REQUEST", "Null Request")
        started = self._begin()
        self._world, self._pending, self._result = started._world, started._pending, started._result
        self._also, self._cancelled = started._also, False

    @classmethod
    def Startall(cls, requests: Sequence["Prequest"]) -> None:
        """Begin all of them."""
        for request in requests:
            request.Start()


NULL = MpiRequest()


def _collected(requests: Sequence[MpiRequest], statuses: list[Status] | None) -> list[Any]:
    pairs = zip(requests, _each(statuses, requests), strict=True)
    return [request.collect(status) for request, status in pairs]


def _each(statuses: list[Status] | None, requests: Sequence[Any]) -> list[Status | None]:
    """One status per request; a list that is too short is made longer, as mpi4py does."""
    if statuses is None:
        return [None] * len(requests)
    missing = [Status() for _ in range(len(requests) - len(statuses))]
    if isinstance(statuses, list):
        statuses.extend(missing)
        missing = []
    return [*statuses[: len(requests)], *missing]


def _open(requests: Sequence[MpiRequest]) -> tuple[list[Pending], Transport | None]:
    pending = [part for r in requests for part in r.parts if not part.done]
    return pending, next((r._world for r in requests if r.open is not None), None)


def _any_open(requests: Sequence[MpiRequest]) -> bool:
    return any(request.open is not None for request in requests)


def _done(requests: Sequence[MpiRequest]) -> list[int]:
    return [i for i, r in enumerate(requests) if r.open is not None and r.done]


def _await(requests: Sequence[MpiRequest], name: str, *, every: bool) -> None:
    world = _open(requests)[1]
    if world is None:
        return
    if every or not _done(requests):
        world.wait([part for r in requests for part in r.parts], name, every=every)
    while not every and not _done(requests):
        world.wait(_open(requests)[0], name, every=False)


def _is_enough(requests: Sequence[MpiRequest], enough: Callable[[list[bool]], bool]) -> bool:
    """Whether enough of the open ones are done. If not, time may pass for whoever asks in a loop."""
    pending, world = _open(requests)
    if world is not None and not enough([r.done for r in requests if r.open is not None]):
        world.ask_again(pending[0])
    return world is None or enough([r.done for r in requests if r.open is not None])

"""How many connections this process may have, and who has to leave where one more comes.

Every connection takes a descriptor, of which a process may have so many. Where they run out a server answers nobody
any more, whatever it is asked; so some are kept back, and whoever does least leaves first.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ui.server.sockets import OPEN

RESERVED = 64
"""Descriptors that no connection takes: files that are read, connections that come before others have left."""
OF_A_WORKER = 6
"""Descriptors that a worker takes at most."""
AT_ONCE = 16
"""Connections that are taken before those that have to leave do; four times as many are kept back."""
FEWEST = 16
"""Connections that there are however few descriptors are left."""
UNKNOWN = 4096
"""Connections where a system does not tell how many descriptors there are."""


@dataclass(eq=False)
class Tab:
    """A connected page: the second of the clock when it last said something, or came, and whether it said anything."""

    heard: float = field(default_factory=time.monotonic)
    has_spoken: bool = False

    def speaks(self) -> None:
        """It has said something."""
        self.heard, self.has_spoken = time.monotonic(), True


class Door:
    """All connections of this process, oldest first; `most` of them stay."""

    def __init__(self, most: int = UNKNOWN) -> None:
        self.most = most
        self._open: dict[Any, float] = {}

    def enter(self, transport: Any) -> None:
        """One more connection is there; whoever does least leaves where there are too many."""
        self._open = {other: came for other, came in self._open.items() if not other.is_closing()}
        others = sorted(self._open, key=self._use)
        self._open[transport] = time.monotonic()
        for idle in others[: max(0, len(self._open) - self.most)]:
            idle.abort()

    def __len__(self) -> int:
        return sum(not transport.is_closing() for transport in self._open)

    def _use(self, transport: Any) -> tuple[int, float]:
        """How much a connection does: its kind, and since when it has been silent; least sorts first.

        Those that ask for nothing leave before tabs that never said anything, then requests under way, then the tab
        that has been silent for longest.
        """
        protocol, came = transport.get_protocol(), self._open[transport]
        tab = _tab_of(protocol)
        if tab is not None:
            return (3 if tab.has_spoken else 1), tab.heard
        cycle = getattr(protocol, "cycle", None)
        return (0 if cycle is None or cycle.response_complete else 2), came


def _tab_of(protocol: Any) -> Tab | None:
    """The tab that a connection is, if it is one."""
    state = (getattr(protocol, "scope", None) or {}).get("state") or {}
    tab = state.get(TAB)
    return tab if isinstance(tab, Tab) else None


TAB = "ringside_tab"
"""Where a socket's scope has its tab, in what the server keeps for each."""
DOOR = Door()


def room(workers: int) -> int:
    """How many connections there may be: descriptors that this process may have, but for its own and its workers'.

    What it may have is raised first, as far as it can.
    """
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                soft = hard
    except ImportError:
        return UNKNOWN
    if soft == resource.RLIM_INFINITY:
        return UNKNOWN
    own = len(os.listdir(OPEN)) if OPEN.exists() else RESERVED
    return max(FEWEST, soft - own - OF_A_WORKER * workers - RESERVED)


def watch(workers: int) -> None:
    """Have the server's connections pass the door from now on; called in its loop, before it listens."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    DOOR.most = room(workers)
    made = AutoHTTPProtocol.connection_made
    if not hasattr(made, "passes"):

        def connection_made(protocol: Any, transport: Any) -> None:
            made(protocol, transport)
            DOOR.enter(transport)

        connection_made.passes = True  # type: ignore[attr-defined]
        AutoHTTPProtocol.connection_made = connection_made
    _take_few_at_once(asyncio.get_running_loop())
    _spare_loops()


def _take_few_at_once(loop: Any) -> None:
    """Have a loop take few connections before it looks at anything else: else a crowd gets in before anybody leaves."""
    accept: Callable[..., None] | None = getattr(loop, "_accept_connection", None)
    if accept is not None:
        few = lambda factory, sock, tls=None, server=None, backlog=100, *rest: accept(  # noqa: E731
            factory, sock, tls, server, min(backlog, AT_ONCE), *rest
        )
        loop._accept_connection = few


class LaterLoop(asyncio.AbstractEventLoop):
    """An event loop that is made when somebody uses it: until then it takes no descriptor."""

    _made: asyncio.AbstractEventLoop | None = None
    _is_closed = False

    def is_closed(self) -> bool:
        """Whether it is closed."""
        return self._made.is_closed() if self._made is not None else self._is_closed

    def is_running(self) -> bool:
        """Whether it runs."""
        return self._made is not None and self._made.is_running()

    def close(self) -> None:
        """Close it."""
        self._is_closed = True
        if self._made is not None:
            self._made.close()

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in ("is_closed", "is_running", "close"):
            return super().__getattribute__(name)
        if self._made is None:
            self._made = asyncio.new_event_loop()
        return getattr(self._made, name)


class _Asyncio:
    """What Streamlit's sessions take for `asyncio`: the same, with loops that take nothing until they are used."""

    new_event_loop = LaterLoop

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


def _spare_loops() -> None:
    """Streamlit makes a loop for every tab, three descriptors each, which pages here never use."""
    from streamlit.runtime import app_session

    app_session.__dict__["asyncio"] = _Asyncio()

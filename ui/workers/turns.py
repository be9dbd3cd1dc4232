"""Pages are drawn by few threads at once: the process that draws them has one interpreter, and answers with it, too.

Fifty pages drawn at once are there no sooner than a few at a time, and nothing else of the server gets a turn then.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 8
"""Pages that are drawn at the same time."""
_TURNS = threading.Semaphore(AT_ONCE)
_OWN = threading.local()


@contextmanager
def turn() -> Iterator[None]:
    """Draw a page, once it is this thread's turn."""
    with _TURNS:
        _OWN.has_turn = True
        try:
            yield
        finally:
            _OWN.has_turn = False


@contextmanager
def aside() -> Iterator[None]:
    """Wait for something while others draw; it is this thread's turn again afterwards, if it was."""
    if not getattr(_OWN, "has_turn", False):
        yield
        return
    _TURNS.release()
    try:
        yield
    finally:
        _TURNS.acquire()

"""What no reader, page or command may do, whatever it is handed: take long, open a socket, start a program, break."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sim.errors import InputError

FORBIDDEN = ("socket.connect", "socket.bind", "os.system", "os.exec", "subprocess.Popen", "webbrowser.open")
"""Events of the interpreter."""
_OPENED: list[str] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _OPENED is not None and (event in FORBIDDEN or (event == "open" and arguments[0] == "/etc/passwd")):
        _OPENED.append(f"{event} {str(arguments)[:200]}")


sys.addaudithook(_watch)


@contextmanager
def answered(seconds: float) -> Iterator[None]:
    """Let a case be answered or refused in a sentence, within seconds of the processor; fail where it is neither."""
    global _OPENED

    def late(*_: object) -> None:
        pytest.fail(f"more than {seconds:g} s")  # no Exception, so that nobody takes it for something else

    opened: list[str] = []
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    _OPENED = opened
    try:
        yield
    except InputError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        _OPENED = None
    assert not opened, opened[0]

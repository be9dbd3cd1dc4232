"""Connections: the idlest leave where one more comes than there are descriptors for, and a tab takes one of them."""

import asyncio
import os
import resource
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tests.attack.visitors import LONGEST, Tab, look
from tests.browser.visit import ROOT, serve
from ui.server import door
from ui.server.door import TAB, Door, LaterLoop, room

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors are limited otherwise there")


class Transport:
    """A connection that is nothing yet, a request (`busy` or over) or a tab."""

    def __init__(self, tab=None, busy=None):
        cycle = None if busy is None else SimpleNamespace(response_complete=not busy)
        self.protocol = SimpleNamespace(cycle=cycle, scope={"state": {TAB: tab}} if tab else None)
        self.is_open = True

    def get_protocol(self):
        return self.protocol

    def is_closing(self):
        return not self.is_open

    def abort(self):
        self.is_open = False


def tab(heard, has_spoken):
    return Transport(door.Tab(heard, has_spoken))


def test_whoever_does_least_leaves_first(monkeypatch):
    monkeypatch.setattr(door.time, "monotonic", lambda: 100.0)
    spoken, lately, silent, asking, over, nothing = all_of = (
        tab(5.0, True), tab(50.0, True), tab(90.0, False), Transport(busy=True), Transport(busy=False), Transport(),
    )  # fmt: skip
    entrance, left = Door(len(all_of)), []
    for each in all_of:
        entrance.enter(each)
    for _ in all_of:
        entrance.enter(tab(200.0, True))
        left += [each for each in all_of if each.is_closing() and each not in left]
    assert left == [over, nothing, silent, asking, spoken, lately]
    assert len(entrance) == len(all_of)


def test_whoever_comes_stays():
    entrance = Door(1)
    entrance.enter(first := Transport())
    entrance.enter(second := Transport())
    assert (first.is_open, second.is_open) == (False, True)


def test_a_process_takes_all_the_descriptors_that_it_may_have():
    code = "import resource as r; from ui.server.door import room; print(room(2), *r.getrlimit(r.RLIMIT_NOFILE))"
    line = ["sh", "-c", 'ulimit -S -n 300; ulimit -H -n 900; exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    most, soft, hard = map(int, done.stdout.split())
    assert (soft, hard) == (900, 900)
    assert 700 < most < 900 - 2 * door.OF_A_WORKER - door.RESERVED


def test_there_is_room_where_nothing_is_limited(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert room(2) == door.UNKNOWN


def test_a_loop_that_nobody_uses_takes_no_descriptor():
    before = os.listdir("/dev/fd")
    loop = LaterLoop()
    assert (loop.is_closed(), loop.is_running(), os.listdir("/dev/fd")) == (False, False, before)
    assert elsewhere(lambda: loop.run_until_complete(asyncio.sleep(0, "done"))) == "done"
    loop.close()
    assert loop.is_closed()


def elsewhere(run):
    """What a function returns in another thread: in this one a browser's event loop may be running."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


def silent(port):
    """A tab that says nothing, not even what its socket would by itself."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
    opened.sendall(
        f"GET /_stcore/stream HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: streamlit\r\n\r\n".encode()
    )
    return opened


@pytest.mark.slow
def test_more_silent_tabs_than_descriptors_keep_nobody_out(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as said:
        address, server = serve(said, descriptors="256")
    port, opened = int(address.rpartition(":")[2]), []
    try:
        opened += [silent(port) for _ in range(400)]
        assert look(address)["visitors"] < 256

        async def visit():
            async with Tab(address) as tab:
                return await tab.drawn("machine=switch:ranks=4")

        assert elsewhere(lambda: asyncio.run(visit())) > 0
        opened += [silent(port) for _ in range(50)]
        assert look(address)["visitors"] > 0
    finally:
        for each in opened:
            each.close()
        server.terminate()
        server.wait()
    assert "Traceback" not in log.read_text("utf-8")

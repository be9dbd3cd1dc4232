"""Visitors: websocket clients that speak Streamlit's own messages.

Each opens a link in a tab, waits until its page is drawn, has it drawn once or twice more, and leaves.
"""

import asyncio
import json
import os
import random
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import quote

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PLANS = (
    "", "machine=switch:ranks={n}", "machine=dgx_a100&size={m}MiB", "machine=switch:ranks={n}&algorithm=allgather.ring",
    "machine=nodes:nodes=2&algorithm=allreduce.hierarchical_2d&size={m}MiB", "page=learn", "page=train",
    "machine=switch:ranks={n}&algorithm=alltoall.bruck", "machine=dual_socket_pcie&fault=slow_link:src=GPU0,dst=PCI0",
    "machine=switch:ranks=16&against=algorithm=allreduce.rabenseifner",
)  # fmt: skip
FINISHED = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
LONGEST = 120.0


@dataclass
class Record:
    """What was seen: seconds to a drawn page, when, and of which link; pages that were none."""

    pages: list[tuple[float, float, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)


class Tab:
    """One connection that behaves as a browser's tab does."""

    def __init__(self, address: str) -> None:
        self._address = address.replace("http", "ws") + "/_stcore/stream"

    async def __aenter__(self) -> "Tab":
        self._socket = await websockets.connect(
            self._address, subprotocols=["streamlit"], max_size=None, open_timeout=60, ping_interval=None
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()

    async def ask(self, query: str) -> None:
        """Have the page of an address drawn."""
        message = BackMsg()
        message.rerun_script.query_string = query
        await self._socket.send(message.SerializeToString())

    async def heard(self) -> ForwardMsg:
        """The next message of the server's."""
        message = ForwardMsg()
        message.ParseFromString(await asyncio.wait_for(self._socket.recv(), LONGEST))
        return message

    async def drawn(self, query: str) -> float:
        """Seconds until a page is drawn to its end, all runs of it that it asks for itself included."""
        begun = time.perf_counter()
        await self.ask(query)
        while True:
            message = await self.heard()
            if message.WhichOneof("type") == "script_finished" and message.script_finished == FINISHED:
                return time.perf_counter() - begun


def plan(draw: random.Random) -> str:
    """A link somebody of a class might open."""
    return quote(draw.choice(PLANS).format(n=draw.randrange(4, 33), m=1 << draw.randrange(0, 8)), safe="=&:,.")


async def visitor(address: str, record: Record, draw: random.Random, until: float) -> None:
    """Come, look at a few plans, leave, and come again."""
    while time.monotonic() < until:
        try:
            query = plan(draw)
            async with Tab(address) as tab:
                for _ in range(draw.randrange(1, 4)):
                    try:
                        took = await tab.drawn(query)
                        record.pages.append((took, time.monotonic() - record.begun, query))
                    except (TimeoutError, websockets.WebSocketException) as error:
                        record.failed.append(f"{query}: {type(error).__name__}")
                        break
                    await asyncio.sleep(draw.uniform(1.0, 3.0))
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            record.failed.append(f"connecting: {type(error).__name__}")
            await asyncio.sleep(1)


def look(address: str) -> dict[str, float]:
    """What the server says of itself."""
    with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
        return json.load(answer)


def spent(server: subprocess.Popen[bytes]) -> float:
    """Seconds of the processor that the server's own process has taken; its workers are other ones."""
    with open(f"/proc/{server.pid}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

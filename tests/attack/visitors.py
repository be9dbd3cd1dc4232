"""A class and one who means harm: how long do the others wait? `python -m tests.attack.visitors --minutes 5`.

Visitors are websocket clients that speak Streamlit's own messages: each opens a link in a tab, waits until its page is
drawn, has it drawn once or twice more, and leaves. A hostile one asks for all it can. Printed are the median and the
worst time to a drawn page of the others, what a page takes of the processor (with `--peaceful`; else what was hostile
is among it), and the memory of the server and its workers.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import quote

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import serve
from ui.server.first import WHERE as FIRST
from ui.simulate.ahead import WHERE

PLANS = (
    "", "machine=switch:ranks={n}", "machine=dgx_a100&size={m}MiB", "machine=switch:ranks={n}&algorithm=allgather.ring",
    "machine=nodes:nodes=2&algorithm=allreduce.hierarchical_2d&size={m}MiB", "page=learn", "page=train",
    "machine=switch:ranks={n}&algorithm=alltoall.bruck", "machine=dual_socket_pcie&fault=slow_link:src=GPU0,dst=PCI0",
    "machine=switch:ranks=16&against=algorithm=allreduce.rabenseifner",
)  # fmt: skip
HOSTILE = (
    "machine=switch:ranks=4096", "machine=switch:ranks=2048", "machine=switch:ranks=1024&algorithm=alltoall.linear",
    "machine=switch:ranks=1500&size=1GiB", "machine=switch:ranks=8192",
    "machine=switch:ranks=8&size=4GiB&fault=background:src=GPU0,dst=GPU1,size=1",
    "machine=switch:ranks=8&fault=background:src=GPU0,dst=GPU1,size=1,streams=65536",
    "page=lab&collective=allreduce&algorithms=&machines=switch:ranks=512&sizes=1KiB..1GiB",
    "page=![x](http://evil.example/x.png)", "schedule=" + "%0A" * 3000, "machine=switch:ranks=65536",
    "machine=" + "(" * 4000,
)  # fmt: skip
FINISHED = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
LONGEST = 120.0


@dataclass
class Record:
    """What was seen: seconds to a drawn page, when, and of which link; pages that were none; memory over time in MB."""

    pages: list[tuple[float, float, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    memory: list[tuple[float, float, float]] = field(default_factory=list)
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


async def hostile(address: str, draw: random.Random, until: float, tabs: int = 4) -> None:
    """Ask for all one can, in several tabs at once, leave in the middle, and again."""

    async def one() -> None:
        while time.monotonic() < until:
            try:
                async with Tab(address) as tab:
                    for _ in range(3):
                        await tab.ask(quote(draw.choice(HOSTILE), safe="=&:,.%"))
                        await asyncio.sleep(draw.uniform(0.2, 8.0))
            except (OSError, TimeoutError, websockets.WebSocketException):
                await asyncio.sleep(0.5)

    async def ask() -> None:
        """As many futures and first pictures as the server will listen to, as no player would."""
        while time.monotonic() < until:
            await asyncio.gather(*(asyncio.to_thread(_post, address, draw.choice(PLANS)) for _ in range(8)))
            await asyncio.gather(*(asyncio.to_thread(_get, address, draw.choice(HOSTILE)) for _ in range(8)))
            await asyncio.sleep(draw.uniform(0.2, 8.0))

    await asyncio.gather(*(one() for _ in range(tabs)), ask())


def _post(address: str, plan: str) -> None:
    """Ask for a future, whatever is answered."""
    named = dict(word.split("=", 1) for word in plan.format(n=1024, m=64).split("&") if word)
    body = json.dumps({"plan": named, "asked": f"straggler:rank=0,late={time.time_ns()}ns", "language": "en"})
    asked = urllib.request.Request(f"{address}/{WHERE}", body.encode(), {"content-type": "application/json"})
    with contextlib.suppress(OSError), urllib.request.urlopen(asked, timeout=30) as answer:
        answer.read()


def _get(address: str, plan: str) -> None:
    """Ask for the picture that comes before a page, whatever is answered."""
    asked = f"{address}/{FIRST}?{quote(plan, safe='=&:,.%')}&t={time.time_ns()}"
    with contextlib.suppress(OSError), urllib.request.urlopen(asked, timeout=30) as answer:
        answer.read()


def look(address: str) -> dict[str, float]:
    """What the server says of itself."""
    with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
        return json.load(answer)


async def watch(address: str, record: Record, until: float) -> None:
    """Note the memory of the server and its workers, and that it still answers."""

    while time.monotonic() < until:
        try:
            said = await asyncio.to_thread(look, address)
            minutes = (time.monotonic() - record.begun) / 60
            record.memory.append((minutes, said["memory_bytes"] / 1e6, said["workers_memory_bytes"] / 1e6))
        except OSError as error:
            record.failed.append(f"/health: {type(error).__name__}")
        await asyncio.sleep(5)


async def visits(address: str, *, minutes: float, at_once: int, harm: bool, seed: int) -> Record:
    """All of them, for so many minutes."""
    record, until, draw = Record(), time.monotonic() + 60 * minutes, random.Random(seed)
    jobs = [visitor(address, record, random.Random(draw.random()), until) for _ in range(at_once)]
    jobs.append(watch(address, record, until))
    if harm:
        jobs.append(hostile(address, random.Random(draw.random()), until))
    await asyncio.gather(*jobs)
    return record


def spent(server: subprocess.Popen[bytes]) -> float:
    """Seconds of the processor that the server's own process has taken; its workers are other ones."""
    with open(f"/proc/{server.pid}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def report(record: Record, server: subprocess.Popen[bytes], busy: float) -> None:
    """What was seen, in a few lines; `busy` are the processor's seconds of the server's own process."""
    slowest = sorted(record.pages, reverse=True)
    ordered = [took for took, _, _ in reversed(slowest)]
    middle, most, worst = statistics.median(ordered), ordered[len(ordered) * 95 // 100], ordered[-1]
    print(f"{len(ordered)} pages: median {middle:.2f} s, 95 % {most:.2f} s, worst {worst:.2f} s")
    for took, when, query in slowest[:5]:
        print(f"  {took:6.2f} s in minute {when / 60:.1f}: {query or 'the first page'}")
    print(f"{busy / len(ordered) * 1e3:.0f} ms of the processor for a page, in the server's own process")
    print(f"{len(record.failed)} failed")
    for line in record.failed[:10]:
        print(f"  {line}")
    for minute, page, workers in record.memory[:: max(1, len(record.memory) // 12)]:
        print(f"  minute {minute:5.1f}: page {page:6.0f} MB, workers {workers:6.0f} MB")
    print(f"server {'is up' if server.poll() is None else 'ended'}; load {os.getloadavg()[0]:.1f}")


def main() -> int:
    """Serve, visit, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--visitors", type=int, default=5, help="at once")
    parser.add_argument("--peaceful", action="store_true", help="without the hostile one")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    address, server = serve()
    try:
        before = spent(server)
        record = asyncio.run(
            visits(address, minutes=words.minutes, at_once=words.visitors, harm=not words.peaceful, seed=words.seed)
        )
        report(record, server, spent(server) - before)
        return int(bool(record.failed) or server.poll() is not None)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())

"""A class, and somebody who opens hostile links: is `/health` answered in time throughout?

`python -m tests.attack.responsive --visitors 50 --minutes 1` serves, has so many visitors load pages, opens links whose
texts keep readers busy, and asks `/health` all the time, from a process of its own. It prints how long answers took,
and ends with 1 where the worst took longer than half a second, or none came.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import statistics
import sys
import time
import urllib.request
from multiprocessing.connection import Connection
from urllib.parse import quote

import websockets

from ops.plan.packing import packed
from sim.base.share import MOST_SECONDS
from tests.attack.visitors import Record, Tab, spent, visitor
from tests.browser.visit import serve

MOST = 0.5
"""Seconds that an answer may take."""
EVERY = 0.05
"""Seconds from one answer to the next question."""
BLANKS = (100_000, 1_040_000)
"""Blanks within a machine's text; most of a link's text in the latter case."""
NESTED = 480
"""Beginnings of a document, each within the one before."""
SECONDS = "10"
"""Seconds that a job may take."""
MACHINE = '$ cat topo.xml\n<system version="1">{blanks}<cpu numaid="0" affinity="ff" arch="x86_64"/></system>\n$'


def hostile_link(kind: int, number: int) -> str:
    """A query whose text took readers minutes, once: runs of blanks, or a document that begins over and over.

    Another `number` is another text, which nobody has read yet.
    """
    if kind == len(BLANKS):
        text = '{"nvbandwidth":[' * NESTED + "0," * 440_000 + f"{number}]"
    else:
        text = MACHINE.format(blanks="\t" * (BLANKS[kind] + number))
    return f"capture={quote(packed(text, {}))}"


def ask_health(address: str, until: float, told: Connection) -> None:
    """Ask `/health` until an instant of the system's clock; tell what each answer took and when, inf for none."""
    took, first = [], time.perf_counter()
    while time.time() < until:
        begun = time.perf_counter()
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
                answer.read()
            took.append((time.perf_counter() - begun, begun - first))
        except OSError:
            took.append((float("inf"), begun - first))
        time.sleep(EVERY)
    told.send(took)


async def reader(address: str, kind: int, until: float) -> None:
    """Open a hostile link, wait for what its page says, and open another one of its kind."""
    number = 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError, TimeoutError, websockets.WebSocketException):
            async with Tab(address) as tab, asyncio.timeout(max(1.0, until - time.monotonic())):
                number += 1
                await tab.drawn(hostile_link(kind, number))
        await asyncio.sleep(0.5)


async def crowd(address: str, visitors: int, seconds: float, seed: int) -> Record:
    """All of them, for so many seconds."""
    record, until, draw = Record(), time.monotonic() + seconds, random.Random(seed)
    jobs = [visitor(address, record, random.Random(draw.random()), until) for _ in range(visitors)]
    jobs += [reader(address, kind, until) for kind in range(len(BLANKS) + 1)]
    await asyncio.gather(*jobs)
    return record


def main() -> int:
    """Serve, visit, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--visitors", type=int, default=50, help="at once")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    address, server = serve(**{MOST_SECONDS: SECONDS})
    processes = multiprocessing.get_context("spawn")
    told, telling = processes.Pipe(duplex=False)
    seconds = 60 * words.minutes
    watcher = processes.Process(target=ask_health, args=(address, time.time() + seconds, telling), daemon=True)
    try:
        watcher.start()
        before = spent(server)
        record = asyncio.run(crowd(address, words.visitors, seconds, words.seed))
        busy = spent(server) - before
        slowest = sorted(told.recv(), reverse=True)
    finally:
        server.terminate()
        server.wait()
    pages = sorted(page for page, _, _ in record.pages) or [float("inf")]
    print(f"{len(record.pages)} pages: median {statistics.median(pages):.2f} s, worst {pages[-1]:.2f} s")
    print(f"{len(record.failed)} failed; the server's own process was busy for {busy:.0f} s of {seconds:.0f} s")
    middle, worst = statistics.median(took for took, _ in slowest), slowest[0][0]
    print(f"/health: {len(slowest)} answers, median {middle * 1e3:.0f} ms, worst {worst:.3f} s, {MOST} s are allowed")
    for took, when in slowest[:5]:
        print(f"  {took:.3f} s in second {when:.0f}")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())

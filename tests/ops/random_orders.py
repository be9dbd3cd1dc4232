"""MSCCL programs carried out in any order their thread blocks allow; shares no code with the project.

Every step is cut in two where it reads and then writes, so that one thread block may come between: a lost update shows.
"""

import random
import xml.etree.ElementTree as ET
from collections import defaultdict, deque

from tests.ops.msccl import memory_at_first, owed, place_of

READS = ("s", "rrc", "rrs", "rrcs", "cpy", "re")


class Stuck(Exception):  # noqa: N818  an outcome
    """No thread block can go on."""


def outcome(text, choose):
    """What every place of the output holds in the end, as Counters of (block, contributor); None for what is unread.

    `choose(ready)` picks one of the (gpu, thread block) that can go on. Raises Stuck.
    """
    algo = ET.fromstring(text)
    place, memory = place_of(algo), memory_at_first(algo)
    fifo, published = defaultdict(deque), defaultdict(lambda: -1)
    blocks = {
        (int(gpu.get("id")), int(tb.get("id"))): _steps(gpu, tb, place, memory, fifo, published)
        for gpu in algo.iter("gpu")
        for tb in gpu.iter("tb")
    }
    waits = {key: next(block, None) for key, block in blocks.items()}
    while any(wait is not None for wait in waits.values()):
        ready = [key for key, wait in waits.items() if wait is not None and wait()]
        if not ready:
            raise Stuck
        key = choose(ready)
        waits[key] = next(blocks[key], None)
    if any(fifo.values()):
        return None
    return {where: memory[where] for where, _ in owed(algo)}


def _steps(gpu, tb, place, memory, fifo, published):
    """A thread block; yields a test of whether it can go on, before every part of a step."""
    g, t = int(gpu.get("id")), int(tb.get("id"))
    for at, step in enumerate(tb.iter("step")):
        s = step.attrib
        kind, count = s["type"], int(s["cnt"])
        waited, since = (g, int(s["depid"])), int(s["deps"])
        queue = fifo[int(tb.get("recv")), g, tb.get("chan")] if kind[0] == "r" and kind != "re" else None
        yield lambda w=waited, d=since, q=queue: (w[1] < 0 or published[w] >= d) and (q is None or len(q) > 0)
        source = [place(g, s["srcbuf"], int(s["srcoff"]) + c) for c in range(count)]
        target = [place(g, s["dstbuf"], int(s["dstoff"]) + c) for c in range(count)]
        values = [memory[p].copy() for p in source] if kind in READS else []
        if queue is not None:
            got = queue.popleft()
            values = [a + b for a, b in zip(got, values, strict=True)] if values else got
        if kind == "re":
            values = [memory[p] + v for p, v in zip(target, values, strict=True)]
        if kind in ("cpy", "re", "rrc", "rrcs"):
            yield lambda: True
        if kind in ("r", "rcs", "rrc", "rrcs", "cpy", "re"):
            memory.update(zip(target, values, strict=True))
        if kind in ("s", "rcs", "rrs", "rrcs"):
            fifo[g, int(tb.get("send")), tb.get("chan")].append(values)
        if s["hasdep"] == "1":
            published[g, t] = at


def right(text, found):
    """Whether an outcome keeps the collective's promise."""
    return found is not None and all(found[where] == due for where, due in owed(ET.fromstring(text)))


def at_random(seed):
    """Any that can go on."""
    return random.Random(seed).choice


def never_before(last):
    """All others first, as long as one of them can go on."""
    return lambda ready: next((key for key in ready if key != last), last)

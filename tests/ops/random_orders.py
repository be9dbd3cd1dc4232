"""MSCCL programs carried out in any order their thread blocks allow; shares no code with the project.

Every step is cut in two where it reads and then writes, so that one thread block may come between: a lost update shows.
"""

import random
import xml.etree.ElementTree as ET
from collections import defaultdict, deque
from typing import NamedTuple

from tests.ops.msccl import memory_at_first, owed, place_of

READS = ("s", "rrc", "rrs", "rrcs", "cpy", "re")
WRITES = ("r", "rcs", "rrc", "rrcs", "cpy", "re")
IN_TWO = ("cpy", "re", "rrc", "rrcs")


class Stuck(Exception):  # noqa: N818  an outcome
    """No thread block can go on."""


class Step(NamedTuple):
    """A line: places it reads and writes, the step it waits for, and the queues it takes from and puts into."""

    kind: str
    source: list
    target: list
    waits: tuple | None
    takes: tuple | None
    puts: tuple | None
    publishes: int


class Words(dict):
    """A number of 128 random bits for each (block, contributor); a sum of some tells which they are."""

    def __init__(self):
        self._draw = random.Random(0)

    def __missing__(self, key):
        self[key] = self._draw.getrandbits(128)
        return self[key]

    def value(self, counted):
        return sum(self[key] * count for key, count in counted.items())


class Program:
    """A file, resolved once to be carried out many times."""

    def __init__(self, text):
        algo = ET.fromstring(text)
        words, place = Words(), place_of(algo)
        self.start = {where: words.value(held) for where, held in memory_at_first(algo).items()}
        self.owed = {where: words.value(due) for where, due in owed(algo)}
        self.blocks = {
            (int(gpu.get("id")), int(tb.get("id"))): [_step(gpu, tb, at, line, place) for at, line in enumerate(tb)]
            for gpu in algo.iter("gpu")
            for tb in gpu.iter("tb")
        }

    def outcome(self, choose):
        """What every place of the output holds in the end; None where a message is never read.

        `choose(ready)` is the index of one of the ((gpu, thread block), step, has it read) that can go on. Raises
        Stuck.
        """
        run = _Run(self)
        while run.ready:
            k = choose(run.ready)
            chosen, run.ready[k] = run.ready[k], run.ready[-1]
            run.ready.pop()
            run.go_on(*chosen)
        if any(run.asleep.values()):
            raise Stuck
        if any(run.queues.values()):
            return None
        return {where: run.memory.get(where, 0) for where in self.owed}

    def right(self, outcome):
        """Whether an outcome keeps the collective's promise."""
        return outcome == self.owed


def _step(gpu, tb, at, line, place):
    s, g = line.attrib, int(gpu.get("id"))
    kind, count = s["type"], int(s["cnt"])
    waited, since, channel = int(s["depid"]), int(s["deps"]), tb.get("chan")
    receives, sends = kind[0] == "r" and kind != "re", kind in ("s", "rcs", "rrs", "rrcs")
    return Step(
        kind,
        [place(g, s["srcbuf"], int(s["srcoff"]) + c) for c in range(count)],
        [place(g, s["dstbuf"], int(s["dstoff"]) + c) for c in range(count)],
        ((g, waited), since) if waited >= 0 else None,
        (int(tb.get("recv")), g, channel) if receives else None,
        (g, int(tb.get("send")), channel) if sends else None,
        at if s["hasdep"] == "1" else -1,
    )


class _Run:
    def __init__(self, program):
        self.blocks, self.memory = program.blocks, dict(program.start)
        self.queues, self.published = defaultdict(deque), {}
        self.asleep, self.ready = defaultdict(list), []
        self.held = {}
        """What thread blocks have read and not yet written."""
        for block in self.blocks:
            self._await(block, 0)

    def _await(self, block, at):
        """Let a thread block come to a step: it can go on, or sleeps until what it waits for happens."""
        if at == len(self.blocks[block]):
            return
        step = self.blocks[block][at]
        if step.waits and self.published.get(step.waits[0], -1) < step.waits[1]:
            self.asleep[step.waits[0]].append((block, at))
        elif step.takes and not self.queues[step.takes]:
            self.asleep[step.takes].append((block, at))
        else:
            self.ready.append((block, at, False))

    def _wake(self, key):
        for block, at in self.asleep.pop(key, ()):
            self._await(block, at)

    def go_on(self, block, at, has_read):
        step = self.blocks[block][at]
        if not has_read:
            self.held[block] = self._read(step)
            if step.kind in IN_TWO:
                self.ready.append((block, at, True))
                return
        values = self.held.pop(block)
        if step.kind in WRITES:
            self.memory.update(zip(step.target, values, strict=True))
        if step.puts:
            self.queues[step.puts].append(values)
            self._wake(step.puts)
        if step.publishes >= 0:
            self.published[block] = step.publishes
            self._wake(block)
        self._await(block, at + 1)

    def _read(self, step):
        memory = self.memory
        values = [memory.get(p, 0) for p in step.source] if step.kind in READS else []
        if step.takes:
            got = self.queues[step.takes].popleft()
            values = [a + b for a, b in zip(got, values, strict=True)] if step.kind in READS else got
        if step.kind == "re":
            values = [memory.get(p, 0) + v for p, v in zip(step.target, values, strict=True)]
        return values


def at_random(seed):
    """Any that can go on."""
    draw = random.Random(seed).random
    return lambda ready: int(draw() * len(ready))


def never_before(last):
    """All others first, as long as one of them can go on."""
    return lambda ready: next((k for k, (block, *_) in enumerate(ready) if block != last), 0)


def held_up(held, seed):
    """At random, but some (thread block, step, has it read) wait until nobody else can go on."""
    draw = random.Random(seed).random

    def choose(ready):
        free = [k for k, state in enumerate(ready) if state not in held] or range(len(ready))
        return free[int(draw() * len(free))]

    return choose

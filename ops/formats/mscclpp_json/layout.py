"""Which thread block does what in an MSCCL++ plan, and what they tell each other.

Thread blocks of two GPUs tell each other by signals of a channel that only the two use, thread blocks of one GPU by a
semaphore. Both count, so that the k-th wait is for the k-th signal. Nobody touches another GPU's memory before a thread
block of that GPU has started, and a GPU ends after all that others do in its memory.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.formats.mscclpp_json.tasks import PlanTask

Shorts = NDArray[np.int16]


class PlanForm(NamedTuple):
    """How tasks are shared out: at most so many to a thread block, and which it may have of one turn.

    Its tasks are all of different turns, or those of one turn are with the same GPU, or any. With `relay`, what another
    GPU tells goes to the thread block that works with it and from there to others of its own GPU, which saves channels.
    """

    most: int
    of_turn: Literal["one", "peer", "any"] = "one"
    relay: bool = False


START = 0
"""The place of a thread block's start, before its first task."""


@dataclass(slots=True)
class BlockWork:
    """What a thread block does between two waits: perhaps a task, after `waits` and before `signals`.

    Both name thread blocks: of other GPUs, told through a channel, or of the same GPU.
    """

    task: PlanTask | None
    waits: list[int] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    depends: bool = False
    """Does it wait for the work before it, in the same thread block?"""


@dataclass(slots=True)
class BlockPlan:
    """A thread block: its GPU, and its work, of which the first is its start and the last its end."""

    rank: int
    work: list[BlockWork] = field(default_factory=lambda: [BlockWork(None)])
    turn: tuple[int, int] = (-1, 0)
    peer: int = -1
    tasks: int = 0
    """The turn of the task that it was given last, with which GPU, and how many it has."""


_Place = tuple[int, int]
"""A thread block and which of its work."""


class Layout:
    """Thread blocks that do the tasks, with the waits that keep their order."""

    def __init__(self, n: int, tasks: Sequence[PlanTask], form: PlanForm) -> None:
        self.tasks, self.form = tasks, form
        self.blocks: list[BlockPlan] = []
        self._of_rank: list[list[int]] = [[] for _ in range(n)]
        self.does: list[int] = []
        """The thread block of every task."""
        for task in tasks:
            self.does.append(self._assign(task))
        for rank in {task.remote for task in tasks if task.remote >= 0}:
            if not self._of_rank[rank]:
                self._add(rank)

    def order(self) -> None:
        """Let thread blocks wait for each other."""
        self._partner = self._partners()
        self._now = np.full((len(self.blocks), len(self.blocks)), -1, np.int16)
        """Up to which work of others, by column, a thread block knows that it is done."""
        self._heard: dict[_Place, Shorts] = {(b, START): self._now[b].copy() for b in range(len(self.blocks))}
        self._much = dict.fromkeys(self._heard, -len(self.blocks))
        """The sum of what is known at each place: where more is, others need not be waited for."""
        self._place: list[_Place] = []
        for number, task in enumerate(self.tasks):
            self._place.append(self._order(number, task))
        for block in self.blocks:
            block.work.append(BlockWork(None))
        for number, task in enumerate(self.tasks):
            self._close(number, task)

    @property
    def most_blocks(self) -> int:
        """Of a GPU."""
        return max(map(len, self._of_rank))

    def most_peers(self, hosts: Sequence[int]) -> int:
        """The most thread blocks of other GPUs that one works with, those on its own host and others apart."""
        peers: dict[tuple[int, bool], set[int]] = defaultdict(set)
        for number, block in enumerate(self.blocks):
            for work in block.work:
                for other in work.waits:
                    rank = self.blocks[other].rank
                    if rank != block.rank:
                        near = hosts[rank] == hosts[block.rank]
                        peers[number, near].add(other)
                        peers[other, near].add(number)
        return max(map(len, peers.values()), default=0)

    def _assign(self, task: PlanTask) -> int:
        """A thread block that may do it in this turn: one that did what the task waits for, or any."""
        free = [b for b in self._of_rank[task.rank] if self._may(self.blocks[b], task)]
        before = {self.does[a] for a in task.after}
        block = next((b for b in free if b in before), free[0] if free else -1)
        if block < 0:
            block = self._add(task.rank)
        of = self.blocks[block]
        of.turn, of.peer, of.tasks = task.turn, task.remote, of.tasks + 1
        return block

    def _may(self, block: BlockPlan, task: PlanTask) -> bool:
        if block.tasks >= self.form.most:
            return False
        if self.form.of_turn == "any" or block.turn < task.turn:
            return True
        return self.form.of_turn == "peer" and block.turn == task.turn and block.peer == task.remote

    def _add(self, rank: int) -> int:
        self._of_rank[rank].append(len(self.blocks))
        self.blocks.append(BlockPlan(rank))
        return len(self.blocks) - 1

    def _partners(self) -> list[int]:
        """For every task the thread block of the other GPU that waits for it, or that works on this one; -1 is none."""
        working = {(task.rank, task.remote): self.does[number] for number, task in enumerate(self.tasks)}
        spread = [cycle(blocks) for blocks in self._of_rank]
        partner = [-1] * len(self.tasks)
        for number in reversed(range(len(self.tasks))):
            task = self.tasks[number]
            if task.remote >= 0 and (partner[number] < 0 or self.form.relay):
                partner[number] = working.get((task.remote, task.rank), -1)
                if partner[number] < 0:
                    partner[number] = next(spread[task.remote])
            for before in task.after:
                if task.rank == self.tasks[before].remote:
                    partner[before] = self.does[number]
        return partner

    def _order(self, number: int, task: PlanTask) -> _Place:
        """Let a task wait for what comes before it, as far as its thread block does not know that it is done."""
        block = self.does[number]
        before = [self._place_of_news(block, a) for a in task.after]
        if task.remote >= 0 and not self._has_started(block, task.remote, before):
            before.append((self._partner[number], START))
        work = BlockWork(task, depends=any(b == block for b, _ in before))
        return self._append(block, work, before)

    def _has_started(self, block: int, rank: int, before: Sequence[_Place]) -> bool:
        """Does a thread block know that another GPU runs, or hear it from what it waits for anyway."""
        has_heard = self._now[block, self._of_rank[rank]].max() >= START
        return bool(has_heard) or any(self.blocks[b].rank == rank for b, _ in before)

    def _place_of_news(self, block: int, number: int) -> _Place:
        """Where a thread block hears that a task is done: there, or from a thread block of its own GPU."""
        other, work = self._place[number]
        near = self._partner[number]
        if not self.form.relay or near in (-1, block) or self._now[block, other] >= work:
            return other, work
        if self.blocks[near].rank != self.blocks[block].rank or self.blocks[other].rank == self.blocks[block].rank:
            return other, work
        if self._now[near, other] < work:
            return self._append(near, BlockWork(None), [(other, work)])
        return near, len(self.blocks[near].work) - 1

    def _append(self, block: int, work: BlockWork, before: Sequence[_Place]) -> _Place:
        self.blocks[block].work.append(work)
        place = block, len(self.blocks[block].work) - 1
        self._wait(*place, before)
        self._now[block, block] = place[1]
        self._heard[place] = self._now[block].copy()
        self._much[place] = int(self._now[block].sum())
        return place

    def _wait(self, block: int, at: int, before: Sequence[_Place]) -> None:
        now = self._now[block]
        for other, work in sorted(before, key=self._much.__getitem__, reverse=True):
            if other != block and now[other] < work:
                self.blocks[block].work[at].waits.append(other)
                self.blocks[other].work[work].signals.append(block)
                np.maximum(now, self._heard[other, work], out=now)
                now[other] = work

    def _close(self, number: int, task: PlanTask) -> None:
        """Let the GPU whose memory a task uses know that it is done before it ends."""
        if task.remote < 0:
            return
        block, at = self._place[number]
        theirs = self._of_rank[task.remote]
        if self._now[theirs, block].max() < at:
            last = max(k for k, work in enumerate(self.blocks[block].work) if _uses(work, task.remote))
            linked = max(theirs, key=lambda b: (b == self._partner[number], self._now[b, block]))
            self._wait(linked, len(self.blocks[linked].work) - 1, [(block, last)])


def _uses(work: BlockWork, rank: int) -> bool:
    return work.task is not None and work.task.remote == rank

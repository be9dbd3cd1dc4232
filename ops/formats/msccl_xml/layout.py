"""Which thread block does what: connections, thread blocks and the waits between them, for MSCCL.

A ring needs one thread block per GPU: it receives from one neighbour, adds, and sends on to the other. What may go on
at once needs several. A `Form` says how far work is put together; the writer tries some.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.formats.actions import Action
from ops.formats.msccl_xml.limits import MOST_PER_CHANNEL
from sim.errors import InputError
from sim.schedule import REDUCE

Upto = NDArray[np.int32]


class Form(NamedTuple):
    """How work is shared out: which connections a thread block joins, and what follows each other on one.

    `join` puts a connection from a peer and one to a peer into one thread block: never, where the one passes on what
    the other brings, or always. `apart` gives messages of one step a connection each, `alone` all messages; a
    connection carries `most` of them.
    """

    join: Literal["never", "passing", "always"]
    apart: bool = True
    alone: bool = False
    most: int = 1 << 30


@dataclass(slots=True)
class Line:
    """What a thread block does at once: one end of an action, or a receive and the send that passes it on.

    `waits` are (thread block, line) pairs of the same GPU. Several waits take a nop each but the last.
    """

    kind: str
    action: Action
    waits: list[tuple[int, int]] = field(default_factory=list)
    awaited: bool = False
    number: int = 0
    """The place of its instruction among the lines of the file."""


@dataclass(slots=True)
class BlockLayout:
    """A sequential worker; -1 is no peer."""

    send: int
    recv: int
    channel: int
    lines: list[Line] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Lines in the file, nops included."""
        return self.lines[-1].number + 1 if self.lines else 0


@dataclass(slots=True)
class GpuLayout:
    """A GPU's thread blocks, before and after their lines wait for each other.

    `order` is what it does, in an order that is allowed, with what each action `needs` and `where` it is done.
    """

    blocks: list[BlockLayout]
    order: Sequence[int]
    needs: dict[int, list[int]]
    where: dict[int, tuple[int, int]]


def thread_blocks(n: int, actions: Sequence[Action], form: Form, channels: Sequence[int]) -> list[GpuLayout]:
    """Every GPU's thread blocks, whose lines do not wait yet; `channels` are those of the messages."""
    ends: list[list[tuple[tuple[int, int], int]]] = [[] for _ in range(n)]
    for a, action in enumerate(actions):
        for rank, turn in action.ends():
            ends[rank].append((turn, a))
    return [_gpu(rank, actions, channels, form, [a for _, a in sorted(of_gpu)]) for rank, of_gpu in enumerate(ends)]


def refuse_strangers(name: str, actions: Sequence[Action]) -> None:
    """Raise InputError for an order that MSCCL cannot keep."""
    for action in actions:
        own = {action.src, action.dst}
        stranger = next((actions[b] for b in action.waits if own.isdisjoint((actions[b].src, actions[b].dst))), None)
        if stranger is not None:
            raise InputError("msccl.other_gpu", name=name, src=action.src, src2=stranger.src, dst=stranger.dst)


def channels_of(actions: Sequence[Action], form: Form) -> list[int]:
    """The channel of every message: that on which what it passes on has come, or the first that is free."""
    last: dict[tuple[int, int, int], tuple[int, int]] = {}
    sends: dict[tuple[int, int], set[int]] = defaultdict(set)
    receives: dict[tuple[int, int], set[int]] = defaultdict(set)
    channels = [-1] * len(actions)
    tried: dict[tuple[int, int, int], int] = {}
    """By the ends of a message, and by its step where that matters, the first channel that may still be free."""

    def fits(action: Action, channel: int) -> bool:
        step, count = last.get((action.src, action.dst, channel), (-1, 0))
        if (count and form.alone) or count >= form.most or (form.apart and count and step >= action.step):
            return False
        return all(
            peer in peers or len(peers) < MOST_PER_CHANNEL
            for peer, peers in ((action.dst, sends[action.src, channel]), (action.src, receives[action.dst, channel]))
        )

    for a in sorted(range(len(actions)), key=lambda a: (actions[a].step, a)):
        action = actions[a]
        if action.local:
            continue
        brought = (channels[b] for b in reversed(action.waits) if _brings(actions[b], action))
        channel = next((c for c in _distinct(brought) if fits(action, c)), -1)
        if channel < 0:
            key = action.src, action.dst, action.step if form.apart and not form.alone else -1
            channel = tried.get(key, 0)
            while not fits(action, channel):
                channel += 1
            tried[key] = channel
        channels[a] = channel
        _, count = last.get((action.src, action.dst, channel), (-1, 0))
        last[action.src, action.dst, channel] = action.step, count + 1
        sends[action.src, channel].add(action.dst)
        receives[action.dst, channel].add(action.src)
    return channels


def _distinct(numbers: Iterable[int]) -> Iterator[int]:
    """Each of them once."""
    seen: set[int] = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number


def _brings(before: Action, action: Action) -> bool:
    """Whether a message comes to where the other one starts."""
    return before.dst == action.src and before.src != before.dst


def _gpu(rank: int, actions: Sequence[Action], channels: Sequence[int], form: Form, order: list[int]) -> GpuLayout:
    """A GPU's thread blocks; `order` is what it does, in an order that is allowed."""
    place = _connections(rank, actions, channels, form, order)
    blocks: dict[tuple[int, int, int, int], BlockLayout] = {}
    work: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
    for a in order:
        work[place[a]].append(a)
    for send, recv, channel, number in work:
        blocks[send, recv, channel, number] = BlockLayout(send, recv, channel)
    needs = {a: _needs(rank, actions, a) for a in order}
    waiting: dict[int, list[int]] = defaultdict(list)
    for a in order:
        for b in needs[a]:
            waiting[b].append(a)
    where: dict[int, tuple[int, int]] = {}
    for t, (key, ends) in enumerate(work.items()):
        for k, a in enumerate(ends):
            lines = blocks[key].lines
            if (
                k and lines[-1].kind in ("r", "rrc") and _passes_on(actions, ends[k - 1], a, rank, needs)
                and all(w == a or a in needs[w] or place[w] == key for w in waiting[ends[k - 1]])
            ):  # fmt: skip
                lines[-1].kind = "rcs" if lines[-1].kind == "r" else "rrcs"
            else:
                lines.append(Line(_kind(rank, actions[a]), actions[a]))
            where[a] = t, len(lines) - 1
    for block in blocks.values():
        for number, line in enumerate(block.lines):
            line.number = number
    return GpuLayout([*blocks.values()], order, needs, where)


def _needs(rank: int, actions: Sequence[Action], a: int) -> list[int]:
    """The actions of a GPU that end there before this one goes on there."""
    action = actions[a]
    held = action.held if rank == action.dst else ()
    return [b for b in dict.fromkeys((*action.waits, *held)) if rank in (actions[b].src, actions[b].dst)]


def _connections(
    rank: int, actions: Sequence[Action], channels: Sequence[int], form: Form, order: list[int]
) -> dict[int, tuple[int, int, int, int]]:
    """The thread block of every action of a GPU: peers, channel, and a number that tells local ones apart."""
    to: dict[tuple[int, int], int] = {}
    fro: dict[tuple[int, int], int] = {}
    for a in order:
        action = actions[a]
        if not action.local and action.src == rank:
            to.setdefault((channels[a], action.dst), a)
        elif not action.local:
            fro.setdefault((channels[a], action.src), a)
    sent = sorted(a for a in order if actions[a].src == rank and not actions[a].local)
    joined = dict(_joined(sent, actions, channels, form, to, fro))
    back = {(channel, peer): source for (channel, source), peer in joined.items()}
    place: dict[int, tuple[int, int, int, int]] = {}
    turns: Counter[tuple[int, int]] = Counter()
    for a in order:
        action, channel = actions[a], channels[a]
        if action.local:
            turn = (0, 0) if form.alone else (action.step, action.second)
            place[a] = -1, -1, 0, turns[turn] if form.apart else 0
            turns[turn] += 1
        elif action.src == rank:
            place[a] = action.dst, back.get((channel, action.dst), -1), channel, -1
        else:
            place[a] = joined.get((channel, action.src), -1), action.src, channel, -1
    return place


def _joined(
    sent: list[int], actions: Sequence[Action], channels: Sequence[int], form: Form, to: dict[tuple[int, int], int],
    fro: dict[tuple[int, int], int],
) -> Iterator[tuple[tuple[int, int], int]]:  # fmt: skip
    """Which connection from a peer, by (channel, peer), shares its thread block with which one to a peer.

    `sent` are the messages that the GPU sends.
    """
    if form.join == "never":
        return
    passed: Counter[tuple[int, int, int]] = Counter()
    for a in sent:
        action = actions[a]
        for b in action.waits:
            if _brings(actions[b], action) and channels[b] == channels[a]:
                passed[channels[a], actions[b].src, action.dst] += 1
    yield from _matched(passed, to, fro, every=form.join == "always")


def _matched(
    passed: Counter[tuple[int, int, int]], to: dict[tuple[int, int], int], fro: dict[tuple[int, int], int],
    *, every: bool,
) -> Iterator[tuple[tuple[int, int], int]]:  # fmt: skip
    """Connections in pairs, those first that pass most on; `every` pairs those too that pass nothing on."""
    free_to, free_from = dict.fromkeys(to), dict.fromkeys(fro)
    for channel, source, peer in sorted(passed, key=lambda key: (-passed[key], key)):
        if (channel, peer) in free_to and (channel, source) in free_from:
            del free_to[channel, peer], free_from[channel, source]
            yield (channel, source), peer
    if every:
        for channel, source in free_from:
            same = (
                [(channel, source)] if (channel, source) in free_to else [key for key in free_to if key[0] == channel]
            )
            for key in same[:1]:
                del free_to[key]
                yield (channel, source), key[1]


def _kind(rank: int, action: Action) -> str:
    if action.local:
        return "re" if action.op == REDUCE else "cpy"
    if action.src == rank:
        return "s"
    return "rrc" if action.op == REDUCE else "r"


def _passes_on(actions: Sequence[Action], before: int, a: int, rank: int, needs: dict[int, list[int]]) -> bool:
    """Whether a send does nothing but pass on what a receive has brought."""
    brought, sent = actions[before], actions[a]
    return (
        not sent.local
        and not brought.local
        and brought.dst == sent.src == rank
        and brought.to == sent.slots
        and set(needs[a]) - {before} <= set(needs[before])
        and before in needs[a]
    )


def _needed(waits: list[tuple[int, int]], heard: dict[tuple[int, int], Upto]) -> list[tuple[int, int]]:
    """Those of some waits that none of the others stands for."""
    if len(waits) < 2:
        return waits
    blocks, lines = np.array(waits).T
    covered = np.stack([heard[place] for place in waits])[:, blocks] >= lines
    np.fill_diagonal(covered, False)
    return [place for place, by_others in zip(waits, covered.any(axis=0), strict=True) if not by_others]


def let_wait(gpu: GpuLayout) -> None:
    """Give every line the waits it needs: what its thread block has not yet waited for, or what that waited for."""
    blocks, where = gpu.blocks, gpu.where
    heard: dict[tuple[int, int], Upto] = {}
    much: dict[tuple[int, int], int] = {}
    so_far = np.full((len(blocks), len(blocks)), -1, np.int32)
    for a in gpu.order:
        t, k = where[a]
        line, own = blocks[t].lines[k], so_far[t]
        latest: dict[int, int] = {}
        for place in (where[b] for b in gpu.needs[a]):
            latest[place[0]] = max(place[1], latest.get(place[0], -1))
        latest.pop(t, None)  # which comes before anyway, or is the same line
        for place in sorted(latest.items(), key=lambda place: (-much[place], place)):
            if own[place[0]] < place[1]:
                line.waits.append(place)
                np.maximum(own, heard[place], out=own)
        line.waits = _needed(line.waits, heard)
        own[t] = k
        heard[t, k] = own.copy()
        much[t, k] = int(np.maximum(own, 0).sum())
    for block in blocks:
        number = -1
        for line in block.lines:
            number += max(len(line.waits), 1)
            line.number = number
            for t, k in line.waits:
                blocks[t].lines[k].awaited = True

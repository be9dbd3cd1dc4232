"""Any schedule as MSCCL algorithm XML.

Every end of a message gets a thread block of its own, so that nothing waits but for what it must: the data it
reads, and the places it overwrites. Attributes of our own (see `msccl_program`) keep messages whole and
steps as they were, so that the file read again takes the same time; other readers skip them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from ops.formats import writer
from ops.formats.interpreter.buffers import Buffers, lay_out, plain, whole_share
from ops.formats.msccl_xml.program import PROMISED
from ops.formats.msccl_xml.reader import MOST_COUNT
from sim.errors import InputError
from sim.schedule import COPY, REDUCE, Schedule, dependencies

MOST_TRANSFERS = 100_000


@dataclass(slots=True)
class _Action:
    """One message or local move; `waits` are other actions, `held` those that must have read before it writes."""

    op: int
    src: int
    dst: int
    slots: list[int]
    to: list[int]
    level: int
    waits: list[int]
    held: set[int] = field(default_factory=set)

    @property
    def local(self) -> bool:
        return self.src == self.dst


@dataclass(slots=True)
class _Block:
    """A thread block: one end of an action, and the thread blocks of its GPU for which it waits."""

    action: int
    send: int
    recv: int
    channel: int
    waits: list[int] = field(default_factory=list)
    lines: int = 0
    awaited: bool = False

    @property
    def last(self) -> int:
        """The place of its last line, after a nop for every wait but one."""
        return max(len(self.waits) - 1, 0) + self.lines - 1


@writer("msccl_xml")
def write(schedule: Schedule) -> str:
    """The same messages with the same dependencies. Raises InputError for what MSCCL cannot say."""
    chunks = _chunks(schedule)
    actions, slots = _actions(schedule)
    collective, in_place, buffers = _buffers(schedule, chunks, slots)
    blocks = _thread_blocks(schedule, actions)
    runs = [[*_runs(action, buffers)] for action in actions]
    for of_gpu in blocks:
        for block in of_gpu:
            block.lines = len(runs[block.action])
    channels = max((block.channel for of_gpu in blocks for block in of_gpu), default=0) + 1
    whole = "i" if buffers.size["i"] >= buffers.size["o"] else "o"
    unused = [b for b in "io" if in_place and b != whole]
    sizes = " ".join(f'{b}_chunks="{0 if b in unused else buffers.size[b]}"' for b in "ios")
    rooted = f' root="{schedule.root}"' if collective in ("broadcast", "reduce", "gather", "scatter") else ""
    lines = [
        f'<algo name={quoteattr(schedule.name)} proto="Simple" nchannels="{channels}" nchunksperloop="{chunks}"'
        f' ngpus="{schedule.n}" coll="{collective}" inplace="{in_place:d}" outofplace="{not in_place:d}"{rooted}'
        ' minBytes="0" maxBytes="0">'
    ]
    for gpu, of_gpu in enumerate(blocks):
        lines.append(f'  <gpu id="{gpu}" {sizes}>')
        for number, block in enumerate(of_gpu):
            lines.append(f'    <tb id="{number}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">')
            lines += _steps(block, of_gpu, actions[block.action], runs[block.action])
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _chunks(schedule: Schedule) -> int:
    """Chunks per loop: how many slots make up the size a person gives."""
    why = ""
    if schedule.switches:
        why = "adds and copies inside switches, and MSCCL programs run on GPUs"
    elif schedule.unit_share <= 0:
        why = "moves no data by itself, and MSCCL chunks have a size"
    elif not np.diff(schedule.moves).all():
        why = "has messages that carry nothing, and MSCCL sends whole chunks"
    elif schedule.transfers > MOST_TRANSFERS:
        why = f"has {schedule.transfers:,} transfers, more than a file can hold: take fewer ranks"
    if why:
        raise InputError(f"{schedule.name} cannot be written as MSCCL XML: it {why}")
    return round(1 / schedule.unit_share)


def _buffers(schedule: Schedule, chunks: int, slots: int) -> tuple[str, bool, Buffers]:
    """The collective, whether it is in place, and its buffers; a custom one where MSCCL knows none like it."""
    promise, n = schedule.promise, schedule.n
    laid = 0 if promise is None else promise.given.shape[1]
    if promise is not None and promise.name in PROMISED and chunks % whole_share(promise.name, n) == 0:
        in_place = promise.inputs == promise.outputs
        buffers = lay_out(promise.name, n, chunks, max(slots - laid, 0), in_place=in_place, root=schedule.root)
        known = buffers.promise
        if known is not None and all(
            np.array_equal(getattr(known, key), getattr(promise, key)) for key in ("given", "owed", "first", "last")
        ):
            return promise.name, in_place, buffers
    laid = laid or slots
    return "custom", True, plain(n, laid, laid, max(slots - laid, 0), in_place=True)


def _actions(schedule: Schedule) -> tuple[list[_Action], int]:
    """Transfers as actions, and the slots per rank they need.

    A local move whose places others of its step still read goes by way of new slots, in two actions.
    """
    before = awaited(schedule)
    readers = _readers(schedule)
    actions: list[_Action] = []
    first, last = np.zeros((2, schedule.transfers), int)
    spare = schedule.slots
    for i in range(schedule.transfers):
        moved = slice(schedule.moves[i], schedule.moves[i + 1])
        slots, to = schedule.from_slot[moved].tolist(), schedule.to_slot[moved].tolist()
        op, src, dst, step = int(schedule.op[i]), int(schedule.src[i]), int(schedule.dst[i]), int(schedule.step_of[i])
        still = {r for slot in to for r in readers.get((step, dst, slot), ())}
        waits = [int(last[b]) for b in before[i]]
        first[i] = len(actions)
        if src == dst and any(schedule.src[r] == schedule.dst[r] for r in still):
            held = [*range(schedule.slots, schedule.slots + len(slots))]
            spare = max(spare, held[-1] + 1)
            actions.append(_Action(COPY, src, src, slots, held, 2 * step, waits))
            slots, waits = held, [*waits, len(actions) - 1]
            step_level = 2 * step + 1
        else:
            step_level = 2 * step
        last[i] = len(actions)
        actions.append(_Action(op, src, dst, slots, to, step_level, waits, still - {i}))
    for action in actions:
        action.held = {int(first[r]) for r in action.held}
    return actions, spare


def awaited(schedule: Schedule) -> list[list[int]]:
    """The transfers for which each transfer waits; marks of a program order stand for those before them."""
    waits = dependencies.waits(schedule)
    before: list[list[int]] = [[] for _ in range(waits.rows)]
    start, after = waits.start.tolist(), waits.after.tolist()
    for row in range(waits.rows):
        for waiting in after[start[row] : start[row + 1]]:
            before[waiting].append(row)

    def real(row: int) -> Iterator[int]:
        for b in before[row]:
            if b < schedule.transfers:
                yield b
            else:
                yield from real(b)

    return [[*dict.fromkeys(real(i))] for i in range(schedule.transfers)]


def _readers(schedule: Schedule) -> dict[tuple[int, int, int], list[int]]:
    """Who reads a place in a step: by (step, rank, slot)."""
    readers: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    step, src = schedule.step_of.tolist(), schedule.src.tolist()
    for i, slot in zip(schedule.transfer_of.tolist(), schedule.from_slot.tolist(), strict=True):
        readers[step[i], src[i], slot].append(i)
    return readers


def _thread_blocks(schedule: Schedule, actions: Sequence[_Action]) -> list[list[_Block]]:
    """Every GPU's thread blocks; messages of one pair each get a channel of their own."""
    blocks: list[list[_Block]] = [[] for _ in range(schedule.n)]
    place: dict[tuple[int, int], int] = {}
    pairs: Counter[tuple[int, int]] = Counter()
    for a, action in enumerate(actions):
        ends = [(action.src, -1, -1, 0)]
        if not action.local:
            channel = pairs[action.src, action.dst]
            pairs[action.src, action.dst] += 1
            ends = [(action.src, action.dst, -1, channel), (action.dst, -1, action.src, channel)]
        for gpu, send, recv, channel in ends:
            place[a, gpu] = len(blocks[gpu])
            blocks[gpu].append(_Block(a, send, recv, channel))
    for a, action in enumerate(actions):
        for gpu in {action.src, action.dst}:
            there = blocks[gpu][place[a, gpu]]
            held = action.held if gpu == action.dst else ()
            wanted = [b for b in (*action.waits, *held) if (b, gpu) in place]
            there.waits = [*dict.fromkeys(place[b, gpu] for b in wanted)]
            for number in there.waits:
                blocks[gpu][number].awaited = True
        stranger = next((b for b in action.waits if not {(b, action.src), (b, action.dst)} & place.keys()), None)
        if stranger is not None:
            raise InputError(
                f"{schedule.name} cannot be written as MSCCL XML: rank {action.src} waits for a message between ranks"
                f" {actions[stranger].src} and {actions[stranger].dst}, and thread blocks wait only on their own GPU"
            )
    return blocks


Run = tuple[str, int, str, int, int]
"""Source buffer and offset, destination buffer and offset, count."""


def _runs(action: _Action, buffers: Buffers) -> Iterator[Run]:
    """The slots of an action as stretches that follow each other at both ends."""
    ends = [
        (*_place(action.src, s, buffers), *_place(action.dst, t, buffers))
        for s, t in zip(action.slots, action.to, strict=True)
    ]
    k = 0
    while k < len(ends):
        source, offset, target, into = ends[k]
        count = 1
        while k + count < len(ends) and count < MOST_COUNT:
            if ends[k + count] != (source, offset + count, target, into + count):
                break
            count += 1
        yield source, offset, target, into, count
        k += count


def _place(rank: int, slot: int, buffers: Buffers) -> tuple[str, int]:
    """Buffer and offset of a slot; of two that share it, the larger."""
    for b in sorted("ios", key=lambda b: (b == "s", -buffers.size[b])):
        offset = slot - int(buffers.base[b][rank])
        if 0 <= offset < buffers.size[b]:
            return b, offset
    raise InputError(f"slot {slot} of rank {rank} is in no buffer: give the schedule as it was made")


def _steps(block: _Block, of_gpu: Sequence[_Block], action: _Action, runs: Sequence[Run]) -> Iterator[str]:
    waits = [f'depid="{number}" deps="{of_gpu[number].last}"' for number in block.waits] or ['depid="-1" deps="-1"']
    for s, wait in enumerate(waits[:-1]):
        places = 'srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1"'
        yield f'      <step s="{s}" type="nop" {places} cnt="0" {wait} hasdep="0"/>'
    if action.local:
        kind = "re" if action.op == REDUCE else "cpy"
    else:
        kind = "s" if block.send >= 0 else "rrc" if action.op == REDUCE else "r"
    for k, (source, offset, target, into, count) in enumerate(runs):
        if kind == "rrc":
            source, offset = target, into
        wait = waits[-1] if k == 0 else 'depid="-1" deps="-1" joined="1"'
        publishes = block.awaited and k == len(runs) - 1
        yield (
            f'      <step s="{len(waits) - 1 + k}" type="{kind}" srcbuf="{source}" srcoff="{offset}" dstbuf="{target}"'
            f' dstoff="{into}" cnt="{count}" {wait} hasdep="{publishes:d}" at="{action.level}"/>'
        )

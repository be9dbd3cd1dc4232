"""What an MSCCL file says, checked line by line: thread blocks and their instructions, in slots.

Two dialects are read: `step` elements with both buffers, and `op` elements with one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ops.formats import ScheduleProblem, malformed
from ops.formats.interpreter.buffers import Buffers, lay_out, plain, whole_share
from sim.base.numbers import whole
from sim.base.xml import Element, parse_each
from sim.errors import InputError, Message, first_few

SENDS = ("s", "rcs", "rrs", "rrcs")
RECEIVES = ("r", "rcs", "rrc", "rrs", "rrcs")
READS = ("s", "rrc", "rrs", "rrcs", "cpy", "re")
WRITES = ("r", "rcs", "rrc", "rrcs", "cpy", "re", "ra")
TYPES = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop", "ra")
NAMES = {"reducescatter": "reduce_scatter"}
"""RCCL's spelling."""
UNPROMISED = ("custom", "send", "recv", "alltoallv")
PROMISED = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "gather", "scatter")
MOST_RANKS = 4096
MOST_CHUNKS, MOST_PLACES, MOST_MOVED = 1 << 20, 1 << 24, 1 << 22
"""Chunks of a buffer, chunks of all buffers of all GPUs, chunks that all lines move together."""
FUSED = 16
"""Reductions into one place that the runtimes make in one pass; RCCL `MSCCL_MAX_REDUCE_FUSION`."""


@dataclass(slots=True)
class Instruction:
    """One or more lines carried out as one: `position` is the last line's place in its thread block.

    `slots` are read and `to` written; a fused reduction has more `sources`. `waits` are (thread block, step) pairs.
    """

    type: str
    line: int
    position: int
    slots: list[int]
    to: list[int]
    waits: list[tuple[int, int]]
    publishes: bool
    sources: list[list[int]] = field(default_factory=list)


@dataclass(slots=True)
class ThreadBlock:
    """A sequential worker with at most one peer to send to and one to receive from; -1 is none."""

    gpu: int
    id: int
    line: int
    send: int
    recv: int
    channel: int
    program: list[Instruction] = field(default_factory=list)
    published: list[int] = field(default_factory=list)
    lines: int = 0
    numbered: bool = True
    """Do its lines count 0, 1, 2 …?"""
    trailing: bool = False
    """Does an instruction that waits for nothing itself follow a nop that waits?"""

    def publication(self, step: int) -> int:
        """The first step from `step` on that others can wait for, or -1."""
        i = bisect_left(self.published, step)
        return self.published[i] if i < len(self.published) else -1


@dataclass(slots=True)
class Program:
    """A whole file. `chunks` are those of the larger buffer; `root` is -1 where the file does not tell."""

    name: str
    source: str
    collective: str
    n: int
    chunks: int
    in_place: bool
    root: int
    buffers: Buffers
    blocks: list[list[ThreadBlock]]
    protocol: str = ""
    channels: int = 0
    widest: int = 0
    """The largest cnt of a line."""
    moved: int = 0
    """All cnt together."""


@lru_cache(maxsize=4096)
def _number(text: str) -> int | None:
    """The whole number a text says; a program has many alike."""
    return whole(text)


class Reader:
    """Attributes of elements, with messages that name the line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def at(self, line: int) -> Message:
        """How messages call a line."""
        return Message("place.line", file=self.name, line=line)

    def text(self, element: Element, key: str, default: str | None = None) -> str:
        """An attribute; without a default it is required."""
        value = element.attributes.get(key, default)
        if value is None:
            malformed(self.at(element.line), "xml.no_key", tag=element.tag, key=key)
        return value

    def whole(self, element: Element, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within bounds."""
        if default is not None and key not in element.attributes:
            return default
        text = self.text(element, key)
        value = _number(text)
        if value is None:
            malformed(self.at(element.line), "xml.whole", key=key, text=text, low=max(low, 0))
        if not low <= value <= high:
            malformed(self.at(element.line), "xml.range", key=key, value=value, low=low, high=high)
        return value


def algorithms(text: str, name: str) -> list[Element]:
    """Return the <algo> elements of a file. Raises ScheduleProblem."""
    try:
        return parse_each(text, name)
    except InputError as error:
        raise ScheduleProblem("malformed", error.message) from None


def chosen(several: Sequence[Element], name: str, number: int) -> Element:
    """Return the algorithm of this number, counted from 1, or the only one. Raises InputError where a choice is due."""
    if 0 < number <= len(several):
        return several[number - 1]
    if len(several) == 1 and not number:
        return several[0]
    if number:
        raise InputError("msccl.no_algorithm", name=name, number=number, count=len(several))
    titles = first_few([f"{i} {algo.attributes.get('name', '')[:40]}".strip() for i, algo in enumerate(several, 1)], 8)
    raise InputError("msccl.choose", file=name, count=len(several), titles=titles)


def read_program(algo: Element, name: str) -> Program:
    """Return what can be read of an algorithm without running it. Raises ScheduleProblem, InputError."""
    get = Reader(name)
    if algo.tag != "algo":
        malformed(get.at(algo.line), "msccl.root", tag=algo.tag)
    n = get.whole(algo, "ngpus", 1, MOST_RANKS)
    word = get.text(algo, "coll").strip().lower()
    collective = NAMES.get(word, word)
    if collective not in PROMISED + UNPROMISED:
        names = ", ".join(PROMISED + UNPROMISED)
        malformed(get.at(algo.line), "msccl.collective", word=word, names=names)
    gpus = _by_id(get, algo, "gpu", n)
    sizes = {b: max(get.whole(gpu, f"{b}_chunks", 0, MOST_CHUNKS, 0) for gpu in gpus) for b in "ios"}
    chunks = get.whole(algo, "nchunksperloop", 1, MOST_CHUNKS, max(sizes["i"], sizes["o"], 1) if _ops(gpus) else None)
    in_place = get.whole(algo, "inplace", 0, 1) == 1
    root = get.whole(algo, "root", 0, n - 1, 0) if "root" in algo.attributes else -1
    program = Program(
        name=get.text(algo, "name", "")[:80] or collective,
        source=name,
        collective=collective,
        n=n,
        chunks=chunks,
        in_place=in_place,
        root=root,
        buffers=_buffers(get, algo, collective, n, chunks, sizes, in_place=in_place, root=root),
        blocks=[],
        protocol=get.text(algo, "proto", ""),
        channels=get.whole(algo, "nchannels", 0, 1 << 20, 0),
    )
    for gpu in gpus:
        program.blocks.append(_thread_blocks(get, gpu, program))
    return program


def _by_id(get: Reader, parent: Element, tag: str, n: int) -> list[Element]:
    """The children of one kind, which must be numbered 0 to n - 1, in that order."""
    by_id: dict[int, Element] = {}
    for child in parent.children:
        if child.tag != tag:
            continue
        i = get.whole(child, "id", 0, n - 1)
        if i in by_id:
            malformed(get.at(child.line), "msccl.twice", tag=tag, number=i, line=by_id[i].line)
        by_id[i] = child
    missing = next((i for i in range(n) if i not in by_id), None)
    if missing is not None:
        malformed(get.at(parent.line), "msccl.missing", tag=tag, missing=missing, count=n)
    return [by_id[i] for i in range(n)]


def _ops(gpus: Iterable[Element]) -> bool:
    """Whether this is the dialect of `op` elements, which tells no chunks per loop."""
    return any(line.tag == "op" for gpu in gpus for block in gpu.children for line in block.children)


def _buffers(
    get: Reader, algo: Element, collective: str, n: int, chunks: int, sizes: dict[str, int],
    *, in_place: bool, root: int,
) -> Buffers:  # fmt: skip
    place = get.at(algo.line)
    if collective in UNPROMISED:
        most = max(sizes["i"], sizes["o"])
        if (most + sizes["s"]) * n > MOST_PLACES:
            malformed(place, "interpreter.too_many", chunks=most, n=n)
        return plain(n, sizes["i"], sizes["o"], sizes["s"], in_place=in_place)
    if chunks % whole_share(collective, n):
        malformed(place, "msccl.chunks", chunks=chunks, n=n)
    if (chunks + sizes["s"]) * n > MOST_PLACES:
        malformed(place, "interpreter.too_many", chunks=chunks, n=n)
    laid = lay_out(collective, n, chunks, sizes["s"], in_place=in_place, root=max(root, 0))
    for b, title in (("i", "input"), ("o", "output")):
        most = chunks if in_place else laid.size[b]
        if sizes[b] > most:
            malformed(
                place,
                "msccl.buffer_size",
                buffer=b,
                size=sizes[b],
                title=Message(title),
                collective=collective,
                most=most,
                chunks=chunks,
            )
    return laid


def _thread_blocks(get: Reader, gpu: Element, program: Program) -> list[ThreadBlock]:
    number = get.whole(gpu, "id", 0, program.n - 1)
    tags = [child for child in gpu.children if child.tag == "tb"]
    blocks = []
    for tb in _by_id(get, gpu, "tb", len(tags)):
        send, recv = (get.whole(tb, key, -1, program.n - 1, -1) for key in ("send", "recv"))
        if number in (send, recv):
            malformed(get.at(tb.line), "msccl.to_itself", number=number)
        channel = get.whole(tb, "chan", 0 if max(send, recv) >= 0 else -1, 1 << 20, -1)
        block = ThreadBlock(number, get.whole(tb, "id", 0, len(tags)), tb.line, send, recv, channel)
        for line in tb.children:
            if line.tag in ("step", "op"):
                _append(block, _instruction(get, line, block, program, len(tags)))
        blocks.append(block)
    copies = [child for child in gpu.children if child.tag == "copy"]
    if copies:
        first = _copies(get, copies, number, len(tags), program)
        for block in blocks:
            for instruction in block.program[:1]:
                instruction.waits.append((first.id, first.published[0]))
        blocks.append(first)
    return blocks


def _copies(get: Reader, copies: list[Element], gpu: int, number: int, program: Program) -> ThreadBlock:
    """Copies from input to output before anything else, as one more thread block."""
    block = ThreadBlock(gpu, number, copies[0].line, -1, -1, -1, published=[len(copies) - 1])
    for copy in copies:
        slots, to = (
            _places(get, copy, b, get.whole(copy, f"{b}_off", 0, MOST_CHUNKS), get.whole(copy, "cnt", 1, 1 << 16, 1),
                    gpu, program)
            for b in "io"
        )  # fmt: skip
        block.program.append(Instruction("cpy", copy.line, block.lines, slots, to, [], False))
        block.lines += 1
    block.program[-1].publishes = True
    return block


def _instruction(get: Reader, line: Element, block: ThreadBlock, program: Program, blocks: int) -> Instruction:
    kind = get.text(line, "type")
    if kind not in TYPES:
        malformed(get.at(line.line), "msccl.type", kind=kind, types=TYPES)
    if kind in SENDS and block.send < 0:
        malformed(get.at(line.line), "msccl.no_send_peer", kind=kind, id=block.id, gpu=block.gpu)
    if kind in RECEIVES and block.recv < 0:
        malformed(get.at(line.line), "msccl.no_recv_peer", kind=kind, id=block.id, gpu=block.gpu)
    count = get.whole(line, "cnt", 0, MOST_CHUNKS, 1 if line.tag == "op" else None)
    program.widest, program.moved = max(program.widest, count), program.moved + count
    if program.moved > MOST_MOVED:
        malformed(get.at(line.line), "msccl.too_much", most_moved=MOST_MOVED)
    waited, step = get.whole(line, "depid", -1, blocks - 1, -1), get.whole(line, "deps", -1, 1 << 20, -1)
    slots = _ends(get, line, "src", kind, count, block.gpu, program) if kind in READS else []
    to = _ends(get, line, "dst", kind, count, block.gpu, program) if kind in WRITES else []
    block.numbered &= get.whole(line, "s" if line.tag == "step" else "step", 0, 1 << 20) == block.lines
    made = Instruction(
        type=kind if count else "nop",
        line=line.line,
        position=block.lines,
        slots=slots,
        to=to,
        waits=[(waited, step)] if waited >= 0 and step >= 0 else [],
        publishes=get.whole(line, "hasdep", 0, 1, 0) == 1,
    )
    block.lines += 1
    return made


def _ends(get: Reader, line: Element, end: str, kind: str, count: int, gpu: int, program: Program) -> list[int]:
    """The slots of one end of an instruction; in the `op` dialect both ends share one place."""
    one_place = "buf" in line.attributes and kind not in ("cpy", "re", "ra")
    buffer = get.text(line, "buf" if one_place else f"{end}buf")
    offset = get.whole(line, "off" if one_place else f"{end}off", 0 if count else -1, MOST_CHUNKS)
    return _places(get, line, buffer, offset, count, gpu, program) if count else []


def _places(get: Reader, line: Element, buffer: str, offset: int, count: int, gpu: int, program: Program) -> list[int]:
    buffers = program.buffers
    if buffer not in buffers.base:
        malformed(get.at(line.line), "msccl.buffer", buffer=buffer)
    if offset + count > buffers.size[buffer]:
        size = buffers.size[buffer]
        malformed(get.at(line.line), "msccl.outside", offset=offset, last=offset + count - 1, buffer=buffer, size=size)
    first = int(buffers.base[buffer][gpu]) + offset
    return list(range(first, first + count))


def _append(block: ThreadBlock, new: Instruction) -> None:
    """Add an instruction, or to the one before a reduction that the runtimes make in one pass with it."""
    last = block.program[-1] if block.program else None
    if last is not None and last.type == "nop" and last.waits and new.type != "nop" and not new.waits:
        block.trailing = True
    continues = last is not None and last.type == new.type and not last.publishes and not new.waits
    if last is not None and continues and new.type == "re" and last.to == new.to and len(last.sources) < FUSED - 1:
        last.sources.append(new.slots)
    else:
        block.program.append(new)
    block.program[-1].position = new.position
    block.program[-1].publishes = new.publishes
    if new.publishes:
        block.published.append(new.position)

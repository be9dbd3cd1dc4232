"""What an MSCCL++ execution plan says, checked and resolved: thread blocks of operations on slots."""

import json
from dataclasses import dataclass, field, replace
from math import lcm
from typing import Any

from ops.formats import malformed
from ops.formats.interpreter.buffers import Buffers, lay_out, plain, whole_share
from ops.formats.msccl_xml.program import MOST_CHUNKS, MOST_MOVED, MOST_PLACES, MOST_RANKS, NAMES, PROMISED
from ops.formats.mscclpp_json.older import age_of
from sim.base.pasted import bare_json
from sim.errors import Message

OPERATIONS = (
    *("nop", "barrier", "put", "pws", "pwsf", "get", "copy", "signal", "wait", "flush", "re", "res", "rre", "rres"),
    *("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt", "glres", "gstore", "gstorepkt"),
    *("rlxsignal", "rlxwait", "pipeline", "sem_acquire", "sem_release"),
)
"""As `microsoft/mscclpp` `src/core/executor/execution_plan.cc` names them."""
MOST_OPERATIONS = 200_000
FINEST = 64
"""Parts into which thread blocks of a group may cut a chunk here."""
SILENT = ("nop", "barrier", "signal", "wait", "flush", "rlxsignal", "rlxwait", "sem_acquire", "sem_release")
"""What moves no data."""
PUTS = ("put", "pws", "pwsf", "get")
"""What moves each source to the target of the same place, each with a size of its own."""

Channel = tuple[int, int, str, int]
"""From this GPU, to that one, of this type, the how-manieth of the pair."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Slots of one rank's buffer; those of a switch group stand for the same slots of every rank in it."""

    rank: int
    buffer: str
    slots: range
    group: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """`place` is how messages call it. `number` is what a barrier or semaphore goes by, `count` how many take part."""

    name: str
    place: str
    sources: tuple[Ref, ...]
    targets: tuple[Ref, ...]
    channels: tuple[Channel, ...]
    type: str
    number: tuple[int, ...] = ()
    count: int = 0


@dataclass(slots=True)
class ExecutionPlan:
    """A whole file; `cut` slots make up a chunk."""

    name: str
    source: str
    collective: str
    n: int
    chunks: int
    cut: int
    buffers: Buffers
    switches: bool = False
    moved: int = 0
    blocks: dict[tuple[int, int], list[Operation]] = field(default_factory=dict)
    credits: dict[tuple[int, int], int] = field(default_factory=dict)
    """What a GPU's semaphores start with, by (GPU, semaphore)."""


class PlanNode:
    """A value of the file that knows where it is."""

    __slots__ = ("_above", "_step", "value")

    def __init__(self, value: Any, step: str | tuple[str, int], above: "PlanNode | None" = None) -> None:
        self.value, self._step, self._above = value, step, above

    @property
    def place(self) -> str:
        """Where it is, as messages call it."""
        if self._above is None:
            return str(self._step)
        if isinstance(self._step, str):
            return f"{self._above.place}, {self._step}"
        what, i = self._step
        return f"{self._above.place}, {what} {i}" if what else f"{self._above.place}[{i}]"

    def refuse(self, why: str, /, **values: object) -> Any:
        """Raise the problem of this place; `why` is the id of a message."""
        malformed(self.place, why, **values)

    def get(self, key: str, default: Any = None) -> "PlanNode":
        """A member; without a default it is required."""
        members = self.value
        if not isinstance(members, dict):
            self.refuse("mscclpp.no_object", key=key)
        value = members.get(key, default)
        if value is None and key not in members:
            self.refuse("mscclpp.no_key", key=key)
        return PlanNode(value, key, self)

    def items(self, what: str = "") -> list["PlanNode"]:
        """The members of a list; `what` they are called in messages."""
        if not isinstance(self.value, list):
            self.refuse("mscclpp.no_list")
        if len(self.value) > MOST_OPERATIONS:
            self.refuse("mscclpp.too_many", most_operations=MOST_OPERATIONS)
        above = self._above if what else self
        return [PlanNode(v, (what, i), above) for i, v in enumerate(self.value)]

    def members(self, key: str) -> list["PlanNode"]:
        """The members of a list that may be left out; of an object."""
        return self.get(key).items() if key in self.value else []

    def whole(self, low: int, high: int) -> int:
        """A whole number within bounds."""
        if isinstance(self.value, str) and self.value.startswith("${"):
            self.refuse("mscclpp.template", value=self.value)
        if type(self.value) is not int:
            self.refuse("mscclpp.whole", value=str(self.value), low=max(low, 0))
        if not low <= self.value <= high:
            self.refuse("mscclpp.range", value=str(self.value), low=low, high=high)
        return int(self.value)

    def word(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse("mscclpp.text", value=str(self.value))
        return str(self.value)


def read_plan(text: str, name: str) -> ExecutionPlan:
    """Parse and resolve everything that can be without running it. Raises ScheduleProblem."""
    try:
        top = PlanNode(json.loads(bare_json(text)), name)
    except json.JSONDecodeError as error:
        malformed(Message("place.line", file=name, line=error.lineno), "json.malformed", why=error.msg)
    except (RecursionError, ValueError):
        malformed(name, "json.too_deep")
    if sign := age_of(top.value):
        malformed(top.place, "mscclpp.old", sign=sign)
    gpus = top.get("gpus").items("gpu")
    n = len(gpus)
    if not 1 <= n <= MOST_RANKS:
        malformed(name, "mscclpp.gpus", n=n, most_ranks=MOST_RANKS)
    sizes = {
        b: max(gpu.get(f"{title}_chunks").whole(0, MOST_CHUNKS) for gpu in gpus)
        for b, title in (("i", "input"), ("o", "output"), ("s", "scratch"))
    }
    word = top.get("collective").word().lower()
    cut = _cut(top) if "tbg_size" in text or "\\u" in text else 1
    in_place = bool(top.get("inplace", False).value)
    chunks = max(sizes["i"], sizes["o"], 1)
    title = top.get("name", "plan")
    plan = ExecutionPlan(
        name="plan" if title.value is None else title.word()[:80],  # programs that were given no name write null
        source=name,
        collective=NAMES.get(word, word),
        n=n,
        chunks=chunks,
        cut=cut,
        buffers=_buffers(name, NAMES.get(word, word), n, sizes, cut, in_place=in_place),
    )
    pairs = [_channels(gpu, n, g) for g, gpu in enumerate(gpus)]
    for g, gpu in enumerate(gpus):
        if gpu.get("id").whole(0, n - 1) != g:
            gpu.refuse("mscclpp.gpu_id", value=gpu.value["id"], last=n - 1)
        _fill(plan, gpu, g, pairs[g])
    return plan


def _fill(plan: ExecutionPlan, gpu: PlanNode, g: int, channels: dict[str, list[Any]]) -> None:
    """Put the thread blocks of one GPU into the plan, and what its semaphores start with."""
    for k, semaphore in enumerate(gpu.get("semaphores", []).items()):
        plan.credits[g, k] = semaphore.get("init_value", 0).whole(0, 1 << 30)
    blocks = gpu.get("threadblocks").items("threadblock")
    buffers = [
        (entry.get("rank").whole(0, plan.n - 1), entry.get("type").word())
        for entry in gpu.get("remote_buffers", []).items()
    ]
    for t, block in enumerate(blocks):
        if block.get("id").whole(0, len(blocks) - 1) != t:
            block.refuse("mscclpp.block_id", value=block.value["id"], last=len(blocks) - 1)
        plan.blocks[g, t] = _Resolver(plan, block, g, channels, buffers).operations(block.get("ops"))


def _cut(top: PlanNode) -> int:
    """Into how many slots a chunk falls, so that each group of thread blocks shares it evenly."""
    cut = 1
    for group in _groups(top.value):
        cut = lcm(cut, group) if isinstance(group, int) and 1 <= group <= FINEST else FINEST + 1
        if cut > FINEST:
            malformed(top.place, "mscclpp.finest", finest=FINEST)
    return cut


def _groups(value: Any) -> list[Any]:
    """Every `tbg_size` in a file."""
    sizes, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            sizes += [item["tbg_size"]] if "tbg_size" in item else []
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return sizes


def _buffers(name: str, collective: str, n: int, chunks: dict[str, int], cut: int, *, in_place: bool) -> Buffers:
    whole, sizes = max(chunks["i"], chunks["o"]), {b: size * cut for b, size in chunks.items()}
    if sum(sizes.values()) * n > MOST_PLACES:
        malformed(name, "interpreter.too_many", chunks=sum(chunks.values()), n=n)
    if collective not in PROMISED or not whole:
        return replace(plain(n, sizes["i"], sizes["o"], sizes["s"], in_place=in_place), cut=cut)
    if whole % whole_share(collective, n):
        malformed(name, "mscclpp.chunks", chunks=whole, n=n)
    return replace(lay_out(collective, n, whole * cut, sizes["s"], in_place=in_place, root=0), cut=cut)


def _channels(gpu: PlanNode, n: int, rank: int) -> dict[str, list[Any]]:
    """A GPU's channels of every type, one per peer, and for switches (buffer, ranks)."""
    channels: dict[str, list[Any]] = {"memory": [], "port": [], "switch": []}
    seen: dict[tuple[int, str], int] = {}
    for channel in gpu.get("channels", []).items():
        kind = channel.get("channel_type").word()
        if kind not in channels:
            channel.refuse("mscclpp.channel_type", kind=kind)
        if kind == "switch":
            buffer = channel.get("buffer_type" if "buffer_type" in channel.value else "buff").word()
            for group in channel.get("rank_groups").items():
                channels[kind].append((buffer, tuple(r.whole(0, n - 1) for r in group.get("ranks").items())))
            continue
        for peer in channel.get("connected_to").items():
            other = peer.whole(0, n - 1)
            turn = seen.get((other, kind), 0)
            seen[other, kind] = turn + 1
            channels[kind].append((rank, other, kind, turn))
    return channels


class _Resolver:
    """Turns the operations of one thread block into slots and channels."""

    def __init__(
        self, plan: ExecutionPlan, block: PlanNode, rank: int, channels: dict[str, list[Any]],
        buffers: list[tuple[int, str]],
    ) -> None:  # fmt: skip
        self.plan, self.rank = plan, rank
        self.channels: dict[str, list[Any]] = {kind: [] for kind in channels}
        self.remote: dict[str, list[tuple[int, str]]] = {kind: [] for kind in channels}
        for entry in block.get("channels", []).items():
            kind = entry.get("channel_type").word()
            for i in entry.get("channel_ids").items():
                self.channels.setdefault(kind, []).append(_pick(i, channels.get(kind, []), f"{kind} channel"))
        for entry in block.get("remote_buffer_refs", []).items():
            kind = entry.get("access_channel_type").word()
            for i in entry.get("remote_buffer_ids").items():
                self.remote.setdefault(kind, []).append(_pick(i, buffers, "remote buffer"))

    def operations(self, ops: PlanNode) -> list[Operation]:
        """All operations in order. A pipeline's are carried out once, on all of their data."""
        operations: list[Operation] = []
        for op in ops.items("op"):
            name = op.get("name").word()
            if name not in OPERATIONS:
                op.refuse("mscclpp.operation", name=name, operations=OPERATIONS)
            if name == "pipeline":
                inner = op.get("ops")
                if any(isinstance(o.value, dict) and o.value.get("name") == "pipeline" for o in inner.items()):
                    inner.refuse("mscclpp.pipeline")
                operations += self.operations(inner)
            else:
                operations.append(self._operation(op, name))
        return operations

    def _operation(self, op: PlanNode, name: str) -> Operation:
        kind = op.get("channel_type").word() if "channel_type" in op.value else "memory"
        share = self._share(op)
        ids = op.members("channel_ids")
        channels = [_pick(i, self.channels.get(kind, []), f"{kind} channel") for i in ids] if kind != "switch" else []
        number = [s.whole(0, 1 << 20) for s in op.members("semaphore_ids")]
        count = 0
        if name == "barrier":
            number = [op.get("barrier_id").whole(0, 1 << 20)]
            count = op.get("num_threadblocks").whole(1, 1 << 16)
        if "reduce_op" in op.value and op.get("reduce_op").word() not in ("sum", "min", "max"):
            op.refuse("mscclpp.reduce_op")
        sources, targets = (
            tuple(self._ref(ref, kind, share) for ref in op.members(f"{end}_buff")) for end in ("src", "dst")
        )
        made = Operation(name, op.place, sources, targets, tuple(channels), kind, tuple(number), count)
        self._check(op, made)
        return made

    def _share(self, op: PlanNode) -> tuple[int, int]:
        """Which part of its data an operation does, and of how many."""
        part = op.get("tbg_info", {})
        share = (part.get("tb_id").whole(0, FINEST), part.get("tbg_size").whole(1, FINEST)) if part.value else (0, 1)
        if share[0] >= share[1]:
            part.refuse("mscclpp.tb_id", number=share[0], count=share[1])
        return share

    def _ref(self, ref: PlanNode, kind: str, share: tuple[int, int]) -> Ref:
        group: tuple[int, ...] = ()
        rank = self.rank
        if "switch_channel_id" in (ref.value if isinstance(ref.value, dict) else ()):
            buffer, group = _pick(ref.get("switch_channel_id"), self.channels.get("switch", []), "switch channel")
            self.plan.switches = True
        elif "buffer_id" in (ref.value if isinstance(ref.value, dict) else ()):
            rank, buffer = _pick(ref.get("buffer_id"), self.remote.get(kind, []), f"{kind} buffer")
        else:
            buffer = ref.get("type").word()
        buffers, cut = self.plan.buffers, self.plan.cut
        if buffer not in buffers.base:
            ref.refuse("mscclpp.buffer", buffer=buffer)
        first, size = ref.get("index").whole(0, MOST_CHUNKS) * cut, ref.get("size").whole(1, MOST_CHUNKS) * cut
        if first + size > buffers.size[buffer]:
            ref.refuse("mscclpp.beyond", buffer=buffer, size=buffers.size[buffer] // cut)
        self.plan.moved += size
        if self.plan.moved > MOST_MOVED:
            ref.refuse("mscclpp.moved", most_moved=MOST_MOVED)
        start, stop = (first + size * part // share[1] for part in (share[0], share[0] + 1))
        base = int(buffers.base[buffer][rank])
        return Ref(rank, buffer, range(base + start, base + stop), group)

    def _check(self, op: PlanNode, made: Operation) -> None:
        """Are there as many operands, as long, as the operation takes."""
        sizes = [[len(ref.slots) for ref in refs] for refs in (made.sources, made.targets)]
        in_pairs = made.name in PUTS and sizes[0] == sizes[1]
        if not in_pairs and len({*sizes[0], *sizes[1]}) > 1:
            op.refuse("mscclpp.operands", operation=made.name)
        if made.name not in SILENT and not (made.sources and made.targets):
            op.refuse("mscclpp.moves_nothing", operation=made.name)
        signals = made.name in ("signal", "wait", "rlxsignal", "rlxwait", "pws", "pwsf")
        if signals and not made.channels:
            op.refuse("mscclpp.no_channel", operation=made.name)
        if made.name.startswith("sem_"):
            for k in made.number or (-1,):
                if (self.rank, k) not in self.plan.credits:
                    op.refuse("mscclpp.semaphore", operation=made.name)


def _pick(index: PlanNode, among: list[Any], what: str) -> Any:
    i = index.whole(0, 1 << 30)
    if i >= len(among):
        index.refuse("mscclpp.names", what=what, number=i, count=len(among))
    return among[i]

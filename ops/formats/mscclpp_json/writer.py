"""Any schedule as an MSCCL++ execution plan: GPUs that write into each other's memory and tell each other by signals.

A thread block does its operations one after the other. The more it is given, the fewer there are; several sizes are
tried, and the first is written that the executor takes and that needs the schedule's time.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ops.formats import writer
from ops.formats.actions import ActionProgram, program
from ops.formats.attempts import Attempts
from ops.formats.msccl_xml.program import NAMES, PROMISED
from ops.formats.mscclpp_json.layout import BlockWork, Layout, PlanForm
from ops.formats.mscclpp_json.limits import MOST_AT_ONCE, MOST_SEMAPHORES, broken
from ops.formats.mscclpp_json.reader import transfers
from ops.formats.mscclpp_json.tasks import Stretch, TaskProgram, tasks
from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.topology import Topology

FORMS = (
    *(PlanForm(most) for most in (32, 7, 2, 1)),
    *(PlanForm(most, "peer") for most in (32, 6)),
    *(PlanForm(most, relay=True) for most in (4, 1)),
    *(PlanForm(most, "any") for most in (32, 6)),
)
"""What is tried, from what an author would write to what takes the least channels."""
ROOTED = ("broadcast", "reduce", "gather", "scatter")
TITLES = {spelt: name for name, spelt in NAMES.items()}
Entry = dict[str, Any]
"""An object of the file."""


@writer("mscclpp_json")
def write(schedule: Schedule, *, machine: Topology | None = None) -> str:
    """The same messages with the same dependencies, through ports between the hosts of a machine.

    Raises InputError for what a plan cannot say or the executor does not take.
    """
    collectives = [name for name in PROMISED if not (schedule.root and name in ROOTED)]
    parts = program(schedule, "an MSCCL++ plan", collectives, 1 << 30)
    attempts = Attempts(schedule, machine, transfers)
    of = machine if machine is not None and len(machine.ranks) == schedule.n else None
    hosts = [of.devices[at].host for at in of.ranks] if of else [0] * schedule.n
    work = tasks(parts, hosts)
    refused: list[Message] = []

    def within() -> Iterator[tuple[str, dict[str, Message]]]:
        tried: set[tuple[bool, tuple[int, ...]]] = set()
        for form in FORMS:
            layout = Layout(schedule.n, work.tasks, form)
            shared_out = form.relay, tuple(layout.does)
            if shared_out in tried:
                continue
            tried.add(shared_out)
            plan = _plan(parts, work, hosts, layout)
            if isinstance(plan, Message):
                refused.append(plan)
            else:
                yield plan.text(), {}

    best = attempts.closest(within())
    if best is None:
        raise InputError("mscclpp.cannot", schedule=schedule.name, why=refused[-1])
    remarks = attempts.remarks(best)
    return (
        best.text.replace('"gpus":', f'"remarks": {json.dumps(remarks, ensure_ascii=False)},\n "gpus":', 1)
        if remarks
        else best.text
    )


def _plan(parts: ActionProgram, work: TaskProgram, hosts: Sequence[int], layout: Layout) -> "_Plan | Message":
    """The plan for a layout that is not ordered yet, or the limit it breaks, found as early as can be."""
    limit = broken(0, 0, 0, layout.most_blocks)
    if not limit:
        layout.order()
        limit = broken(0, layout.most_peers(hosts), 0, 0)
    if limit:
        return limit
    plan = _Plan(parts, work, hosts, layout)
    return plan.limit or plan


class _Plan:
    """The file for a layout: channels, semaphores and buffers of others by number, and the operations that use them."""

    def __init__(self, parts: ActionProgram, work: TaskProgram, hosts: Sequence[int], layout: Layout) -> None:
        self.parts, self.work, self.hosts, self.layout = parts, work, hosts, layout
        n = parts.schedule.n
        self.channels: list[dict[str, list[int]]] = [{"memory": [], "port": []} for _ in range(n)]
        """The peers of a GPU's channels, by type."""
        self.linked: dict[tuple[int, int], tuple[str, int]] = {}
        """The channel between two thread blocks, by its number at the first."""
        self.semaphores: list[int] = [0] * n
        self.semaphore: dict[tuple[int, int], int] = {}
        self.buffers: list[dict[tuple[int, str, str], int]] = [{} for _ in range(n)]
        self.blocks: list[list[Entry]] = [[] for _ in range(n)]
        self._link()
        for number, block in enumerate(layout.blocks):
            self.blocks[block.rank].append(_Block(self, number, len(self.blocks[block.rank])).entry())
        self.limit = self._limit()

    def kind(self, rank: int, other: int) -> str:
        """The type of the channels between two GPUs."""
        return "memory" if self.hosts[rank] == self.hosts[other] else "port"

    def _link(self) -> None:
        """A channel for every two thread blocks of two GPUs that wait for each other, a semaphore for two of one."""
        blocks = self.layout.blocks
        for number, block in enumerate(blocks):
            for work in block.work:
                for other in work.waits:
                    if blocks[other].rank != block.rank:
                        self._channel(other, number)
                    elif (other, number) not in self.semaphore:
                        self.semaphore[other, number] = self.semaphores[block.rank]
                        self.semaphores[block.rank] += 1
        for number, block in enumerate(blocks):
            ports = (w.task.remote for w in block.work if w.task and w.task.port)
            for rank in dict.fromkeys(ports):
                if not any(one == number and blocks[other].rank == rank for one, other in self.linked):
                    self._channel(number, next(b for b, other in enumerate(blocks) if other.rank == rank))

    def _channel(self, block: int, other: int) -> None:
        if (block, other) in self.linked:
            return
        ranks = [self.layout.blocks[b].rank for b in (block, other)]
        kind = self.kind(*ranks)
        for start, end, rank, peer in ((block, other, *ranks), (other, block, *reversed(ranks))):
            self.linked[start, end] = kind, len(self.channels[rank][kind])
            self.channels[rank][kind].append(peer)

    def _limit(self) -> Message | None:
        every = [block for of_gpu in self.blocks for block in of_gpu]
        channels = (len(c["channel_ids"]) for block in every for c in block["channels"])
        buffers = (len(r["remote_buffer_ids"]) for block in every for r in block["remote_buffer_refs"])
        return broken(
            max((len(block["ops"]) for block in every), default=0), max(channels, default=0), max(buffers, default=0),
            max(map(len, self.blocks)),
        )  # fmt: skip

    def text(self) -> str:
        """The plan as JSON, a thread block a line."""
        parts = self.parts
        size = parts.buffers.size
        top = {
            "name": parts.schedule.name, "collective": TITLES.get(parts.collective, parts.collective),
            "protocol": "Simple", "inplace": parts.in_place, "reuse_resources": False, "num_threads_per_block": 1024,
            "use_double_scratch_buffer": False, "buffer_alignment": 16, "min_message_size": 0,
            "max_message_size": (1 << 64) - 1,
        }  # fmt: skip
        chunks = {"input_chunks": size["i"], "output_chunks": size["o"], "scratch_chunks": self.work.scratch}
        gpus = [{"id": rank} | chunks | self._gpu(rank) for rank in range(parts.schedule.n)]
        head = json.dumps(top, indent=1)[:-2]
        return f'{head},\n "gpus": [\n' + ",\n".join(_lines(gpu) for gpu in gpus) + "\n ]\n}\n"

    def _gpu(self, rank: int) -> Entry:
        return {
            "channels": [
                {"channel_type": kind, "connected_to": peers} for kind, peers in self.channels[rank].items() if peers
            ],
            "remote_buffers": [
                {"rank": other, "type": buffer, "access_channel_types": [kind]}
                for other, buffer, kind in self.buffers[rank]
            ],
            "semaphores": [{"init_value": 0}] * self.semaphores[rank],
            "threadblocks": self.blocks[rank],
        }


def _lines(gpu: Entry) -> str:
    """A GPU, with every thread block on a line of its own."""
    rest = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in gpu.items() if key != "threadblocks")
    blocks = ",\n   ".join(json.dumps(block) for block in gpu["threadblocks"])
    return f'  {{{rest}, "threadblocks": [\n   {blocks}]}}'


class _Block:
    """The operations of one thread block, with what it uses by its own numbers."""

    def __init__(self, plan: _Plan, number: int, name: int) -> None:
        self.plan, self.number, self.name = plan, number, name
        self.rank = plan.layout.blocks[number].rank
        self.channels: dict[str, dict[int, int]] = {"memory": {}, "port": {}}
        self.buffers: dict[str, dict[int, int]] = {"memory": {}, "port": {}}
        self.ops: list[Entry] = []
        self._met = True
        """Have all threads met since the last operation of data?"""

    def entry(self) -> Entry:
        """The thread block as the file has it."""
        for work in self.plan.layout.blocks[self.number].work:
            self._do(work)
        return {
            "id": self.name,
            "ops": self.ops,
            "channels": [
                {"channel_type": kind, "channel_ids": [*ids]} for kind, ids in self.channels.items() if ids
            ],
            "remote_buffer_refs": [
                {"access_channel_type": kind, "remote_buffer_ids": [*ids]} for kind, ids in self.buffers.items() if ids
            ],
        }  # fmt: skip

    def _do(self, work: BlockWork) -> None:
        if work.waits:
            self._tell("wait", "sem_acquire", work.waits)
            self._met = False
        if (work.waits or work.depends) and (work.task or work.signals):
            self._meet()
        signals = work.signals
        if work.task:
            signals = self._data(work)
        if signals:
            self._meet()
            self._tell("signal", "sem_release", signals)

    def _meet(self) -> None:
        if not self._met:
            self.ops.append({"name": "nop"})
            self._met = True

    def _tell(self, by_channel: str, by_semaphore: str, others: Sequence[int]) -> None:
        """Wait for other thread blocks, or signal to them."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for other in others:
            if self.plan.layout.blocks[other].rank == self.rank:
                pair = (other, self.number) if by_semaphore == "sem_acquire" else (self.number, other)
                numbers["semaphore"].append(self.plan.semaphore[pair])
            else:
                kind, number = self._channel(other)
                numbers[kind].append(number)
        for kind, ids in numbers.items():
            most = MOST_SEMAPHORES if kind == "semaphore" else MOST_AT_ONCE
            for some in (ids[k : k + most] for k in range(0, len(ids), most)):
                if kind == "semaphore":
                    self.ops.append({"name": by_semaphore, "semaphore_ids": some})
                else:
                    self.ops.append({"name": by_channel, "channel_ids": some, "channel_type": kind})

    def _channel(self, other: int) -> tuple[str, int]:
        """The type and own number of the channel to another thread block."""
        kind, number = self.plan.linked[self.number, other]
        return kind, self.channels[kind].setdefault(number, len(self.channels[kind]))

    def _data(self, work: BlockWork) -> list[int]:
        """The operation of a task; returns whom to tell of it still."""
        task = work.task
        assert task is not None
        signals = [*work.signals]
        kind = "port" if task.port else "memory"
        op: Entry = {
            "name": task.name,
            "src_buff": [self._reference(end, kind) for end in task.sources],
            "dst_buff": [self._reference(end, kind) for end in task.targets],
        }
        self._met = False
        if task.name in ("re", "rre"):
            op["reduce_op"] = "sum"
        if task.remote >= 0:
            op["channel_type"] = kind
        self.ops.append(op)
        if task.port:
            signaller = next((b for b in signals if self.plan.layout.blocks[b].rank == task.remote), -1)
            if signaller >= 0 and len(task.targets) == 1:
                op["name"] = "pws"
                signals.remove(signaller)
            channel = self._channel(signaller if signaller >= 0 else self._linked(task.remote))[1]
            op["channel_ids"] = [channel] * len(task.targets)
            self.ops.append({"name": "flush", "channel_ids": [channel], "channel_type": kind})
        return signals

    def _linked(self, rank: int) -> int:
        """A thread block of another GPU with a channel to this one."""
        blocks = self.plan.layout.blocks
        return next(b for a, b in self.plan.linked if a == self.number and blocks[b].rank == rank)

    def _reference(self, end: Stretch, kind: str) -> Entry:
        if end.rank == self.rank:
            return {"type": end.buffer, "index": end.index, "size": end.count}
        buffers = self.plan.buffers[self.rank]
        number = buffers.setdefault((end.rank, end.buffer, kind), len(buffers))
        own = self.buffers[kind].setdefault(number, len(self.buffers[kind]))
        return {"buffer_id": own, "index": end.index, "size": end.count}

"""MSCCL++ plans carried out thread by thread in any order; shares no code with the project.

Every chunk of a data operation is a thread's, one for packets and another for plain data; a signal or a wait is that of
a thread for each channel of the operation; a nop joins them, a barrier those of several blocks. What goes through a
port is done by a proxy, in order. A pipeline's operations are carried out once, on all their data; thread blocks of a
group do their part of every chunk. A switch reads and writes one GPU after the other.
"""

import random
from collections import Counter, defaultdict, deque
from functools import reduce
from math import lcm

PACKETS = ("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt")


class Stuck(Exception):  # noqa: N818  an outcome
    """No thread can go on."""


def outcome(plan, draw):
    """What every place of every buffer holds in the end; `draw` chooses who goes on."""
    return execution(plan, draw)[0]


def execution(plan, draw, absent=-1):
    """What memory holds in the end, and the GPUs whose memory others used before they began or after they had ended.

    The GPU that is `absent` never begins, and the others go as far as they can.
    """
    machine, untimely = _Machine(plan), set()
    run = _Run(machine)
    while True:
        run.wake()
        able = [key for key in run.ready if key[0] != absent] if absent >= 0 else run.ready
        ports = [own for own, queue in machine.proxies.items() if queue and own[0] != absent]
        if not able and not ports:
            break
        k = _choice(draw, able, len(able) + len(ports))
        machine.touched.clear()
        key = able[k] if k < len(able) else ports[k - len(able)]
        if k < len(able):
            run.ready.remove(key) if absent >= 0 else _take(run.ready, k)
            run.go_on(key)
        else:
            machine.proxies[key].popleft()()
            machine.happened.append(("proxy", key))
        untimely |= {g for g, _, _ in machine.touched if g != key[0] and (g == absent or not run.left[g])}
    if absent < 0 and any(run.left.values()):
        raise Stuck
    return machine.memory, untimely


class _Run:
    """All threads of a machine: those that are ready, and those that are asleep by what they miss."""

    def __init__(self, machine):
        self.machine, self.ready, self.asleep = machine, [], defaultdict(list)
        self.going = {
            (g, t, lane): machine.thread(g, t, block, lane)
            for g, gpu in enumerate(machine.plan["gpus"])
            for t, block in enumerate(gpu["threadblocks"])
            for lane in machine.lanes(block)
        }
        self.left = Counter(key[0] for key in self.going)
        for key in self.going:
            self.go_on(key)

    def go_on(self, key):
        missing = next(self.going[key], None)
        if missing is None:
            self.left[key[0]] -= 1
        else:
            self._await(key, missing)

    def _await(self, key, missing):
        what = missing()
        if what is None:
            self.ready.append(key)
        else:
            self.asleep[what].append((key, missing))

    def wake(self):
        for what in self.machine.happened:
            for waiting in self.asleep.pop(what, ()):
                self._await(*waiting)
        self.machine.happened.clear()


class Last(random.Random):
    """Chooses one of all others than a (GPU, thread block), as long as one of them can go on."""

    def __init__(self, seed, last):
        super().__init__(seed)
        self.last = last


def _choice(draw, able, count):
    others = [k for k, key in enumerate(able) if key[:2] != draw.last] if isinstance(draw, Last) else ()
    return others[int(draw.random() * len(others))] if others else int(draw.random() * count)


def _take(ready, k):
    ready[k] = ready[-1]
    ready.pop()


def words(chunk, rank):
    """128 random bits for what a rank has at first in a chunk of the whole; a sum of some tells which they are."""
    return random.Random(chunk << 20 | rank).getrandbits(128)


def _flat(ops):
    """Operations without the pipelines that hold them."""
    for op in ops:
        yield from _flat(op["ops"]) if op["name"] == "pipeline" else [op]


def _cut(plan):
    """The same plan in parts of chunks, so many that every thread block of a group has whole ones, and how many."""
    blocks = [(gpu, block | {"ops": [*_flat(block["ops"])]}) for gpu in plan["gpus"] for block in gpu["threadblocks"]]
    groups = [op["tbg_info"]["tbg_size"] for _, block in blocks for op in block["ops"] if op.get("tbg_info")]
    parts = reduce(lcm, groups, 1)

    def ref(of, part, size):
        count = of["size"] * parts // size
        return of | {"index": of["index"] * parts + part * count, "size": count}

    def operation(op):
        info = op.get("tbg_info") or {"tb_id": 0, "tbg_size": 1}
        ends = {
            end: [ref(of, info["tb_id"], info["tbg_size"]) for of in op.get(end, [])]
            for end in ("src_buff", "dst_buff")
        }
        return op | ends

    counts = ("input_chunks", "output_chunks", "scratch_chunks")
    gpus = [
        gpu
        | {key: gpu[key] * parts for key in counts}
        | {"threadblocks": [b | {"ops": [*map(operation, b["ops"])]} for of, b in blocks if of is gpu]}
        for gpu in plan["gpus"]
    ]
    return plan | {"gpus": gpus}


class _Machine:
    def __init__(self, plan):
        self.plan, self.memory = _cut(plan), {}
        gather = plan["collective"] == "allgather"
        for g, gpu in enumerate(self.plan["gpus"]):
            for c in range(gpu["input_chunks"]):
                self.memory[self.place(g, "i", c)] = words(c + g * gpu["input_chunks"] * gather, g)
        self.signals, self.waited = Counter(), Counter()
        self.released, self.acquired, self.arrived = Counter(), Counter(), Counter()
        for g, gpu in enumerate(self.plan["gpus"]):
            self.released.update({(g, k): s["init_value"] for k, s in enumerate(gpu.get("semaphores", []))})
        self.touched, self.happened = [], []
        """Places used in a turn, and what others may wait for."""
        self.proxies = defaultdict(deque)
        """What the proxy of a channel has in hand: functions without arguments."""
        self.flags = set()
        self.met, self.turns = Counter(), {}
        self.channels = [self._channels(gpu, g) for g, gpu in enumerate(self.plan["gpus"])]

    def place(self, g, buffer, chunk):
        gpu = self.plan["gpus"][g]
        if buffer == "i" and self.plan["inplace"]:
            return g, "o", chunk + g * gpu["input_chunks"] * (self.plan["collective"] == "allgather")
        return g, buffer, chunk

    def _channels(self, gpu, g):
        found, turns = defaultdict(list), Counter()
        for channel in gpu["channels"]:
            kind = channel["channel_type"]
            for peer in channel.get("connected_to", []):
                found[kind].append((g, peer, kind, turns[peer, kind]))
                turns[peer, kind] += 1
            for group in channel.get("rank_groups", []):
                found[kind].append((channel.get("buffer_type", channel.get("buff")), group["ranks"]))
        return found

    def own(self, g, block, kind, k):
        """The channel of a type that is a thread block's k-th: from, to, type and number of the pair, or a group's."""
        ids = [i for c in block["channels"] if c["channel_type"] == kind for i in c["channel_ids"]]
        return self.channels[g][kind][ids[k]]

    def lanes(self, block):
        """Its threads: for data, for packets, and for channels."""
        most = max([len(op.get(key, [])) for op in block["ops"] for key in ("channel_ids", "semaphore_ids")] + [0])
        width = max([r["size"] for op in block["ops"] for r in op.get("src_buff", [])] + [1])
        return [
            (kind, k) for kind, count in (("data", width), ("packet", width), ("channel", most)) for k in range(count)
        ]

    def refs(self, g, block, op, end, k):
        """The places of the k-th chunk of operands; those of all its ranks where a switch is one."""
        places, kind = [], op.get("channel_type", "memory")
        for ref in op.get(f"{end}_buff", []):
            if k >= ref["size"]:
                continue
            if "switch_channel_id" in ref:
                buffer, ranks = self.own(g, block, "switch", ref["switch_channel_id"])
                places += [self.place(rank, buffer, ref["index"] + k) for rank in ranks]
            elif "buffer_id" in ref:
                kinds = {r["access_channel_type"]: r["remote_buffer_ids"] for r in block["remote_buffer_refs"]}
                entry = self.plan["gpus"][g]["remote_buffers"][kinds[kind][ref["buffer_id"]]]
                places.append(self.place(entry["rank"], entry["type"], ref["index"] + k))
            else:
                places.append(self.place(g, ref["type"], ref["index"] + k))
        return places

    def thread(self, g, t, block, lane):
        """A thread of a block; yields functions that tell what it waits for, or None."""
        kind, k = lane
        threads = len(self.lanes(block))
        for at, op in enumerate(block["ops"]):
            if op["name"] in ("nop", "barrier"):
                yield from self._meet(g, (t, at), threads, op)
            elif kind == "channel":
                if k < len(op.get("channel_ids") or op.get("semaphore_ids") or []):
                    yield from self._told(g, block, op, k)
            elif kind == self._lane_of(op) and any(k < ref["size"] for ref in op.get("src_buff", [])):
                yield from self._data(g, block, op, k)

    def _meet(self, g, where, threads, op):
        """Wait for all threads of the block; at a barrier, for those of as many blocks as it says."""
        key = "met", g, where
        self.met[key] += 1
        if self.met[key] == threads:
            self.happened.append(key)
        yield lambda: None if self.met[key] >= threads else key
        if op["name"] == "barrier":
            barrier, count = ("barrier", g, op["barrier_id"]), op["num_threadblocks"]
            if key not in self.turns:  # the first to go on speaks for its block
                self.turns[key] = self.arrived[barrier] // count
                self._count(self.arrived, barrier)
            due = (self.turns[key] + 1) * count
            yield lambda: None if self.arrived[barrier] >= due else barrier

    @staticmethod
    def _lane_of(op):
        """Which threads move an operation's data; a proxy, where it goes through a port."""
        if op.get("channel_type") == "port":
            return None
        return "packet" if op["name"] in PACKETS else "data"

    def _told(self, g, block, op, k):
        """What the thread of a channel, or of a semaphore, does."""
        name = op["name"]
        if name == "sem_release":
            yield lambda: None
            self._count(self.released, (g, op["semaphore_ids"][k]))
        elif name == "sem_acquire":
            own = g, op["semaphore_ids"][k]
            self.acquired[own] += 1
            due = self.acquired[own]
            yield lambda: None if self.released[own] >= due else own
        elif op.get("channel_type") in ("memory", "port"):
            yield from self._by_channel(g, block, op, k)

    def _count(self, counter, key):
        counter[key] += 1
        self.happened.append(key)

    def _by_channel(self, g, block, op, k):
        name, own = op["name"], self.own(g, block, op["channel_type"], op["channel_ids"][k])
        if name in ("wait", "rlxwait"):
            back = own[1], own[0], *own[2:]
            self.waited[back] += 1
            due = self.waited[back]
            yield lambda: None if self.signals[back] >= due else back
        elif own[2] == "memory":
            if name in ("signal", "rlxsignal"):
                yield lambda: None
                self._count(self.signals, own)
        else:
            if name != "flush":
                yield lambda: None
                self._ask(g, block, op, k, own)
            if name in ("flush", "pwsf"):
                yield lambda: ("proxy", own) if self.proxies[own] else None

    def _ask(self, g, block, op, k, own):
        """Give the proxy of a channel its k-th copy, chunk by chunk, and the signal behind it."""
        queue = self.proxies[own]
        if op["name"] in ("put", "pws", "pwsf"):
            one = op | {"src_buff": op["src_buff"][k : k + 1], "dst_buff": op["dst_buff"][k : k + 1]}
            for chunk in range(one["src_buff"][0]["size"]):
                (source,), (target,) = (self.refs(g, block, one, end, chunk) for end in ("src", "dst"))
                queue.append(lambda s=source, t=target: self._copy(s, t))
        if op["name"] in ("pws", "pwsf", "signal", "rlxsignal"):
            queue.append(lambda: self._count(self.signals, own))

    def _copy(self, source, target):
        self.touched += [source, target]
        self.memory[target] = self.memory.get(source, 0)

    def _data(self, g, block, op, k):
        name = op["name"]
        sources, targets = (self.refs(g, block, op, end, k) for end in ("src", "dst"))
        flags = [p for p in sources if p[1] == "s"] if name in PACKETS and name not in ("ppkt", "cpkt") else []
        yield lambda: next((p for p in flags if p not in self.flags), None)
        self.touched += sources
        values = [self.memory.get(p, 0) for p in sources]
        yield lambda: None
        if name.startswith(("re", "rr")) or name == "glres" or len(sources) == 1:
            pairs = deque((p, sum(values)) for p in targets)
        else:
            pairs = deque(zip(targets, values, strict=True))
        for place, value in pairs:
            self.touched.append(place)
            self.memory[place] = value
            if name in PACKETS:
                self.flags.add(place)
                self.happened.append(place)
            yield lambda: None


def right(plan, memory):
    """Whether an outcome of an allreduce or an allgather is what the collective promises."""
    plan = _cut(plan)
    n = len(plan["gpus"])
    for g, gpu in enumerate(plan["gpus"]):
        for c in range(gpu["output_chunks"]):
            who = range(n) if plan["collective"] == "allreduce" else [c // gpu["input_chunks"]]
            if memory.get((g, "o", c), 0) != sum(words(c, r) for r in who):
                return False
    return True

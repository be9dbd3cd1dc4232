"""MSCCL++ plans carried out thread by thread in any order; shares no code with the project.

Every chunk of a data operation is a thread's, one for packets and another for plain data; a signal or a wait is that of
a thread for each channel of the operation; a nop joins them. What goes through a port is done by a proxy, in order.
Plans without groups, pipelines, barriers and switches are followed.
"""

from collections import Counter, defaultdict, deque

PACKETS = ("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt")


class Stuck(Exception):  # noqa: N818  an outcome
    """No thread can go on."""


def outcome(plan, draw):
    """What every place of every buffer holds in the end, as Counters of (chunk, rank); `draw` chooses who goes on."""
    return execution(plan, draw)[0]


def execution(plan, draw, absent=-1):
    """What memory holds in the end, and the GPUs whose memory others used before they began or after they had ended.

    The GPU that is `absent` never begins, and the others go as far as they can.
    """
    machine = _Machine(plan)
    going, untimely = {}, set()
    for g, gpu in enumerate(plan["gpus"]):
        for t, block in enumerate(gpu["threadblocks"]):
            for lane in machine.lanes(block):
                going[g, t, lane] = machine.thread(g, t, block, lane)
    waits = {key: next(thread, None) for key, thread in going.items()}
    left = Counter(key[0] for key, wait in waits.items() if wait is not None)
    while any(wait is not None for wait in waits.values()) or any(machine.proxies.values()):
        ready = [key for key, wait in waits.items() if wait is not None and wait()]
        ready += [key for key, queue in machine.proxies.items() if queue]
        ready = [key for key in ready if key[0] != absent]
        if not ready and absent >= 0:
            break
        if not ready:
            raise Stuck
        key = draw.choice(ready)
        machine.touched.clear()
        if key in going:
            waits[key] = next(going[key], None)
            left[key[0]] -= waits[key] is None
        else:
            machine.proxies[key].popleft()()
        untimely |= {g for g, _, _ in machine.touched if g != key[0] and (g == absent or not left[g])}
    return machine.memory, untimely


class _Machine:
    def __init__(self, plan):
        self.plan, self.memory = plan, {}
        gather = plan["collective"] == "allgather"
        for g, gpu in enumerate(plan["gpus"]):
            for c in range(gpu["input_chunks"]):
                whole = c + g * gpu["input_chunks"] * gather
                self.memory[self.place(g, "i", c)] = Counter({(whole, g): 1})
        self.signals, self.waited = Counter(), Counter()
        self.released, self.acquired = Counter(), Counter()
        self.touched = []
        self.proxies = defaultdict(deque)
        """What the proxy of a channel has in hand: functions without arguments."""
        self.flags = set()
        self.met = defaultdict(set)
        self.channels = [self._channels(gpu, g) for g, gpu in enumerate(plan["gpus"])]

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
        return found

    def channel(self, g, block, op, k):
        """The channel that an operation names k-th, as who calls it: from, to, type and number of the pair."""
        ids = next(c["channel_ids"] for c in block["channels"] if c["channel_type"] == op["channel_type"])
        return self.channels[g][op["channel_type"]][ids[op["channel_ids"][k]]]

    def lanes(self, block):
        """Its threads: for data, for packets, and for channels."""
        most = max([len(op.get(key, [])) for op in block["ops"] for key in ("channel_ids", "semaphore_ids")] + [0])
        width = max([r["size"] for op in block["ops"] for r in op.get("src_buff", [])] + [1])
        return [
            (kind, k) for kind, count in (("data", width), ("packet", width), ("channel", most)) for k in range(count)
        ]

    def refs(self, g, block, op, end, k):
        """The places of the k-th chunk of operands."""
        places = []
        for ref in op.get(f"{end}_buff", []):
            if k >= ref["size"]:
                continue
            if "buffer_id" in ref:
                kinds = {r["access_channel_type"]: r["remote_buffer_ids"] for r in block["remote_buffer_refs"]}
                remote = kinds[op.get("channel_type", "memory")][ref["buffer_id"]]
                entry = self.plan["gpus"][g]["remote_buffers"][remote]
                places.append(self.place(entry["rank"], entry["type"], ref["index"] + k))
            else:
                places.append(self.place(g, ref["type"], ref["index"] + k))
        return places

    def thread(self, g, t, block, lane):
        """A thread of a block; yields tests of whether it can go on."""
        kind, k = lane
        everyone = set(self.lanes(block))
        for at, op in enumerate(block["ops"]):
            name = op["name"]
            if name == "nop":
                self.met[g, t, at].add(lane)
                yield lambda at=at: self.met[g, t, at] == everyone
            elif kind == "channel" and k < len(op.get("channel_ids", op.get("semaphore_ids", []))):
                yield from self._told(g, block, op, k)
            elif kind == self._lane_of(op) and any(k < ref["size"] for ref in op.get("src_buff", [])):
                yield from self._data(g, block, op, k)

    @staticmethod
    def _lane_of(op):
        """Which threads move an operation's data; a proxy, where it goes through a port."""
        if op.get("channel_type") == "port":
            return None
        return "packet" if op["name"] in PACKETS else "data"

    def _told(self, g, block, op, k):
        """What the thread of a channel, or of a semaphore, does."""
        name = op["name"]
        if name.startswith("sem_"):
            own = g, op["semaphore_ids"][k]
            if name == "sem_release":
                yield lambda: True
                self.released[own] += 1
            else:
                self.acquired[own] += 1
                yield lambda due=self.acquired[own]: self.released[own] >= due
            return
        if op.get("channel_type") is None:
            return
        own = self.channel(g, block, op, k)
        if name in ("wait", "rlxwait"):
            back = own[1], own[0], *own[2:]
            self.waited[back] += 1
            yield lambda due=self.waited[back]: self.signals[back] >= due
        elif own[2] == "memory":
            if name in ("signal", "rlxsignal"):
                yield lambda: True
                self.signals[own] += 1
        elif name == "flush":
            yield lambda: not self.proxies[own]
        else:
            yield lambda: True
            self._ask(g, block, op, k, own)

    def _ask(self, g, block, op, k, own):
        """Give the proxy of a channel its k-th copy, chunk by chunk, and the signal behind it."""
        queue = self.proxies[own]
        if op["name"] in ("put", "pws"):
            one = op | {"src_buff": op["src_buff"][k : k + 1], "dst_buff": op["dst_buff"][k : k + 1]}
            for chunk in range(one["src_buff"][0]["size"]):
                (source,), (target,) = (self.refs(g, block, one, end, chunk) for end in ("src", "dst"))
                queue.append(lambda s=source, t=target: self._copy(s, t))
        if op["name"] in ("pws", "signal"):
            queue.append(lambda: self.signals.update([own]))

    def _copy(self, source, target):
        self.touched += [source, target]
        self.memory[target] = self.memory.get(source, Counter()).copy()

    def _data(self, g, block, op, k):
        name = op["name"]
        sources, targets = (self.refs(g, block, op, end, k) for end in ("src", "dst"))
        flags = [p for p in sources if p[1] == "s"] if name in PACKETS and name not in ("ppkt", "cpkt") else []
        yield lambda: self.flags.issuperset(flags)
        self.touched += sources
        values = [self.memory.get(p, Counter()).copy() for p in sources]
        yield lambda: True
        if name.startswith(("re", "rr")) or len(sources) == 1:
            pairs = deque((p, sum(values, Counter())) for p in targets)
        else:
            pairs = deque(zip(targets, values, strict=True))
        for place, value in pairs:
            self.touched.append(place)
            self.memory[place] = value
            if name in PACKETS:
                self.flags.add(place)
            yield lambda: True


def right(plan, memory):
    """Whether an outcome of an allreduce or an allgather is what the collective promises."""
    n = len(plan["gpus"])
    for g, gpu in enumerate(plan["gpus"]):
        for c in range(gpu["output_chunks"]):
            who = range(n) if plan["collective"] == "allreduce" else [c // gpu["input_chunks"]]
            if memory.get((g, "o", c), Counter()) != Counter({(c, r): 1 for r in who}):
                return False
    return True

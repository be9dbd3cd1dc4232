"""MSCCL++ plans carried out thread by thread in any order; shares no code with the project.

Every chunk of a data operation is a thread's, one for packets and another for plain data; a signal or a wait is that of
a thread for each channel of the operation; a nop joins them. Plans without groups, pipelines and switches are followed.
"""

from collections import Counter, defaultdict, deque

PACKETS = ("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt")


class Stuck(Exception):  # noqa: N818  an outcome
    """No thread can go on."""


def outcome(plan, draw):
    """What every place of every buffer holds in the end, as Counters of (chunk, rank); `draw` chooses who goes on."""
    machine = _Machine(plan)
    going = {}
    for g, gpu in enumerate(plan["gpus"]):
        for t, block in enumerate(gpu["threadblocks"]):
            for lane in machine.lanes(block):
                going[g, t, lane] = machine.thread(g, t, block, lane)
    waits = {key: next(thread, None) for key, thread in going.items()}
    while any(wait is not None for wait in waits.values()):
        ready = [key for key, wait in waits.items() if wait is not None and wait()]
        if not ready:
            raise Stuck
        key = draw.choice(ready)
        waits[key] = next(going[key], None)
    return machine.memory


class _Machine:
    def __init__(self, plan):
        self.plan, self.memory = plan, {}
        gather = plan["collective"] == "allgather"
        for g, gpu in enumerate(plan["gpus"]):
            for c in range(gpu["input_chunks"]):
                whole = c + g * gpu["input_chunks"] * gather
                self.memory[self.place(g, "i", c)] = Counter({(whole, g): 1})
        self.signals, self.waited = Counter(), Counter()
        self.flags = set()
        self.met = defaultdict(set)
        self.channels = [self._channels(gpu, g) for g, gpu in enumerate(plan["gpus"])]

    def place(self, g, buffer, chunk):
        gpu = self.plan["gpus"][g]
        if buffer == "i" and self.plan["inplace"]:
            return g, "o", chunk + g * gpu["input_chunks"] * (self.plan["collective"] == "allgather")
        return g, buffer, chunk

    def _channels(self, gpu, g):
        found, turns = [], Counter()
        for channel in gpu["channels"]:
            for peer in channel.get("connected_to", []):
                found.append((g, peer, turns[peer]))
                turns[peer] += 1
        return found

    def lanes(self, block):
        """Its threads: for data, for packets, and for channels."""
        most = max([len(op.get("channel_ids", [])) for op in block["ops"]] + [0])
        width = max([r["size"] for op in block["ops"] for r in op.get("src_buff", [])] + [1])
        return [
            (kind, k) for kind, count in (("data", width), ("packet", width), ("channel", most)) for k in range(count)
        ]

    def refs(self, g, block, refs, k):
        """The places of the k-th chunk of operands."""
        places = []
        for ref in refs:
            if "buffer_id" in ref:
                remote = block["remote_buffer_refs"][0]["remote_buffer_ids"][ref["buffer_id"]]
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
            elif name in ("signal", "rlxsignal", "wait", "rlxwait"):
                if kind == "channel" and k < len(op["channel_ids"]):
                    own = self.channels[g][block["channels"][0]["channel_ids"][op["channel_ids"][k]]]
                    if name.endswith("signal"):
                        yield lambda: True
                        self.signals[own] += 1
                    else:
                        back = own[1], own[0], own[2]
                        self.waited[back] += 1
                        yield lambda back=back, due=self.waited[back]: self.signals[back] >= due
            elif kind == ("packet" if name in PACKETS else "data") and k < op["src_buff"][0]["size"]:
                yield from self._data(g, block, op, k)

    def _data(self, g, block, op, k):
        name = op["name"]
        sources, targets = (self.refs(g, block, op[f"{end}_buff"], k) for end in ("src", "dst"))
        flags = [p for p in sources if p[1] == "s"] if name in PACKETS and name not in ("ppkt", "cpkt") else []
        yield lambda: self.flags.issuperset(flags)
        values = [self.memory.get(p, Counter()).copy() for p in sources]
        yield lambda: True
        if name.startswith(("re", "rr")) or len(sources) == 1:
            pairs = deque((p, sum(values, Counter())) for p in targets)
        else:
            pairs = deque(zip(targets, values, strict=True))
        for place, value in pairs:
            self.memory[place] = value
            if name in PACKETS:
                self.flags.add(place)
            yield lambda: True


def right(plan, memory):
    """Whether an outcome is what the collective promises."""
    n = len(plan["gpus"])
    for g, gpu in enumerate(plan["gpus"]):
        for c in range(gpu["output_chunks"]):
            who = range(n) if plan["collective"] == "allreduce" else [c // gpu["input_chunks"]]
            if memory.get((g, "o", c), Counter()) != Counter({(c, r): 1 for r in who}):
                return False
    return True

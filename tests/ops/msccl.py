"""An oracle for MSCCL programs that shares no code with the project, and a short way to write small ones."""

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict, deque

from tests.ops import reference


def collective(algo):
    """The collective by the project's name."""
    return algo.get("coll").replace("reducescatter", "reduce_scatter")


def _size(algo):
    """Ranks, chunks of a rank's part, and the root."""
    n, chunks = int(algo.get("ngpus")), int(algo.get("nchunksperloop"))
    shared = collective(algo) in ("allgather", "reduce_scatter", "alltoall", "gather", "scatter")
    return n, chunks // n if shared else chunks, int(algo.get("root", 0))


def place_of(algo):
    """A function from (gpu, buffer, chunk) to a place, one for both buffers of a program in place."""
    _, pieces, _ = _size(algo)
    part = {"allgather": "i", "gather": "i", "reduce_scatter": "o", "scatter": "o"}.get(collective(algo))

    def place(gpu, buffer, chunk):
        if algo.get("inplace") == "1" and buffer in "io":
            return gpu, "b", chunk + (gpu * pieces if buffer == part else 0)
        return gpu, buffer, chunk

    return place


def memory_at_first(algo):
    """What every place holds before, as Counters of (block, contributor)."""
    n, pieces, root = _size(algo)
    place, in_place, memory = place_of(algo), algo.get("inplace") == "1", defaultdict(Counter)
    for (gpu, slot), block in reference.before(collective(algo), n, pieces, root).items():
        own = collective(algo) in ("allgather", "gather") and not in_place
        memory[place(gpu, "i", slot - gpu * pieces * own) if own else (gpu, "b" if in_place else "i", slot)][
            (block, gpu)
        ] = 1
    return memory


def owed(algo):
    """The output places and what each must hold in the end."""
    n, pieces, root = _size(algo)
    place, coll = place_of(algo), collective(algo)
    for (gpu, slot), (block, who) in reference.after(coll, n, pieces, root).items():
        chunk = (
            slot - gpu * pieces * (coll in ("reduce_scatter", "scatter")) - (n * pieces if coll == "alltoall" else 0)
        )
        yield place(gpu, "o", chunk), Counter({(block, r): 1 for r in who})


def interpret(text):
    """Carry a program out thread block by thread block on sets of (block, contributor), without a limit on sends.

    Returns `deadlock`, `wrong` or `ok`.
    """
    algo = ET.fromstring(text)
    place, memory = place_of(algo), memory_at_first(algo)
    fifo, published, blocks = defaultdict(deque), defaultdict(lambda: -1), []
    for gpu in algo.iter("gpu"):
        for tb in gpu.iter("tb"):
            blocks += [[int(gpu.get("id")), tb, [*tb.iter("step")], 0]]
    progress = True
    while progress:
        progress = False
        for entry in blocks:
            gpu, tb, steps, at = entry
            while at < len(steps):
                step = steps[at].attrib
                kind, count = step["type"], int(step["cnt"])
                if int(step["depid"]) >= 0 and published[gpu, int(step["depid"])] < int(step["deps"]):
                    break
                source = [place(gpu, step["srcbuf"], int(step["srcoff"]) + c) for c in range(count)]
                target = [place(gpu, step["dstbuf"], int(step["dstoff"]) + c) for c in range(count)]
                values = [memory[p].copy() for p in source]
                if kind[0] == "r" and kind != "re":
                    queue = fifo[int(tb.get("recv")), gpu, tb.get("chan")]
                    if not queue:
                        break
                    got = queue.popleft()
                    values = [a + b for a, b in zip(got, values, strict=True)] if kind.startswith("rr") else got
                if kind == "re":
                    values = [memory[p] + v for p, v in zip(target, values, strict=True)]
                if kind in ("r", "rcs", "rrc", "rrcs", "cpy", "re"):
                    memory.update(zip(target, values, strict=True))
                if kind in ("s", "rcs", "rrs", "rrcs"):
                    fifo[gpu, int(tb.get("send")), tb.get("chan")].append(values)
                if step["hasdep"] == "1":
                    published[gpu, int(tb.get("id"))] = at
                at += 1
                progress = True
            entry[3] = at
    if any(at < len(steps) for _, _, steps, at in blocks):
        return "deadlock"
    if any(memory[where] != due for where, due in owed(algo)):
        return "wrong"
    return "ok"


def program(coll, *gpus, chunks=1, scratch=0, inplace=1, extra=""):
    """A file from `{(send, recv, chan): ["type src dst [dep]", …]}` per GPU; places are like i0, deps like @1.0."""
    lines = [
        f'<algo name="made" proto="Simple" nchannels="4" nchunksperloop="{chunks}" ngpus="{len(gpus)}" coll="{coll}"'
        f' inplace="{inplace}" {extra}>'
    ]
    for g, blocks in enumerate(gpus):
        lines.append(f'<gpu id="{g}" i_chunks="0" o_chunks="0" s_chunks="{scratch}">')
        for t, ((send, recv, chan), steps) in enumerate(blocks.items()):
            lines.append(f'<tb id="{t}" send="{send}" recv="{recv}" chan="{chan}">')
            for s, words in enumerate(steps):
                kind, source, target, *rest = words.split()
                dep = next((w[1:].split(".") for w in rest if w[0] == "@"), ("-1", "-1"))
                count = next((w[1:] for w in rest if w[0] == "x"), "0" if kind == "nop" else "1")
                lines.append(
                    f'<step s="{s}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1:]}" dstbuf="{target[0]}"'
                    f' dstoff="{target[1:]}" cnt="{count}" depid="{dep[0]}" deps="{dep[1]}"'
                    f' hasdep="{1 * ("!" in rest)}"/>'
                )
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])

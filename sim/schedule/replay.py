"""Kernels that replay a schedule without time: what depends on what, and who contributed to what.

Plain functions over arrays, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import jit

COPY = 0
NOBODY = np.uint64(0)
WRITER, READER, WRITTEN = 0, 1, 2
MOVE, LAST, OVERWRITTEN = 0, 1, 2
EMPTY, MIXED, DOUBLED, CLASH = -1, -2, -3, -4
"""What a place can hold instead of a block: nothing, a sum over different blocks, a rank counted twice,
the outcome of two writers of which one overwrites."""


@jit
def dependencies(slots, step_start, src, dst, moves, from_slot, to_slot, first, before, place, older, owner, seen):
    """Fill `first` (offsets) and `before` with the transfers each transfer waits for.

    Derived per place: read after write, write after write, write after read. Transfers of one step read
    the state before the step, so they never wait for each other; a later writer also waits for the readers
    of the step in which its place was last written. Returns how many there are; when that is more than
    `before` holds, call again with room for them. Scratch: `place` has a row per place (newest writer, newest
    reader since, step last written), `older` a row per move (the writer or reader before it), `owner` its
    transfer; `seen` keeps a transfer from being entered twice.
    """
    place[:] = -1
    seen[:] = -1
    transfers = len(src)
    count = 0
    room = len(before)
    for step in range(len(step_start) - 1):
        begin, stop = step_start[step], step_start[step + 1]
        for i in range(begin, stop):
            first[i] = count
            for m in range(moves[i], moves[i + 1]):
                owner[m] = i
                source = src[i] * slots + from_slot[m]
                target = dst[i] * slots + to_slot[m]
                w = place[source, WRITER]
                while w >= 0:
                    j = owner[w]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    w = older[w, WRITER]
                r = place[target, READER]
                while r >= 0:
                    j = owner[r]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    r = older[r, READER]
                w = place[target, WRITER]
                while w >= 0:
                    j = owner[w]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    w = older[w, WRITER]
        # readers of places that this step writes stay readers: the next writer waits for them too
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                target = dst[i] * slots + to_slot[m]
                if place[target, WRITTEN] != step:
                    place[target, WRITTEN] = step
                    place[target, WRITER] = -1
                    place[target, READER] = -1
                older[m, WRITER] = place[target, WRITER]
                place[target, WRITER] = m
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                source = src[i] * slots + from_slot[m]
                older[m, READER] = place[source, READER]
                place[source, READER] = m
    first[transfers] = count
    return count


@jit
def successors(first, before, start, after):
    """Turn 'waits for' (`first`, `before`) round into 'is waited for by' (`start`, `after`)."""
    transfers = len(first) - 1
    start[:] = 0
    for e in range(first[transfers]):
        start[before[e] + 1] += 1
    for i in range(transfers):
        start[i + 1] += start[i]
    for i in range(transfers):
        for e in range(first[i], first[i + 1]):
            j = before[e]
            after[start[j]] = i
            start[j] += 1
    for i in range(transfers, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


@jit
def replay(
    ranks,
    slots,
    step_start,
    op,
    src,
    dst,
    moves,
    from_slot,
    to_slot,
    exact,
    union,
    block,
    who,
    blame,
    carried,
    left,
    read,
    read_who,
):
    """Carry contributions through every step; sources and destinations from `ranks` up are switches.

    `block[place]` is the block held, or a reason why none is; `who[place]` its contributors, as bits of
    64-rank words when `exact`, else as one fingerprint that adds up modulo 2^64. `blame[place]` is the
    move that spoiled it. Optionally (when not empty) `carried[m]` receives the block that move m carries
    and `left[m]` the contributors at its destination after it. Scratch: `blame` has two more columns, the
    steps in which the place was last written and overwritten; `read` and `read_who` hold what a step reads.
    """
    words = who.shape[1]
    for step in range(len(step_start) - 1):
        begin, stop = step_start[step], step_start[step + 1]
        base = moves[begin]
        for i in range(begin, stop):
            row = src[i] * slots
            for m in range(moves[i], moves[i + 1]):
                source = row + from_slot[m]
                read[m - base, 0] = block[source]
                read[m - base, 1] = blame[source, MOVE]
                for w in range(words):
                    read_who[m - base, w] = who[source, w]
        for i in range(begin, stop):
            row = dst[i] * slots
            for m in range(moves[i], moves[i + 1]):
                target = row + to_slot[m]
                k = m - base
                got = read[k, 0]
                if op[i] == COPY:
                    clash = blame[target, LAST] == step
                    blame[target, OVERWRITTEN] = step
                    block[target] = got
                    blame[target, MOVE] = m if got == EMPTY else read[k, 1]
                    for w in range(words):
                        who[target, w] = read_who[k, w]
                else:
                    clash = blame[target, OVERWRITTEN] == step
                    held = block[target]
                    if held >= 0 and got == held:
                        twice = False
                        for w in range(words):
                            if exact:
                                twice |= (who[target, w] & read_who[k, w]) != NOBODY
                                who[target, w] |= read_who[k, w]
                            else:
                                who[target, w] += read_who[k, w]
                        if twice and not union:
                            block[target] = DOUBLED
                            blame[target, MOVE] = m
                    elif held >= 0:
                        block[target] = MIXED if got >= 0 else got
                        blame[target, MOVE] = m if got >= EMPTY else read[k, 1]
                    elif held == EMPTY and dst[i] >= ranks and blame[target, MOVE] < 0:
                        block[target] = got
                        blame[target, MOVE] = m if got == EMPTY else read[k, 1]
                        for w in range(words):
                            who[target, w] = read_who[k, w]
                    elif held == EMPTY:
                        blame[target, MOVE] = m
                if clash:
                    block[target] = CLASH
                    blame[target, MOVE] = m
                blame[target, LAST] = step
                if len(carried) > 0:
                    carried[m] = got
                if len(left) > 0:
                    for w in range(words):
                        left[m, w] = who[target, w]

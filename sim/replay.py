"""Kernels that replay a schedule without time: what depends on what, and who contributed to what.

Plain functions over arrays, interpreted or compiled (see `sim.speed`).
"""

import numpy as np

from sim.speed import jit

COPY = 0
NOBODY = np.uint64(0)
EMPTY, MIXED, DOUBLED, CLASH = -1, -2, -3, -4
"""What a place can hold instead of a block: nothing, a sum over different blocks, a rank counted twice,
the outcome of two writers of which one overwrites."""


@jit
def dependencies(slots, places, step_start, src, dst, moves, from_slot, to_slot, first, before):
    """Fill `first` (offsets) and `before` with the transfers each transfer waits for.

    Derived per place: read after write, write after write, write after read. Transfers of one step read
    the state before the step, so they never wait for each other; a later writer also waits for the readers
    of the step in which its place was last written. Returns how many there are; when that is more than
    `before` holds, call again with room for them.
    """
    writer = np.full(places, -1, np.int32)  # newest writer of a place; older ones of the same step chain on
    reader = np.full(places, -1, np.int32)  # newest reader since then
    total_moves = moves[-1]
    older_writer = np.empty(total_moves, np.int32)
    older_reader = np.empty(total_moves, np.int32)
    transfers = len(src)
    move_owner = np.empty(total_moves, np.int32)
    writes_step = np.full(places, -1, np.int32)
    seen = np.full(transfers, -1, np.int32)
    count = 0
    room = len(before)
    for step in range(len(step_start) - 1):
        begin, stop = step_start[step], step_start[step + 1]
        for i in range(begin, stop):
            first[i] = count
            for m in range(moves[i], moves[i + 1]):
                move_owner[m] = i
                source = src[i] * slots + from_slot[m]
                target = dst[i] * slots + to_slot[m]
                w = writer[source]
                while w >= 0:
                    j = move_owner[w]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    w = older_writer[w]
                r = reader[target]
                while r >= 0:
                    j = move_owner[r]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    r = older_reader[r]
                w = writer[target]
                while w >= 0:
                    j = move_owner[w]
                    if seen[j] != i:
                        seen[j] = i
                        if count < room:
                            before[count] = j
                        count += 1
                    w = older_writer[w]
        # readers of places that this step writes stay readers: the next writer waits for them too
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                target = dst[i] * slots + to_slot[m]
                if writes_step[target] != step:
                    writes_step[target] = step
                    writer[target] = -1
                    reader[target] = -1
                older_writer[m] = writer[target]
                writer[target] = m
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                source = src[i] * slots + from_slot[m]
                older_reader[m] = reader[source]
                reader[source] = m
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
def replay(slots, step_start, op, src, dst, moves, from_slot, to_slot, exact, union, block, who, blame, carried, left):
    """Carry contributions through every step.

    `block[place]` is the block held, or a reason why none is; `who[place]` its contributors, as bits of
    64-rank words when `exact`, else as one fingerprint that adds up modulo 2^64. `blame[place]` is the
    move that spoiled it. Optionally (when not empty) `carried[m]` receives the block that move m carries
    and `left[m]` the contributors at its destination after it.
    """
    words = who.shape[1]
    stop_moves = 0
    for step in range(len(step_start) - 1):
        stop_moves = max(stop_moves, moves[step_start[step + 1]] - moves[step_start[step]])
    read_block = np.empty(stop_moves, np.int32)
    read_blame = np.empty(stop_moves, np.int32)
    read_who = np.empty((stop_moves, words), np.uint64)
    written = np.full(len(block), -1, np.int32)
    overwritten = np.full(len(block), -1, np.int32)
    for step in range(len(step_start) - 1):
        begin, stop = step_start[step], step_start[step + 1]
        base = moves[begin]
        for i in range(begin, stop):
            row = src[i] * slots
            for m in range(moves[i], moves[i + 1]):
                source = row + from_slot[m]
                read_block[m - base] = block[source]
                read_blame[m - base] = blame[source]
                for w in range(words):
                    read_who[m - base, w] = who[source, w]
        for i in range(begin, stop):
            row = dst[i] * slots
            for m in range(moves[i], moves[i + 1]):
                target = row + to_slot[m]
                k = m - base
                got = read_block[k]
                if op[i] == COPY:
                    clash = written[target] == step
                    overwritten[target] = step
                    block[target] = got
                    blame[target] = m if got == EMPTY else read_blame[k]
                    for w in range(words):
                        who[target, w] = read_who[k, w]
                else:
                    clash = overwritten[target] == step
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
                            blame[target] = m
                    elif held >= 0:
                        block[target] = MIXED if got >= 0 else got
                        blame[target] = m if got >= EMPTY else read_blame[k]
                    elif held == EMPTY:
                        blame[target] = m
                if clash:
                    block[target] = CLASH
                    blame[target] = m
                written[target] = step
                if len(carried) > 0:
                    carried[m] = got
                if len(left) > 0:
                    for w in range(words):
                        left[m, w] = who[target, w]

"""Kernels that replay a schedule without time: what depends on what, and who contributed to what.

Plain functions over arrays, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import jit

COPY = 0
NOBODY = np.uint64(0)
WRITER, READER = 0, 1
NOTHING = np.int32(-1)
AHEAD = 2
COUNT = np.int64((1 << 32) - 1)
BLOCK, STAMP = range(2)
"""Columns of a place: the block it holds, or a reason why none; twice the step in which it was last written, and one
more if it was overwritten there. Contributors follow in the same row."""
FIRST = 1
"""The column of 64 bits in which contributors begin."""
EMPTY, MIXED, DOUBLED, CLASH = -1, -2, -3, -4
"""What a place can hold instead of a block: nothing, a sum over different blocks, a rank counted twice,
the outcome of two writers of which one overwrites."""


@jit
def dependencies(slots, step_start, src, dst, moves, owner, from_slot, to_slot, pending, start, before, place, older):
    """Fill `pending` and `before` with how many and which transfers each transfer waits for.

    Derived per place: read after write, write after write, write after read. Transfers of one step read
    the state before the step, so they never wait for each other; a later writer also waits for the readers
    of the step in which its place was last written. Returns how many there are; when that is more than
    `before` holds, call again with room for them. `start[j + 2]` counts who waits for transfer j, for `successors`,
    below its upper 32 bits, which say who was counted last, from 1 on: nobody is counted twice.
    Scratch: `place` has a row per place: twice the newest writer's and the newest reader's move since, one more where
    `older`, a row per move, has the one before it. `owner` has every move's transfer; where each transfer is one it is
    None, for which a kernel of its own is compiled, as asking at every move takes a sixth of the time.
    """
    place[:] = -1
    start[:] = 0
    pending[:] = 0
    count = 0
    room = len(before)
    for step in range(len(step_start) - 1):
        begin, stop = moves[step_start[step]], moves[step_start[step + 1]]
        for m in range(begin, stop):
            i = m if owner is None else owner[m]
            source, target = src[i] * slots + from_slot[m], dst[i] * slots + to_slot[m]
            writer, reader, other = place[source, WRITER], place[target, READER], place[target, WRITER]
            if writer & reader & other == -1:  # nobody before
                continue
            waiting = 0
            for e, column in ((writer, WRITER), (reader, READER), (other, WRITER)):
                while e >= 0:
                    move = e >> 1
                    j = move if owner is None else owner[move]
                    noted = start[j + AHEAD]
                    if noted >> 32 <= i:
                        start[j + AHEAD] = ((np.int64(i) + 1) << 32) + (noted & COUNT) + 1
                        if count + waiting < room:
                            before[count + waiting] = j
                        waiting += 1
                    e = older[move, column] if e & 1 else NOTHING
            pending[i] += waiting
            count += waiting
        # readers of places that this step writes stay readers: the next writer waits for them too
        for m in range(begin, stop):
            target = dst[m if owner is None else owner[m]] * slots + to_slot[m]
            if place[target, WRITER] >> 1 < begin:
                place[target, WRITER] = m << 1
                place[target, READER] = -1
            else:
                older[m, WRITER] = place[target, WRITER]
                place[target, WRITER] = m << 1 | 1
        for m in range(begin, stop):
            source = src[m if owner is None else owner[m]] * slots + from_slot[m]
            if place[source, READER] < 0:
                place[source, READER] = m << 1
            else:
                older[m, READER] = place[source, READER]
                place[source, READER] = m << 1 | 1
    return count


@jit
def successors(pending, before, start, after):
    """Turn 'waits for' (`pending`, `before`) round into 'is waited for by' (`start`, `after`).

    `start[j + 2]`, below its upper 32 bits, is how many wait for j, for all j; in the end they are
    `after[start[j]:start[j + 1]]`.
    """
    for j in range(2, len(start)):
        start[j] = (start[j] & COUNT) + start[j - 1]
    e = 0
    for i in range(len(pending)):
        for _ in range(pending[i]):
            at = before[e] + 1
            after[start[at]] = i
            start[at] += 1
            e += 1


@jit
def astray(owed, first, last, due, exact, slots, place, who):
    """The first place, by rank and slot, that does not hold what it owes; -1 where all do.

    Between `due[first]` and `due[last]` are the marks of those whose sum is owed.
    """
    for rank in range(owed.shape[0]):
        for slot in range(owed.shape[1]):
            if owed[rank, slot] >= 0:
                at = rank * slots + slot
                wrong = place[at, BLOCK] != owed[rank, slot]
                low, high = max(first[rank, slot], 0), max(last[rank, slot], 0)
                for w in range(due.shape[1]):
                    marks = due[high, w] & ~due[low, w] if exact else due[high, w] - due[low, w]
                    wrong |= who[at, FIRST + w] != marks
                if wrong:
                    return at
    return -1


@jit
def replay(
    ranks,
    slots,
    step_start,
    op,
    src,
    dst,
    moves,
    owner,
    from_slot,
    to_slot,
    exact,
    union,
    place,
    who,
    blame,
    carried,
    left,
    read,
    read_who,
):
    """Carry contributions through every step; sources and destinations from `ranks` up are switches.

    `place` and `who` are the same memory, a row per place, as it is needed together: in 32 bits `BLOCK` and `STAMP`, in
    64 bits, from `FIRST` on, its contributors, as bits of 64-rank words when `exact`, else as one fingerprint that adds
    up modulo 2^64. Where a place holds no block, `blame` is the move that spoiled it, counted from 1, or 0.
    `owner` is as in `dependencies`. Optionally (when not empty) `carried[m]` receives the block that move m carries and
    `left[m]` the contributors at its destination after it. Scratch: `read` and `read_who` hold what a step reads.
    A fingerprint is the first word alone: where that stands before the loop over the others, which then ends at once, a
    ring of 1,024 is proved in half the time.
    """
    words = who.shape[1] - FIRST
    for step in range(len(step_start) - 1):
        begin, stop = moves[step_start[step]], moves[step_start[step + 1]]
        added, overwritten = 2 * step, 2 * step + 1
        for m in range(begin, stop):
            source = src[m if owner is None else owner[m]] * slots + from_slot[m]
            k = m - begin
            got = place[source, BLOCK]
            read[k, 0] = got
            if got < 0:
                read[k, 1] = blame[source]
            read_who[k, 0] = who[source, FIRST]
            for w in range(1, words):
                read_who[k, w] = who[source, FIRST + w]
        for m in range(begin, stop):
            i = m if owner is None else owner[m]
            target, k = dst[i] * slots + to_slot[m], m - begin
            got, held, stamp = read[k, 0], place[target, BLOCK], place[target, STAMP]
            if op[i] == COPY:
                clash = stamp >= added
                place[target, STAMP] = overwritten
                place[target, BLOCK] = got
                if got < 0:
                    blame[target] = m + 1 if got == EMPTY else read[k, 1]
                who[target, FIRST] = read_who[k, 0]
                for w in range(1, words):
                    who[target, FIRST + w] = read_who[k, w]
            else:
                clash = stamp == overwritten
                place[target, STAMP] = max(stamp, added)
                if held >= 0 and got == held:
                    twice = False
                    if exact:
                        for w in range(words):
                            twice |= (who[target, FIRST + w] & read_who[k, w]) != NOBODY
                            who[target, FIRST + w] |= read_who[k, w]
                    else:
                        who[target, FIRST] += read_who[k, 0]
                    if twice and not union:
                        place[target, BLOCK] = DOUBLED
                        blame[target] = m + 1
                elif held >= 0:
                    place[target, BLOCK] = MIXED if got >= 0 else got
                    blame[target] = m + 1 if got >= EMPTY else read[k, 1]
                elif held == EMPTY and dst[i] >= ranks and blame[target] == 0:
                    place[target, BLOCK] = got
                    if got < 0:
                        blame[target] = m + 1 if got == EMPTY else read[k, 1]
                    for w in range(words):
                        who[target, FIRST + w] = read_who[k, w]
                elif held == EMPTY:
                    blame[target] = m + 1
            if clash:
                place[target, BLOCK] = CLASH
                blame[target] = m + 1
            if len(left) > 0:
                for w in range(words):
                    left[m, w] = who[target, FIRST + w]
        if len(carried) > 0:
            for m in range(begin, stop):
                carried[m] = read[m - begin, 0]

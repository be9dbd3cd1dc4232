"""Kernels over ordered operations: carry them out, see what comes before or after one, draw an order that is allowed.

Plain functions over arrays, interpreted or compiled (see `sim.base.compiled`). Operation i comes after operations
`before[first[i]:first[i + 1]]`, all of lower numbers, and consists of accesses `part[i]` up to `part[i + 1]`.
"""

from sim.base.compiled import jit

COPY = 0


@jit
def carry_out(sequence, part, op, offset, slots, to, state, held):
    """Carry operations out in this sequence on what places hold; an access reads all its places before it writes."""
    for s in range(len(sequence)):
        i = sequence[s]
        for a in range(part[i], part[i + 1]):
            begin, stop = offset[a], offset[a + 1]
            for k in range(begin, stop):
                held[k - begin] = state[slots[k]]
                if op[a] != COPY:
                    held[k - begin] += state[to[k]]
            for k in range(begin, stop):
                state[to[k]] = held[k - begin]


@jit
def ancestors(i, first, before, mark):
    """Mark operation i and all that it comes after."""
    mark[:] = False
    mark[i] = True
    for j in range(i, -1, -1):
        if mark[j]:
            for k in range(first[j], first[j + 1]):
                mark[before[k]] = True


@jit
def descendants(i, first, before, mark):
    """Mark operation i and all that come after it."""
    mark[:] = False
    mark[i] = True
    for j in range(i + 1, len(mark)):
        for k in range(first[j], first[j + 1]):
            if mark[before[k]]:
                mark[j] = True


@jit
def clocks(first, before, worker, turn, column, clock):
    """Count, for every operation and for each worker that has a column, how many of its operations come before."""
    for i in range(len(worker)):
        for k in range(first[i], first[i + 1]):
            b = before[k]
            for c in range(clock.shape[1]):
                if clock[b, c] > clock[i, c]:
                    clock[i, c] = clock[b, c]
        if column[worker[i]] >= 0:
            clock[i, column[worker[i]]] = turn[i] + 1


@jit
def draw_sequence(draws, start, after, waiting, ready, sequence):
    """Put all operations into a sequence: whenever several can go on, the next of `draws` chooses.

    Operations `after[start[i]:start[i + 1]]` come after operation i; `waiting` counts what each comes after.
    """
    count = 0
    for i in range(len(waiting)):
        if waiting[i] == 0:
            ready[count] = i
            count += 1
    for s in range(len(sequence)):
        k = draws[s] % count
        i = ready[k]
        count -= 1
        ready[k] = ready[count]
        sequence[s] = i
        for a in range(start[i], start[i + 1]):
            waiting[after[a]] -= 1
            if waiting[after[a]] == 0:
                ready[count] = after[a]
                count += 1

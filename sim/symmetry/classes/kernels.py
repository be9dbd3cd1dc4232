"""Kernels that read a schedule step by step without keeping it, and tell kinds of ranks by what is beside them.

Plain functions over arrays, interpreted or compiled (see `sim.base.compiled`). `held[slot, rank]` is a fingerprint of
what lies there, modulo 2^64; slots come first because ranks at one height of a tree use one slot.
"""

import numpy as np

from sim.base.compiled import helper, jit

COPY = 0
NONE = -1
SRC, DST, CHANNEL, PROGRAM, NEXT = range(5)
"""Columns of `pair`: who sends to whom on which channel, the number of what, and the next pair of the same sender."""
PAIRS, PROGRAMS, SLOTS = range(3)
"""Entries of `count`: pairs that have exchanged something, beginnings of programs, slots in `pool`."""
BEFORE, STEP, OP, FIRST, WIDTH = range(5)
"""Columns of `node`: a program is a message after a shorter program, with slots `pool[FIRST:FIRST + WIDTH]`."""
ROOM, MANY = 1, 2
"""Why `follow` has stopped: no room is left, or a rank sends to too many for kinds to be few."""
PARTNERS = 64
"""So many pairs of one sender are looked through."""
SPOILED = np.uint64(0x9E6C63D0876A9A35)
A, B, C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)


@helper
def mix(x):
    """Scatter the bits of a number: splitmix64, Steele, Lea and Flood 2014."""
    x = np.uint64(x) + A
    x = (x ^ (x >> S30)) * B
    x = (x ^ (x >> S27)) * C
    return x ^ (x >> S31)


@jit
def read(src, slot, held, got):
    """Fill `got`, a row per message, with what lies in the slots that are sent; padding is NONE."""
    for i in range(len(src)):
        for k in range(slot.shape[1]):
            if slot[i, k] >= 0:
                got[i, k] = held[slot[i, k], src[i]]


@jit
def write(step, op, dst, to, held, stamp, got):
    """Put or add what was read where it goes, and spoil what two write in one step of which one overwrites.

    `stamp` is twice the step in which a place was last written, and one more where that overwrote it.
    """
    now = 2 * step
    for i in range(len(dst)):
        for k in range(to.shape[1]):
            s = to[i, k]
            if s < 0:
                continue
            last = stamp[s, dst[i]]
            if op == COPY:
                held[s, dst[i]] = got[i, k]
                clash = last >= now
                stamp[s, dst[i]] = now + 1
            else:
                held[s, dst[i]] += got[i, k]
                clash = last == now + 1
                stamp[s, dst[i]] = max(last, now)
            if clash:
                held[s, dst[i]] = mix(held[s, dst[i]] ^ SPOILED)


@jit
def follow(step, op, src, dst, channel, slot, to, head, pair, node, pool, table, count):
    """Lengthen the program of every pair that has a message in this step; returns 0, ROOM or MANY."""
    for i in range(len(src)):
        p = np.int64(head[src[i]])
        looked = 0
        while p >= 0 and (pair[p, DST] != dst[i] or pair[p, CHANNEL] != channel[i]):
            p = np.int64(pair[p, NEXT])
            looked += 1
        if looked > PARTNERS:
            return MANY
        if p < 0:
            p = count[PAIRS]
            count[PAIRS] = p + 1
            pair[p, SRC], pair[p, DST], pair[p, CHANNEL], pair[p, PROGRAM] = src[i], dst[i], channel[i], 0
            pair[p, NEXT] = head[src[i]]
            head[src[i]] = p
        program = longer(pair[p, PROGRAM], step, op, i, slot, to, node, pool, table, count)
        if program < 0:
            return ROOM
        pair[p, PROGRAM] = program
    return 0


@helper
def longer(before, step, op, i, slot, to, node, pool, table, count):
    """The program that goes on after another with message i; NONE where no room is left."""
    width = slot.shape[1]
    key = mix(mix(before) ^ np.uint64(2 * step + op))
    for k in range(width):
        key = mix(key ^ np.uint64((np.int64(slot[i, k]) + 1 << 31) + to[i, k] + 1))
    at = np.int64(key & np.uint64(len(table) - 1))
    while table[at] >= 0:
        other = np.int64(table[at])
        first = node[other, FIRST]
        same = node[other, BEFORE] == before and node[other, STEP] == step and node[other, OP] == op
        same = same and node[other, WIDTH] == width
        if same:
            for k in range(width):
                same = same and pool[first + k, 0] == slot[i, k] and pool[first + k, 1] == to[i, k]
        if same:
            return other
        at = (at + 1) & (len(table) - 1)
    new, first = count[PROGRAMS], count[SLOTS]
    if 2 * new >= len(table) or first + width > len(pool):
        return np.int64(NONE)
    count[PROGRAMS], count[SLOTS] = new + 1, first + width
    table[at] = new
    node[new, BEFORE], node[new, STEP], node[new, OP] = before, step, op
    node[new, FIRST], node[new, WIDTH] = first, width
    for k in range(width):
        pool[first + k, 0], pool[first + k, 1] = slot[i, k], to[i, k]
    return new


@jit
def tell_pairs(pair, lead, offsets, links, rank_colour, link_colour, colour):
    """A colour for every pair, from its program, its latency, and its ranks' and links' colours."""
    for p in range(len(pair)):
        key = mix(np.uint64(pair[p, PROGRAM]) ^ (np.uint64(pair[p, CHANNEL]) << S31)) ^ lead[p]
        key = mix(key) ^ rank_colour[pair[p, SRC]]
        key = mix(key) ^ rank_colour[pair[p, DST]]
        for k in range(offsets[p], offsets[p + 1]):
            key = mix(key) + link_colour[links[k]]
        colour[p] = mix(key)


@jit
def tell_places(pair, offsets, links, colour, rank_colour, link_colour):
    """Make ranks and links tell apart what pairs they have; a rank knows what it sends from what it receives."""
    for p in range(len(pair)):
        rank_colour[pair[p, SRC]] += mix(colour[p] + A)
        rank_colour[pair[p, DST]] += mix(colour[p] ^ B)
        for k in range(offsets[p], offsets[p + 1]):
            link_colour[links[k]] += mix(colour[p] ^ C)


@jit
def tell_variants(pair, offsets, links, of, rank_of, link_of, colour):
    """A colour for every pair's class with its ranks' and links' classes."""
    for p in range(len(pair)):
        key = mix(mix(np.uint64(of[p])) ^ np.uint64(rank_of[pair[p, SRC]])) ^ np.uint64(rank_of[pair[p, DST]])
        ways = np.uint64(0)
        for k in range(offsets[p], offsets[p + 1]):
            ways += mix(link_of[links[k]] + 1)
        colour[p] = mix(mix(key) ^ ways)


@jit
def number(keys, table, of, first):
    """Number different keys in the order in which they come; returns how many, or NONE where `first` is too short.

    `of` is every key's number, `first` the place of the first key of each; `table` has NONE everywhere.
    """
    count = 0
    for i in range(len(keys)):
        at = np.int64(mix(keys[i]) & np.uint64(len(table) - 1))
        while table[at] >= 0 and keys[first[table[at]]] != keys[i]:
            at = (at + 1) & (len(table) - 1)
        if table[at] < 0:
            if count == len(first):
                return NONE
            table[at] = count
            first[count] = i
            count += 1
        of[i] = table[at]
    return count

"""Kernels that prove a folded schedule: what rank 0 holds, told by names that are renamed with every message.

Plain functions over arrays, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper, jit
from sim.schedule.replay import CLASH, COPY, EMPTY, MIXED

SUM, FRAME, BLAME = 1, 2, 3
LAST, OVERWRITTEN = 1, 2


@helper
def turned(number, by, size, weight):
    """What a renaming makes of a number; see `sim.symmetry.renamings.Digits`."""
    result = np.int64(0)
    place = np.int64(1)
    for j in range(len(size) - 1, -1, -1):
        digit = number % size[j]
        number //= size[j]
        if weight[j] > 0:
            digit = (digit + by // weight[j]) % size[j]
        result += digit * place
        place *= size[j]
    return result


@jit
def follow(
    rank_size, rank_weight, name_size, name_weight, step_start, op, back, moves, from_slot, to_slot, holds, blame,
    parts, frames, count, read,
):  # fmt: skip
    """Carry contributions to and from rank 0 through every step; returns how many sums there are.

    `holds[slot]` is the block, or a reason why none is held, the sum it is, and the renaming under which. Sum 0 is one
    rank's own contribution, under the renaming that is its number; sum k adds `parts[k]` under the renamings
    `frames[k]`, and has `count[k]` contributions. What comes from rank 0's predecessor by renaming g is what rank 0
    itself sends, renamed back by g: `back[i]`. `blame[slot]` is the move that spoiled it, and the steps in which it was
    last written and overwritten. Scratch: `read` holds what a step reads.
    """
    sums = np.int64(1)
    for step in range(len(step_start) - 1):
        begin, stop = step_start[step], step_start[step + 1]
        base = moves[begin]
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                source = from_slot[m]
                k = m - base
                block = holds[source, 0]
                read[k, 0] = turned(block, back[i], name_size, name_weight) if block >= 0 else block
                read[k, SUM] = holds[source, SUM]
                read[k, FRAME] = turned(holds[source, FRAME], back[i], rank_size, rank_weight)
                read[k, BLAME] = blame[source, 0]
        for i in range(begin, stop):
            for m in range(moves[i], moves[i + 1]):
                target = to_slot[m]
                k = m - base
                got = read[k, 0]
                if op[i] == COPY:
                    clash = blame[target, LAST] == step
                    blame[target, OVERWRITTEN] = step
                    holds[target, 0] = got
                    holds[target, SUM] = read[k, SUM]
                    holds[target, FRAME] = read[k, FRAME]
                    blame[target, 0] = m if got == EMPTY else read[k, BLAME]
                else:
                    clash = blame[target, OVERWRITTEN] == step
                    held = holds[target, 0]
                    if held >= 0 and got == held:
                        parts[sums, 0] = holds[target, SUM]
                        parts[sums, 1] = read[k, SUM]
                        frames[sums, 0] = holds[target, FRAME]
                        frames[sums, 1] = read[k, FRAME]
                        count[sums] = count[parts[sums, 0]] + count[parts[sums, 1]]
                        holds[target, SUM] = sums
                        holds[target, FRAME] = 0
                        sums += 1
                    elif held >= 0:
                        holds[target, 0] = MIXED if got >= 0 else got
                        blame[target, 0] = m if got >= EMPTY else read[k, BLAME]
                    elif held == EMPTY:
                        blame[target, 0] = m
                if clash:
                    holds[target, 0] = CLASH
                    blame[target, 0] = m
                blame[target, LAST] = step
    return sums


@jit
def contributors(rank_size, rank_weight, number, parts, frames, times, stack):
    """Count in `times` how often every rank contributes to a sum; `stack` has room for two entries per sum."""
    stack[0, 0] = number
    stack[0, 1] = 0
    height = 1
    while height > 0:
        height -= 1
        number, frame = stack[height, 0], stack[height, 1]
        if number == 0:
            times[frame] += 1
        else:
            for side in range(2):
                stack[height, 0] = parts[number, side]
                stack[height, 1] = turned(frames[number, side], frame, rank_size, rank_weight)
                height += 1

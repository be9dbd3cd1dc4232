"""One finished sentence for every step, and short words for sets of ranks."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sim.schedule import REDUCE, Schedule
from sim.verify import Proof
from ui.text import say

NAMED = 64
"""Up to this many ranks contributors are named; beyond, they are counted."""


def ranges(ranks: Iterable[int]) -> str:
    """Sorted ranks in few words.

    >>> ranges([0, 1, 2, 5]), ranges([7])
    ('0-2, 5', '7')
    """
    runs: list[list[int]] = []
    for r in ranks:
        if runs and r == runs[-1][-1] + 1:
            runs[-1][1:] = [r]
        else:
            runs.append([r])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def members(words: NDArray[np.uint64]) -> list[int]:
    """The ranks of one set of contributors."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return [int(r) for r in np.nonzero(bits)[0]]


def block_name(schedule: Schedule, block: int) -> str:
    """What a person calls a block: its number, or `source to destination` where every pair has its own."""
    promise = schedule.promise
    if promise is None or block < 0:
        return "?"
    n = schedule.n
    pieces = promise.blocks // (n * n) if promise.blocks % (n * n) == 0 else 0
    if pieces and promise.blocks == n * len(promise.inputs):
        pair, piece = divmod(block, pieces)
        name = f"{pair // n}→{pair % n}"
        return name if pieces == 1 else f"{name}.{piece}"
    return str(block)


def step_captions(schedule: Schedule, proof: Proof, language: str = "en") -> list[str]:
    """A sentence per step about its first message, and how many others go with it."""
    return [_caption(schedule, proof, k, language) for k in range(schedule.steps)]


def _caption(schedule: Schedule, proof: Proof, step: int, language: str) -> str:
    first, stop = int(schedule.step_start[step]), int(schedule.step_start[step + 1])
    moving = first + np.nonzero(schedule.src[first:stop] != schedule.dst[first:stop])[0]
    i = int(moving[0]) if moving.size else first
    if first == stop:
        return say("caption.empty", language, step=step + 1, steps=schedule.steps)
    message = say(
        "caption.reduce" if schedule.op[i] == REDUCE else "caption.copy",
        language,
        src=int(schedule.src[i]),
        dst=int(schedule.dst[i]),
        what=_what(schedule, proof, i, language),
    )
    others = max(0, moving.size - 1)
    more = say("caption.more", language, count=others) if others else ""
    head = say("caption.head", language, step=step + 1, steps=schedule.steps)
    return f"{head}{message}{more}"


def _what(schedule: Schedule, proof: Proof, i: int, language: str) -> str:
    """The blocks of a message, and whose contributions they carry."""
    moves = range(int(schedule.moves[i]), int(schedule.moves[i + 1]))
    if not moves or not len(proof.carried):
        return say("caption.data", language)
    m = moves[0]
    block = int(proof.carried[m])
    if len(moves) > 1:
        blocks = sorted(int(proof.carried[k]) for k in moves)
        listed = ranges(blocks) if schedule.promise and schedule.promise.blocks <= 4096 else str(len(blocks))
        return say("caption.blocks", language, blocks=listed, count=len(blocks))
    name = block_name(schedule, block)
    who = _carried_by(schedule, proof, m, i)
    if schedule.promise is not None and schedule.promise.union:
        return say("caption.token", language)
    if len(who) <= 1:
        return say("caption.block", language, block=name)
    if schedule.n > NAMED:
        return say("caption.sum_count", language, block=name, count=len(who))
    return say("caption.sum", language, block=name, ranks=ranges(who))


def _carried_by(schedule: Schedule, proof: Proof, move: int, i: int) -> list[int]:
    """Contributors in what a move carries: those at the destination after it, less those there before."""
    if not len(proof.left):
        return []
    after = members(proof.left[move])
    if schedule.op[i] != REDUCE:
        return after
    start = int(schedule.moves[schedule.step_start[schedule.step_of[i]]])
    earlier = np.nonzero(
        (schedule.to_slot[:start] == schedule.from_slot[move])
        & (schedule.dst[schedule.transfer_of[:start]] == schedule.src[i])
    )[0]
    return members(proof.left[earlier[-1]]) if earlier.size else [int(schedule.src[i])]

"""Input, output and scratch buffers of a GPU program, laid out as slots with the promise that fits them."""

from dataclasses import dataclass

import numpy as np

from ops.collectives import COLLECTIVES
from ops.formats.interpreter.order import Trial, distinct
from sim.base.arrays import each_once
from sim.schedule import NOTHING, Promise
from sim.topology import Ints

IN_PARTS = ("allgather", "gather")
"""A rank's input is one part of the whole; in place it is that part of the output."""
OUT_PARTS = ("reduce_scatter", "scatter")
"""A rank's output is one part of the whole; in place it is that part of the input."""


@dataclass(frozen=True, eq=False)
class Buffers:
    """Where chunks are: chunk c of a rank's buffer b is slot `base[b][rank] + c`, for c < `size[b]`.

    Where thread blocks share chunks, each is `cut` slots.
    """

    base: dict[str, Ints]
    size: dict[str, int]
    promise: Promise | None
    cut: int = 1

    @property
    def laid(self) -> int:
        """Slots per rank that the buffers take."""
        return max(int(self.base[b].max()) + self.size[b] for b in self.size)

    def name(self, rank: int, slot: int) -> str:
        """What a program calls a slot of a rank; in place, that is a chunk of its output and of its input."""
        names = [name for buffer in ("o", "i", "s") if (name := self._in_buffer(buffer, slot, rank))]
        if not names:
            return f"slot {slot}"
        return names[0] if len(names) == 1 else f"{names[0]} (in place also {names[1]})"

    def _in_buffer(self, buffer: str, slot: int, rank: int) -> str:
        """What a slot is called in a buffer; empty where it is not in it."""
        inside = slot - int(self.base[buffer][rank])
        if not 0 <= inside < self.size[buffer]:
            return ""
        chunk, part = divmod(inside, self.cut)
        whole = f"chunk {chunk} of buffer {buffer}"
        return whole if self.cut == 1 else f"part {part + 1} of {self.cut} of {whole}"

    def trial(self, promise: Promise | None) -> Trial:
        """What operations start from and what they must come to; without a promise, only which places are output."""
        n, laid = len(self.base["o"]), self.laid
        start = distinct(n * laid)
        if promise is None:
            shown = [b for b in "io" if b == "o" or (self.base["i"] == self.base["o"]).all()]
            rows = [self.base[b][:, None] + np.arange(self.size[b]) + np.arange(n)[:, None] * laid for b in shown]
            return Trial(start, each_once(np.concatenate([row.ravel() for row in rows])), None)
        of_block, of_rank = distinct(promise.blocks) | np.uint64(1), distinct(n)
        rank, slot = np.nonzero(promise.given[:n] != NOTHING)
        start[rank * laid + slot] = of_block[promise.given[rank, slot]] * of_rank[rank]
        rank, slot = np.nonzero(promise.owed[:n] != NOTHING)
        upto = np.concatenate([[np.uint64(0)], np.cumsum(of_rank, dtype=np.uint64)])
        sums = upto[promise.last[rank, slot]] - upto[promise.first[rank, slot]]
        return Trial(start, rank * laid + slot, of_block[promise.owed[rank, slot]] * sums)


def whole_share(collective: str, n: int) -> int:
    """By how much the chunks of the whole must be divisible: the ranks, where each has its own part."""
    return n if collective in (*IN_PARTS, *OUT_PARTS, "alltoall") else 1


def lay_out(collective: str, n: int, chunks: int, scratch: int, *, in_place: bool, root: int) -> Buffers:
    """Buffers of a collective whose larger buffer has `chunks` chunks, a multiple of `whole_share`."""
    whole = COLLECTIVES[collective].promise(n, chunks // whole_share(collective, n), root)
    part = np.arange(n, dtype=np.int32) * (chunks // n)
    none = np.zeros(n, np.int32)
    base = {"i": part if collective in IN_PARTS else none, "o": part if collective in OUT_PARTS else none}
    size = {b: chunks // n if base[b] is part else chunks for b in base}
    if collective == "alltoall":
        base["o"] = none + chunks
    if in_place:
        promise = _folded(whole, chunks) if collective == "alltoall" else whole
        base["o"] = none if collective == "alltoall" else base["o"]
    else:
        promise = _unfolded(whole, base, size)
        base = {"i": none, "o": none + size["i"]}
    start = promise.given.shape[1]
    return Buffers(base | {"s": none + start}, size | {"s": scratch}, promise)


def plain(n: int, inputs: int, outputs: int, scratch: int, *, in_place: bool) -> Buffers:
    """Buffers of a program that promises nothing known; in place, input and output are one."""
    none = np.zeros(n, np.int32)
    start = max(inputs, outputs) if in_place else inputs + outputs
    base = {"i": none, "o": none if in_place else none + inputs, "s": none + start}
    size = {"i": start if in_place else inputs, "o": start if in_place else outputs, "s": scratch}
    return Buffers(base, size, None)


def _folded(p: Promise, half: int) -> Promise:
    """The promise of an alltoall whose output takes the place of its input."""
    return Promise(
        p.name, p.blocks, p.given[:, :half], p.owed[:, half:], p.first[:, half:], p.last[:, half:],
        range(half), range(half),
    )  # fmt: skip


def _unfolded(p: Promise, base: dict[str, Ints], size: dict[str, int]) -> Promise:
    """The promise with input and output in slots of their own."""
    n = len(p.given)
    rank = np.arange(n).reshape(-1, 1)
    inside, outside = (base[b].reshape(-1, 1) + np.arange(size[b]) for b in ("i", "o"))
    no_input, no_output = (np.full((n, size[b]), NOTHING, np.int32) for b in ("i", "o"))
    return Promise(
        name=p.name,
        blocks=p.blocks,
        given=np.hstack([p.given[rank, inside], no_output]),
        owed=np.hstack([no_input, p.owed[rank, outside]]),
        first=np.hstack([no_input, p.first[rank, outside]]),
        last=np.hstack([no_input, p.last[rank, outside]]),
        inputs=range(size["i"]),
        outputs=range(size["i"], size["i"] + size["o"]),
    )

"""A run at any instant, as numbers to draw: where blocks are, how full links are, what every rank holds."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.answers import of_trace
from ops.plan import Plan
from ops.run.values import Values, captioned, values_of
from ops.run.values import number as number_word
from sim.base.ragged import ranges
from sim.errors import InputError
from sim.schedule import NOTHING
from sim.trace import Trace
from sim.trace.link_load import Spell, capacity, spells, utilisation
from ui.drawing.geometry import Ground, machine, shape
from ui.layout.captions import block_name, closing, opening, step_captions
from ui.layout.lines import along
from ui.layout.palette import bottlenecks, waited_for
from ui.layout.provenance import at_first, followed, unfollowed
from ui.layout.stall import sentence
from ui.player.answer import PARTS, Spans, answer_of, read
from ui.player.payload import has_rows, place_devices, place_names, tick
from ui.player.titles import heading

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Block(NamedTuple):
    """A block on its way: the transfer that carries it, its number, what it is called, where it is, and how large.

    `side` is 1 for the largest of the run: its area is its bytes.
    """

    transfer: int
    number: int
    label: str
    x: float
    y: float
    side: float = 1.0


@dataclass(frozen=True, eq=False)
class Held:
    """Blocks, how many ranks have contributed to them, and the move that brought each, or NOTHING, by place."""

    block: NDArray[np.int64]
    count: NDArray[np.int64]
    move: NDArray[np.int64]


class Film:
    """A trace that can be asked about any instant. Asking in the order of time is quickest.

    Blocks show their numbers where `plan` has any.
    """

    def __init__(
        self,
        trace: Trace,
        language: str = "en",
        *,
        plan: Plan | None = None,
        answer: Mapping[str, Spans] | None = None,
        title: str = "",
    ) -> None:
        self.trace, self.language, self._answer, self._title = trace, language, answer, title
        self._plan = plan
        self.full = has_rows(trace)
        self.contents = followed(trace, trace.end) if self.full else unfollowed(trace)
        self._order = np.argsort(trace.end, kind="stable")
        self._ended = trace.end[self._order]
        self._half = tick(trace) / 2  # as in the player: what lies within half a tick is the same instant
        self._done = 0
        self._pages: dict[tuple[str, float], Ground] = {}
        self._rewind()

    @cached_property
    def values(self) -> Values | None:
        """Numbers in the blocks; None where none are shown, or none can be."""
        plan = self._plan
        if plan is None or not plan.values:
            return None
        try:
            return values_of(self.trace.schedule, plan.values, plan.op, plan.dtype, self.trace.end)
        except InputError:
            return None

    @cached_property
    def title(self) -> str:
        """The sentence above the picture, of the trace alone unless it was given."""
        return self._title or heading(self.trace, self.language)

    @cached_property
    def answer(self) -> tuple[str, str]:
        """What is said of the run, and why; of the trace alone unless it was given."""
        answer = self._answer or answer_of([of_trace(self.trace)], ("",), self.language, remedies=False)
        headline, *others = (read(answer.get(part, [])) for part in PARTS)
        return headline, " ".join(filter(None, others)).replace("。 ", "。")

    @cached_property
    def captions(self) -> list[str]:
        """A sentence per step."""
        captions = self.plain_captions
        return captions if self.values is None else captioned(captions, self.values, self.trace.schedule)

    @property
    def plain_captions(self) -> list[str]:
        """The same without numbers."""
        names = place_names(self.trace, place_devices(self.trace), self.language)
        return step_captions(self.trace, self.contents, names, self.language)

    @cached_property
    def machine(self) -> Ground:
        """The machine it ran on."""
        return machine(self.trace, self.language)

    def on_page(self, view: str, aspect: float) -> Ground:
        """What a view stands on, spread over a page so many times as wide as high."""
        if (view, aspect) not in self._pages:
            self._pages[view, aspect] = (self.shape if view == "shape" else self.machine).spread(aspect)
        return self._pages[view, aspect]

    @cached_property
    def shape(self) -> Ground:
        """The algorithm's own shape; the machine where that would be a smudge."""
        return (shape(self.trace, self.contents.block, self.language) if self.full else None) or self.machine

    @cached_property
    def step_ends(self) -> Floats:
        """When each step and all before it have ended, s, from the beginning on."""
        starts = self.trace.schedule.step_start
        ends = [self.trace.end[a:b].max(initial=self.trace.began) for a, b in pairwise(starts)]
        return np.maximum.accumulate(np.array([self.trace.began, *ends]))

    def step(self, t: float) -> int:
        """The step under way: 0 before the first, k until step k and all before it have ended."""
        return min(int(np.searchsorted(self.step_ends, t - self._half)), len(self.step_ends) - 1)

    def caption(self, t: float) -> str:
        """What happens now, in a sentence."""
        step = self.step(t)
        if step == 0:
            return opening(self.trace.schedule, self.language)
        if t + self._half >= self.trace.ended:
            done = closing(self.trace.schedule, self.language, kept=self.trace.verdict.verdict == "ok")
            return sentence(self.trace, self.language) or done
        return self.captions[step - 1]

    def moving(self, t: float) -> NDArray[np.int64]:
        """The transfers between ranks that are under way."""
        trace, now = self.trace, t + self._half
        under_way: NDArray[np.int64] = np.nonzero(
            (trace.left < now) & (now <= trace.end) & (trace.schedule.src != trace.schedule.dst)
        )[0]
        return under_way

    def progress(self, i: int, t: float) -> float:
        """0 to 1 along the route: the latency takes its share of the way, then the delivered bytes theirs."""
        trace = self.trace
        whole = trace.arrived[i] - trace.left[i]
        if whole <= 0:
            return 1.0
        leading = float((trace.start[i] - trace.left[i]) / whole)
        if t < trace.start[i]:
            return max(0.0, float((t - trace.left[i]) / whole))
        return leading + (1 - leading) * trace.delivered(i, t)

    def blocks(self, t: float, ground: Ground, *, clear: bool = False) -> list[Block]:
        """Every block that is on its way; those that are `clear` keep off the devices at its ends."""
        blocks = []
        for i in self._shown(t):
            begin, end = ground.clear(i) if clear else (0.0, 1.0)
            blocks.append(self._block(i, along(ground.path(i), begin + self.progress(i, t) * (end - begin))))
        return blocks

    def flights(self, t: float, places: Callable[[int, int], tuple[float, float]]) -> list[Block]:
        """Every block on its way from the place that holds it to the one that will; `places(rank, slot)` is where."""
        schedule, blocks = self.trace.schedule, []
        for i in self._shown(t):
            first = int(schedule.moves[i])
            ends = [
                places(int(r[i]), int(slot[first]))
                for r, slot in ((schedule.src, schedule.from_slot), (schedule.dst, schedule.to_slot))
            ]
            if max(schedule.src[i], schedule.dst[i]) < schedule.n:
                blocks.append(self._block(i, along(np.array(ends), self.progress(i, t))))
        return blocks

    def _shown(self, t: float) -> list[int]:
        return [int(i) for i in self.moving(t)] if self.full else []

    def _block(self, i: int, at: tuple[float, float]) -> Block:
        first, stop = (int(m) for m in self.trace.schedule.moves[i : i + 2])
        number = int(self.contents.block[first]) if first < stop and len(self.contents.block) else NOTHING
        label = f"{stop - first}×" if stop - first > 1 else self.name(number)
        if self.values is not None:
            label = " ".join(number_word(x) for x in self.values.arrived[first:stop])
        return Block(i, number, label, *at, math.sqrt(self.trace.bytes[i] / self._largest))

    @cached_property
    def _largest(self) -> float:
        return float(self.trace.bytes.max(initial=0.0)) or 1.0

    def name(self, block: int) -> str:
        """What a person calls a block."""
        return block_name(self.trace.schedule, block)

    def place_name(self, place: int, slot: int) -> str:
        """What is written on a place that holds a block, at the instant last looked at: its name, or its number."""
        if self.values is None:
            return self.name(int(self._held.block[place, slot]))
        if self._done == len(self._order):
            return number_word(self.values.final[place, slot])
        move = self._held.move[place, slot]
        return number_word(self.values.states[0][place, slot] if move == NOTHING else self.values.left[move])

    def loads(self, t: float, ground: Ground) -> Floats:
        """The share of what every line can carry that flows along it now."""
        rates, links = np.zeros(len(ground.lines)), capacity(self.trace, t)
        room = np.array([ground.capacity(line, links) for line in range(len(ground.lines))])
        for i in self._shown(t):
            if self.trace.start[i] <= t < self.trace.arrived[i]:
                times, values = self.trace.rates(i)
                now = int(np.searchsorted(times, t, side="right")) - 1
                lines = list(ground.crossed(i))
                np.add.at(rates, lines, values[now] if now >= 0 else 0.0)
                narrow = float(links[self.trace.route_of(i)].min())
                room[lines] = np.where(np.isnan(room[lines]), narrow, room[lines])
        shares: Floats = np.divide(rates, room, out=np.zeros_like(rates), where=room > 0)
        return shares

    @cached_property
    def _bottlenecks(self) -> NDArray[np.bool_]:
        """Which links are the busiest of the run."""
        return bottlenecks(utilisation(self.trace, np.array([self.trace.began, self.trace.ended]))[:, 0])

    def waited_for(self, t: float, ground: Ground) -> NDArray[np.bool_]:
        """Which lines are red: full links that others wait for, or lines with such a link behind them.

        None are where that is so for all lines in use.
        """
        if ground.link(0) == 0:
            return waited_for(self.loads(t, ground), self._bottlenecks)
        links = waited_for(self.loads(t, self.machine), self._bottlenecks)
        red, used = np.zeros((2, len(ground.lines)), bool)
        for i in self._shown(t):
            if self.trace.start[i] <= t < self.trace.arrived[i]:
                lines = list(ground.crossed(i))
                used[lines] = True
                red[lines] |= bool(links[self.trace.route_of(i)].any())
        return red if red.sum() < used.sum() else np.zeros_like(red)

    @cached_property
    def spells(self) -> list[Spell]:
        """Where links could carry other than their own bandwidth."""
        return spells(self.trace)

    def faulty(self, t: float) -> list[Spell]:
        """Where they cannot now."""
        now = t + self._half
        return [
            spell for spell in self.spells if spell.begin < now and (now <= spell.end or spell.end >= self.trace.ended)
        ]

    def landed(self, t: float) -> int:
        """How many transfers have ended."""
        return int(np.searchsorted(self._ended, t + self._half))

    def held(self, t: float) -> Held:
        """What every rank and adding switch holds, `[place, slot]`."""
        done = self.landed(t)
        if done < self._done:
            self._rewind()
        for i in self._order[self._done : done].tolist():
            self._land(i)
        self._done = done
        return self._held

    def changed(self, since: float | None, t: float, places: int, slots: int) -> list[tuple[int, int]]:
        """The first places and slots to which something came since an instant, each once; all of them if it is None."""
        schedule = self.trace.schedule
        is_done = self.landed(t) == len(self._order)  # then sums become means
        if since is None or (is_done and self.values is not None and self.landed(since) < len(self._order)):
            return list(product(range(places), range(slots)))
        ended = self._order[self.landed(since) : self.landed(t)]
        moves = ranges(schedule.moves[:-1][ended], np.diff(schedule.moves)[ended])
        place, slot = np.repeat(schedule.dst[ended], np.diff(schedule.moves)[ended]), schedule.to_slot[moves]
        near = (place < places) & (slot < slots)
        return list(dict.fromkeys(zip(place[near].tolist(), slot[near].tolist(), strict=True)))

    def _rewind(self) -> None:
        block = at_first(self.trace.schedule).astype(np.int64)
        self._held = Held(block, (block != NOTHING).astype(np.int64), np.full(block.shape, NOTHING, np.int64))
        self._done = 0

    def _land(self, i: int) -> None:
        schedule, dst = self.trace.schedule, int(self.trace.schedule.dst[i])
        for m in range(int(schedule.moves[i]), int(schedule.moves[i + 1])):
            slot = int(schedule.to_slot[m])
            self._held.block[dst, slot] = self.contents.block[m] if len(self.contents.block) else NOTHING
            self._held.move[dst, slot] = m
            leaves: Any = self.contents.leaves
            self._held.count[dst, slot] = self.contents.count(leaves[m]) if self.contents.followed else 1

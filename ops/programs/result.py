"""The result of a PyTorch program as a file: `torchrun --json` writes it, and it is read as data, a training step."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ops.communicators.records import Span
from ops.plan import Plan
from ops.plan.training import machine_words
from ops.plan.words import MACHINE
from ops.programs.runtime.timeline import ProgramRun
from ops.training.step import LANES, MemoryChange, StepCollective, TrainingStep
from sim.errors import InputError, Message
from sim.placement import placement_of
from sim.topology import Topology

FORMAT = "program-1"
PROGRAM = "program"
"""The workload that a program's step is called."""
LONGEST = 200
"""Characters of a name."""
MOST = 1_000_000
"""Rows of each list."""
KINDS: dict[Any, Message] = {
    dict: Message("result.dict"),
    list: Message("result.list"),
    str: Message("result.str"),
    bool: Message("result.bool"),
}
"""What refusals call a type."""
Value = TypeVar("Value")


class ProgramResult(NamedTuple):
    """The machine in words, with its ranks placed as the program's were, and the step."""

    machine: Plan
    step: TrainingStep


def result_of(outcome: ProgramRun, step: TrainingStep, machine: Plan, topology: Topology) -> dict[str, Any]:
    """Return a run of a program as plain data; `topology` has its ranks in their seats."""
    seats = placement_of(topology, step.ranks)
    words = machine_words(replace(machine, placement=",".join(seats)) if seats else machine)
    return {
        "ringside": FORMAT,
        "words": words,
        **outcome.to_dict(),
        "guessed": outcome.guessed,
        "peak_memory_bytes": step.peaks,
        "timeline": [
            {"rank": s.rank, "lane": s.lane, "start": s.start, "end": s.end, "name": s.name} for s in step.spans
        ],
        "memory": [{"rank": c.rank, "time_s": c.time, "kind": c.kind, "bytes": c.bytes} for c in step.changes],
        "collectives": [
            {
                "name": c.name, "algorithm": c.algorithm, "protocol": c.protocol, "ranks": list(c.ranks),
                "size_bytes": c.size, "counts": c.counts, "start_s": c.start, "end_s": c.end, "verified": c.verified,
                "latest_rank": c.latest,
            }
            for c in step.calls
        ],
    }  # fmt: skip


def is_result(text: str) -> bool:
    """Whether a text is a program's result, by how it begins."""
    return text.lstrip()[:1] == "{" and f'"ringside": "{FORMAT}"' in text[:LONGEST]


def read_result(text: str, name: str) -> ProgramResult:
    """Return what a file of `torchrun --json` holds. Raises InputError naming the file, the row and the field."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("result.no_json", name=name, why=error) from None
    file = _Fields(whole, name)
    words: dict[Any, Any] = file.take("words", dict)
    if not all(key in MACHINE and isinstance(word, str) for key, word in words.items()):
        raise InputError("result.no_machine", name=name)
    machine = replace(Plan(), **words)
    topology, ranks = machine.topology(), file.number("ranks", 1, 1 << 20)
    topology.taking_part(int(ranks))
    step = TrainingStep(
        topology, int(ranks), file.number("time_s"), [_span(row, ranks) for row in file.rows("timeline")],
        [_call(row, ranks) for row in file.rows("collectives")], np.zeros(len(topology.links)),
        [_change(row, ranks) for row in file.rows("memory")], {"compute": file.name("compute")}, workload=PROGRAM,
    )  # fmt: skip
    return ProgramResult(machine, step)


class _Fields:
    """A row of the file; `where` is how refusals call it."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping):
            raise InputError("result.no_object", where=where)
        self._values, self._where = values, where

    def refuse(self, key: str, what: Message) -> InputError:
        """Return what is said of a value that does not fit."""
        return InputError("result.field", where=self._where, key=key, what=what)

    def take(self, key: str, kind: Callable[..., Value]) -> Value:
        """Return a value of a type."""
        value = self._values.get(key)
        if not isinstance(value, kind):  # type: ignore[arg-type]
            raise self.refuse(key, KINDS[kind])
        return value  # type: ignore[return-value]

    def number(self, key: str, least: float = 0.0, most: float = 1e18) -> float:
        """Return a finite number in a range."""
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.refuse(key, Message("result.number", least=least, most=most))
        return float(value)

    def name(self, key: str) -> str:
        """Return a short text."""
        value = self.take(key, str)
        if len(value) > LONGEST or not value.isprintable():
            raise self.refuse(key, Message("result.text", most=LONGEST))
        return value

    def rows(self, key: str) -> Iterable["_Fields"]:
        """Return a list's rows."""
        rows: list[Any] = self.take(key, list)
        if len(rows) > MOST:
            raise self.refuse(key, Message("result.rows", most=MOST))
        return (_Fields(row, f"{self._where}, {key} {number}") for number, row in enumerate(rows))

    def ranks(self, key: str, count: float) -> tuple[int, ...]:
        """Return ranks, each of them once."""
        values: list[Any] = self.take(key, list)
        if (
            not values
            or not all(type(rank) is int and 0 <= rank < count for rank in values)
            or len(set(values)) < len(values)
        ):
            raise self.refuse(key, Message("result.ranks", count=count))
        return tuple(values)


def _interval(row: _Fields, start: str, end: str) -> tuple[float, float]:
    first = row.number(start)
    return first, row.number(end, first)


def _span(row: _Fields, ranks: float) -> Span:
    lane = row.name("lane")
    if lane not in LANES:
        raise row.refuse("lane", Message("result.lane", lanes=LANES))
    return Span(int(row.number("rank", 0, ranks - 1)), lane, *_interval(row, "start", "end"), row.name("name"))


def _change(row: _Fields, ranks: float) -> MemoryChange:
    size = row.number("bytes", -1e18)
    return MemoryChange(int(row.number("rank", 0, ranks - 1)), row.number("time_s"), row.name("kind"), size)


def _call(row: _Fields, ranks: float) -> StepCollective:
    start, end = _interval(row, "start_s", "end_s")
    return StepCollective(
        name=row.name("name"), algorithm=row.name("algorithm"), protocol=row.name("protocol"),
        ranks=row.ranks("ranks", ranks), size=row.number("size_bytes"), counts=row.take("counts", str),
        start=start, end=end, verified=row.take("verified", bool), latest=int(row.number("latest_rank", 0, ranks - 1)),
        links="",
    )  # fmt: skip

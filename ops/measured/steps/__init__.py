"""Published training steps: of each group the smallest gives one GPU's speed, the others are predicted from it.

A source is a file of this folder: `groups` of `rows` of one workload and its settings, each a number of ranks and what
was published: seconds or, where a row has `work` per GPU, work per second. `outside` names what no parameter says.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ops.workloads import WORKLOADS, TrainingStep
from sim.errors import InputError
from sim.machines import build
from sim.topology import Topology

FOLDER = Path(__file__).parent
KEPT = FOLDER.with_name("predicted_steps.json")
"""Every row of all sources, as `accuracy --steps all -o` writes it."""
NEAR = 1e-4
"""How near the given row's time is met, as a share."""
ROUNDS = 8


class PublishedRow(NamedTuple):
    """One step that was measured: `published` is in s, or in work per second where `work` per GPU is not 0."""

    ranks: int
    published: float
    work: float = 0.0
    settings: Mapping[str, str] = {}

    @property
    def seconds(self) -> float:
        """The step's time, s."""
        return self.work / self.published if self.work else self.published

    def stated(self, seconds: float) -> float:
        """A step's time as this row's source states it."""
        return self.work / seconds if self.work else seconds


@dataclass(frozen=True)
class StepGroup:
    """Steps of one model on one kind of machine; `machine` may have `{hosts}` in it, of eight GPUs each."""

    name: str
    workload: str
    machine: str
    settings: Mapping[str, str]
    rows: tuple[PublishedRow, ...]

    def step(self, row: PublishedRow, tflops: float) -> TrainingStep:
        """The step of a row where one GPU achieves so many TFLOP/s."""
        words = {**self.settings, **row.settings, "ranks": str(row.ranks), "tflops": repr(tflops)}
        return WORKLOADS[self.workload].run(machine_of(self.machine.format(hosts=-(-row.ranks // 8))), words)

    def speed(self) -> float:
        """The TFLOP/s of one GPU with which the first row takes what was published.

        A step's time is a/tflops + b, near where it is measured: compute gets shorter, what is exposed does not.
        Raises InputError where what is exposed takes longer than the whole step did.
        """
        first = self.rows[0]
        slow = 100.0
        taken = self.step(first, slow).time
        fast = slow * taken / first.seconds
        for _ in range(ROUNDS):
            time = self.step(first, fast).time
            if abs(time / first.seconds - 1) < NEAR:
                break
            computing = (taken - time) / (1 / slow - 1 / fast) if slow != fast else time * fast
            left = first.seconds - time + computing / fast
            if left <= 0:
                raise InputError("steps.exposed", group=self.name, seconds=first.seconds)
            slow, taken, fast = fast, time, computing / left
        return fast


@dataclass(frozen=True)
class StepSource:
    """A publication: where it is, what it states, what of it is predicted, and what is not and why."""

    title: str
    source: str
    unit: str
    note: str
    groups: tuple[StepGroup, ...]
    outside: tuple[Mapping[str, Any], ...]


class PredictedRow(NamedTuple):
    """A published step beside the simulated one; times in s, `error` simulated over measured less one."""

    source: str
    group: str
    ranks: int
    reference: bool
    measured: float
    simulated: float
    exposed: float
    unit: str
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """The simulated step's time over the published one's, less one."""
        return self.simulated / self.measured - 1


@cache
def machine_of(spec: str) -> Topology:
    """A machine; one for all rows on it, as what is found out about it is kept by it."""
    return build(spec)


@cache
def sources() -> dict[str, StepSource]:
    """Every publication, by the name of its file."""
    return {file.stem: _source(json.loads(file.read_text(encoding="utf-8"))) for file in sorted(FOLDER.glob("*.json"))}


def _source(data: dict[str, Any]) -> StepSource:
    groups = (
        StepGroup(**{**group, "rows": tuple(PublishedRow(**row) for row in group["rows"])}) for group in data["groups"]
    )
    return StepSource(**{**data, "groups": tuple(groups), "outside": tuple(data["outside"])})


def source_of(name: str) -> StepSource:
    """A publication by the name of its file. Raises InputError where there is none of that name."""
    every = sources()
    if name not in every:
        raise InputError("steps.source", source=name, choices=every)
    return every[name]


def predicted(source: str) -> Iterator[PredictedRow]:
    """Every row of a source, group by group; the first of each is the one that is given. Raises InputError."""
    published = source_of(source)
    for group in published.groups:
        yield from predicted_rows(source, group, published.unit)


def predicted_rows(source: str, group: StepGroup, unit: str) -> Iterator[PredictedRow]:
    """The rows of one group of a source, which states them in a unit."""
    tflops = group.speed()
    for place, row in enumerate(group.rows):
        step = group.step(row, tflops)
        yield PredictedRow(
            source, group.name, row.ranks, place == 0, row.seconds, step.time, step.exposed_s, unit,
            row.published, row.stated(step.time)
        )  # fmt: skip


def judged(rows: Iterable[PredictedRow]) -> dict[str, dict[str, float | int]]:
    """By source, how many rows are predicted, and the median and the largest of their errors, without their signs."""
    errors: dict[str, list[float]] = {}
    for row in rows:
        if not row.reference:
            errors.setdefault(row.source, []).append(abs(row.error))
    return {
        name: {"rows": len(some), "median_error": median(some), "largest_error": max(some)}
        for name, some in errors.items()
    }


def written(rows: Iterable[PredictedRow]) -> str:
    """Rows as a file keeps them, a line each."""
    lines = (json.dumps(row._asdict(), ensure_ascii=False) for row in rows)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def kept() -> list[PredictedRow]:
    """The rows that were kept."""
    return [PredictedRow(**row) for row in json.loads(KEPT.read_text(encoding="utf-8"))]

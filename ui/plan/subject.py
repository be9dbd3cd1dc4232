"""What a notebook can be shown, read from whatever tells of it: objects, links of the dashboard, files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ops.answers import of_trace
from ops.lab.cells import Row
from ops.lab.grid import Grid
from ops.lab.journal import SCHEMA, read_table
from ops.lab.winners import WinnerMap, results, winner_map
from ops.plan import Plan, PreparedRun, training
from ops.plan.link import from_link, to_link
from ops.plan.notation import MOST, beside
from ops.plan.plan_file import from_yaml
from ops.plan.training import WorkloadPlan
from ops.run import Run
from ops.run.part import FULL, shown
from ops.training.step import TrainingStep
from sim.base.numbers import real
from sim.errors import InputError, StalledError
from sim.trace import Trace, from_json
from sim.units import fmt_size
from ui.plan.picture import carried_out
from ui.player.answer import answer_of
from ui.player.payload import pack
from ui.player.titles import algorithm_title, begun, heading, machine_title, run_titles
from ui.player.views import VIEWS
from ui.text import languages, speaking

Words = Mapping[str, str]
"""Query words of a link."""
NONE: Words = {}
CELLS = 2000
"""Runs of a grid that a notebook waits for."""
Source = tuple[Run | None, Plan | None]
KINDS = "a trace, an outcome, a plan, several of these, a grid or its rows, a training step, a link or a file"


@dataclass(frozen=True, eq=False)
class Played:
    """Runs on one clock: their traces, what each is called beside the others, and the link to them if there is one.

    `sources` are the run and the plan of each trace, as far as they are known, `plan` what names them.
    """

    traces: tuple[Trace, ...]
    titles: tuple[str, ...]
    link: Words = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    plan: Plan | None = None

    def names(self, language: str) -> tuple[str, ...]:
        """Return what each run is called beside the others."""
        if self.plan is None or len(self.traces) == 1:
            return self.titles
        with speaking(language):
            return tuple(run_titles(self.plan))

    def heading(self, language: str) -> str:
        """Return the sentence above the picture of the first run."""
        return heading(self.traces[0], language, self.sources[0][1] if self.sources else None)

    @property
    def _sourced(self) -> "Iterator[tuple[Trace, Source]]":
        return zip(self.traces, self.sources or [(None, None)] * len(self.traces), strict=True)

    def packed(self, language: str) -> list[dict[str, Any]]:
        """Return what the player gets of them, each."""
        return [pack(trace, language, plan=plan) for trace, (_, plan) in self._sourced]

    def titled(self, language: str) -> list[dict[str, Any]]:
        """Return the same, each with its title."""
        return [run | {"title": title} for run, title in zip(self.packed(language), self.names(language), strict=True)]

    def answer(self, language: str) -> dict[str, Any]:
        """Return their answer, as the player shows it."""
        outcomes = [of_trace(trace, *source) for trace, source in self._sourced]
        return answer_of(outcomes, self.names(language), language, remedies=True)


@dataclass(frozen=True, eq=False)
class Trained:
    """A training step and the link to it, if there is one."""

    step: TrainingStep
    link: Words = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Mapped:
    """A map of winners, and the rows it was made of, if they are here."""

    winners: WinnerMap
    rows: Sequence[Mapping[str, Any]] = ()


Subject = Played | Trained | Mapped


def read(what: Any) -> tuple[Subject, Words]:
    """What is to be shown, and the words of a link that say how. Raises InputError."""
    if isinstance(what, str | PathLike):
        text = fspath(what)
        if isinstance(what, str) and (text.startswith("?") or "://" in text):
            return _of_link(text)
        return _of(_of_file(str(text))), NONE
    return _of(what), NONE


def _of(what: Any) -> Subject:
    match what:
        case WinnerMap():
            return Mapped(what)
        case Grid():
            return _of(_swept(what))
        case TrainingStep():
            return Trained(what)
        case WorkloadPlan():
            return Trained(what.run(), {"page": "train"} | training.to_query(what))
        case Plan() | Trace() | Run() | PreparedRun():
            return _played({"": what})
        case Mapping() if what:
            return _played({str(name): run for name, run in what.items()})
        case [*runs] if runs and all(isinstance(run, Mapping) and "time_s" in run for run in runs):
            return Mapped(winner_map([dict(run) for run in runs]), runs)
        case [*runs] if runs:
            return _played(dict(enumerate(runs)))
    raise InputError("notebook.nothing", kind=type(what).__name__, kinds=KINDS)


def _swept(grid: Grid) -> list[Row]:
    """The rows of a grid, run here and now. Raises InputError for one that takes too long for that."""
    cells = grid.cells()
    if len(cells) > CELLS:
        raise InputError("notebook.too_many", count=len(cells))
    return [row for some in results(cells, jobs=1) for row in some]


def _played(runs: Mapping[Any, Any]) -> Played:
    """Runs by their names; what are numbers, and names of plans with others beside them, are found out."""
    every = [(name, part) for name, run in runs.items() for part in _with_others(run)]
    if len(every) > MOST + 1:
        raise InputError("notebook.beside", count=len(every), most=MOST + 1)
    played = [_trace(run) for _, run in every]
    traces = tuple(trace for trace, _ in played)
    names = [name for name, _ in every]
    called = all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    whole = list(runs.values())
    plan = whole[0] if len(whole) == 1 and isinstance(whole[0], Plan) else None
    return Played(
        traces,
        tuple(names) if called else _titles(traces),
        _link(whole if len(whole) == 1 else [run for _, run in every]),
        tuple(source for _, source in played),
        None if called else plan,
    )


def _with_others(run: Any) -> list[Any]:
    return [replace(run, against=""), *run.others()] if isinstance(run, Plan) else [run]


def _trace(run: Any) -> tuple[Trace, Source]:
    """A run's trace and where that comes from; one that stalls is shown up to there."""
    plan = run if isinstance(run, Plan) else run.plan if isinstance(run, PreparedRun) else None
    try:
        match run:
            case Trace():
                return run, (None, None)
            case Run():
                return shown(run), (run, None)
            case Plan():
                done = carried_out(run)
                return shown(done), (done, plan)
            case PreparedRun():
                done = run.run(history=True, written=FULL)
                return shown(done), (done, plan)
    except (InputError, StalledError) as error:
        if not isinstance(error.trace, Trace):
            raise
        return error.trace, (None, plan)
    raise InputError("notebook.no_run", kind=type(run).__name__)


def _titles(traces: Sequence[Trace]) -> tuple[str, ...]:
    """The words in which runs differ; their numbers where they do not. One alone needs no title."""
    if len(traces) == 1:
        return ("",)
    told_apart_by = [
        (
            begun(algorithm_title(t.schedule.name)),
            machine_title(t.topology.name),
            f"{t.schedule.n} ranks",
            fmt_size(t.size),
            "; ".join(map(str, t.faults)),
        )
        for t in traces
    ]
    columns = [column for column in zip(*told_apart_by, strict=True) if len(set(column)) > 1]
    titles = [" · ".join(filter(None, words)) for words in zip(*columns, strict=True)] or [""] * len(traces)
    alike = len(set(titles)) < len(titles)
    return tuple(f"{k}. {title}".strip() if alike else title or "–" for k, title in enumerate(titles, 1))


def _link(runs: Sequence[Any]) -> Words:
    """The link to runs in words, or to one that is short enough to be in the link itself; else nothing."""
    plans = [run.plan if isinstance(run, PreparedRun) else run for run in runs]
    if all(isinstance(run, Plan) and not run.python for run in plans):
        first, *others = plans
        if not others:
            return to_link(first)
        return to_link(replace(first, against=beside([other.kept_beside() for other in others])))
    if len(runs) > 1:
        return {}
    return to_link(Plan(schedule=_trace(runs[0])[0].to_json()))


def _of_link(text: str) -> tuple[Subject, Words]:
    """What a link of the dashboard shows. Raises InputError for one that is damaged, or of a page without a picture."""
    words = dict(parse_qsl(urlsplit(text).query))
    _check(words)
    page = words.get("page", "stage")
    if page == "train":
        return _of(training.from_query(words)), words
    if page != "stage":
        raise InputError("notebook.page", page=page)
    return _of(from_link(words)), words


def _check(words: Words) -> None:
    """Raise InputError for words of a link that say wrongly how it is shown."""
    t = real(words.get("t", "0"))
    if t is None or t < 0:
        raise InputError("link.time", time=words["t"])
    for word, choices in (("view", VIEWS), ("lang", languages())):
        if words.get(word, choices[0]) not in choices:
            raise InputError("link.choice", word=word, value=words[word], choices=choices)


def _of_file(name: str) -> Any:
    """What a file holds: a plan, a training step in words, a kept run, or rows of a sweep. Raises InputError."""
    path = Path(name)
    if path.suffix == ".parquet":
        return read_table(path).select(SCHEMA.names).to_pylist()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError("notebook.unreadable", name=name, why=reason) from None
    if path.suffix == ".json":
        return from_json(text)
    return training.from_yaml(text, name) if training.is_training(text) else from_yaml(text, name)

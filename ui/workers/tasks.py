"""What pages have done by workers: functions of words that return what a page shows, and all of it can be sent."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from ops.answers import Fastest, fastest, outcome_of
from ops.answers.training import remedy_step
from ops.diagnosis import Diagnosis, diagnose
from ops.lab import sensitivity as links
from ops.lab.winners import Change, changes
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.own.band import bands_at
from ops.measured.accuracy import MeasuredRun, runs_of
from ops.measured.comparison import Compared, Outside, compare_table
from ops.measured.files import place, read_tables
from ops.measured.machine import UntoldError
from ops.measured.own.reached import Reached, reached
from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import size_word
from ops.plan.training import WorkloadPlan
from ops.report import report_of, with_hosts_and_nics
from ops.run.part import shown
from ops.training.step import TrainingStep
from ops.whatif import Variant, VariantRow
from ops.whatif.curve import Quantity, crossing_of, times_of
from ops.whatif.table import baseline_row, variant_row
from sim.errors import InputError, Message, StalledError
from ui.drawing import thumbnail
from ui.export.exports import Shot, played
from ui.export.report_page import page as write_report
from ui.lessons import LESSONS
from ui.plan import picture
from ui.plan.picture import Picture
from ui.plan.subject import Played, read
from ui.player.answer import answer_of
from ui.story import telling
from ui.talk import lessons, pages
from ui.talk.pages import PackedScene


class Load(NamedTuple):
    """What a page must know of a work before it is run: what it is, and whether it needs a size.

    `unit_share` is which part of the size a slot is.
    """

    name: str
    n: int
    settings: Mapping[str, Any]
    sized: bool
    unit_share: float


class LinksThatMatter(NamedTuple):
    """A run and what its links do to it: its name, seconds, B/s, and both tables of the lab."""

    name: str
    time: float
    busbw: float
    swings: list[links.Swing]
    losses: list[links.Loss]


class ComparedTable(NamedTuple):
    """A table's machine, the family of NCCL's costs it is of, what told it, its rows, and what was left out.

    `is_measured` says whether the family's GPUs are known by tables of their own, `rests_on` counts its tables, `band`
    is what four of five rows stray at most below and from 1 MiB, `runs` are the rows beside what other models say, and
    `reached` is what the largest row reaches of its machine.
    """

    machine: str
    family: str
    why: str
    rows: list[Compared]
    outside: list[Outside]
    is_measured: bool = False
    rests_on: int = 0
    band: tuple[float | None, float | None] = (None, None)
    runs: tuple[MeasuredRun, ...] = ()
    reached: Reached | None = None


class Untold(NamedTuple):
    """What a table does not tell of the machine it is from, and why that is needed."""

    why: Message
    missing: str


def run(plan: Plan, language: str) -> Picture:
    """What a plan looks like run. Raises InputError."""
    return picture.run(plan, language)


def story(language: str) -> dict[str, Any]:
    """The first minute, as the player tells it."""
    return telling.story(language)


def diagnosis(machine: Plan) -> Diagnosis:
    """What is told of a machine that somebody brings. Raises InputError and StalledError."""
    return diagnose(machine)


def machine_words(plan: Plan) -> Plan:
    """The words of a plan that name its machine."""
    words = {word: getattr(plan, word) for word in ("machine", "capture", "rates", "network", "placement", "edits")}
    return replace(Plan(), **words)


def report_page(machine: Plan, hosts: int, nics: int, language: str) -> bytes:
    """The report of a machine as a page. Raises InputError and StalledError."""
    plan = with_hosts_and_nics(machine, hosts, nics)
    return write_report(report_of(plan), plan, language)


def answered(before: Plan, after: Plan, language: str) -> dict[str, Any]:
    """What a change did to a run, and what would win a loss back. Raises InputError."""
    return answer_of([outcome_of(after), outcome_of(before)], ("", ""), language, remedies=True)


def winner(plan: Plan) -> tuple[Fastest | None, float]:
    """The fastest of all algorithms for a plan's collective, and the seconds that NCCL's choice takes."""
    chosen = replace(plan, against="", algorithm=f"nccl.{collective_of(plan.algorithm)}", settings="")
    return fastest(replace(plan, against="")), chosen.run().time


def crossings(plan: Plan, runs: tuple[Plan, ...]) -> list[tuple[str, str, str]]:
    """At which sizes one of several runs overtakes another. Raises InputError."""
    return picture.crossings(plan, runs)


def export(plan: Plan, ending: str, shot: Shot) -> bytes:
    """The plan's run as a file. Raises InputError and StalledError."""
    return picture.export(plan, ending, shot)


def page_alone(plan: Plan, shot: Shot) -> bytes:
    """The plan's run and those beside it as one page that plays without a network. Raises InputError."""
    runs = read(plan)[0]
    assert isinstance(runs, Played), "a plan is a run"
    return played(runs.traces, replace(shot, plan=plan), runs.names(shot.language), runs.answer(shot.language))


def small_picture(plan: Plan, view: str) -> str:
    """The plan's run in small, in the midst of it, as SVG. Raises InputError and StalledError."""
    return thumbnail.of_run(shown(picture.carried_out(plan)), view)


def talk_scene(plan: Plan, view: str, language: str) -> PackedScene:
    """A scene of a talk, packed. Raises InputError and StalledError."""
    return pages.packed(plan, view, language)


def lesson_pages(language: str) -> dict[str, Any]:
    """All lessons, packed."""
    return lessons.packed(language, LESSONS)


def load(plan: Plan) -> Load:
    """What the plan's work needs. Raises InputError."""
    work = plan.work(None if plan.schedule else plan.topology())
    return Load(work.name, work.n, work.settings, work.sized, work.unit_share)


def can_be_run(plan: Plan) -> None:
    """Raise InputError for a plan that cannot be."""
    with suppress(StalledError):
        picture.carried_out(plan)


def step(plan: WorkloadPlan) -> TrainingStep:
    """One step of a workload, on a machine without its way of finding routes. Raises InputError and StalledError."""
    whole = plan.run()
    beside = {name: _unrouted(other) for name, other in whole.beside.items()}
    return replace(_unrouted(whole), beside=beside)


def step_remedy(plan: WorkloadPlan) -> Message | None:
    """What would win a step's exposed communication back. Raises InputError and StalledError."""
    return remedy_step(plan, plan.run())


def _unrouted(step: TrainingStep) -> TrainingStep:
    return replace(step, topology=replace(step.topology, router=None))


def compared(text: str, name: str, machine: str | Plan, ranks: int) -> list[ComparedTable] | Untold:
    """Every table of a text beside what is simulated, on the machine it names, the one given or that of a plan.

    Raises InputError.
    """
    tables, own = [], machine.topology() if isinstance(machine, Plan) else machine
    for table in read_tables(text, name):
        try:
            topology, placed, why = place(table, own, ranks)
        except UntoldError as error:
            return Untold(error.why, error.missing)
        rows, outside = compare_table(topology, placed)
        family = family_of(topology)
        runs = () if placed.kind == "osu" else tuple(runs_of(placed.source, topology, rows))
        compared_table = ComparedTable(topology.name, family.name if family else "", why, rows, outside, runs=runs)
        if placed.kind != "osu":
            compared_table = compared_table._replace(reached=reached(topology, rows))
        if family:
            compared_table = compared_table._replace(
                is_measured=family.is_measured, rests_on=len(family.tables), band=bands_at(topology, placed.ranks)
            )
        tables.append(compared_table)
    return tables


def winners_change(cluster: Plan, names: Sequence[str], n: int, sizes: Sequence[int]) -> list[Change]:
    """The sizes at which the fastest of some algorithms changes on a machine. Raises InputError."""
    plan, runs = replace(cluster, ranks=n, size=size_word(sizes[0])), {}
    topology = plan.topology()
    for name in names:
        with suppress(InputError):
            runs[name] = plan.of(name).prepare(topology)
    return changes(runs, sizes)


def links_that_matter(plan: Plan) -> LinksThatMatter:
    """Which links matter to a run, and what losing one costs. Raises InputError and StalledError."""
    prepared = plan.prepare()
    plain, swings = links.sensitivity(prepared)
    _, losses = links.failures(prepared)
    return LinksThatMatter(plain.work.name, plain.time, plain.busbw, swings, losses)


def what_if_row(baseline: Plan, variant: Variant | None) -> VariantRow:
    """The row of a list of what-ifs: that of the baseline, or of a variant. Raises InputError."""
    return variant_row(baseline, variant) if variant else baseline_row(baseline)


def what_if_answer(baseline: Plan, variant: Variant) -> VariantRow:
    """The row of a variant, and what would win a loss back. Raises InputError."""
    return variant_row(baseline, variant, remedies=True)


def what_if_times(plan: Plan, quantity: Quantity) -> tuple[float | None, ...]:
    """Times of a plan at all values of a quantity. Raises InputError."""
    return times_of(plan, quantity)


def what_if_crossing(before: Plan, after: Plan, quantity: Quantity, low: float, high: float) -> float:
    """From which value on one plan is faster than another."""
    return crossing_of(before, after, quantity, low, high)

"""`workload`: a training step, or another program whose collectives meet compute."""

from dataclasses import replace
from typing import Any

import click

from ops.answers.training import answer_step, remedy_step
from ops.communicators.records import Span
from ops.plan.plan_file import LARGEST
from ops.plan.training import WorkloadPlan, from_yaml, to_yaml
from ops.training.facts import is_table, shown, words
from ops.training.step import TrainingStep
from ops.workloads import WORKLOADS
from sim.base.files.textfile import Expected, read_text
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.parameters import parse_assignments
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import opened
from terminal.shared.files import TO_WRITE
from terminal.shared.options import MACHINE, Words, names_of, read, takes
from terminal.shared.types import ASSIGNMENT, LANGUAGE

WIDTH = 72
"""Columns of the drawn timeline."""
TABLE = 16
"""Rows of a table at most."""
ROWS = 8
"""Ranks drawn at most."""


@command
@click.argument("name", required=False, metavar="[NAME[:key=value,…]]")
@click.option(
    "--plan", "file", metavar="FILE", help="a training step file instead of all other options, as -o writes it"
)
@takes(*MACHINE)
@click.option("--ranks", metavar="N", help="how many ranks take part; the whole machine if left out")
@click.option(
    "--set", "settings", multiple=True, type=ASSIGNMENT, metavar="KEY=VALUE", help="a parameter of the workload"
)
@click.option("--layers", metavar="FILE", help="a model as a table: name, shapes, forward and backward time per line")
@click.option("--trace", type=TO_WRITE, metavar="FILE.json", help="also write the timeline for ui.perfetto.dev")
@click.option(
    "-o", "--output", type=TO_WRITE, metavar="FILE.yaml", help="also write the training step as YAML, for --plan"
)
@click.option(
    "--page", type=TO_WRITE, metavar="FILE.html", help="also write a web page with the timeline, for any browser"
)
@click.option("--language", type=LANGUAGE, default="en", metavar="CODE", help="language of that page")
def workload(
    file: str | None, trace: str | None, output: str | None, page: str | None, language: str, **words: Any
) -> Answer:
    """Run a training step: compute, communication, overlap, memory."""
    plan = _from_options(words) if file is None else _kept(file, words)
    step = plan.run()
    if output is not None:
        write_whole(output, to_yaml(plan))
    if page is not None:
        from ui.files import step_page

        write_whole(page, step_page.page(step, language))
    if trace is not None:
        write_whole(trace, step.to_perfetto())
    data = step.to_dict()
    above = opened(data, answer_step(step), remedy_step(plan, step))
    return Answer(DONE if step.verified else NO, data, "\n".join([above, _text(step)]))


def _from_options(words: Words) -> WorkloadPlan:
    """The plan that options make. Raises InputError for what does not go together."""
    if words["name"] is None:
        raise InputError("workload.none", choices=WORKLOADS)
    machine = read({word: words[word] for word in names_of(MACHINE)})
    plan = WorkloadPlan.of(words["name"], replace(machine, network=""))
    if machine.network:  # a parameter of every workload
        plan = plan.with_settings({"network": machine.network})
    more = parse_assignments(list(words["settings"]), f"{plan.workload}, --set")
    more |= {} if words["ranks"] is None else {"ranks": words["ranks"]}
    if words["layers"] is not None:
        more["layers"] = read_text(words["layers"], Expected("a table of layers"))
    return plan.with_settings(more)


def _kept(file: str, words: Words) -> WorkloadPlan:
    beside = [name for name, value in words.items() if value not in (None, ())]
    if beside:
        raise InputError("option.all_in_file", options=beside)
    return from_yaml(read_text(file, Expected("a training step", largest=LARGEST)), file)


def _text(step: TrainingStep) -> str:
    lines = [
        f"{step.workload} on {step.topology.name}: {step.ranks} ranks, {fmt_time(step.time)} a step",
        f"  exposed communication  {fmt_time(step.exposed_s)} ({step.exposed_s / step.time:.1%})"
        if step.time
        else "  no time passes",
        f"  peak memory per rank   {fmt_size(max(step.peaks, default=0))}"
        + "".join(f", {kind} {fmt_size(amount)}" for kind, amount in step.memory_at_peak(_fullest(step)).items()),
    ]
    if step.busiest is not None:
        link, amount = step.topology.links[step.busiest], float(step.link_bytes[step.busiest])
        rate = f", {fmt_bandwidth(amount / step.time)} on average" if step.time else ""
        lines.append(f"  busiest link           {link.src} -> {link.dst}, {fmt_size(amount)}{rate}")
    rows = {key: value for key, value in step.facts.items() if is_table(value)}
    plain = {key: value for key, value in step.facts.items() if not is_table(value)}
    wide = max([22, *(len(words(key)) for key in plain)])
    lines += [f"  {words(key):{wide}} {shown(key, value)}" for key, value in plain.items()]
    for key, value in [*rows.items(), ("collectives", step.collectives)]:
        lines += _table(words(key), value)
    return "\n".join([*lines, *_drawn(step)])


def _table(title: str, rows: list[dict[str, Any]]) -> list[str]:
    """Rows under their heads."""
    if not rows:
        return []
    keys = list(rows[0])
    cells = [[words(key) for key in keys], *([shown(key, row[key]) for key in keys] for row in rows[:TABLE])]
    widths = [max(len(row[k]) for row in cells) for k in range(len(keys))]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
    more = [f"    and {len(rows) - TABLE} more: --json has them all"] if len(rows) > TABLE else []
    return [f"  {title}", *(f"    {line}" for line in lines), *more]


def _fullest(step: TrainingStep) -> int:
    return max(step.stands_for, key=lambda rank: step.peaks[rank])


def _drawn(step: TrainingStep) -> list[str]:
    """The timeline in letters: two lines a rank."""
    if not step.time or not step.spans:
        return []
    lines = ["", f"  # compute, = communication (- in part), . waiting for others; a column is {_column(step)}"]
    for rank in list(step.stands_for)[:ROWS]:
        spans = step.spans_of(rank)
        moving, computing, waiting = (_filled(step.time, spans, lane) for lane in ("comm", "compute", "wait"))
        upper = ["#" if share > 0.5 else " " for share in computing]
        lower = [
            "=" if moves > 0.5 else "." if waits > 0.5 else "-" if moves else " "
            for moves, waits in zip(moving, waiting, strict=True)
        ]
        lines += [f"  {f'rank {rank}':>9} |{''.join(upper)}|", f"  {'':>9} |{''.join(lower)}|"]
    simulated = len(step.stands_for)
    if simulated > ROWS:
        lines.append(f"  and {simulated - ROWS} more ranks: --json and --trace have them all")
    if simulated < step.ranks:
        stand = "one rank stands" if simulated == 1 else f"{simulated:,} ranks stand"
        lines.append(f"  {stand} for all {step.ranks:,}, {step.ranks // simulated:,} each")
    return lines


def _filled(whole: float, spans: list[Span], lane: str) -> list[float]:
    """How much of every column a lane fills, 0 to 1 (more where its spans overlap)."""
    filled = [0.0] * WIDTH
    for span in spans:
        if span.lane == lane:
            first, last = span.start / whole * WIDTH, span.end / whole * WIDTH
            for column in range(int(first), min(WIDTH, int(last) + 1)):
                filled[column] += max(0.0, min(last, column + 1) - max(first, column))
    return filled


def _column(step: TrainingStep) -> str:
    return fmt_time(step.time / WIDTH)

"""`export`: a machine or a schedule in another format."""

from collections.abc import Callable

import click

from ops.formats import SCHEDULE_FORMATS, write_schedule
from ops.plan import Plan
from ops.plan.notation import assignments
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.formats import FORMATS, write_topology
from terminal import DONE, Answer, command
from terminal.shared.files import TO_WRITE
from terminal.shared.options import ALGORITHM, MACHINE, RANKS, asks, refuse_needless
from terminal.shared.types import ASSIGNMENT


@command
@asks(*ALGORITHM, *MACHINE, *RANKS, machine=False)
@click.option("--to", required=True, metavar="FORMAT", help="output format, see `list formats --json`")
@click.option(
    "--option",
    "options",
    multiple=True,
    type=ASSIGNMENT,
    metavar="KEY=VALUE",
    help="an option of the format, like size=1MiB",
)
@click.option("-o", "--output", type=TO_WRITE, metavar="FILE", help="file to write; the terminal if left out")
def export(plan: Plan, to: str, options: tuple[str, ...], output: str | None) -> Answer:
    """Write a machine or a schedule in another format."""
    format_name, exported = _writer(to)
    name, text = exported(plan, format_name, assignments(",".join(options), f"{format_name}, --option"))
    data = {"name": name, "format": format_name, "file": output, "bytes": len(text.encode())}
    if output is None:
        return Answer(DONE, data | {"text": text}, text.rstrip("\n"))
    write_whole(output, text)
    return Answer(DONE, data, f"{name} is written to {output} as {format_name}, {data['bytes']:,} bytes")


Exported = Callable[[Plan, str, dict[str, str]], tuple[str, str]]
"""From what is asked for, the format's name and its options to what was written: its name and text."""


def _machine(plan: Plan, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    if plan.algorithm or plan.schedule or plan.python:
        raise InputError("export.machines", format=format_name)
    if plan.ranks or plan.root or plan.settings:
        raise InputError("export.schedule_options")
    if not (plan.machine or plan.capture):
        raise InputError("option.machine_once")
    machine = plan.topology()
    return machine.name, write_topology(machine, format_name, **options)


def _schedule(plan: Plan, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    machine = plan.topology() if plan.machine or plan.capture else None
    if machine is not None and not (plan.algorithm or plan.schedule or plan.python):
        raise InputError("export.schedules", format=format_name)
    work = plan.work(machine)
    refuse_needless(plan, work)
    return work.name, write_schedule(work.schedule, format_name, machine=machine, **options)


def _writer(word: str) -> tuple[str, Exported]:
    """The one written format that a word names, whole or by a part: `simgrid` is simgrid_xml. Raises InputError."""
    machines = {name: _machine for name, entry in FORMATS.items() if entry.write}
    schedules = {name: _schedule for name, entry in SCHEDULE_FORMATS.items() if entry.write}
    writers: dict[str, Exported] = {**machines, **schedules}
    part = word.replace("-", "_")
    names = [part] if part in writers else [name for name in writers if part in name.split("_")]
    if len(names) == 1:
        return names[0], writers[names[0]]
    why = "export.several" if names else "export.unknown"
    raise InputError(why, word=word, machines=machines, schedules=schedules)

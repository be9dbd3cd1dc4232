"""`export`: a machine or a schedule in another format."""

from collections.abc import Callable

import click

from ops.formats import SCHEDULE_FORMATS, write_schedule
from ops.request import Request
from ops.request.notation import assignments
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.formats import FORMATS, write_topology
from terminal import DONE, Answer, command
from terminal.shared.files import TO_WRITE
from terminal.shared.options import ALGORITHM, MACHINE, RANKS, asks, refuse_needless
from terminal.shared.types import ASSIGNMENT


@command
@asks(*ALGORITHM, *MACHINE, *RANKS, machine=False)
@click.option("--to", required=True, metavar="FORMAT", help="a format that `list formats --json` says is written")
@click.option(
    "--option",
    "options",
    multiple=True,
    type=ASSIGNMENT,
    metavar="KEY=VALUE",
    help="an option of the format, like size=1MiB",
)
@click.option("-o", "--output", type=TO_WRITE, metavar="FILE", help="where to write; the terminal if left out")
def export(request: Request, to: str, options: tuple[str, ...], output: str | None) -> Answer:
    """Write a machine or a schedule in another format."""
    format_name, exported = _writer(to)
    name, text = exported(request, format_name, assignments(",".join(options), f"{format_name}, --option"))
    data = {"name": name, "format": format_name, "file": output, "bytes": len(text.encode())}
    if output is None:
        return Answer(DONE, data | {"text": text}, text.rstrip("\n"))
    write_whole(output, text)
    return Answer(DONE, data, f"{name} is written to {output} as {format_name}, {data['bytes']:,} bytes")


Exported = Callable[[Request, str, dict[str, str]], tuple[str, str]]
"""From what is asked for, the format's name and its options to what was written: its name and text."""


def _machine(request: Request, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    if request.algorithm or request.schedule or request.python:
        raise InputError("export.machines", format=format_name)
    if request.ranks or request.root or request.settings:
        raise InputError("export.schedule_options")
    if not (request.machine or request.capture):
        raise InputError("option.machine_once")
    machine = request.topology()
    return machine.name, write_topology(machine, format_name, **options)


def _schedule(request: Request, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    machine = request.topology() if request.machine or request.capture else None
    if machine is not None and not (request.algorithm or request.schedule or request.python):
        raise InputError("export.schedules", format=format_name)
    work = request.work(machine)
    refuse_needless(request, work)
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

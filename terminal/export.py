"""`export`: a machine or a schedule in another format."""

import argparse
from collections.abc import Callable

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.arguments import ALGORITHM, MACHINE, RANKS, machine, work, write


@command(
    *ALGORITHM,
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    RANKS,
    argument("--to", required=True, metavar="FORMAT", help="a format that `list formats --json` says is written"),
    argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="an option of the format, like size=1MiB"
    ),
    argument("-o", "--output", metavar="FILE", help="where to write; the terminal if left out"),
)
def export(given: argparse.Namespace) -> Answer:
    """Write a machine or a schedule in another format."""
    from sim.parameters import parse_assignments

    format_name, exported = _writer(given.to)
    options = parse_assignments(given.option, f"{format_name}, --option")
    name, text = exported(given, format_name, options)
    found = {"name": name, "format": format_name, "file": given.output, "bytes": len(text.encode())}
    if given.output is None:
        return Answer(DONE, found | {"text": text}, text.rstrip("\n"))
    write(given.output, text)
    return Answer(DONE, found, f"{name} is written to {given.output} as {format_name}, {found['bytes']:,} bytes")


Exported = Callable[[argparse.Namespace, str, dict[str, str]], tuple[str, str]]
"""From the arguments, the format's name and its options to what was written: its name and text."""


def _machine(given: argparse.Namespace, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    from sim.formats import write_topology

    if given.algorithm or given.schedule or given.library or given.id:
        raise InputError(f"{format_name} holds machines, not schedules: leave out the algorithm, or choose msccl_xml")
    if given.ranks or given.root or given.set:
        raise InputError("--ranks, --root and --set are for schedules: a machine is written whole, leave them out")
    it = machine(given, given.topology)
    return it.name, write_topology(it, format_name, **options)


def _schedule(given: argparse.Namespace, format_name: str, options: dict[str, str]) -> tuple[str, str]:
    from ops.formats import write_schedule

    there = machine(given, given.topology) if given.machine or given.topology else None
    if there is not None and given.algorithm is None and given.schedule is None:
        raise InputError(f"{format_name} holds schedules, not machines: name an algorithm, or choose ringside_yaml")
    asked = work(given, there)
    return asked.name, write_schedule(asked.schedule, format_name, **options)


def _writer(word: str) -> tuple[str, Exported]:
    """The one written format that a word names, whole or by a part: `simgrid` is simgrid_xml. Raises InputError."""
    from ops.formats import SCHEDULE_FORMATS
    from sim.formats import FORMATS

    machines = {name: _machine for name, known in FORMATS.items() if known.write}
    schedules = {name: _schedule for name, known in SCHEDULE_FORMATS.items() if known.write}
    written: dict[str, Exported] = {**machines, **schedules}
    wanted = word.replace("-", "_")
    names = [wanted] if wanted in written else [name for name in written if wanted in name.split("_")]
    if len(names) == 1:
        return names[0], written[names[0]]
    raise InputError(
        f"--to {word[:40]!r} is {'several written formats' if names else 'no format that is written'}: choose from"
        f" {', '.join(machines)} for machines, {', '.join(schedules)} for schedules"
    )

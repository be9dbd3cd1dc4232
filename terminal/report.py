"""`report`: what a capture leads to, in one page."""

import click

from ops.plan import Plan
from ops.report import MachineReport, report_of, with_hosts_and_nics
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.files import TO_WRITE
from terminal.shared.lab import table
from terminal.shared.options import MACHINE_ALONE, NETWORK, asks
from terminal.shared.types import LANGUAGE, WHOLE
from ui.text import say


@command
@asks(click.argument("topology", required=False, metavar="[FILE]"), *MACHINE_ALONE, *NETWORK)
@click.option("--hosts", type=WHOLE, default=0, metavar="N", help="so many hosts like that of the capture")
@click.option("--nics", type=WHOLE, default=0, metavar="N", help="so many NICs on each host")
@click.option("-o", "--output", type=TO_WRITE, metavar="FILE.html", help="also write the report as a web page")
@click.option("--lang", "language", type=LANGUAGE, default="en", metavar="CODE", help="language of the text and page")
def report(plan: Plan, hosts: int, nics: int, output: str | None, language: str) -> Answer:
    """Report on a machine: its best ring order, the changes that save most, and what nccl-tests should print."""
    plan = with_hosts_and_nics(plan, hosts, nics)
    made = report_of(plan)
    if output is not None:
        if not output.lower().endswith((".html", ".htm")):
            raise InputError("report.ending", file=output)
        from ui.export import report_page

        write_whole(output, report_page.page(made, plan, language))
    return Answer(DONE, made.as_dict(), "\n".join(_lines(made, language)))


def _lines(made: MachineReport, language: str) -> list[str]:
    from ui.export import report_page as words

    lines = [f"{made.diagnosis.machine}: {words.facts(made, language)}"]
    lines += [words.headline(made, language), words.reach(made, language), f"{say('report.changes', language)}:"]
    lines += [
        f"  {words.change_words(change, language)}: {fmt_time(change.before)} -> {fmt_time(change.after)}"
        for change in made.changes
    ] or [f"  {say('report.changes.none', language)}"]
    lines += [f"{say('report.expected', language)}:"]
    rows = [
        [row.collective, fmt_size(row.size), fmt_time(row.time), fmt_bandwidth(row.busbw), words.band(row, language)]
        for row in made.rows
        if row.size == made.largest.size
    ]
    return [*lines, *(f"  {line}" for line in table(rows)), *(f"note: {note}" for note in made.assumed)]

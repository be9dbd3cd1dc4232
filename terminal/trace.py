"""`trace`: a run for Perfetto."""

import click

from ops.plan import Plan
from ops.run.part import FULL, shown
from sim.base.files.whole_file import write_whole
from sim.trace.chrome_trace import to_perfetto
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import facts
from terminal.shared.files import TO_WRITE
from terminal.shared.options import RUN, asks, carried_out


@command
@asks(*RUN)
@click.option("-o", "--output", type=TO_WRITE, metavar="FILE.json", required=True, help="file of the trace")
def trace(plan: Plan, output: str) -> Answer:
    """Write a run for ui.perfetto.dev: sends and receives of each rank, and the load of each link."""
    outcome = carried_out(plan, history=True, written=FULL)
    text = to_perfetto(shown(outcome))
    write_whole(output, text)
    data = facts(outcome) | {"file": output, "bytes": len(text)}
    status = DONE if outcome.verdict.ok else NO
    return Answer(status, data, f"{outcome.work.name} is in {output}: open it at ui.perfetto.dev")

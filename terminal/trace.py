"""`trace`: a run for Perfetto."""

import argparse

from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import write
from terminal.run import RUN, outcome_of, told


@command(*RUN, argument("-o", "--output", metavar="FILE.json", required=True, help="where the trace goes"))
def trace(given: argparse.Namespace) -> Answer:
    """Write a run for ui.perfetto.dev: who sends and receives when, and how full every link is."""
    from sim.trace.chrome_trace import to_perfetto

    outcome, _ = outcome_of(given, history=True)
    text = to_perfetto(outcome.trace)
    write(given.output, text)
    found = told(outcome) | {"file": given.output, "bytes": len(text)}
    status = DONE if outcome.trace.verdict.ok else NO
    return Answer(status, found, f"{outcome.work.name} is in {given.output}: open it at ui.perfetto.dev")

"""`why`: where the time of a run went."""

import click

from ops.answers import answer, answer_alone, of_ended, outcome_of
from ops.answers.change import baseline
from ops.plan import Plan
from ops.plan.notation import differences
from ops.run import Run
from sim.errors import InputError
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import facts, parts, parts_table, said, stalled, title_of
from terminal.shared.options import RUN, asks, ended


@command
@asks(*RUN)
@click.option(
    "--compare-to",
    "against",
    metavar="CHANGES",
    help="changes of a second run, like machine=dgx_h100;size=1MiB",
)
def why(plan: Plan, against: str | None) -> Answer:
    """Break down the time of a run; with --compare-to, explain the difference to another run."""
    plans, runs = [plan], [ended(plan)]
    if against is not None:
        changes = differences(against)
        if len(changes) != 1:
            raise InputError("option.compare_to", text=against)
        plans.append(plan.changed(changes[0]))
        runs.append(ended(plans[1]))
    rows = [facts(run) | parts(run) if isinstance(run, Run) else stalled(run) for run in runs]
    data = rows[0] | ({"against": rows[1]} if against is not None else {})
    outcomes = [*map(of_ended, runs, plans)]
    before = baseline(plan)
    if against is None and before:
        outcomes.insert(0, outcome_of(before))
    answered = answer(*outcomes) if len(outcomes) > 1 else answer_alone(outcomes[0])
    lines = [said(data, answered), *map(title_of, rows)]
    if all(isinstance(run, Run) for run in runs):
        lines += parts_table(rows)
    return Answer(DONE if all(row["verified"] for row in rows) else NO, data, "\n".join(lines))

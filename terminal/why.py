"""`why`: where the time of a run went."""

from typing import Any

import click

from ops.answers import answer, answer_alone, of_run, outcome_of
from ops.answers.change import baseline
from ops.plan import Plan
from ops.plan.notation import differences
from sim.errors import InputError
from sim.units import fmt_size
from terminal import DONE, NO, Answer, command
from terminal.shared.facts import facts, parts, parts_table, said
from terminal.shared.options import RUN, asks, carried_out


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
    plans, outcomes = [plan], [carried_out(plan)]
    if against is not None:
        changes = differences(against)
        if len(changes) != 1:
            raise InputError("option.compare_to", text=against)
        plans.append(plan.changed(changes[0]))
        outcomes.append(carried_out(plans[1]))
    rows = [facts(outcome) | parts(outcome) for outcome in outcomes]
    data = rows[0] | ({"against": rows[1]} if against is not None else {})
    ended = [of_run(outcome, each) for outcome, each in zip(outcomes, plans, strict=True)]
    before = baseline(plan)
    if against is not None:
        answered = answer(*ended)
    else:
        answered = answer(outcome_of(before), ended[0]) if before else answer_alone(ended[0])
    lines = [said(data, answered)] + [_title(row) for row in rows] + parts_table(rows)
    return Answer(DONE if all(outcome.verdict.ok for outcome in outcomes) else NO, data, "\n".join(lines))


def _title(row: dict[str, Any]) -> str:
    load = f", {fmt_size(row['size_bytes'])}" if row["size_bytes"] else ""
    faults = "".join(f", {hit['fault']}" for hit in row["faults"])
    return f"{row['algorithm']} on {row['machine']}: {row['ranks']} ranks{load}{faults}"

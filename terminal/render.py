"""`render`: a run as a file to take away."""

from dataclasses import replace
from typing import Any

import click

from ops.answers import of_ended
from ops.answers.change import baseline
from ops.plan import Plan
from ops.run import Run
from ops.run.part import FULL, shown
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from terminal import DONE, NO, Answer, BatchCommand, command
from terminal.shared.facts import facts_of
from terminal.shared.files import TO_WRITE, ending_of
from terminal.shared.options import RUN, VALUES, asks, ended
from terminal.shared.progress import Bar
from terminal.shared.types import LANGUAGE, NUMBER, TIME, WHOLE
from ui.export import exports
from ui.player.answer import answer_beside, read


@command(kind=BatchCommand)
@asks(*RUN, *VALUES)
@click.option(
    "-o", "--output", type=TO_WRITE, metavar="FILE", required=True, help="file to write; its ending chooses the format"
)
@click.option(
    "--view",
    default="machine",
    metavar="VIEW",
    help="machine, shape (algorithm), matrix (blocks of each rank) or time",
)
@click.option("--at", type=TIME, metavar="TIME", help="the instant of a picture, like 250us; the middle if left out")
@click.option(
    "--from", "begin", type=TIME, metavar="TIME", help="start of a video, like 100us; the start of the run if left out"
)
@click.option("--to", "end", type=TIME, metavar="TIME", help="end of a video; the end of the run if left out")
@click.option("--tempo", type=TIME, metavar="TIME", help="instead of --seconds: simulated time per second, like 20us")
@click.option("--seconds", type=NUMBER, default="8", metavar="S", help="length of a video")
@click.option("--fps", type=WHOLE, default="12", metavar="N", help="frames per second of a video")
@click.option("--width", type=WHOLE, default="1280", metavar="PIXELS", help="width in pixels")
@click.option("--language", type=LANGUAGE, default="en", metavar="CODE", help="language of its texts")
@click.option("--theme", type=click.Choice(["light", "dark"]), help="theme; light if left out")
@click.option("--dark", is_flag=True, help="the same as --theme dark")
def render(plan: Plan, output: str, view: str, language: str, theme: str | None, **drawn: Any) -> Answer:
    """Write a run as a video, a picture, a web page that plays offline, a trace or a schedule."""
    ending = ending_of(output, list(exports.EXPORTS))
    if drawn["dark"] and theme == "light":
        raise InputError("option.theme")
    drawn["dark"] = drawn["dark"] or theme == "dark"
    shot = exports.Shot(view=view, language=language, progress=Bar("frames"), **drawn)
    shot.check(ending)
    run = ended(plan, history=True, written=FULL)
    others = plan.others() or [*filter(None, [baseline(plan)])]
    answer = answer_beside(of_ended(run, plan), plan, others, language)
    trace = shown(run) if isinstance(run, Run) else run
    made = exports.render(trace, ending, replace(shot, plan=plan, answer=answer))
    write_whole(output, made)
    title, sentence = exports.EXPORTS[ending].title, read(answer["headline"])
    data = facts_of(run) | {"file": output, "bytes": len(made), "kind": title, "answer": sentence}
    text = f"{sentence}\n{trace.schedule.name} is in {output}: {title}, {len(made):,} bytes"
    return Answer(DONE if data["verified"] else NO, data, text)

"""`talk`: a talk of scenes, checked, and as one page to give it from."""

import click

from sim.base.files.textfile import Expected, read_text
from sim.base.files.whole_file import write_whole
from sim.units import fmt_size
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.files import TO_WRITE
from terminal.shared.progress import Bar
from ui.lessons import LESSONS
from ui.talk import document, lessons, pages

EXPECTED = Expected(largest=document.LARGEST)


@command(kind=BatchCommand)
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", type=TO_WRITE, metavar="FILE", help="web page to write; it plays offline")
def talk(file: str, output: str | None) -> Answer:
    """Check a talk of scenes, notes and breakpoints, and write it as one page that plays offline."""
    talk = document.from_text(read_text(file, EXPECTED), file)
    shown = pages.shown(talk, Bar("scenes"))
    scenes = [
        {"title": scene["title"], "time_s": scene["time"], "stops": len(scene["stops"]), "notes": bool(scene["notes"])}
        for scene in shown["scenes"]
    ]
    data = {"title": shown["title"], "language": talk.language, "scenes": scenes}
    summary = f"{shown['title']}: {len(scenes)} scenes, all can be shown"
    if output is None:
        return Answer(DONE, data, summary)
    page = pages.page(shown, lessons.packed(talk.language, LESSONS, Bar("lessons")))
    write_whole(output, page)
    return Answer(DONE, data | {"file": output, "bytes": len(page)}, f"{summary}; {output} has {fmt_size(len(page))}")

"""`site`: all examples as pages that need no server."""

from pathlib import Path

import click

from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.progress import Bar
from ui.files import site as pages
from ui.lessons import LESSONS
from ui.plan.gallery import exhibits


@command(kind=BatchCommand)
@click.argument("folder", metavar="DIR")
@click.option("--address", default=pages.ADDRESS, metavar="URL", help="address of the dashboard, for links")
def site(folder: str, address: str) -> Answer:
    """Write all examples, the lessons and the story as web pages that play offline."""
    path = Path(folder)
    pages.check(path, address)
    examples = exhibits()
    count = pages.write(path, examples, Bar("examples"), address, [*LESSONS])
    data = {"folder": folder, "scenes": len(examples), "lessons": len(LESSONS), "files": count}
    words = f"{len(examples)} examples, {len(LESSONS)} lessons and the story are in {folder}"
    return Answer(DONE, data, f"{words}: {count} files, begin with index.html")

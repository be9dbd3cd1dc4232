"""`site`: all scenes as pages that need no server."""

from pathlib import Path

import click

from terminal import DONE, Answer, command
from terminal.shared.progress import Bar
from ui.files import site as pages
from ui.scene.gallery import exhibits


@command
@click.argument("folder", metavar="DIR")
@click.option("--address", default=pages.ADDRESS, metavar="URL", help="where links to the dashboard lead")
def site(folder: str, address: str) -> Answer:
    """Write every scene of the gallery as a page that plays anywhere, with its picture, file and notebook."""
    path = Path(folder)
    pages.check(path, address)
    scenes = exhibits()
    count = pages.write(path, scenes, Bar("scenes"), address)
    data = {"folder": folder, "scenes": len(scenes), "files": count}
    return Answer(DONE, data, f"{len(scenes)} scenes are in {folder}: {count} files, begin with index.html")

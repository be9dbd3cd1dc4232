"""`dashboard`: the page in the browser."""

import os
import subprocess
import sys
from pathlib import Path

import click

from sim.errors import InputError
from terminal import DONE, LIMITS, NO, Answer, command
from terminal.shared.types import WHOLE
from ui.server.guard import HOSTS
from ui.share.embed import EMBED_FROM, is_origin

APP = Path(__file__).parents[1] / "app.py"
PORT = "8501"
LARGEST_PORT = 65535


@command(passes_on=True)
@click.argument("further", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION]...")
@click.option("--port", type=WHOLE, default=PORT, metavar="N", help=f"where it listens; {PORT} if left out")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    envvar=HOSTS,
    show_envvar=True,
    help="host name to accept, beside localhost and addresses; may be repeated",
)
@click.option(
    "--embed-from",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    envvar=EMBED_FROM,
    show_envvar=True,
    help="origin of pages that may embed it, like https://course.example.org; may be repeated",
)
def dashboard(port: int, hosts: tuple[str, ...], origins: tuple[str, ...], further: tuple[str, ...]) -> Answer:
    """Serve the dashboard on http://localhost:8501.

    Every other OPTION goes to `streamlit run`, like --server.address 0.0.0.0. A run may take 60 s here, and
    --max-memory is shared by --max-jobs processes, one per core if left out.
    """
    for origin in origins:
        if not is_origin(origin):
            raise InputError("option.embed_from", origin=origin)
    if not 1 <= port <= LARGEST_PORT:
        raise InputError("option.port", port=port, most=LARGEST_PORT)
    os.environ.update(click.get_current_context().find_root().meta[LIMITS])
    os.environ.update({HOSTS: " ".join(hosts), EMBED_FROM: " ".join(origins)})
    server = [sys.executable, "-P", "-m", "streamlit", "run", str(APP), "--server.port", str(port), *further]
    if os.name == "posix":
        os.execv(sys.executable, server)  # what stops this process shall stop the server
    return Answer(NO if subprocess.call(server) else DONE, {}, "")

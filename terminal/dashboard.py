"""`dashboard`: the page in the browser."""

import os
import subprocess
import sys
from pathlib import Path

import click

from sim.errors import InputError
from terminal import DONE, NO, Answer, command
from terminal.shared.types import WHOLE

APP = Path(__file__).parents[1] / "app.py"
PORT = "8501"
LARGEST_PORT = 65535


@command(passes_on=True)
@click.argument("further", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION]...")
@click.option("--port", type=WHOLE, default=PORT, metavar="N", help=f"where it listens; {PORT} if left out")
def dashboard(port: int, further: tuple[str, ...]) -> Answer:
    """Serve the dashboard on http://localhost:8501.

    Every other OPTION goes to `streamlit run`, like --server.address 0.0.0.0.
    """
    if not 1 <= port <= LARGEST_PORT:
        raise InputError(f"--port {port}: ports go from 1 to {LARGEST_PORT}")
    server = [sys.executable, "-P", "-m", "streamlit", "run", str(APP), "--server.port", str(port), *further]
    if os.name == "posix":
        os.execv(sys.executable, server)  # what stops this process shall stop the server
    return Answer(NO if subprocess.call(server) else DONE, {}, "")

"""`dashboard`: the page in the browser."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import whole

APP = Path(__file__).parents[1] / "app.py"
PORT = "8501"
LARGEST_PORT = 65535


@command(
    argument("--port", default=PORT, help=f"where it listens; {PORT} if left out"),
    argument(
        "further",
        nargs=argparse.REMAINDER,
        metavar="OPTION",
        help="all else goes to `streamlit run`, like --server.address 0.0.0.0",
    ),
)
def dashboard(args: argparse.Namespace) -> Answer:
    """Serve the dashboard on http://localhost:8501."""
    port = whole(args.port, "--port")
    if not 1 <= port <= LARGEST_PORT:
        raise InputError(f"--port {port}: ports go from 1 to {LARGEST_PORT}")
    server = [sys.executable, "-P", "-m", "streamlit", "run", str(APP), "--server.port", str(port), *args.further]
    if os.name == "posix":
        os.execv(sys.executable, server)  # what stops this process shall stop the server
    return Answer(NO if subprocess.call(server) else DONE, {}, "")

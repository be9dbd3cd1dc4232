"""JupyterLab with a kernel that finds this checkout, and a notebook in it, in Chromium."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "only-here"
PLAYER = '[data-ringside="player"][data-steps]'
CELLS = [
    "from ringside import Request\nfrom ringside.notebook import show",
    "run = show(Request(machine='switch:ranks=4', size='1MiB', against='algorithm=allreduce.rabenseifner'))\nrun",
    "print('stands at', run.time, run.view)",
    "run.time = run.end / 2\nrun.view = 'matrix'",
]


def notebook(cells):
    """Cells of code as a notebook."""
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{k}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": it,
            }
            for k, it in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def environment():
    """One in which `import ringside` finds the checkout."""
    paths = os.pathsep.join([str(ROOT / "package"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, "JUPYTER_PLATFORM_DIRS": "1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(command, address, folder, log):
    """A server's process once it answers. Raises RuntimeError where it does not within two minutes."""
    server = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, env=environment(), stdout=log, stderr=subprocess.STDOUT
    )
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.5)
        else:
            return server
    server.kill()
    raise RuntimeError(f"{command[0]} did not start: see {log.name}")


def lab(folder, log):
    """JupyterLab in a folder, which asks nobody for anything; its address and its process."""
    port = free_port()
    flags = [
        *("--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={TOKEN}", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"),
        *("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        *("--LabApp.extension_manager=readonly", "--LabServerApp.blocked_extensions_uris="),
    ]
    address = f"http://127.0.0.1:{port}"
    return address, started(["jupyterlab", *flags], f"{address}/api", folder, log)


def write(folder, name, cells):
    (Path(folder) / name).write_text(json.dumps(notebook(cells)), encoding="utf-8")
    return name

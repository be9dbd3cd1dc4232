"""JupyterLab with a kernel that finds this checkout, and a notebook in it, in Chromium."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import TimeoutError

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120_000
HASTE, TRIES = 10_000, 4
TOKEN = "only-here"
PLAYER = '[data-ringside="player"][data-steps]'
CELLS = [
    "from ringside import Plan\nfrom ringside.notebook import show",
    "run = show(Plan(machine='switch:ranks=4', size='1MiB', against='algorithm=allreduce.rabenseifner'))\nrun",
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


def walk(browser, folder, log):
    """Run a notebook, move the player from both sides, save it, and open it again where no kernel knows the widget."""
    (folder / "demo.ipynb").write_text(json.dumps(notebook(CELLS)), encoding="utf-8")
    address, server = lab(folder, log)
    try:
        page = guarded(browser, address)
        _open(page, f"{address}/lab/tree/demo.ipynb?token={TOKEN}")
        for k in range(2):
            _run(page, k)
        player = page.locator(PLAYER).first
        player.wait_for(timeout=PATIENCE)
        player.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(1500)  # the player tells where it stands once it has stopped there
        stands = float(player.get_attribute("data-time-s"))
        assert stands > 0
        _run(page, 2)
        said = page.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".jp-OutputArea-output").inner_text()
        assert said.split() == ["stands", "at", repr(stands), "machine"], said
        _run(page, 3)
        page.wait_for_function(f"document.querySelector('{PLAYER}').dataset.view === 'matrix'")
        assert float(player.get_attribute("data-time-s")) > stands
        assert not page.locator(".ringside-still").first.is_visible()
        page.keyboard.press("Control+s")
        page.wait_for_timeout(2000)
        _end_kernels(address)
        _open(page, f"{address}/lab/tree/demo.ipynb?reset&token={TOKEN}")
        still = page.locator(".ringside-still")
        still.wait_for(timeout=PATIENCE)
        assert still.locator("img").count() == 2
        assert "machine=switch" in still.locator("a").get_attribute("href")
        page.wait_for_timeout(3000)
        assert not page.get_by_text("model not found").is_visible()
        assert page.strangers == []
    finally:
        server.terminate()
        server.wait()


def guarded(browser, address):
    """A page that remembers what it asked strangers for."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    page.strangers = []
    page.on("request", lambda request: None if request.url.startswith(own) else page.strangers.append(request.url))
    return page


def _open(page, where):
    page.goto(where)
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for(timeout=PATIENCE)


def _run(page, k):
    """Run a cell, to its end; a key that came before JupyterLab heard it is pressed again."""
    prompt = f"document.querySelectorAll('.jp-Notebook .jp-CodeCell')[{k}].querySelector('.jp-InputPrompt').textContent"
    for _ in range(TRIES):
        page.locator(".jp-Notebook .jp-CodeCell").nth(k).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        with contextlib.suppress(TimeoutError):
            page.wait_for_function(f"/[0-9*]/.test({prompt})", timeout=HASTE)
            break
    page.wait_for_function(f"/[0-9]/.test({prompt})", timeout=PATIENCE)


def _end_kernels(address):
    def ask(place, method="GET"):
        words = {"Authorization": f"token {TOKEN}"}
        return urllib.request.urlopen(urllib.request.Request(f"{address}/api/{place}", method=method, headers=words))

    for session in json.load(ask("sessions")):
        ask(f"sessions/{session['id']}", "DELETE").close()

"""Ctrl-C ends whatever takes long at once: status 130, and one line after what was told before the run."""

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

import cli
from tests.tables import each_row
from tests.test_cli import process

PATIENCE = 60
"""Seconds for what takes two where nothing else runs."""
WAITING = "from mpi4py import MPI\nwhile True:\n    MPI.COMM_WORLD.Barrier()\n"
LONG = {
    "run": ("alltoall.linear", "--machine", "switch:ranks=1600", "--size", "1GiB", "--unfolded"),
    "sweep": ("allreduce", "--machine", "nodes:nodes=16", "--sizes", "1KiB..1GiB", "-o", "t.parquet"),
    "synthesize": ("allgather", "--machine", "dgx1v", "--size", "1MiB", "--seeds", "1000"),
    "mpi": ("wait.py", "--ranks", "4"),
    "render": ("allreduce.ring", "--machine", "dgx_a100", "--size", "1MiB", "--seconds", "100", "-o", "film.gif"),
}


def busy(group):
    """Seconds of the processor that the processes of a group have taken."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:13])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def heed():
    """What a shell runs in the background ignores interrupts, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@each_row(
    "name, seconds",
    [*((name, 1.5) for name in LONG), ("sweep", 5.0)],  # while processes start, and when they work
    over=["name", "seconds"],
)
def test_ctrl_c_ends_a_long_command_with_one_word(name, seconds, tmp_path):
    (tmp_path / "wait.py").write_text(WAITING)
    begun = time.monotonic()
    words = [str(tmp_path / word) if word in ("wait.py", "t.parquet", "film.gif") else word for word in LONG[name]]
    with process(name, *words, start_new_session=True, preexec_fn=heed) as running:
        while running.poll() is None and busy(running.pid) < seconds and time.monotonic() - begun < PATIENCE:
            time.sleep(0.05)
        assert running.poll() is None, running.communicate()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        try:
            _, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
    *before, last = err.splitlines() or [""]
    assert (running.returncode, last) == (cli.INTERRUPTED, "cli.py: stopped"), err
    assert all(line.startswith("cli.py: about ") for line in before if line), err

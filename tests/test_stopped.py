"""Ctrl-C ends whatever takes long at once: status 130, and one line."""

import os
import signal
import time

import pytest

import cli
from tests.test_cli import process

PATIENCE = 60
"""Seconds for what takes two where nothing else runs."""
WAITING = "from mpi4py import MPI\nwhile True:\n    MPI.COMM_WORLD.Barrier()\n"
LONG = {
    "run": ("alltoall.linear", "--machine", "switch:ranks=700", "--size", "1GiB"),
    "verify": ("alltoall.linear", "--ranks", "3000"),
    "sweep": ("--algorithms", "allreduce", "--machines", "dgx_a100", "--sizes", "1KiB..1GiB", "-o", "t.parquet"),
    "winners": ("allreduce", "--machine", "nodes:nodes=16", "--sizes", "1KiB..1GiB"),
    "synthesize": ("allgather", "--machine", "dgx1v", "--size", "1MiB"),
    "mpi": ("wait.py", "--ranks", "4"),
    "render": ("allreduce.ring", "--machine", "dgx_a100", "--size", "1MiB", "-o", "film.gif"),
    "sensitivity": ("alltoall.linear", "--machine", "nodes:nodes=8", "--size", "64MiB"),
}


def busy(pid):
    """Seconds of the processor that a process has taken, with those of its children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_long_command_with_one_word(name, tmp_path):
    (tmp_path / "wait.py").write_text(WAITING)
    begun = time.monotonic()
    words = [str(tmp_path / word) if word in ("wait.py", "t.parquet", "film.gif") else word for word in LONG[name]]
    with process(name, *words, start_new_session=True) as running:
        while running.poll() is None and busy(running.pid) < 1.5 and time.monotonic() - begun < PATIENCE:
            time.sleep(0.02)
        assert running.poll() is None, running.communicate()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        _, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, err) == (cli.INTERRUPTED, "cli.py: stopped\n")

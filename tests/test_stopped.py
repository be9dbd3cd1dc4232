"""Ctrl-C ends whatever takes long at once: status 130, and one line after what was told before the run."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

import cli
from tests.tables import each_row
from tests.test_cli import ROOT, process

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
    with process(name, *words, start_new_session=True) as running:
        while running.poll() is None and busy(running.pid) < seconds and time.monotonic() - begun < PATIENCE:
            time.sleep(0.05)
        assert running.poll() is None, running.communicate()
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        try:
            _, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
    *before, last = err.splitlines()
    assert (running.returncode, last) == (cli.INTERRUPTED, "cli.py: stopped")
    assert all(line.startswith("cli.py: about ") for line in before), err


NEVER = 3600
LAST_MOMENTS = """
class Last:
    def __del__(self):
        wait()

def work():
    Last()
"""
"""Python drops what is raised while an object is thrown away, and would say so."""
SLOW = """
arm = cli.signal.setitimer

def armed(which, seconds, *more):
    arm(which, seconds, *more)
    if seconds == cli.SOON:
        cli.signal.setitimer = arm
        time.sleep(0.5)

cli.signal.setitimer = armed
"""
"""The processor is others' for so long that the signal comes where Python is still dropping the one before."""
SWALLOWED = """
def work():
    try:
        wait()
    except BaseException:
        pass
"""
TURNED = """
def work():
    try:
        wait()
    except BaseException as error:
        raise ImportError from error
"""
"""As compiled modules of numba's do while they are imported."""
LOST = """
import sys, time
import cli

cli.AGAIN = {again}

def wait():
    print("here", flush=True)
    time.sleep(60)
{work}
def main(**_):
    try:
        work()
        time.sleep(60)
    except KeyboardInterrupt:
        return cli.INTERRUPTED

cli.main = main
sys.exit(cli.program())
"""


@pytest.mark.parametrize(
    "work, again, said",
    [
        (LAST_MOMENTS, NEVER, ""),
        (LAST_MOMENTS + SLOW, NEVER, ""),
        (SWALLOWED, 0.3, ""),
        (TURNED, NEVER, "cli.py: stopped\n"),
    ],
)
def test_an_interrupt_that_is_lost_comes_again(work, again, said):
    lost = LOST.format(work=work, again=again)
    with subprocess.Popen([sys.executable, "-c", lost], cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True) as running:
        assert running.stdout.readline() == "here\n"
        running.send_signal(signal.SIGINT)
        try:
            _, err = running.communicate(timeout=PATIENCE / 2)
        finally:
            running.kill()
    assert (running.returncode, err) == (cli.INTERRUPTED, said)


def test_what_else_python_cannot_raise_is_told():
    told = "import cli, sys\nclass Last:\n    def __del__(self):\n        raise ValueError\n"
    told += "def main(**_):\n    Last()\n    return 0\ncli.main = main\nsys.exit(cli.program())\n"
    ended = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ValueError" in ended.stderr

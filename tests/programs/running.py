"""Running scripts on the simulated cluster and under the MPI library."""

import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from ops.programs import run_program
from sim.machines import build

HERE = Path(__file__).parents[1] / "data" / "mpi-programs"
PROGRAMS = sorted(path.name for path in HERE.glob("*.py"))


def simulated(script, tmp_path, ranks, machine=None, **options):
    """A script given as text on so many ranks of a machine; an ideal switch unless another is named."""
    file = tmp_path / "script.py"
    file.write_text(dedent(script), encoding="utf-8")
    return run_program(file, build(machine or f"switch:ranks={max(2, ranks)}"), ranks, **options)


def really(file, ranks):
    """What a program prints under mpiexec."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    assert launcher, "no mpiexec here: install requirements-dev.txt"
    command = [launcher, "-n", str(ranks), sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout

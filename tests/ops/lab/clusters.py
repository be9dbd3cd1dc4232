"""A sweep and a Dask cluster as real processes, to be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 120
AXES = {
    "algorithms": ["allreduce.ring", "allreduce.recursive_doubling"],
    "machines": ["switch:ranks=8", "nodes:nodes=2,gpus=4"],
    "sizes": ["1KiB..1MiB*4"],
    "faults": ["none", "jitter:mean=1us"],
    "seeds": ["1", "2", "3"],
}
"""A grid of 96 cells."""


def started(*words: str, folder: Path = ROOT) -> subprocess.Popen:
    """A Python process in the project's folder, or in another where it finds none of ours, in a group of its own."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen([sys.executable, *words], cwd=folder, env=plain, start_new_session=True, **quiet)


def killed(process: subprocess.Popen) -> None:
    """SIGKILL to the process and all it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def group_of(process: subprocess.Popen) -> list[str]:
    """The processes of a session that still run."""
    command = ["ps", "-o", "pid=,stat=", "--sid", str(process.pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in found.stdout.splitlines() if "Z" not in line.split()[1]]


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(happened, process: subprocess.Popen | None = None) -> None:
    """Until it happens; fails when the process ends before, or after two minutes."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, "it never happened"
        assert process is None or process.poll() is None, "it ended too early"
        time.sleep(0.01)


@contextmanager
def dask_cluster(folder: Path, workers: int, *, home: Path = ROOT) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """A scheduler and its workers, each a process; gives the address and the workers.

    Workers are at home in the project's folder, or elsewhere; the scheduler knows nothing of the project.
    """
    from distributed import Client

    told = folder / "scheduler.json"
    here = ["--no-dashboard", "--scheduler-file", str(told)]
    processes = [started("-m", "dask", "scheduler", "--port", "0", "--host", "127.0.0.1", *here, folder=folder)]
    try:
        wait_for(lambda: told.exists() and told.stat().st_size, processes[0])
        one = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *here]
        processes += [started("-m", "dask", "worker", "--name", f"w{i}", *one, folder=home) for i in range(workers)]
        with Client(scheduler_file=str(told), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=PATIENCE)
            address = client.scheduler.address
        yield address, processes[1:]
    finally:
        for process in processes:
            if process.poll() is None:
                killed(process)

"""Transfers simulated per second and memory, beside two SimPy programs measured in the same minute.

Run `python -m tests.benchmarks.speed [ranks …]`; 64, 256, 1024 and 4096 if left out. Every row is a process of its own
on one core: the median of three runs, or one where that takes long. Time is the processor's, so that
others at work on the computer matter little. Ratios travel between computers, figures do not.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.schedule.verify import prove
from tests.benchmarks.yardsticks import SIZE, lean, naive, rate

RANKS = (64, 256, 1024, 4096)
LONG, PATIENCE = 10.0, 300.0
"""Seconds after which a run is not repeated, and after which a row is given up."""
ROOM = 400
"""Bytes per transfer that a row may need, with what it needs only for a while."""
MANY = 100_000
"""Transfers from which on memory per transfer says something."""
BLOCK = 1 << 20

WORKLOADS = {
    "ring allreduce": ("allreduce.ring", lambda n: 2 * n * (n - 1)),
    "linear alltoall": ("alltoall.linear", lambda n: n * (n - 1)),
    "linear alltoallv, 16 sizes": ("alltoallv.linear", lambda n: n * (n - 1)),
    "linear alltoallv, all sizes differ": ("alltoallv.linear", lambda n: n * (n - 1)),
    "linear allgatherv": ("allgatherv.linear", lambda n: n * (n - 1)),
}
COLUMNS = ("ranks", "transfers", "M/s", "x lean", "x naive", "M/s, all", "B/transfer")
WIDTHS = (6, 12, 10, 9, 9, 10, 12)


def load(title: str, n: int) -> dict:
    """What a workload carries."""
    i = np.arange(n)
    if title == "ring allreduce":
        return {"size": SIZE}
    if title == "linear alltoall":
        return {"size": BLOCK * n}
    if title == "linear allgatherv":
        return {"blocks": BLOCK * (1 + i % 16)}
    if title == "linear alltoallv, 16 sizes":
        return {"blocks": (BLOCK * (1 + (31 * i[:, None] + 17 * i[None, :]) % 16)).reshape(-1)}
    apart = 1024 if n <= 1024 else 1  # all together stay below the largest size there is
    return {"blocks": np.random.default_rng(1).permutation(n * n) * apart + BLOCK}


def once(title: str, n: int) -> dict:
    """Seconds of the processor for the simulation alone and for schedule, proof and simulation; the transfers."""
    name, carried = WORKLOADS[title][0], load(title, n)
    topology = build(f"switch:ranks={n}")
    gc.collect()
    begun = time.process_time()
    schedule = ALGORITHMS[name].schedule(n)
    proof = prove(schedule, blocks="blocks" in carried)
    proved, clock = time.process_time(), time.perf_counter()
    trace = simulate(topology, schedule, proof=proof, **carried)
    ended, took = time.process_time(), time.perf_counter() - clock
    assert trace.verdict.verdict == "ok"
    alone = (ended - proved) * trace.real["sim_s"] / took
    return {"transfers": schedule.messages, "alone": alone, "whole": ended - begun}


def peak() -> int:
    """The most memory this process has had, in bytes. `getrusage` would count what its parent had, too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def measure(title: str, n: int) -> dict:
    """The medians, and the bytes per transfer by which the process grew at most."""
    once(title, 16)
    compiled = once(title, 64)  # large enough for the compiled kernels
    assert compiled["transfers"]
    before = peak()
    runs = [once(title, n)]
    grown = peak() - before
    while len(runs) < 3 and runs[0]["whole"] < LONG:
        runs.append(once(title, n))
    count = runs[0]["transfers"]
    alone, whole = (statistics.median(count / run[key] for run in runs) for key in ("alone", "whole"))
    return {"transfers": count, "alone": alone, "whole": whole, "bytes": grown / count}


def in_its_own_process(title: str, n: int) -> dict | str:
    """A row of figures, or why there are none."""
    needed = WORKLOADS[title][1](n) * ROOM
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > free:
        return f"needs {needed / 1e9:.0f} GB of memory, {free / 1e9:.0f} are free"
    command = [sys.executable, "-m", "tests.benchmarks.speed", "--row", title, str(n)]
    giving_back = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1048576"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=giving_back)
    except subprocess.TimeoutExpired:
        return f"takes more than {PATIENCE:.0f} s"
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:80]


def line(cells) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def main(ranks=RANKS) -> None:
    """Print the table."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'workload':36}{line(COLUMNS)}")
    for n in ranks:
        yardsticks = rate(lean, 1024), rate(naive, 128)
        for title in WORKLOADS:
            found = in_its_own_process(title, n)
            if isinstance(found, str):
                print(f"{title:36}{n:>6}  {found}", flush=True)
                continue
            slow, slower = yardsticks
            alone, whole = found["alone"], found["whole"]
            figures = (alone / 1e6, alone / slow, alone / slower, whole / 1e6)
            told = [f"{figures[0]:.3f}", f"{figures[1]:.2f}", f"{figures[2]:.1f}", f"{figures[3]:.3f}"]
            memory = format(found["bytes"], ".0f") if found["transfers"] >= MANY else "-"
            cells = (n, format(found["transfers"], ","), *told, memory)
            print(f"{title:36}{line(cells)}", flush=True)
    print(f"\nlean: SimPy, a generator per rank, a Timeout and an Event per message: {yardsticks[0] / 1e6:.3f} M/s")
    print(f"naive: SimPy, links as resources, inboxes as stores: {yardsticks[1] / 1e6:.3f} M/s")
    print("M/s, all: with the schedule made and proved; B/transfer: by how much the process grew at most, what was")
    print("freed given back at once: the C library would keep about 30 bytes more per transfer for later")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main(tuple(map(int, sys.argv[1:])) or RANKS)

"""What it takes to make, prove and order a schedule, beside what it takes to run it.

Run `python -m tests.benchmarks.making [words of a row …]`. Every row is a process of its own on one core: the median
of five runs in a warm process, by the processor's time. A part's figure is how many times as fast as the kernel it is:
1 where it takes as long as the simulation alone. `again` is the whole run of the same work, asked for a second time.
Ratios travel between computers, figures do not.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from math import inf

import numpy as np

from ops import ALGORITHMS
from ops.run import execute, reuse
from ops.run.work import registered
from sim.machines import build
from sim.schedule import dependencies

SIZE = 1 << 30
TIMES = 5
ROWS = {
    "ring, 1,024": ("allreduce.ring", 1024),
    "linear alltoall, 256": ("alltoall.linear", 256),
    "pairwise alltoall, 256": ("alltoall.pairwise", 256),
    "linear alltoallv, all sizes differ, 256": ("alltoallv.linear", 256),
    "rabenseifner, 256": ("allreduce.rabenseifner", 256),
    "double tree, 256": ("allreduce.double_binary_tree", 256),
}
PARTS = ("build", "prove", "depend", "kernel", "whole", "again")


def once(name: str, n: int) -> dict:
    """Seconds of the processor for each part of a run in which every transfer is simulated."""
    topology = build(f"switch:ranks={n}")
    blocks = np.random.default_rng(1).permutation(n * n) * 1024 + (1 << 20) if name.startswith("alltoallv") else None

    def work():
        return registered(ALGORITHMS[name], n, topology=topology)

    def run(what):
        return execute(topology, what, 0 if blocks is not None else SIZE, blocks=blocks, written=inf)

    reuse.forget()
    gc.collect()
    apart, clock = work(), [time.process_time()]
    schedule = apart.schedule
    clock.append(time.process_time())
    apart.proof(blocks=blocks is not None)
    clock.append(time.process_time())
    apart.order()
    dependencies.waits(schedule)
    clock.append(time.process_time())
    wall, begun = time.perf_counter(), time.process_time()
    trace = run(apart).trace
    share = trace.real["sim_s"] / (time.perf_counter() - wall)
    kernel = (time.process_time() - begun) * share
    del apart, schedule, trace
    reuse.forget()
    gc.collect()
    begun = time.process_time()
    outcome = run(work())
    whole = time.process_time() - begun
    assert outcome.verdict.verdict == "ok"
    transfers = outcome.trace.schedule.transfers
    del outcome
    begun = time.process_time()
    run(work())
    took = (*np.diff(clock), kernel, whole, time.process_time() - begun)
    return {"transfers": transfers} | dict(zip(PARTS, took, strict=True))


def measure(title: str) -> dict:
    """The medians of all parts."""
    name, n = ROWS[title]
    once(name, 16)
    once(name, n)
    runs = [once(name, n) for _ in range(TIMES)]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main(words) -> None:
    """Print the table, or the rows whose titles have all these words."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    others = [part for part in PARTS if part != "kernel"]
    print(f"{'run':42}{'transfers':>12}{'kernel M/s':>12}" + "".join(f"{part:>9}" for part in others))
    for title in ROWS:
        if not all(word in title for word in words):
            continue
        command = [sys.executable, "-m", "tests.benchmarks.making", "--row", title]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{title:42}{done.stderr.strip().splitlines()[-1][:80]}", flush=True)
            continue
        found = json.loads(done.stdout)
        ratios = (found["kernel"] / max(found[part], 1e-9) for part in others)
        cells = f"{found['transfers']:>12,.0f}{found['transfers'] / found['kernel'] / 1e6:>12.2f}"
        print(f"{title:42}{cells}" + "".join(f"{ratio:>9.2f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(sys.argv[1:])

"""Transfers simulated per second, beside two SimPy programs of the same ring in the same minute.

Run `python -m tests.benchmarks.speed`. Figures are ratios of medians in one run on one core; absolute ones
belong to the machine that printed them.
"""

import gc
import os
import resource
import statistics
import time

import numpy as np
import simpy

from ops import ALGORITHMS
from sim.engine import simulate
from sim.machines import build
from sim.verify import prove

SIZE = 1 << 30


def naive(n: int) -> int:
    """One SimPy process per rank; links are resources that a message holds while it crosses them."""
    env = simpy.Environment()
    up = [simpy.Resource(env) for _ in range(n)]
    down = [simpy.Resource(env) for _ in range(n)]
    inbox = [simpy.Store(env) for _ in range(n)]

    def message(src, dst):
        with up[src].request() as first, down[dst].request() as second:
            yield first & second
            yield env.timeout(2e-6 + SIZE / n / 25e9)
        yield inbox[dst].put(1)

    def rank(r):
        for _ in range(2 * (n - 1)):
            env.process(message(r, (r + 1) % n))
            yield inbox[r].get()

    for r in range(n):
        env.process(rank(r))
    env.run()
    return 2 * n * (n - 1)


def lean(n: int) -> int:
    """The least SimPy can do: a generator per rank, one Timeout and one Event per message, no links at all."""
    env = simpy.Environment()
    steps = 2 * (n - 1)
    arrived = [[env.event() for _ in range(steps)] for _ in range(n)]

    def rank(r):
        mine, theirs = arrived[r], arrived[(r + 1) % n]
        for k in range(steps):
            yield env.timeout(2e-6 + SIZE / n / 25e9)
            theirs[k].succeed()
            yield mine[k]

    for r in range(n):
        env.process(rank(r))
    env.run()
    return n * steps


def rate(program, n: int) -> float:
    """Transfers per second of one SimPy program."""
    begun = time.perf_counter()
    return program(n) / (time.perf_counter() - begun)


def loads(n: int):
    """The workloads: name, algorithm, and what to carry."""
    i, block = np.arange(n), 1 << 20
    yield "ring allreduce", "allreduce.ring", {"size": SIZE}
    yield "linear alltoall", "alltoall.linear", {"size": block * n}
    uneven = block * (1 + (31 * i[:, None] + 17 * i[None, :]) % 16)
    yield "linear alltoallv, 16 sizes", "alltoallv.linear", {"blocks": uneven.reshape(-1)}
    yield "linear allgatherv", "allgatherv.linear", {"blocks": block * (1 + i % 16)}
    if n <= 64:
        every = np.random.default_rng(1).permutation(n * n) * 1024 + block
        yield "linear alltoallv, all sizes differ", "alltoallv.linear", {"blocks": every}


def measure(name: str, n: int, load: dict, repeats: int = 3) -> tuple[float, float, int]:
    """Median transfers per second of the simulation, of everything together, and the number of transfers."""
    topology = build(f"switch:ranks={n}")
    alone, whole = [], []
    for _ in range(repeats + 1):  # the first one loads the compiled kernels
        gc.collect()
        begun = time.perf_counter()
        schedule = ALGORITHMS[name].schedule(n)
        trace = simulate(topology, schedule, proof=prove(schedule, blocks="blocks" in load), **load)
        whole.append(schedule.messages / (time.perf_counter() - begun))
        alone.append(schedule.messages / trace.real["sim_s"])
        assert trace.verdict.verdict == "ok"
    return statistics.median(alone[1:]), statistics.median(whole[1:]), trace.schedule.messages


def main() -> None:
    """Print the table."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lean_rate, naive_rate = rate(lean, 1024), rate(naive, 256)
    print(f"SimPy, generator per rank, 1,024-rank ring   {lean_rate / 1e6:8.3f} M transfers/s")
    print(f"SimPy, naive (resources), 256-rank ring      {naive_rate / 1e6:8.3f} M transfers/s\n")
    columns = f"{'ranks':>6}{'transfers':>11}{'M/s':>9}{'x lean':>8}{'x naive':>9}{'M/s, all':>10}{'B peak':>8}"
    print(f"{'workload':36}{columns}")
    for n in (64, 256, 1024):
        for title, name, load in loads(n):
            if n == 1024 and "v" in name.split(".")[0]:
                continue
            alone, whole, count = measure(name, n, load)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / count
            print(
                f"{title:36}{n:6}{count:11,}{alone / 1e6:9.3f}{alone / lean_rate:8.1f}{alone / naive_rate:9.1f}"
                f"{whole / 1e6:10.3f}{peak:8.0f}"
            )


if __name__ == "__main__":
    main()

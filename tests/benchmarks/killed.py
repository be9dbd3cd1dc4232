"""A sweep that is killed half-way, and one on a Dask cluster started elsewhere, beside one left alone: the same table?

Run `python -m tests.benchmarks.killed [cells]`; a million if left out, which takes hours. Every sweep is a process of
its own, killed with all it started, and begun again with the same words.
"""

import math
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from tests.ops.lab.clusters import dask_cluster, killed, lines, started

MILLION = 10**6
MACHINE, FAULT = "switch:ranks=4", "jitter:mean=1us"
WORKERS = 2


def words(cells: int, table: Path) -> list[str]:
    """A sweep of so many cells or a few more: as many sizes as seeds."""
    side = math.isqrt(cells - 1) + 1
    sizes, seeds = (",".join(str(first + k) for k in range(side)) for first in (4096, 1))
    axes = ["--machine", MACHINE, "--fault", FAULT, "--sizes", sizes, "--seeds", seeds]
    return ["cli.py", "sweep", "allreduce.ring", *axes, "-o", str(table)]


def ended(asked: list[str]) -> float:
    """Seconds on the wall until a sweep has ended well."""
    begun = time.perf_counter()
    assert started(*asked).wait() == 0, "the sweep has failed"
    return time.perf_counter() - begun


def half(asked: list[str], journal: Path, cells: int) -> int:
    """Kill a sweep when half of its cells are done; how many it has kept."""
    running = started(*asked)
    while lines(journal) < cells // 2:
        assert running.poll() is None, "the sweep has ended before it could be killed"
        time.sleep(0.05 + cells / MILLION)  # the whole journal is read each time
    killed(running)
    return lines(journal)


def main(cells: int) -> None:
    """Print a line for each sweep; fails where a table is another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone, other, apart = (folder / f"{which}.parquet" for which in ("alone", "killed", "cluster"))
        took = ended([*words(cells, alone), "--jobs", str(WORKERS)])
        whole = pq.read_table(alone)
        print(f"left alone: {whole.num_rows:,} cells in {took:.0f} s", flush=True)
        asked = [*words(cells, other), "--jobs", str(WORKERS)]
        kept = half(asked, Path(f"{other}.journal"), cells)
        took = ended(asked)
        assert pq.read_table(other).equals(whole), "the killed sweep's table is another"
        print(f"killed after {kept:,} cells and begun again: the same table, {took:.0f} s more", flush=True)
        with dask_cluster(folder, WORKERS, home=folder) as (address, _):
            asked = [*words(cells, apart), "--dask", address]
            kept = half(asked, Path(f"{apart}.journal"), cells)
            took = ended(asked)
        assert pq.read_table(apart).equals(whole), "the cluster's table is another"
        print(f"on a cluster started elsewhere, killed after {kept:,} cells: the same table, {took:.0f} s more")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MILLION)

"""The largest runs there are, each with its time and memory: equal ranks folded, others whole.

Run `python -m tests.benchmarks.scale [words of a row …]`. Every row is the whole command in a process of its own, with
a limit to its memory; the last rows say which part of it they are, in a process that is warm. Time is the processor's,
so that others at work on the computer matter little, and beside it what a clock on the wall shows. The yardstick is a
lean SimPy program that does nothing but wait (`tests.benchmarks.yardsticks`), in the same minute.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ops import ALGORITHMS
from tests.benchmarks.speed import in_its_own_process
from tests.benchmarks.yardsticks import lean, rate

GB = 10**9
ALPHA, BANDWIDTH, SIZE = 2e-6, 25e9, 10**9
SWITCH = "switch:ranks={n}"
SLOW = "slow_link:src=GPU0,dst=SW,share=0.5"
PATIENCE = 300.0
MILLION = 1 << 20


class ScaleRow:
    """A command, its ranks, and the seconds and bytes it is to stay within."""

    def __init__(self, title, words, n, seconds, size, closed="", fresh=False):
        self.title, self.words, self.n, self.seconds, self.size, self.closed = title, words, n, seconds, size, closed
        self.fresh = fresh
        """Whether what set-up has compiled is all that is there, as on a machine of its own."""

    def command(self):
        """The words of the terminal."""
        words = self.words.format(n=self.n).split()
        return [*words, *(["--size", str(SIZE)] if words[0] == "run" else []), "--json"]


def on_switch(algorithm, more=""):
    return f"run {algorithm} --machine {SWITCH} {more}"


ROWS = (
    ScaleRow("ring, 4,096", on_switch("allreduce.ring"), 4096, 2, 0.5, "allreduce.ring"),
    ScaleRow("ring, 4,096, one link at half rate", on_switch("allreduce.ring", f"--fault {SLOW}"), 4096, 12, 2),
    ScaleRow(
        "hierarchical_2d, 2,048 hosts of 8", "run allreduce.hierarchical_2d --machine nodes:nodes=2048,gpus=8",
        16384, 3, 1,
    ),
    ScaleRow(
        "hierarchical_2d, 2,048 hosts of 8, one NIC at half rate",
        "run allreduce.hierarchical_2d --machine nodes:nodes=2048,gpus=8 --fault slow_link:src=H0.NIC0,dst=SPINE",
        16384, 30, 3,
    ),
    ScaleRow(
        "recursive doubling, 65,536", on_switch("allreduce.recursive_doubling"), 65536, 5, 1,
        "allreduce.recursive_doubling",
    ),
    ScaleRow("binomial broadcast, 65,536", on_switch("broadcast.binomial"), 65536, 5, 1, "broadcast.binomial"),
    ScaleRow("ring, 1,048,576", on_switch("allreduce.ring"), MILLION, 20, 4, "allreduce.ring"),
    ScaleRow(
        "recursive doubling, 1,048,576", on_switch("allreduce.recursive_doubling"), MILLION, 20, 4,
        "allreduce.recursive_doubling",
    ),
    ScaleRow(
        "hierarchical_2d, 131,072 hosts of 8", "run allreduce.hierarchical_2d --machine nodes:nodes=131072,gpus=8",
        MILLION, 20, 4,
    ),
    ScaleRow("ring, 16,384 on 2,048 hosts of 8", "run allreduce.ring --machine nodes:nodes=2048,gpus=8", 16384, 3, 1),
    ScaleRow("double tree, 1,048,576", on_switch("allreduce.double_binary_tree"), MILLION, 20, 4),
    ScaleRow(
        "a step of 131,072 GPUs: tensor 8, pipeline 16, data 1,024",
        "workload hybrid_parallel --machine nodes:nodes=16384,gpus=8 --set tensor=8 --set stages=16"
        " --set micro_batches=64 --set schedule=1f1b --set depth=32 --set hidden=12288",
        131072, 30, 6,
    ),
    ScaleRow(
        "ring, 1,024, unfolded, whole command", on_switch("allreduce.ring", "--unfolded"), 1024, 0, 0, "allreduce.ring"
    ),
    ScaleRow("first run after set-up", on_switch("allreduce.ring", "--unfolded"), 64, 3, 0, fresh=True),
)  # fmt: skip
RING, RING_RANKS, RING_TIMES = "ring allreduce", 1024, 30
"""Ranks, and the times of lean SimPy that building, proving and simulating are to be as fast as together."""
UNEQUAL = "linear alltoallv, all sizes differ"
UNEQUAL_RANKS = {64: 0.3, 256: 0.1, 1024: 0.05}
"""Ranks, and the times of lean SimPy that the kernel alone is to be as fast as."""
WARM = {"whole": "built, proved and simulated in a warm process", "alone": "the kernel alone"}
COLUMNS = ("s", "to reach", "wall s", "GB", "to reach", "classes", "transfers", "M/s", "x lean")
WIDTHS = (8, 10, 8, 8, 10, 11, 20, 12, 10)


def measured(row):
    """The answer of a command, with its seconds and its peak of memory; or why there is none."""
    most = int((4 * row.size or 8) * GB)  # also of what is claimed and never touched

    def limited():
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    words = [*row.command(), "--max-devices", str(1 << 22)]
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(set_up()) if row.fresh else {}
        return answered(words, limited, {**os.environ, **cache})


@contextlib.contextmanager
def set_up():
    """Where kernels are kept, as set-up leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        for line in Path(".ci/venv.sh").read_text(encoding="utf-8").replace("\\\n", "").splitlines():
            if "cli.py run" in line:
                words = line.split(">")[0].split()[1:]
                subprocess.run([sys.executable, *words], check=True, env={**os.environ, **cache}, capture_output=True)
        yield cache


def answered(words, limited, environment):
    """As `measured` says, for the words of a command in a process that has called `limited`."""
    begun, spent = time.perf_counter(), processor()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.scale", "--row", *words], capture_output=True, text=True,
            timeout=PATIENCE, check=False, preexec_fn=limited, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"takes more than {PATIENCE:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][:100]
    answer, peak = done.stdout.rsplit("\n", 2)[:2]
    data = json.loads(answer)
    if "facts" in data:  # a training step
        data |= {"transfers": data["facts"]["transfers"], "classes": data["facts"]["simulated_transfers"]}
    took = {"seconds": processor() - spent, "wall": time.perf_counter() - begun}
    return data | took | {"peak": int(peak)}


def processor():
    """Seconds of the processor that all rows so far have had."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def astray(row, answer):
    """How far, in parts of the whole, a time is from the algorithm's claim on an ideal switch."""
    entry = ALGORITHMS[row.closed]
    cost = entry.cost(row.n, **entry.settle(row.n))
    claim = cost.alphas * ALPHA + cost.betas * SIZE / BANDWIDTH
    return abs(answer["time_s"] / claim - 1)


def told(row, yardstick):
    """A row of the table."""
    answer = measured(row)
    if isinstance(answer, str):
        return answer
    whole = answer["transfers"] / answer["seconds"]
    cells = (
        *(f"{answer['seconds']:.2f}", f"{row.seconds or '-'}", f"{answer['wall']:.1f}", f"{answer['peak'] / GB:.2f}"),
        *(f"{row.size or '-'}", f"{answer['classes']:,}", f"{answer['transfers']:,}", f"{whole / 1e6:,.1f}"),
        f"{whole / yardstick:,.1f}",
    )
    line = "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
    return line + (f"  closed form within {astray(row, answer):.0e}" if row.closed else "")


def told_warm(title, n, key, times, yardstick):
    """A row of `tests.benchmarks.speed`: of the kernel alone, or with the schedule made and proved."""
    measures = in_its_own_process(title, n)
    if isinstance(measures, str):
        return measures
    each, count = measures[key], measures["transfers"]
    cells = f"{count / each:.2f}", *"-----", f"{count:,}", f"{each / 1e6:.3f}", f"{each / yardstick:.2f}"
    line = "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
    return f"{line}  {WARM[key]}; to reach {times} x lean"


def main(words):
    """Print the table, or the rows whose titles have all these words."""
    print(f"{'run':58}" + "".join(f"{cell:>{width}}" for cell, width in zip(COLUMNS, WIDTHS, strict=True)))
    for row in ROWS:
        if all(word in row.title for word in words):
            print(f"{row.title:58}", end="", flush=True)
            print(told(row, rate(lean, 256)), flush=True)
    warm = [(f"ring, {RING_RANKS:,}, unfolded, with schedule and proof", RING, RING_RANKS, "whole", RING_TIMES)]
    warm += [(f"{UNEQUAL}, {n:,}", UNEQUAL, n, "alone", times) for n, times in UNEQUAL_RANKS.items()]
    for title, workload, n, key, times in warm:
        if all(word in title for word in words):
            print(f"{title:58}", end="", flush=True)
            print(told_warm(workload, n, key, times, rate(lean, 256)), flush=True)


def one_row(words):
    """A command's answer and its peak of memory, in this process."""
    import cli
    from tests.benchmarks.speed import peak

    status = cli.main(words)
    print(peak())
    sys.exit(status)


if __name__ == "__main__":
    one_row(sys.argv[2:]) if sys.argv[1:2] == ["--row"] else main(sys.argv[1:])

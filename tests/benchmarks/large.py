"""Every command on 16,384 ranks: seconds, memory and the time that each states. `python -m tests.benchmarks.large`.

Each is a process of its own. All times of one run must be that of `run`; a command that takes 30 s or 2 GB, or says
otherwise, is marked, and the exit status is 1.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SECONDS, GIGABYTES, NEAR = 30.0, 2.0, 1e-9
SIZE = "1GiB"
RUNS = (
    ("allreduce.ring", "switch:ranks=16384", "allreduce.recursive_doubling"),
    ("allreduce.hierarchical_2d", "nodes:nodes=2048,gpus=8", "allreduce.ring"),
)
LARGE_FAILURES = ("allreduce.hierarchical_2d", "nodes:nodes=64,gpus=8")
PAGE = """
import json, sys
from streamlit.testing.v1 import AppTest
from ops.plan import Plan
from ui.plan import picture
page = AppTest.from_file("app.py", default_timeout=300)
page.query_params["algorithm"], page.query_params["machine"], page.query_params["size"] = sys.argv[1:]
page.run()
assert not page.exception and not page.error, (page.exception, page.error)
print(json.dumps({"time_s": picture.run(Plan(*sys.argv[1:3], size=sys.argv[3]), "en").seconds}))
"""


class Ask(NamedTuple):
    """A command, and how its answer states the time of the run at `SIZE`."""

    name: str
    words: list[str]
    time: Callable[[Any], float]


class Took(NamedTuple):
    """What a command took, and the time that it states; none where it failed."""

    seconds: float
    gigabytes: float
    stated: float | None


def asked(algorithm: str, machine: str, other: str, table: Path) -> Iterator[Ask]:
    """Yield every command for one run."""
    one = [algorithm, "--machine", machine, "--size", SIZE, "--json"]
    several = [algorithm, "--machine", machine, "--json"]
    yield Ask("run", ["run", *one], lambda d: float(d["time_s"]))
    yield Ask("why", ["why", *one], lambda d: sum(part["time_s"] for part in d["why"].values()))
    yield Ask("compare", ["compare", other, *one], lambda d: _row(d["runs"], "algorithm", algorithm))
    yield Ask("bandwidth", ["bandwidth", *several, "--sizes", f"64MiB,{SIZE}"], lambda d: _last(d["rows"]))
    yield Ask("scaling", ["scaling", *several, "--sizes", SIZE, "--ranks", "8192,16384"], lambda d: _last(d["rows"]))
    yield Ask("sensitivity", ["sensitivity", *one], lambda d: float(d["time_s"]))
    yield Ask(
        "winners",
        ["winners", algorithm, other, "--machine", machine, "--ranks", "16384", "--sizes", f"64MiB,{SIZE}", "--json"],
        lambda d: float(d["times_s"][0][algorithm][-1]),
    )
    sweep = ["sweep", algorithm, "--machine", machine, "--sizes", SIZE, "-o", str(table), "--json"]
    yield Ask("sweep", sweep, lambda _: _swept(table))


def _row(rows: list[dict[str, Any]], key: str, value: str) -> float:
    return next(float(row["time_s"]) for row in rows if row[key] == value)


def _last(rows: list[dict[str, Any]]) -> float:
    return float(rows[-1]["time_s"])


def _swept(table: Path) -> float:
    import pyarrow.parquet as parquet

    return float(parquet.read_table(table)["time_s"][0].as_py())


def measured(words: list[str], stated: Callable[[Any], float]) -> Took:
    """Run a command in a process of its own and return what it took."""
    begun = time.perf_counter()
    environment = os.environ | {"RINGSIDE_NO_WORKERS": "1"}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(words, cwd=ROOT, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begun
        out.seek(0)
        text = out.read()
    unit = 1 if sys.platform == "darwin" else 1024
    memory = usage.ru_maxrss * unit / 1e9
    return Took(seconds, memory, stated(json.loads(text)) if process.returncode == 0 else None)


def main() -> int:
    """Print the table; return 1 where a line of it does not hold."""
    command, status = [sys.executable, "cli.py"], 0
    with tempfile.TemporaryDirectory() as folder:
        for k, (algorithm, machine, other) in enumerate(RUNS):
            print(f"{algorithm} on {machine}, {SIZE}")
            truth: float | None = None
            asks = [*asked(algorithm, machine, other, Path(folder) / f"{k}.parquet")]
            lines = [(ask.name, [*command, *ask.words], ask.time) for ask in asks]
            page = [sys.executable, "-c", PAGE, algorithm, machine, SIZE]
            lines.append(("main page", page, lambda d: float(d["time_s"])))
            for name, words, stated in lines:
                took = measured(words, stated)
                truth = took.stated if name == "run" else truth
                status |= _printed(name, took, truth)
        algorithm, machine = LARGE_FAILURES
        print(f"{algorithm} on {machine}, 64MiB")
        words = [*command, "failures", algorithm, "--machine", machine, "--size", "64MiB", "--json"]
        status |= _printed("failures", measured(words, lambda d: float(d["time_s"])), None)
    return status


def _printed(name: str, took: Took, truth: float | None) -> int:
    """Print a row; return 1 where it took too much or states another time."""
    agrees = took.stated is not None and (truth is None or abs(took.stated - truth) <= NEAR * truth)
    holds = agrees and took.seconds < SECONDS and took.gigabytes < GIGABYTES
    stated = "failed" if took.stated is None else f"{1e3 * took.stated:.6f} ms"
    print(
        f"  {name:12} {took.seconds:6.1f} s  {took.gigabytes:5.2f} GB  {stated}{'' if holds else '  <-- does not hold'}"
    )
    sys.stdout.flush()
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

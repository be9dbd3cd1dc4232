"""What a run will take, told before it starts: held against schedules that are built and runs that are carried out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import main
from ops import ALGORITHMS
from ops.plan import Plan
from ops.run.budget import Counts, counted, of_schedule
from sim.base.watch import Watch, watched
from sim.errors import InputError
from tests.tables import each_row

ROOT = Path(__file__).parents[2]
TAKEN = """
import json, sys, time
from pathlib import Path
from ops.plan import Plan
def peak():  # `getrusage` would count what the process that started this one has had, too
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
plan = Plan(algorithm=sys.argv[1], machine=sys.argv[2], size="64MiB")
Plan(algorithm="allreduce.ring", machine="switch:ranks=80").run()  # kernels are loaded
before, begun = peak(), time.process_time()
run = plan.run(written=1e18)
print(json.dumps([peak() - before, time.process_time() - begun, dict(run.real)]))
"""


def counts(entry, n):
    """What smaller schedules tell of one for n ranks, and what it is; nothing where there is none for n."""
    try:
        values = entry.settle(n)
    except InputError:
        return None
    return counted(entry, n, values), Counts.of(entry.schedule(n))


@pytest.mark.slow
@each_row("n", [60, 64], over=["n"])
def test_smaller_schedules_tell_how_large_every_algorithm_is(n):
    both = {name: told for name, entry in ALGORITHMS.items() if (told := counts(entry, n)) is not None}
    assert len(both) > 80
    wrong = {
        name: (guess, real)
        for name, (guess, real) in both.items()
        if guess is None or any(not real[k] / 4 <= guess[k] <= 4 * real[k] for k in range(3))
    }
    assert wrong == {}


def test_a_ring_is_counted_exactly():
    ring = ALGORITHMS["allreduce.ring"]
    exact = (2 * 1023 * 1024, 2 * 1023 * 1024, 1024 * 1024)
    assert counted(ring, 1024, ring.settle(1024)) == pytest.approx(exact, rel=0.01)


@pytest.mark.slow
@each_row(
    "algorithm, machine",
    [
        ("allreduce.ring", "switch:ranks=700"),
        ("alltoall.linear", "nodes:nodes=64"),
        ("allreduce.rabenseifner", "switch:ranks=1024"),
    ],
    over=["algorithm", "machine"],
)
def test_a_run_takes_about_what_was_told(algorithm, machine):
    line = [sys.executable, "-c", TAKEN, algorithm, machine]
    size, seconds, told = json.loads(subprocess.run(line, cwd=ROOT, capture_output=True, check=True).stdout)
    assert told["estimated_bytes"] / 4 < size < told["estimated_bytes"] * 4
    assert told["estimated_s"] / 10 < seconds < told["estimated_s"] * 10


@each_row(
    "words, lifts",
    [
        (
            "run allreduce.ring --unfolded --machine switch:ranks=8192 --size 64MiB --max-memory 8GB",
            "--max-memory 60GB",
        ),
        ("run alltoall.linear --machine switch:ranks=2048 --size 1GiB --max-memory 500MB", "--max-memory"),
        ("run gloo.allreduce --machine switch:ranks=16384 --size 1GiB --max-memory 8GB", "--max-memory"),
        ("run allreduce.ring --machine switch:ranks=64 --size 64MiB --max-memory 1MB", "--max-memory"),
        ("run allreduce.ring --unfolded --machine switch:ranks=2048 --size 64MiB --max-seconds 2", "--max-seconds"),
        ("topology --machine switch:ranks=16384 --max-memory 8GB", "--max-memory"),
        ("nccl-choice --machine nodes:nodes=2048 --size 1MiB --max-memory 8GB", "--max-memory"),
        (
            "run allreduce.ring --machine switch:ranks=8 --size 16GiB"
            " --fault background:src=GPU0,dst=GPU1,size=1,streams=4",
            "--max-seconds",
        ),
        (
            "run allreduce.ring --machine switch:ranks=8 --size 1MiB --fault straggler:rank=1,late=1000s"
            " --fault background:src=GPU0,dst=GPU1",
            "--max-memory",
        ),
        (
            "sweep allreduce.ring --machine switch:ranks=8 --sizes 1..1PiB --ranks 2,3,4,5,6,7,8 --vary"
            f" latency={','.join(f'{k}us' for k in range(1, 400))} -o nowhere.parquet --max-memory 500MB",
            "--max-memory",
        ),
        ("run allreduce.ring --machine switch:ranks=8 --size 1MiB --max-seconds 0", "give more than zero"),
        ("run allreduce.ring --machine switch:ranks=8 --size 1MiB --max-jobs -1", "give more than zero"),
    ],
)
def test_more_than_a_run_may_take_is_one_sentence_with_the_flag_that_lifts_it(words, lifts, capsys):
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert lifts in said.err


def test_a_generator_without_an_end_is_stopped(tmp_path, capsys):
    file = tmp_path / "endless.py"
    file.write_text(
        "from ops import algorithm\nfrom ops.collectives import COLLECTIVES\nfrom sim.schedule import copy\n\n\n"
        "@algorithm(COLLECTIVES['allreduce'], pieces=lambda n: 1)\ndef endless(n):\n    while True:\n"
        "        yield copy(0, 1, 0)\n"
    )
    words = f"run --schedule {file} --machine switch:ranks=4 --size 1MiB --max-memory 20MB"
    assert main(words.split()) == 2
    assert "transfers so far, more than fit into 20 MB of memory" in capsys.readouterr().err


def test_a_run_tells_what_it_was_expected_to_take(capsys):
    assert main(["run", "allreduce.ring", "--machine", "switch:ranks=8", "--size", "1MiB", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["estimated_bytes"] > 0
    assert 0 < said["estimated_s"] < 1


def test_a_long_run_is_announced_before_it_starts():
    told = []
    with watched(Watch(announce=told.append)):
        prepared = Plan(machine="switch:ranks=16").prepare()
        for _ in range(2):
            prepared.run()
    assert told == [of_schedule(prepared.work.schedule, prepared.topology.hops(16))]


def test_limits_of_the_environment_hold_too(monkeypatch, capsys):
    monkeypatch.setenv("RINGSIDE_MAX_MEMORY", "1MB")
    assert main(["run", "allreduce.ring", "--machine", "switch:ranks=64", "--size", "64MiB"]) == 2
    assert "may take 1 MB" in capsys.readouterr().err

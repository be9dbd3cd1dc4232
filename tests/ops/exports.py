"""The whole registry in every format that is written, held to what the formats promise: a table of what became of it.

`python -m tests.ops.exports [FORMAT …] [RANKS …] [PART OF A NAME …] [--jobs N] [--log FILE]`: each algorithm is
written, read again, proved free of races and timed; or it is refused for the limit it breaks. What is neither is a
failure, told with its reason, and the command ends with 1. With a log, started again, it goes on where it stopped.
"""

import argparse
import hashlib
import re
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

import pytest

from ops import ALGORITHMS
from ops.formats import read_schedule, write_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.ops import test_msccl_xml_writer, test_mscclpp_writer

ROOT = Path(__file__).parents[2]
SIZE = 1 << 20
UNAWAITED = re.compile(r"^/\* ([\d,]+) times? a message")
ENTRY = re.compile(r"(\S+) (\d+) (\S+): (.*) \([\d.]+ s, \d+ MB\)")


def as_goal(name, n):
    """As fast as the schedule, or the file says that its messages do not wait for their receivers' memory."""
    try:
        schedule = ALGORITHMS[name].schedule(n)
    except InputError:
        return "not for this number of ranks"
    try:
        text = write_schedule(schedule, "goal", size=SIZE)
    except InputError as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert "cannot be written as GOAL: " in reason
        return f"refused: {reason.split(': ', 1)[1]}"
    machine = build(f"switch:ranks={n}")
    before = simulate(machine, schedule, size=SIZE).time
    after = simulate(machine, read_schedule(text, name)).time
    unawaited = UNAWAITED.match(text)
    if not unawaited:
        assert after == pytest.approx(before, rel=1e-3), "bytes are whole in GOAL"
        return "equal time"
    return f"does not wait for the receiver's memory {unawaited[1]} times, and says so"


HELD = {
    "msccl_xml": test_msccl_xml_writer.held_to_its_promise,
    "mscclpp_json": test_mscclpp_writer.held_to_its_promise,
    "goal": as_goal,
}


def became(format, n, name):
    """What became of an algorithm, in words, with the seconds it took and the largest this process has been."""
    began = time.process_time()
    try:
        outcome = HELD[format](name, n)
    except (AssertionError, InputError) as failure:
        outcome = f"FAILED: {' '.join(str(failure).split())[:300]}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return f"{format} {n} {name}: {outcome} ({time.process_time() - began:.1f} s, {peak} MB)"


def sources():
    """A fingerprint of all that outcomes depend on: a log of other sources tells nothing of these."""
    digest = hashlib.sha256()
    for folder in ("sim", "ops", "tests/ops"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kept(log):
    """The outcomes that a log holds, by format, ranks and name, but for failures."""
    first, *lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else [""]
    if first != f"sources {sources()}":
        log.write_text(f"sources {sources()}\n", encoding="utf-8")
        return {}
    entries = map(ENTRY.fullmatch, lines)
    return {(e[1], int(e[2]), e[3]): e[4] for e in entries if e and not e[4].startswith("FAILED")}


def outcomes(work, jobs, log):
    """The outcome of each (format, ranks, name), as they come."""
    done = kept(log) if log else {}
    yield from ((key, done[key]) for key in work if key in done)
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(became, *key) for key in work if key not in done]):
            line = future.result()
            print(line, flush=True)
            if log:
                with log.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
            entry = ENTRY.fullmatch(line)
            yield (entry[1], int(entry[2]), entry[3]), entry[4]


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path)
    args = parser.parse_args(words)
    formats = [word for word in args.words if word in HELD] or [*HELD]
    ranks = [int(word) for word in args.words if word.isdecimal()] or [4, 8, 16, 32, 64]
    parts = [word for word in args.words if word not in HELD and not word.isdecimal()]
    names = [name for name in ALGORITHMS if not parts or any(part in name for part in parts)]
    began, counts = time.monotonic(), {key: Counter() for key in product(formats, ranks)}
    for (format, n, _), outcome in outcomes([*product(formats, ranks, names)], args.jobs, args.log):
        counts[format, n][outcome.split(":")[0].split(" memory")[0]] += 1
    for (format, n), count in counts.items():
        print(f"{format} {n}: {dict(count)}")
    failed = sum(count["FAILED"] for count in counts.values())
    print(f"{sum(map(Counter.total, counts.values()))} outcomes, {failed} failed, in {time.monotonic() - began:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

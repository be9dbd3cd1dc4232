"""The whole registry in every format that is written, held to what the formats promise: a table of what became of it.

`python -m tests.ops.exports [FORMAT …] [RANKS …] [PART OF A NAME …]`: each algorithm is written, read again, proved
free of races and timed; or it is refused for the limit it breaks. What is neither is a failure, told with its reason.
"""

import re
import sys
import time
from collections import Counter

import pytest

from ops import ALGORITHMS
from ops.formats import read_schedule, write_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.ops import test_msccl_xml_writer, test_mscclpp_writer

SIZE = 1 << 20
UNAWAITED = re.compile(r"^/\* ([\d,]+) times? a message")


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


def became(format, name, n):
    """What became of an algorithm, in words."""
    try:
        return HELD[format](name, n)
    except (AssertionError, InputError) as failure:
        return f"FAILED: {' '.join(str(failure).split())[:300]}"


def main(words):
    formats = [word for word in words if word in HELD] or [*HELD]
    ranks = [int(word) for word in words if word.isdecimal()] or [4, 8, 16, 32, 64]
    parts = [word for word in words if word not in HELD and not word.isdecimal()]
    for format in formats:
        for n in ranks:
            counts = Counter()
            for name in ALGORITHMS:
                if parts and not any(part in name for part in parts):
                    continue
                began = time.process_time()
                outcome = became(format, name, n)
                counts[outcome.split(":")[0].split(" memory")[0]] += 1
                print(f"{format} {n} {name}: {outcome} ({time.process_time() - began:.1f} s)", flush=True)
            print(f"{format} {n}: {dict(counts)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

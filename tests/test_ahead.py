"""The kernel compiled ahead of time is that of the sources; `--long` compiles it again."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from package import ahead, webassembly
from sim import engine
from sim.errors import InputError, StalledError
from sim.faults.kinds import faults
from sim.machines import build

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ("switch:ranks=8", "dual_socket_pcie", "dgx_h100:hosts=2", "fat_tree")
FAULTS = (
    "",
    "slow_link:src={0},dst={1},share=0.3,start=3us,end=60us",
    "dead_link:src={0},dst={1},start=5us,end=90us",
    "dead_link:src={0},dst={1},start=5us,reroute=yes",
    "straggler:rank=1,late=20us,slower=1.5",
    "jitter:mean=1us,seed=3",
    "background:src={0},dst={1},size=64KiB,streams=2,end=200us",
)
SIZES = (1 << 20, (1 << 26) + 7, 12345)
FIELDS = ("ready", "left", "start", "end", "cause", "route", "bytes")
DESCRIPTION = json.loads((ahead.FOLDER / "kernel.json").read_text())


def test_the_artefact_is_made_of_these_sources():
    assert DESCRIPTION["sources"] == ahead.fingerprint(), "run `python -m package.ahead`"


def test_the_artefact_is_made_by_the_pinned_compiler():
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    assert f"numba=={DESCRIPTION['numba']}" in lines


def test_the_description_is_that_of_the_sources():
    assert json.loads(json.dumps(ahead.describe(DESCRIPTION["numba"]))) == DESCRIPTION


def test_comments_and_docstrings_do_not_count():
    source = 'def f(x):\n    """Double."""\n    return x * 2\n'
    words = "".join(ahead.words_of(source))
    assert words == "deff(x):returnx*2"
    assert "".join(ahead.words_of('"""All."""\n\n\n# A function.\ndef f(x):\n    return x * 2  # twice\n')) == words
    assert "".join(ahead.words_of(source.replace("2", "3"))) != words


def test_numbers_are_written_as_webassembly_has_them():
    for value in (0, 63, 64, 127, 128, 300, 1 << 20):
        written = webassembly._number(value)
        assert webassembly.Cursor(written).number() == value
    assert (webassembly._signed(63), webassembly._signed(64)) == (b"\x3f", b"\xc0\x00")


LACKING = """
import math
from package import ahead
ahead.prepare()
import numba
twin = numba.njit(_nrt=False, error_model="numpy")(lambda x, values: math.exp(x) + values[0])
code = ahead.code_of("f", twin, [numba.float64, numba.float64[::1]], "float64")
ahead.linked({"f": code})
"""


@pytest.mark.slow
def test_a_function_that_calls_others_is_named_by_the_build():
    done = subprocess.run([sys.executable, "-c", LACKING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "InputError: f cannot be compiled ahead of time, as it calls exp: do without" in done.stderr


@pytest.mark.long
def test_the_same_bytes_are_made_again(tmp_path):
    for name in ahead.NAMES:
        (tmp_path / name).write_bytes((ahead.FOLDER / name).read_bytes())
    command = [sys.executable, "-m", "package.ahead", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "identical\n"


def outcome(kernel, topology, schedule, size, *, blocks=None, named=(), **more):
    """All that a run gives, or why it ends early."""
    try:
        cluster = engine.Cluster(topology, perturbations=faults(named, topology), history=more.pop("history"))
        cluster.kernel = kernel
        trace = cluster.run(cluster.start(schedule, size, blocks=blocks, **more))
    except (InputError, StalledError) as error:
        return str(error)
    history = [] if trace.history is None else [np.asarray(it).tobytes() for it in trace.history]
    return [getattr(trace, name).tobytes() for name in FIELDS] + history + [trace.ended, trace.instants]


@pytest.mark.long
@pytest.mark.parametrize("spec", MACHINES)
def test_every_algorithm_runs_alike_by_wasmtime(spec):
    from tests.wasmtime_kernel import WasmtimeKernel

    machine, wasmtime, numba, ran = build(spec), WasmtimeKernel(), engine._ready(), 0
    n = machine.taking_part(len(machine.ranks))
    ends = machine.links[0].src, machine.links[0].dst
    for k, (name, algorithm) in enumerate(sorted(ALGORITHMS.items())):
        try:
            schedule = algorithm.schedule(n)
        except InputError:
            continue
        for fault in (FAULTS[0], FAULTS[1 + k % (len(FAULTS) - 1)]):
            uneven = name.split(".")[0].endswith("v") and k % 2
            more = {
                "blocks": SIZES[1] / n**2 * np.random.default_rng(k).random(schedule.promise.blocks)
                if uneven
                else None,
                "named": [fault.format(*ends)] if fault else [],
                "history": k % 2 == 0,
                "lockstep": k % 5 == 1,
            }
            given, expected = (outcome(it, machine, schedule, SIZES[k % 3], **more) for it in (wasmtime, numba))
            assert given == expected, (name, fault)
            ran += not isinstance(given, str)
    assert ran > len(ALGORITHMS)
    assert wasmtime.calls > ran

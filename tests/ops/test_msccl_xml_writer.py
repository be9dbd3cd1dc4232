"""Schedules written for MSCCL: proved by the interpreter, and of the same time when they are read again."""

import re
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.ops.msccl import interpret

DATA = Path(__file__).parents[1] / "data" / "msccl-xml"
REGISTRY = [name for name in ALGORITHMS if not name.startswith("barrier")]
KNOWN = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "gather", "scatter")


def times(trace):
    """Every message with its ends, its bytes and its times."""
    s = trace.schedule
    away = np.nonzero(s.src != s.dst)[0]
    return sorted(
        (int(s.src[i]), int(s.dst[i]), int(s.op[i]), round(trace.bytes[i]), trace.start[i], trace.end[i]) for i in away
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("name", REGISTRY)
def test_what_is_written_takes_the_same_time_when_read_again(name, n):
    algorithm = ALGORITHMS[name]
    try:
        schedule = algorithm.schedule(n)
    except InputError:
        pytest.skip("not for this number of ranks")
    if schedule.switches or (np.diff(schedule.moves) == 0).any():
        with pytest.raises(InputError, match="cannot be written as MSCCL XML: it"):
            write_schedule(schedule, "msccl_xml")
        return
    text = write_schedule(schedule, "msccl_xml")
    again = read_schedule(text, name)
    known = schedule.promise.name in KNOWN
    assert check_schedule(text, name).verdict == ("ok" if known else "unchecked")
    for machine in (f"switch:ranks={n},gamma=1e-11", f"nodes:nodes=2,gpus={n // 2}"):
        before, after = (times(simulate(build(machine), s, size=1 << 20)) for s in (schedule, again))
        assert [row[:4] for row in before] == [row[:4] for row in after]
        np.testing.assert_allclose([r[4:] for r in before], [r[4:] for r in after], rtol=1e-12, atol=1e-18)
    plain = re.sub(r' (at="\d+"|joined="1")', "", text)
    if known:
        assert check_schedule(plain, "for other runtimes", slots=8).verdict == interpret(plain) == "ok"


@pytest.mark.parametrize("stem", ["ncv4-ag_hier_4_LL", "ncv4-ar_hier_12_Simple", "ncv4-ar_tree_12_LL", "ndv4-a2a2ll"])
def test_what_was_read_can_be_written_and_read_again(stem):
    schedule = read_schedule((DATA / f"{stem}.xml").read_text(), stem)
    text = write_schedule(schedule, "msccl_xml")
    assert check_schedule(text, stem).verdict == "ok"
    machine = build(f"switch:ranks={schedule.n},gamma=1e-11")
    before, after = (times(simulate(machine, s, size=1 << 20)) for s in (schedule, read_schedule(text, stem)))
    assert [row[:4] for row in before] == [row[:4] for row in after]
    np.testing.assert_allclose([r[4:] for r in before], [r[4:] for r in after], rtol=1e-12)


def test_names_survive_markup():
    schedule = ALGORITHMS["allreduce.ring"].schedule(3)
    object.__setattr__(schedule, "name", "a<b&\"c'>")
    assert read_schedule(write_schedule(schedule, "msccl_xml"), "x").name == schedule.name


def test_barriers_and_switches_are_refused_with_the_reason():
    with pytest.raises(InputError, match=r"barrier\.dissemination cannot be written as MSCCL XML: it moves no data"):
        write_schedule(ALGORITHMS["barrier.dissemination"].schedule(4), "msccl_xml")

"""One outcome, whichever strategy simulated it: all that is asked of a run is that of the run written out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.plan import Plan
from ops.run.strategies import STRATEGIES, Setup
from ops.run.strategies import classes as classes_file
from ops.run.strategies import orbits as orbits_file
from ops.run.work import registered
from sim.errors import InputError
from sim.machines import build
from sim.symmetry.classes import colours
from sim.trace.breakdown import breakdown
from sim.trace.metrics import bottleneck

MACHINES = (
    *("switch:ranks=16", "switch:ranks=12,overhead=0.3us,gamma=0.01ns", "ring:ranks=9,directions=1", "torus:dims=4x4"),
    *("nodes:nodes=4,gpus=4", "nodes:nodes=3,gpus=4,nics=2", "dual_socket_pcie", "dgx1v", "dgx_h100:hosts=2"),
    *("fat_tree:oversubscription=3,pods=2", "dragonfly", "mesh:ranks=8", "torus:dims=2x2x2"),
)
FOLDING = sorted(name for name, entry in ALGORITHMS.items() if entry.symmetry)
SIZE = 1 << 24
PARTS = 1e-9


@pytest.fixture(autouse=True)
def small_works_too(monkeypatch):
    """Have strategies try works of every size."""
    monkeypatch.setattr(orbits_file, "FEW", 0)
    monkeypatch.setattr(classes_file, "FEW", 0)
    monkeypatch.setattr(classes_file, "WRITTEN", 0)
    monkeypatch.setattr(colours, "FEW", 0)


@st.composite
def setups(draw):
    names = draw(st.sampled_from((FOLDING, sorted(ALGORITHMS))))
    name, machine = draw(st.sampled_from(names)), draw(st.sampled_from(MACHINES))
    topology, entry = build(machine), ALGORITHMS[name]
    n = draw(st.integers(2, topology.n))
    n = 1 << (n.bit_length() - 1) if draw(st.booleans()) else n
    fault = []
    for _ in range(draw(st.integers(0, 2))):
        link = draw(st.sampled_from(topology.links))
        share, start, both = (draw(st.sampled_from(some)) for some in ((0.5, 0.3), (0, 7, 300), ("yes", "no")))
        end = draw(st.sampled_from(("", f",end={start + 200}us")))
        fault.append(f"slow_link:src={link.src},dst={link.dst},share={share},start={start}us,both={both}{end}")
    if draw(st.booleans()):
        fault.append(f"straggler:rank={draw(st.integers(0, n - 1))},slower=3")
    late = draw(st.lists(st.sampled_from((3.1, 71.3, 2003.7)), max_size=1))
    fault += [f"straggler:rank={draw(st.integers(0, n - 1))},late={seconds}us" for seconds in late]
    root = draw(st.integers(0, n - 1)) if entry.collective.rooted else 0
    size = SIZE if entry.collective.sized else 0
    return Setup(topology, (entry, n, root), size, lockstep=draw(st.booleans()), fault=fault)


def runs_of(setup):
    """The run by every strategy that is exact for a setup, by name; the written one is always there."""
    entry, n, root = setup.work
    setup = replace(setup, work=registered(entry, n, root=root, topology=setup.topology))
    found = {}
    for name, strategy in STRATEGIES.items():
        one = replace(setup)
        if strategy.cost(one) is not None and (simulated := strategy.run(one)) is not None:
            found[name] = simulated
    return setup, found


@given(setups())
def test_every_strategy_is_the_run_that_is_written_out(setup):
    try:
        setup, found = runs_of(setup)
    except InputError:
        return  # a number of ranks it cannot do
    whole = found.pop("written")
    for simulated in found.values():
        ours, theirs = simulated.timing, whole.timing
        assert ours.verdict == theirs.verdict
        assert ours.time == pytest.approx(theirs.time, rel=1e-12)
        assert (ours.ranks, ours.messages, ours.steps) == (theirs.ranks, theirs.messages, theirs.steps)
        assert ours.simulated <= theirs.simulated
        assert simulated.bound == pytest.approx(whole.bound, rel=1e-9)
        np.testing.assert_allclose(ours.link_bytes, theirs.link_bytes, rtol=1e-9)
        assert len(ours.hits.fault) == len(theirs.hits.fault)
        use, fullest = bottleneck(ours), bottleneck(theirs)
        assert (use is None) == (fullest is None)
        assert use is None or use.share == pytest.approx(fullest.share, rel=1e-9)
        _explains(ours, theirs)
        _has_rows(ours, theirs)


def _explains(ours, theirs):
    """The critical path is as long as the run, and what its seconds were spent on adds up to it."""
    why = breakdown(ours.path())
    assert sum(why.parts.values()) == pytest.approx(theirs.time, rel=1e-9)
    path = ours.path()
    ends, starts = path.arrived[why.path[:-1]], path.left[why.path[1:]]
    assert (starts >= ends * (1 - 1e-9) - 1e-15).all() or (path.left > path.ready).any()
    assert why.parts["waiting"] <= breakdown(theirs.path()).parts["waiting"] + PARTS * theirs.time + _late(theirs)


def _late(result):
    return max(result.hits.seconds, default=0.0) if result.faults else 0.0


def _has_rows(ours, theirs):
    """The transfers of some ranks are those of the run that is written out, in its order or another."""
    ranks = np.unique(np.array([0, ours.ranks // 2, ours.ranks - 1], np.int32))
    mine, written = ours.rows.of(ranks), theirs.rows.of(ranks)
    for column in ("ready", "left", "start", "end", "bytes"):
        first, second = getattr(mine, column), getattr(written, column)
        assert len(first) == len(second)
        np.testing.assert_allclose(np.sort(first), np.sort(second), rtol=1e-12, atol=1e-12 * theirs.time)
    assert set(mine.schedule.src.tolist()) == set(written.schedule.src.tolist())
    pair = [np.sort(t.schedule.src.astype(int) * 4096 + t.schedule.dst) for t in (mine, written)]
    np.testing.assert_array_equal(*pair)


def test_the_cheapest_exact_strategy_is_taken():
    ring = Plan(algorithm="allreduce.ring", machine="switch:ranks=16", size="1MiB")
    assert ring.run(written=0).strategy == "symmetric"
    assert ring.run().strategy == "written"
    assert replace(ring, fault="slow_link:src=GPU0,dst=SW").run(written=0).strategy == "orbits"
    tree = Plan(algorithm="allreduce.double_binary_tree", machine="switch:ranks=16", size="1MiB")
    assert tree.run(written=0).strategy == "classes"
    assert replace(ring, fault="jitter").run(written=0).strategy == "written"


def test_rows_that_were_not_written_are_asked_for_by_ranks():
    run = Plan(algorithm="allreduce.ring", machine="switch:ranks=16", size="1MiB").run(written=0)
    with pytest.raises(InputError, match="480 messages were simulated as 30, not one by one"):
        assert run.trace
    assert set(run.rows([3]).schedule.src.tolist()) == {2, 3}
    with pytest.raises(InputError, match=r"has ranks 0\.\.15, not 16"):
        run.rows([16])

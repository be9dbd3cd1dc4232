"""Ranks that are alike on a machine that tells others apart: one of each orbit gives the run that is written out."""

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.plan import Plan
from ops.run import Work, execute
from ops.run.work import settled
from sim.errors import StalledError
from sim.faults.kinds import faults
from sim.machines import build
from sim.symmetry import orbits
from sim.symmetry.orbit_run import simulate_apart
from sim.symmetry.orbits import orbits_of
from sim.symmetry.proof import prove
from tests.tables import each_row

FOLDING = sorted(name for name, entry in ALGORITHMS.items() if entry.symmetry)
SIZE = 1 << 24
SLOW_NIC = "slow_link:src=H0.NIC0,dst=SPINE"


def alike_and_whole(name, machine, n, fault=()):
    """A run of one rank of each orbit and the same run written out; nothing where no ranks are alike."""
    entry, topology = ALGORITHMS[name], build(machine)
    values, size = settled(entry, n, 0, topology, {}), SIZE if entry.collective.sized else 0
    part, perturbations = entry.folded(n, **values), faults(fault, topology)
    found = part and orbits_of(topology, part, perturbations)
    if not found:
        return None
    trace = simulate_apart(topology, part, prove(part), size, perturbations=perturbations, orbits=found)
    written = Work(entry.schedule(n, **values), entry.collective, entry, values)
    return trace, execute(topology, written, size, fault=fault)


@each_row(
    "name, machine, fault, copies",
    [
        ("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=6", [SLOW_NIC], 6),
        ("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=6,nics=2", [SLOW_NIC], 3),
        ("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=6", ["slow_link:src=H0.GPU2,dst=H0.SW"], 1),
        ("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=6", [SLOW_NIC + ",both=no", "straggler:rank=2,slower=2"], 1),
        ("allreduce.ring", "nodes:nodes=4,gpus=6", [], 4),
        ("allreduce.ring", "nodes:nodes=4,gpus=6", [SLOW_NIC, SLOW_NIC.replace("H0", "H2")], 1),
        ("allreduce.ring", "nodes:nodes=4,gpus=6", ["half_duplex:src=H0.NIC0,dst=SPINE"], 1),
        ("allreduce.ring", "nodes:nodes=4,gpus=6", [SLOW_NIC], 1),
        ("allreduce.ring", "nodes:nodes=4,gpus=6", ["dead_link:src=H0.NIC0,dst=SPINE,end=1us,reroute=yes"], 1),
        ("allreduce.recursive_doubling", "nodes:nodes=4,gpus=4", [SLOW_NIC], 4),
    ],
)
def test_so_many_ranks_are_alike(name, machine, fault, copies):
    entry, topology = ALGORITHMS[name], build(machine)
    part = entry.folded(topology.n, **settled(entry, topology.n, 0, topology, {}))
    found = orbits_of(topology, part, faults(fault, topology))
    assert (found.copies if found else 1) == copies
    if found:
        np.testing.assert_array_equal(np.sort(found.members.reshape(-1)), np.arange(topology.n))
        for orbit, ranks in enumerate(found.members):
            assert set(found.of[ranks].tolist()) == {orbit}


def test_links_that_differ_and_have_the_same_sum_are_not_taken_for_alike(monkeypatch):
    topology = build("nodes:nodes=4,gpus=6")
    part = ALGORITHMS["allreduce.ring"].folded(24)
    monkeypatch.setattr(orbits, "_scrambled", np.zeros_like)
    assert orbits_of(topology, part) is None


def test_not_more_is_looked_at_than_is_worth_it(monkeypatch):
    topology = build("nodes:nodes=4,gpus=6")
    part = ALGORITHMS["allreduce.ring"].folded(24)
    for least, found in ((1, False), (200, False), (1 << 25, True)):
        monkeypatch.setattr(orbits, "LOOKED_AT", least)
        assert bool(orbits_of(topology, part)) == found


def test_a_run_that_stands_names_all_who_wait_and_the_dead_link():
    with pytest.raises(StalledError) as error:
        alike_and_whole("allreduce.hierarchical_2d", "nodes:nodes=3,gpus=3", 9, ["dead_link:src=H0.NIC0,dst=SPINE"])
    said = str(error.value)
    assert "hierarchical_2d can never finish: rank 0 -> rank 3, rank 1 -> rank 4, rank 2 -> rank 5" in said
    assert said.endswith("dead links: H0.NIC0 -> SPINE, SPINE -> H0.NIC0")


def test_a_command_simulates_one_of_each_orbit(monkeypatch):
    monkeypatch.setattr("ops.run.strategies.orbits.FEW", 0)
    plan = Plan("allreduce.hierarchical_2d", "nodes:nodes=4,gpus=4", size="16MiB", fault=SLOW_NIC)
    outcome, whole = plan.run(written=0), plan.run()
    assert outcome.timing.simulated * 4 == whole.timing.messages
    assert outcome.time == pytest.approx(whole.time, rel=1e-12)

"""No collective moves more through a link than the link has, whatever the pace it was fitted to."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.libraries.nccl.choice import choose, pace_of, work_of
from ops.libraries.nccl.closed_form import closed_form
from ops.libraries.nccl.variables import Variables
from ops.measured.accuracy import published
from ops.measured.comparison import compare_table
from ops.measured.files import place, read_file
from ops.plan import Plan
from ops.plan.library_choice import collectives_of
from ops.run import execute
from sim.errors import InputError
from sim.machines import MACHINES, build
from sim.machines.through_memory import through_memory
from sim.trace.metrics import link_use, lower_bound
from sim.units import GiB, MiB
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data"
TABLES = [
    pytest.param(path, marks=pytest.mark.long if "64n" in path.name else ())
    for path in (*DATA.glob("nccl-tests/*.txt"), *DATA.glob("named-algorithms/*.csv"), *DATA.glob("osu/*-copy.txt"))
]
HOSTS = [f"{name}:hosts=2" for name in MACHINES if "hosts" in MACHINES.parameters(name)]
PLAIN = {"broadcast": "broadcast.linear", "sendrecv": "sendrecv.direct", "alltoall": "alltoall.linear"}
"""Algorithms for collectives that have no ring."""


@cache
def least_seconds(spec: str, ranks: int, collective: str) -> float:
    """What the links allow for GiB of a collective, whatever its schedule and whatever switches add."""
    name, _, memory = spec.partition(" through ")
    machine = through_memory(build(name)) if memory else build(name)
    schedule = ALGORITHMS[PLAIN.get(collective, f"{collective}.ring")].schedule(ranks)
    weights = np.full(schedule.promise.blocks, GiB * schedule.unit_share)
    return lower_bound(machine, schedule.promise, weights, np.array(machine.ranks[:ranks]), in_switch=True)


def test_no_row_is_faster_than_its_links():
    """Of every table, measured on any number of hosts."""
    for run in published():
        least = least_seconds(run.machine, run.ranks, run.collective)
        assert least > 0
        for size, seconds in zip(run.sizes, run.models["simulated"], strict=True):
            assert seconds >= 0.999 * least * size / GiB, (run.name, size)  # kept to four digits


@pytest.mark.slow
@settings(max_examples=12, phases=[Phase.generate])
@given(
    st.sampled_from(["dgx_a100", "dgx_h100", "dgx_b200", "gh200_quad", "mi300x", "l40s", "dgx1v", "aws_p4d"]),
    st.integers(1, 2),
    st.integers(2, 4),
    st.sampled_from(["allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall"]),
    st.sampled_from([32 * MiB, 200 * MiB]),
    st.sampled_from(["2.8", "2.18", "2.28.7"]),
)
def test_no_run_of_nccl_is_faster_than_its_links(name, hosts, each, collective, size, release):
    """On some GPUs of some hosts, by any release: what a generation and a network cost never makes a link wider."""
    machine = build(f"{name}:hosts={hosts},per_host={each}")
    work = work_of(machine, choose(machine, collective, size, options=Variables(nccl=release)))
    outcome = execute(machine, work, size)
    schedule = ALGORITHMS[PLAIN.get(collective, f"{collective}.ring")].schedule(machine.n)
    weights = np.full(schedule.promise.blocks, size * schedule.unit_share)
    least = lower_bound(machine, schedule.promise, weights, np.array(machine.ranks), in_switch=True)
    assert outcome.time >= least > 0


@pytest.mark.slow
@each_row("path", TABLES, days=4)
def test_no_measured_row_is_simulated_faster_than_its_links(path):
    """Pairs of OSU's at the rate of the narrowest link between them."""
    for table in read_file(path):
        topology, placed, _ = place(table)
        rows, _ = compare_table(topology, placed)
        assert rows
        for row in rows:
            if row.collective == "bandwidth":
                first, second = (topology.devices[topology.ranks[int(rank)]].name for rank in row.way.split(" to "))
                least = GiB / min(link.bandwidth for link in topology.path(first, second))
            else:
                least = least_seconds(row.machine, row.ranks, row.collective)
            assert row.simulated >= least * row.size / GiB * (1 - 1e-9) > 0, row


@pytest.mark.slow
@each_row("collective, spec", product(COLLECTIVES, [*MACHINES, *HOSTS]), over=["spec"])
def test_no_link_of_any_machine_carries_more_than_it_can(collective, spec):
    """By NCCL's choice where it has the collective, else by every algorithm that takes so many ranks."""
    ran = 0
    every = [name for name in ALGORITHMS if name.startswith(f"{collective}.")]
    for name in [f"nccl.{collective}"] if collective in collectives_of("nccl") else every:
        for size in ("64MiB", "1GiB"):
            try:
                outcome = Plan(algorithm=name, machine=spec, size=size).run()
            except InputError:  # not for so many ranks, or for a switch that adds
                continue
            ran += 1
            assert outcome.time >= outcome.bound * (1 - 1e-9), (name, size)
            assert link_use(outcome.trace).max(initial=0) <= 1 + 1e-9, (name, size)
    assert ran >= 2


@pytest.mark.parametrize("spec", ["dgx_a100", "dgx_h100", "dgx_b200"])
def test_neither_does_the_sum_that_fits_use(spec):
    """A ring's rank sends (n-1)/n of the size twice or once; an adding switch is sent it all, and 1/n beside it."""
    machine = build(spec)
    rate = max(link.bandwidth for link in machine.links if link.kind == "NVL")
    for gpus in (2, 4, 8):
        for collective in ("allreduce", "allgather", "reduce_scatter", "alltoall"):
            for algorithm in ("Ring", "NVLS") if collective == "allreduce" and spec != "dgx_a100" else ("",):
                options = Variables(algorithm=algorithm)
                choice = choose(machine, collective, GiB, gpus, options=options)
                time = closed_form(machine, choice, pace_of(machine))
                if time is None:
                    continue
                times = 2 if collective == "allreduce" and choice.chosen.algorithm == "Ring" else 1
                assert times * (gpus - 1) / gpus * GiB <= rate * time

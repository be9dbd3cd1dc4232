"""No collective of NCCL moves more through a link than the link has, whatever the pace it was fitted to."""

import pytest

from ops.libraries.nccl.choice import NcclOptions, choose, pace_of, work_of
from ops.libraries.nccl.closed_form import closed_form
from ops.work import carry_out
from sim import metrics
from sim.machines import build
from sim.units import GiB, MiB

MACHINES = (
    *("dgx_a100", "dgx_h100", "dgx_b200", "mi300x", "l40s", "gb200_nvl72:trays=2"),
    *("dgx_h100:hosts=2", "dgx_b200:hosts=2", "aws_p5:hosts=2", "gh200_quad:hosts=2", "gcp_a3_mega:hosts=2"),
)
CALLS = ("allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast")


@pytest.mark.slow
@pytest.mark.parametrize("spec", MACHINES)
def test_no_link_carries_more_than_it_can(spec):
    machine = build(spec)
    for collective in CALLS:
        for size in (MiB, GiB):
            choice = choose(machine, collective, size)
            outcome = carry_out(machine, work_of(machine, choice), size)
            use = metrics.bottleneck(outcome.trace)
            assert use is not None
            assert use.bytes <= machine.links[use.link].bandwidth * outcome.trace.time * (1 + 1e-9)
            assert outcome.trace.time >= outcome.bound * (1 - 1e-9)


@pytest.mark.parametrize("spec", ["dgx_a100", "dgx_h100", "dgx_b200"])
def test_neither_does_the_sum_that_fits_use(spec):
    """A ring's rank sends (n-1)/n of the size twice or once; an adding switch is sent it all, and 1/n beside it."""
    machine = build(spec)
    rate = max(link.bandwidth for link in machine.links if link.kind == "NVL")
    for gpus in (2, 4, 8):
        for collective in ("allreduce", "allgather", "reduce_scatter", "alltoall"):
            for algorithm in ("Ring", "NVLS") if collective == "allreduce" and spec != "dgx_a100" else ("",):
                options = NcclOptions(algorithm=algorithm)
                choice = choose(machine, collective, GiB, gpus, options=options)
                time = closed_form(machine, choice, pace_of(machine))
                if time is None:
                    continue
                times = 2 if collective == "allreduce" and choice.chosen.algorithm == "Ring" else 1
                assert times * (gpus - 1) / gpus * GiB <= rate * time

"""NCCL's tuner against figures worked out by hand from `src/graph/tuning.cc`, to the printed digits."""

import pytest

from ops.libraries.nccl.constants import PROTOCOLS
from ops.libraries.nccl.tuner import Situation, algorithm_bandwidth, candidates, latency
from sim.errors import InputError
from sim.units import KiB, MiB
from tests.tables import each_row

ONE = Situation(n=8, nodes=1, generation="Hopper", channels=16, bw_intra=20, bw_inter=20)
TWO = Situation(n=16, nodes=2, generation="Hopper", channels=16, bw_intra=20, bw_inter=20)
FOUR = Situation(n=32, nodes=4, generation="Hopper", channels=8, bw_intra=24, bw_inter=24)
TABLE = [
    (ONE, "Tree", [(15.2, 38.737), (31.5, 114.489), (64.4, 147.2)]),
    (ONE, "Ring", [(15.0, 80.571), (40.6, 168.229), (56.0, 182.857)]),
    (TWO, "Tree", [(25.2, 19.5), (48.5, 138.0), (92.4, 147.2)]),
    (TWO, "Ring", [(40.0, 20.8), (75.2, 157.013), (131.6, 170.667)]),
    (FOUR, "Tree", [(35.2, 10.2), (65.5, 82.8), (120.4, 88.32)]),
    (FOUR, "Ring", [(78.8, 10.529), (144.4, 91.169), (282.8, 99.097)]),
]


@pytest.mark.parametrize(("at", "algorithm", "printed"), TABLE)
def test_latencies_and_bandwidths_to_the_printed_digits(at, algorithm, printed):
    for p, (wait, rate) in enumerate(printed):
        assert round(latency("allreduce", algorithm, p, at), 1) == wait
        assert round(algorithm_bandwidth("allreduce", algorithm, p, at), 3) == rate


@each_row(
    "at, size, winner, microseconds, digits",
    [
        (ONE, KiB, ("Ring", "LL"), 15.01, 2),
        (ONE, MiB, ("Ring", "LL"), 28.01, 2),
        (ONE, 16 * MiB, ("Ring", "LL128"), 140.33, 2),
        (ONE, 256 * MiB, ("Ring", "Simple"), 1524.0, 1),
        (TWO, KiB, ("Tree", "LL"), 25.26, 2),
        (TWO, MiB, ("Tree", "LL128"), 61.16, 2),
        (TWO, 16 * MiB, ("Ring", "LL128"), 182.05, 2),
        (TWO, 256 * MiB, ("Ring", "Simple"), 1757.1, 1),
        (FOUR, 16 * MiB, ("Tree", "LL128"), 290.64, 2),
        (FOUR, 256 * MiB, ("Ring", "LL128"), 3088.8, 1),
    ],
)
def test_winners_and_their_times(at, size, winner, microseconds, digits):
    best = candidates("allreduce", size, at)[0]
    assert (best.algorithm, best.protocol) == winner
    assert round(best.time * 1e6, digits) == microseconds


def test_allgather_takes_half_the_steps_of_allreduce():
    """7 steps of 3.4 µs after 8.4; 320 GB/s on the bus is 320·8/7 of the total received."""
    assert latency("allgather", "Ring", 2, ONE) == pytest.approx(8.4 + 7 * 3.4)
    assert algorithm_bandwidth("allgather", "Ring", 2, ONE) == pytest.approx(320 * 8 / 7)
    assert latency("reduce_scatter", "Ring", 0, TWO) == pytest.approx(6.6 + 14 * 1.0 + 1 * 2.7)


def test_broadcast_is_a_ring_whose_latency_is_one_hop():
    assert latency("broadcast", "Ring", 2, ONE) == pytest.approx(8.4 + 3.4)
    assert algorithm_bandwidth("broadcast", "Ring", 2, ONE) == pytest.approx(320)
    assert {one.algorithm for one in candidates("broadcast", MiB, ONE)} == {"Ring"}


def test_nvls_needs_its_switch_and_nvls_tree_more_than_a_node():
    """16 channels: 20 · 0.85 · 15/16 · 2 a channel on the bus; 25 µs and no base."""
    has = Situation(n=8, nodes=1, generation="Hopper", channels=16, bw_intra=20, bw_inter=20, nvls_channels=16)
    nvls = next(one for one in candidates("allreduce", MiB, has) if one.algorithm == "NVLS")
    assert nvls.latency == pytest.approx(25e-6)
    assert nvls.bandwidth == pytest.approx(16 * 20 * 0.85 * 15 / 16 * 2 * 8 / 14 * 1e9)
    assert not any(one.algorithm == "NVLSTree" for one in candidates("allreduce", MiB, has))
    assert not any(one.algorithm.startswith("NVLS") for one in candidates("allreduce", MiB, ONE))
    two = Situation(n=16, nodes=2, generation="Hopper", channels=16, bw_intra=20, bw_inter=20, nvls_channels=16)
    tree = next(one for one in candidates("allreduce", MiB, two) if one.algorithm == "NVLSTree")
    assert tree.latency == pytest.approx((25 + 2 * 20.9) * 1e-6)


def test_pat_is_for_one_gpu_per_node():
    alone = Situation(n=8, nodes=8, generation="Hopper", channels=2, bw_intra=24, bw_inter=24)
    pat = next(one for one in candidates("allgather", MiB, alone) if one.algorithm == "PAT")
    assert pat.latency == pytest.approx((8 + 3 * 14 / 3.5 + 2.8 * 8) * 1e-6)
    assert not any(one.algorithm == "PAT" for one in candidates("allgather", MiB, TWO))


def test_ll128_is_for_nvlink():
    pcie = Situation(n=8, nodes=1, generation="Ampere", channels=2, bw_intra=12, bw_inter=12, kind="PCI")
    assert "LL128" not in {one.protocol for one in candidates("allreduce", MiB, pcie)}
    assert {one.protocol for one in candidates("allreduce", MiB, ONE)} == set(PROTOCOLS)


def test_what_nccl_has_not_is_told():
    with pytest.raises(InputError, match="no choice for alltoall"):
        candidates("alltoall", MiB, ONE)

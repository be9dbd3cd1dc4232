"""Networks of single GPUs: torus, TPU slice, fat tree and dragonfly route as their definitions say."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from sim.errors import InputError
from sim.machines import build
from sim.topology.routing import shortest_routes
from tests.sim.test_machines import kinds, latency, narrowest, stations
from tests.tables import each_row


def test_a_torus_goes_the_shorter_way_round_one_dimension_after_the_other():
    machine = build("torus:dims=4x5,bandwidth=1GBps,latency=1us")
    assert len(machine.links) == 4 * 20
    assert stations(machine, "GPU0", "GPU18") == ["GPU4", "GPU3", "GPU18"]  # (0,0) to (3,3)
    assert stations(machine, "GPU0", "GPU10") == ["GPU5", "GPU10"]  # two are as far both ways: upwards
    assert latency(machine, "GPU0", "GPU12") == pytest.approx(4e-6)
    open_ended = build("torus:dims=4x5,wrap=no")
    assert len(open_ended.links) == 2 * (3 * 5 + 4 * 4)
    assert len(stations(open_ended, "GPU0", "GPU19")) == 3 + 4


@each_row("dims", ["2", "1x7", "2x2", "3x5", "4x4x2", "2x3x4"])
@each_row("wrap", ["yes", "no"])
def test_routes_of_a_torus_are_shortest(dims, wrap):
    machine = build(f"torus:dims={dims},wrap={wrap}")
    every = np.arange(machine.n, dtype=np.int32)
    src, dst = np.repeat(every, machine.n), np.tile(every, machine.n)
    own, general = machine.routes(src, dst), shortest_routes(replace(machine, router=None))(src, dst)
    assert np.diff(own.offsets).tolist() == np.diff(general.offsets).tolist()


@pytest.mark.parametrize("dims", ["0x4", "70000", "4x-1", "2x2x2x2x2x2x2", "x", "4y4"])
def test_impossible_tori_are_refused(dims):
    with pytest.raises(InputError, match="torus"):
        build(f"torus:dims={dims}")


def test_a_tpu_slice_takes_the_time_the_scaling_book_works_out():
    """v5e 4x4, no wraparound: 16.8 MB from (0,0) to (3,3) half each way take 188 µs and 6 hops."""
    machine = build("tpu_v5e:dims=4x4")
    assert len(stations(machine, "GPU0", "GPU15")) == 6
    half = 2 * 1024 * 8192 / 2  # half of bf16[8, 128, 8192], by either dimension first
    assert half / narrowest(machine, "GPU0", "GPU15") + latency(machine, "GPU0", "GPU15") == pytest.approx(
        194e-6, rel=0.03
    )
    assert len(stations(build("tpu_v5e:dims=16x16"), "GPU0", "GPU15")) == 1
    assert len(stations(build("tpu_v4:dims=4x4x8"), "GPU0", "GPU7")) == 1
    assert len(stations(build("tpu_v4:dims=2x2x6"), "GPU0", "GPU5")) == 5


def test_a_fat_tree_climbs_no_higher_than_it_must_and_shares_its_uplinks():
    machine = build("fat_tree:pods=2,leaves=2,gpus=4,bandwidth=10GBps,latency=1us,oversubscription=2")
    assert (machine.n, kinds(machine)["NET"]) == (16, 4 + 8 + 8)
    hops = [len(stations(machine, "GPU0", f"GPU{b}")) for b in (1, 4, 8)]
    assert hops == [2, 4, 6]
    assert narrowest(machine, "GPU0", "GPU1") == 10e9
    assert narrowest(machine, "GPU0", "GPU8") == 5e9
    up = [machine.path(f"GPU{r}", f"GPU{8 + r}")[1].dst for r in range(4)]
    assert len(set(up)) == 4  # all four uplinks of the leaf are used
    with pytest.raises(InputError, match=r"oversubscription=0\.5"):
        build("fat_tree:oversubscription=0.5")


def test_a_dragonfly_has_one_link_between_every_two_groups():
    machine = build("dragonfly:groups=5,routers=2,gpus=2,across=7GBps")
    between = Counter()
    for link in machine.links:
        if link.src[0] == link.dst[0] == "R":
            a, b = int(link.src[1:]) // 2, int(link.dst[1:]) // 2
            between[a, b] += a != b
    assert all(between[a, b] == 1 for a in range(5) for b in range(5) if a != b)
    for b in range(1, 20):
        hops = stations(machine, "GPU0", f"GPU{b}")
        assert sum(machine.path("GPU0", f"GPU{b}")[k].bandwidth == 7e9 for k in range(len(hops))) == (b >= 4)
        assert len(hops) <= 5

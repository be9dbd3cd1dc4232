"""No step is shorter than its busiest link needs for what it must carry in one."""

from itertools import product

import hypothesis
import pytest
from hypothesis import strategies as st

from ops.training.compression import COMPRESSIONS
from ops.workloads import WORKLOADS
from sim.errors import InputError
from sim.machines import build
from tests.tables import each_row

MACHINES = (
    "switch:ranks=4,bandwidth=1GBps", "ring:ranks=4,bandwidth=2GBps,directions=1", "nodes:nodes=2,gpus=4,nic=1GBps",
    "dgx1v:nvlink=1GBps", "dual_socket_pcie:gpus=4,sys=2GBps", "torus:dims=2x2,bandwidth=1GBps",
    "fat_tree:pods=2,leaves=2,gpus=2,oversubscription=4", "mi300x", "dragonfly:groups=2,routers=2", "geforce_4090",
)  # fmt: skip


def held_to_the_links(step):
    """Of the time of a step, on average where steps differ, as they may in turns, the busiest link works a part."""
    busy = max(step.link_bytes / step.topology.bandwidth)
    assert busy <= step.facts.get("average_step_s", step.time) * (1 + 1e-9)


@pytest.mark.slow
@each_row("name, machine", product(WORKLOADS, MACHINES), over=["machine"])
def test_no_step_is_shorter_than_its_busiest_link_works(name, machine):
    try:
        step = WORKLOADS[name].run(build(machine), {})
    except InputError as error:
        pytest.skip(str(error))
    held_to_the_links(step)


@pytest.mark.slow
@hypothesis.given(
    machine=st.sampled_from(MACHINES[:4]),
    stale=st.integers(0, 5),
    compression=st.sampled_from(COMPRESSIONS),
    speed=st.floats(0.5, 400),
    slow=st.sampled_from([0.5, 1.0, 3.0]),
    overlap=st.booleans(),
    interference=st.sampled_from([0.0, 0.3]),
    accumulate=st.integers(1, 2),
)
@hypothesis.settings(max_examples=20)
def test_no_stale_step_is_either(machine, stale, compression, speed, slow, overlap, interference, accumulate):
    layers = "; ".join(f"layer{k} 300x400 {speed:.3f}us {2 * speed:.3f}us" for k in range(4))
    settings = {
        "stale": stale, "compression": compression, "slow": slow, "overlap": overlap, "interference": interference,
        "accumulate": accumulate, "layers": layers, "bucket": 500_000, "backend": "ideal",
    }  # fmt: skip
    step = WORKLOADS["ddp"].run(build(machine), settings)
    held_to_the_links(step)
    assert step.facts["scaling_efficiency_share"] <= 1 + 1e-9 or slow < 1


@pytest.mark.parametrize("stale", [1, 4])
def test_stale_gradients_reach_the_efficiency_that_the_link_allows(stale):
    """153.3 MB a step through 1 GB/s take 153.3 ms; the step computes for 97 ms."""
    step = WORKLOADS["ddp"].run(build("switch:ranks=4,bandwidth=1GBps"), {"stale": stale})
    most = step.facts["compute_s"] / (max(step.link_bytes) / 1e9)
    assert step.facts["scaling_efficiency_share"] == pytest.approx(most, rel=2e-3)
    assert step.facts["scaling_efficiency_share"] < most

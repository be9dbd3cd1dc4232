"""A run whose changes of rate are kept ends when one without them does, to the bit."""

import random
from itertools import pairwise

import numpy as np
import pytest

from sim.engine import simulate
from sim.schedule import Schedule, Step, in_rank_order, unroll
from sim.topology import Device, Link, Topology
from tests.tables import each_row


def machine(draw: random.Random, ranks: int) -> Topology:
    """Ranks on one to three switches in a tree, with links of any bandwidth, some of them shared by both directions."""
    switches = [f"S{k}" for k in range(draw.randint(1, 3))]
    ends = [*pairwise(switches), *((f"GPU{r}", draw.choice(switches)) for r in range(ranks))]
    links = []
    for a, b in ends:
        bandwidth, latency = draw.choice([1e9, 3e9, draw.uniform(1e8, 5e10)]), draw.choice([0.0, 1e-6])
        both = draw.random() < 0.2
        links += [Link(a, b, bandwidth, latency, both=both)] + [Link(b, a, bandwidth, latency)] * (not both)
    devices = [*(Device(f"GPU{r}", "GPU") for r in range(ranks)), *(Device(name, "NVS") for name in switches)]
    return Topology("random", tuple(devices), tuple(links), gamma=draw.choice([0.0, 1e-10]))


def schedule(draw: random.Random, ranks: int) -> Schedule:
    """Steps of messages between any ranks, each rank doing its part of one before the next."""

    def message() -> Step:
        ends = (np.array([draw.randrange(ranks)], np.int32) for _ in "ab")
        slots = (np.array([[draw.randrange(3)]], np.int32) for _ in "ab")
        return Step(draw.randrange(2), *ends, *slots, np.array([draw.randrange(2)], np.int32))

    steps = [tuple(message() for _ in range(draw.randint(1, 9))) for _ in range(draw.randint(1, 8))]
    made = unroll(iter(steps), name="random", n=ranks, promise=None, unit_share=1 / 3)
    return in_rank_order(made, by_channel=True) if draw.random() < 0.6 else made


@each_row("seed", range(20, 32))
def test_history_changes_no_time(seed):
    draw = random.Random(seed)
    for _ in range(5):
        ranks = draw.randint(2, 8)
        topology, work, size = machine(draw, ranks), schedule(draw, ranks), draw.choice([4096, 1 << 20, 12345678])
        plain, kept = (simulate(topology, work, size, history=history) for history in (False, True))
        for moment in ("ready", "start", "arrived", "end"):
            assert getattr(plain, moment).tobytes() == getattr(kept, moment).tobytes()
        history = kept.history
        assert (history.time >= kept.start[history.transfer]).all()
        assert len({*zip(history.transfer.tolist(), history.time.tolist(), strict=True)}) == len(history.time)
        for i in np.unique(history.transfer).tolist():
            mine = history.transfer == i
            spans = np.diff([*history.time[mine], kept.arrived[i]])
            assert history.time[mine][0] == kept.start[i]
            carried = float((spans * history.rate[mine]).sum())
            assert carried == pytest.approx(size / 3 * (work.moves[i + 1] - work.moves[i]))

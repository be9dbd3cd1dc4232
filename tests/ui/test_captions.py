"""A step's sentence is about a message that has not landed while the step is shown."""

import re

import numpy as np
from hypothesis import given, reject
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.plan import Plan
from sim.errors import InputError
from ui.drawing.frames import Film

NAMED = re.compile(r"rank (\d+) (?:sends|passes).*? to rank (\d+)", re.IGNORECASE)
MACHINES = ("dgx_a100:hosts=2", "dual_socket_pcie", "nodes:nodes=4,gpus=2", "switch:ranks=6")


def test_of_messages_that_take_unlike_times_the_last_is_told():
    plan = Plan(algorithm="broadcast.increasing_two_ring_modified", machine="dgx_h100:hosts=2")
    assert "rank 0 sends block 0 to rank 8, and 2 others likewise" in Film(plan.run().trace).captions[0]


@given(st.sampled_from(sorted(ALGORITHMS)), st.sampled_from(MACHINES), st.integers(0, 10_000))
def test_the_message_that_is_told_has_not_landed(name, machine, seed):
    plan = Plan(algorithm=name, machine=machine, size="1MiB", fault=f"jitter:seed={seed}")
    try:
        trace = plan.run().trace
    except InputError:
        reject()  # not on this machine, or not with so many ranks
    film = Film(trace)
    for t in np.random.default_rng(seed).uniform(trace.began, trace.ended, 20):
        step, told = film.step(t), NAMED.search(film.caption(t))
        if not step or told is None or t + 1e-5 * trace.time > trace.ended:
            continue
        rows = slice(*trace.schedule.step_start[step - 1 : step + 1])
        ends = trace.end[rows][(trace.schedule.src[rows] == int(told[1])) & (trace.schedule.dst[rows] == int(told[2]))]
        assert len(ends), told[0]
        assert ends.max() >= t - 1e-5 * trace.time, told[0]

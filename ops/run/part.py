"""A part of a large run: a few ranks of it, all that they exchange, and the devices that they use."""

from dataclasses import replace

import numpy as np

from ops.run.model import Run
from sim.base.arrays import Ints, each_once
from sim.symmetry.rows import promise_of
from sim.topology import Topology
from sim.topology.devices import Routes
from sim.trace import Excerpt, Trace

FULL = 1 << 22
"""Transfers up to which a run is shown whole: a ring of 1,024 ranks has half as many."""


def shown(run: Run) -> Trace:
    """Return every transfer, or of a large run those of its `representatives`, on the part of the machine they use."""
    return run.trace if run.is_written_out else part(run, run.representatives)


def part(run: Run, ranks: Ints) -> Trace:
    """Return what some ranks exchange, as a trace of a smaller machine whose devices keep their names.

    Its ranks are these, in order, and after them those that they send to or receive from.
    """
    rows, machine = run.rows(ranks.tolist()), run.topology
    others = np.setdiff1d(np.concatenate([rows.schedule.src, rows.schedule.dst]), ranks)
    taking_part = np.concatenate([ranks, others]).astype(np.int32)
    playing = np.array(machine.ranks, np.int64)[taking_part]
    links = each_once(rows.routes.links)
    ends = np.concatenate([column[links] for column in machine.ends])
    devices = each_once(np.concatenate([playing, ends]).astype(np.int64))
    place, link_at = np.full(len(machine.devices), -1), np.full(len(machine.links), -1)
    place[devices], link_at[links] = np.arange(len(devices)), np.arange(len(links))
    smaller = Topology(
        machine.name,
        tuple(machine.devices[d] for d in devices.tolist()),
        tuple(machine.links[link] for link in links.tolist()),
        ranks=tuple(place[playing].tolist()),
        overhead=machine.overhead,
        gamma=machine.gamma,
        forwarding=machine.forwarding,
        relays=machine.relays,
        generation=machine.generation,
    )
    number = np.full(run.timing.ranks, -1, np.int32)
    number[taking_part] = np.arange(len(taking_part), dtype=np.int32)
    schedule = rows.schedule
    return replace(
        rows,
        topology=smaller,
        schedule=replace(
            schedule,
            n=len(taking_part),
            promise=None if run.work.folded is None else promise_of(run.work.folded, taking_part.astype(np.int64)),
            src=number[schedule.src],
            dst=number[schedule.dst],
        ),
        routes=Routes(rows.routes.offsets, link_at[rows.routes.links].astype(np.int32)),
        began=run.timing.began,
        ended=run.timing.ended,
        excerpt=Excerpt(len(ranks), run.timing.ranks, tuple(taking_part.tolist())),
    )

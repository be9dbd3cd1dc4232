"""Kinds of ranks on a machine: one message of each simulated by the kernel, as coarsely as that can be told right."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from sim.base.arrays import Floats, Ints, Numbers
from sim.base.ragged import take
from sim.engine import Cluster
from sim.engine.job import check_size
from sim.schedule.verify import Proof, Verdict
from sim.symmetry.classes import claim, kernels
from sim.symmetry.classes.colours import Round, rounds, ways_of
from sim.symmetry.classes.listing import Listing
from sim.symmetry.classes.quotient import Quotient, quotient
from sim.topology import Topology
from sim.trace import Timing, Trace


@dataclass(frozen=True, eq=False, kw_only=True)
class KindRows:
    """What happened to one message of each kind of pairs, an entry of `of_kinds` each."""

    topology: Topology
    schedule: Listing
    verdict: Verdict
    level: Round
    model: Quotient
    of_kinds: Trace

    @cached_property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""
        crossings, kinds = self.model.crossings, len(self.level.pairs.first)
        sent = np.bincount(self.model.kind, self.model.sizes, kinds)[crossings.pair] * crossings.count
        per_kind = np.bincount(crossings.link, sent, len(self.level.links.first))
        return cast(Floats, per_kind[self.level.links.of])

    def path(self) -> Trace:
        """Return the messages of all kinds, each as the first pair of its kind sends it."""
        ran, pair = self.of_kinds, self.schedule.pair[self.level.pairs.first[self.model.kind]]
        return self._written(ran, pair, np.arange(len(pair)), ran.cause)

    def of(self, ranks: Ints) -> Trace:
        """Return the messages that these ranks send or receive; what each waited for is known of its kind alone."""
        model, sent = (
            self.model,
            np.flatnonzero(np.isin(self.schedule.pair[:, [kernels.SRC, kernels.DST]], ranks).any(axis=1)),
        )
        kind = self.level.pairs.of[sent]
        first, message = take(model.first, model.order, kind)
        pair = self.schedule.pair[np.repeat(sent, np.diff(first))]
        order = np.argsort(message, kind="stable")
        return self._written(self.of_kinds, pair[order], message[order], np.full(len(order), -1, np.int32))

    def _written(self, ran: Trace, pair: Ints, message: Numbers, cause: Ints) -> Trace:
        """Messages of some pairs, a row each, between devices of the whole machine."""
        schedule = ran.schedule
        src, dst, channel = (pair[:, column] for column in (kernels.SRC, kernels.DST, kernels.CHANNEL))
        devices = np.array(self.topology.ranks[: self.schedule.n], np.int32)
        columns = {name: getattr(ran, name)[message] for name in ("bytes", "ready", "left", "start", "end")}
        sent = replace(
            schedule.chosen(message),
            n=self.schedule.n,
            src=src.astype(np.int32),
            dst=dst.astype(np.int32),
            channel=channel.astype(np.int32),
        )
        return replace(
            ran,
            topology=self.topology,
            schedule=sent,
            verdict=self.verdict,
            route=np.arange(len(message), dtype=np.int32),
            routes=self.topology.routes(devices[src], devices[dst]),
            cause=cause,
            history=None,
            **columns,
        )


def simulate_kinds(topology: Topology, listing: Listing, verdict: Verdict, size: float = 0.0) -> Timing | None:
    """Run a schedule alone with ranks of a kind simulated once; None where there are too many kinds.

    Raises InputError for a bad size, and where ranks are not joined; StalledError as `Cluster.run`.
    """
    if listing.unit_share > 0:
        check_size(listing.name, listing.unit_share, size)
    ways = ways_of(listing, topology)
    spent = 0.0
    for level in rounds(listing, topology, ways):
        model = quotient(listing, topology, ways, level, size)
        if model is None:
            return None
        cluster = Cluster(model.machine, history=True)
        proof = Proof(model.schedule, Verdict("unchecked"), np.zeros(0, np.int32), np.zeros((0, 0), np.uint64))
        devices = range(len(model.machine.devices))
        trace: Trace = cluster.run(cluster.launch(model.schedule, devices, model.sizes, proof=proof, size=size))
        spent += cluster.sim_s
        if claim.holds(listing, ways, level, model, trace):
            return Timing(
                topology=topology,
                ranks=listing.n,
                messages=listing.messages,
                steps=listing.steps,
                verdict=verdict,
                size=size,
                began=trace.began,
                ended=trace.ended,
                instants=trace.instants,
                simulated=model.schedule.messages,
                rows=KindRows(
                    topology=topology, schedule=listing, verdict=verdict, level=level, model=model, of_kinds=trace
                ),
                real={"sim_s": spent},
            )
    return None

"""Kinds of ranks on a machine: one message of each simulated by the kernel, as coarsely as that can be told right."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from sim.base.arrays import Floats, Numbers
from sim.base.ragged import take
from sim.engine import Cluster, check_size
from sim.kinds import claim, kernels
from sim.kinds.colours import Round, rounds, ways_of
from sim.kinds.listing import Listing
from sim.kinds.quotient import Quotient, quotient
from sim.metrics import Use, bottleneck
from sim.schedule import Schedule
from sim.schedule.verify import Proof, Verdict
from sim.topology import Topology
from sim.trace import NO_CAPACITIES, NO_HITS, Capacities, Hits, Trace


@dataclass(frozen=True, eq=False, kw_only=True)
class KindsTrace:
    """A run of which one message of each kind was simulated; names and units are those of `sim.trace.Trace`."""

    topology: Topology
    schedule: Listing
    verdict: Verdict
    size: float
    level: Round
    model: Quotient
    of_kinds: Trace
    real: dict[str, float]
    troubles: tuple[str, ...] = ()
    hits: Hits = NO_HITS
    capacities: Capacities = NO_CAPACITIES

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.of_kinds.time

    @property
    def began(self) -> float:
        """When it started."""
        return self.of_kinds.began

    @property
    def ended(self) -> float:
        """When the last message had ended."""
        return self.of_kinds.ended

    @property
    def simulated(self) -> int:
        """Messages between different ranks that were simulated, each for all of its kind."""
        return self.model.schedule.messages

    @property
    def instants(self) -> int:
        """Moments at which something happened."""
        return self.of_kinds.instants

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link."""
        crossings, kinds = self.model.crossings, len(self.level.pairs.first)
        sent = np.bincount(self.model.kind, self.model.sizes, kinds)[crossings.pair] * crossings.count
        per_kind = np.bincount(crossings.link, sent, len(self.level.links.first))
        return cast(Floats, per_kind[self.level.links.of])

    def bottleneck(self) -> Use | None:
        """The link nearest to being full throughout, or None when nothing crossed any."""
        return bottleneck(cast(Trace, self))  # which asks for nothing that this has not

    def message_of(self, schedule: Schedule) -> Numbers:
        """The message of `of_kinds` that stands for each transfer of the schedule that is written out."""
        pair = self.schedule.pair
        own = np.lexsort((pair[:, kernels.CHANNEL], pair[:, kernels.DST], pair[:, kernels.SRC]))
        written = np.lexsort((schedule.channel, schedule.dst, schedule.src))
        kind = self.level.pairs.of[own]
        message: Numbers = np.empty(schedule.transfers, np.int64)
        message[written] = take(self.model.first, self.model.order, kind)[1]
        return message


def simulate_kinds(topology: Topology, listing: Listing, verdict: Verdict, size: float = 0.0) -> KindsTrace | None:
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
            return KindsTrace(
                topology=topology,
                schedule=listing,
                verdict=verdict,
                size=size,
                level=level,
                model=model,
                of_kinds=trace,
                real={"sim_s": spent},
            )
    return None

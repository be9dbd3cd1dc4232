"""What is to be said of a sketch while it is drawn: the proof of it, what every place holds, and its time."""

from dataclasses import dataclass

import numpy as np

from ops.run import Run, Work, execute
from ops.sketch import Sketch
from sim.schedule import Schedule
from sim.schedule.replay import EMPTY
from sim.schedule.verify import Fault, HeldBlock, Proof, Verdict, faults, places, prove
from sim.topology import Topology
from sim.trace import metrics


@dataclass(frozen=True)
class BadSend:
    """A move that carries nothing: the column it stands in, from 0, and who sends which slot to whom."""

    column: int
    src: int
    dst: int
    slot: int


@dataclass(frozen=True)
class Judgement:
    """A sketch as the verifier and the clock see it.

    `held[k]` is what every rank's slots hold before column k, and behind the last one; `faults` are the places that are
    wrong in the end, `bad_sends` the moves of nothing. Seconds are 0 where nothing moves; `use` is the share of the run
    in which each link was full.
    """

    verdict: Verdict
    held: list[list[list[HeldBlock]]]
    faults: list[Fault]
    bad_sends: list[BadSend]
    seconds: float
    bound: float
    use: list[float]

    @property
    def right(self) -> bool:
        """Every contribution is where it is owed, once."""
        return self.verdict.verdict == "ok"


def judge(sketch: Sketch, topology: Topology, size: float) -> Judgement:
    """Prove a sketch and run it on a machine's first ranks. Raises InputError for what cannot be."""
    schedule = sketch.schedule()
    proof = prove(schedule, blocks=True)
    held = [places(schedule, k) for k in _boundaries(sketch)]
    outcome = run(sketch, topology, size, proof) if schedule.transfers else None
    return Judgement(
        verdict=proof.verdict,
        held=held,
        faults=faults(schedule),
        bad_sends=_bad_sends(sketch, schedule, proof),
        seconds=outcome.time if outcome else 0.0,
        bound=outcome.bound if outcome else bound(sketch, topology, size),
        use=[float(share) for share in outcome.link_use] if outcome else [0.0] * len(topology.links),
    )


def run(sketch: Sketch, topology: Topology, size: float, proof: Proof | None = None) -> Run:
    """The sketch carried out, right or wrong. Raises InputError."""
    proof = proof or prove(sketch.schedule())
    return execute(topology, Work(proof.schedule, sketch.kind, proved=proof), size, history=True)


def bound(sketch: Sketch, topology: Topology, size: float) -> float:
    """Seconds that no schedule of this promise can beat on this machine, as the simulator knows it."""
    promise = sketch.promise
    share = size / (sketch.kind.units(sketch.ranks) * sketch.pieces)
    devices = np.array(topology.ranks[: sketch.ranks], np.int32)
    return metrics.lower_bound(topology, promise, np.full(promise.blocks, share), devices)


def _boundaries(sketch: Sketch) -> list[int]:
    """How many steps of the schedule stand before each column, and before what follows the last."""
    filled = [bool(column) for column in sketch.columns]
    return [sum(filled[:k]) for k in range(len(filled) + 1)]


def _bad_sends(sketch: Sketch, schedule: Schedule, proof: Proof) -> list[BadSend]:
    numbers = [k for k, column in enumerate(sketch.columns) if column]
    bad = []
    for m in np.flatnonzero(proof.carried == EMPTY).tolist():
        i = int(schedule.transfer_of[m])
        column = numbers[int(schedule.step_of[i])]
        bad.append(BadSend(column, int(schedule.src[i]), int(schedule.dst[i]), int(schedule.from_slot[m])))
    return bad

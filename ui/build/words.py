"""What the referee and the clock say of a sketch, in words of a language."""

from collections.abc import Sequence
from typing import Any

from ops.ladder import LadderTask
from ops.sketch import Sketch
from ops.sketch.referee import Judgement
from sim.schedule import NOTHING, Schedule
from sim.schedule.replay import CLASH, DOUBLED, EMPTY, MIXED
from sim.schedule.verify import Fault
from sim.topology import Topology
from sim.units import fmt_share, fmt_time
from ui.text import say

MOST = 5
"""Faults that are told one by one."""
BARELY = 0.01
"""Up to this share of the run a cable is idle."""
SPOILED = {DOUBLED: "twice", MIXED: "mixed", CLASH: "clash", EMPTY: "nothing"}


def block_name(sketch: Sketch, block: int) -> str:
    """What a block is called: a letter, with the number of its piece; of a pair of ranks, both.

    >>> block_name(Sketch("allgather", 4, 2), 3), block_name(Sketch("alltoall", 4), 6)
    ('B2', '1→2')
    """
    units, pieces = sketch.kind.units(sketch.ranks), sketch.pieces
    whole, piece = divmod(block, pieces) if units > 1 or sketch.kind.pairwise else (block, 0)
    if sketch.kind.pairwise:
        src, dst = divmod(whole, sketch.ranks)
        name = f"{src}→{dst}"
        return f"{name}.{piece + 1}" if pieces > 1 else name
    return f"{chr(65 + whole)}{piece + 1}" if units > 1 and pieces > 1 else chr(65 + whole)


def ranks_in_words(ranks: Sequence[int], language: str) -> str:
    """Ranks in a sentence."""
    numbers = say("build.and", language).join(map(str, ranks))
    return say("build.rank" if len(ranks) == 1 else "build.ranks", language, ranks=numbers)


def faults_in_words(sketch: Sketch, schedule: Schedule, judgement: Judgement, language: str) -> list[dict[str, Any]]:
    """What is wrong, each with the place or the column where it can be seen."""
    said: list[dict[str, Any]] = [
        {
            "column": bad.column,
            "rank": bad.src,
            "slot": bad.slot,
            "text": say("build.sends", language, column=bad.column + 1, rank=bad.src, dst=bad.dst, slot=bad.slot),
        }
        for bad in judgement.bad_sends
    ]
    numbers = [k for k, column in enumerate(sketch.columns) if column]
    for fault in judgement.faults:
        step = int(schedule.step_of[schedule.transfer_of[fault.move]]) if fault.move >= 0 else -1
        column = numbers[step] if step >= 0 else -1
        said.append(
            {"column": column, "rank": fault.rank, "slot": fault.slot, "text": _fault(sketch, fault, column, language)}
        )
    said.sort(key=lambda line: line["column"] < 0)  # what was done wrong first, then what is still to do
    return said[:MOST]


def _fault(sketch: Sketch, fault: Fault, column: int, language: str) -> str:
    kind = SPOILED[fault.held.block] if fault.held.block < 0 else "other"
    if fault.held.block == EMPTY and fault.move < 0:
        kind = "absent"
    if fault.held.block == fault.owed.block:
        kind = "lacks" if fault.missing else "extra"
    ranks = ranks_in_words(fault.twice or fault.missing or fault.extra, language)
    return say(
        f"build.fault.{kind}",
        language,
        rank=fault.rank,
        block=block_name(sketch, fault.owed.block),
        held=block_name(sketch, fault.held.block) if fault.held.block >= 0 else "",
        ranks=ranks,
        column=column + 1,
    )


def headline(sketch: Sketch, judgement: Judgement, task: LadderTask | None, language: str) -> str:
    """The referee's sentence."""
    if not any(sketch.columns):
        return say("build.empty", language)
    if not judgement.right:
        owed = int((sketch.promise.owed != NOTHING).sum())
        return say("build.wrong", language, done=owed - len(judgement.faults), owed=owed)
    if task is None:
        return say("build.right", language)
    result = task.result(judgement.verdict, judgement.seconds)
    if result.solved:
        return say("build.solved", language, time=fmt_time(judgement.seconds))
    return say("build.slower", language, above=fmt_share(result.above, 0 if result.above >= 0.01 else 2))


def clock(judgement: Judgement, task: LadderTask | None, language: str) -> str:
    """How long it takes, beside the best there is or the bound."""
    time, bound = fmt_time(judgement.seconds), judgement.bound
    if task is not None and not judgement.seconds:
        return say("build.clock.best", language, par=fmt_time(task.par))
    if task is not None:
        return say("build.clock.par", language, time=time, par=fmt_time(task.par))
    if not bound or not judgement.seconds:
        return say("build.clock.bound", language, time=time, bound=fmt_time(bound))
    return say(
        "build.clock.ratio", language, time=time, bound=fmt_time(bound), ratio=f"{judgement.seconds / bound:.2f}"
    )


def hints(sketch: Sketch, judgement: Judgement, topology: Topology, language: str) -> list[str]:
    """Where to look: who holds what is missing, which link is full, and which has nothing to do."""
    lines = []
    if judgement.faults:
        fault = judgement.faults[0]
        missing = {*fault.missing} or {*fault.owed.ranks}
        last = judgement.held[-1]
        holders = [
            rank
            for rank, slots in enumerate(last)
            if rank != fault.rank and any(held.block == fault.owed.block and missing & {*held.ranks} for held in slots)
        ]
        who, block = ranks_in_words(holders, language), block_name(sketch, fault.owed.block)
        lines.append(say("build.hint.missing", language, rank=fault.rank, block=block, holders=who))
    if judgement.seconds:
        use = judgement.use
        fullest = max(range(len(use)), key=use.__getitem__)
        lines.append(say("build.hint.full", language, link=_link(topology, fullest), share=fmt_share(use[fullest])))
        idle = [i for i, share in enumerate(use) if share <= BARELY]
        if idle:
            names = ", ".join(_link(topology, i) for i in idle[:3])
            lines.append(say("build.hint.idle", language, links=names, count=len(idle)))
    return lines


def _link(topology: Topology, number: int) -> str:
    link = topology.links[number]
    return f"{link.src} → {link.dst}"

"""What the browser is sent of a sketch: places, what they hold column by column, cables, and sentences."""

from typing import Any

import numpy as np

from ops.ladder import TASKS
from ops.plan import Plan
from ops.sketch import Sketch, written_columns
from ops.sketch.referee import Judgement, judge
from sim.errors import InputError
from sim.schedule import NOTHING
from sim.schedule.verify import HeldBlock
from ui.build.cables import cables
from ui.build.words import block_name, clock, faults_in_words, headline, hints

MOST_RANKS = 8
"""Of a board; more places than this cannot be told apart by hand."""
MOST_SLOTS = 64
"""Of a rank on a board."""
MOST_DEVICES = 2000
"""Of a machine on which something is drawn by hand."""


def board(sketch: Sketch, machine: Plan, spare: int, task: str, language: str) -> dict[str, Any]:
    """All that the board shows of a sketch, judged on a machine. Raises InputError for what cannot be.

    `solved` says whether it is an answer to the task of that name.
    """
    topology = machine.topology()
    if len(topology.devices) > MOST_DEVICES:
        raise InputError("board.devices", topology=topology.name, count=len(topology.devices), most=MOST_DEVICES)
    topology.taking_part(sketch.ranks)
    entry, judgement, schedule = (
        TASKS[task] if task else None,
        judge(sketch, topology, machine.bytes),
        sketch.schedule(),
    )
    slots = max(schedule.slots, sketch.promise.given.shape[1] + spare)
    result = entry.result(judgement.verdict, judgement.seconds) if entry else None
    return {
        "judged": written_columns(sketch.columns),
        "ranks": sketch.ranks,
        "reduces": sketch.kind.reduces,
        "names": [block_name(sketch, block) for block in range(sketch.promise.blocks)],
        "rows": _rows(sketch, slots),
        "turn": _turn(sketch, slots),
        "owed": _owed(sketch, slots),
        "held": [[_cells(rank, slots) for rank in held] for held in judgement.held],
        **cables(topology, sketch.ranks),
        "use": [round(share, 4) for share in judgement.use],
        "verdict": _verdict(judgement, any(sketch.columns), bool(result and not result.solved)),
        "headline": headline(sketch, judgement, entry, language),
        "clock": clock(judgement, entry, language),
        "faults": faults_in_words(sketch, schedule, judgement, language),
        "hints": hints(sketch, judgement, topology, language),
        "solved": bool(result and result.solved),
    }


def _verdict(judgement: Judgement, drawn: bool, slower: bool) -> str:
    if not judgement.right:
        return "wrong" if drawn else "empty"
    return "slower" if slower else "right"


def _cells(held: list[HeldBlock], slots: int) -> list[list[int]]:
    """Of every slot its block, or why it holds none, and its contributors as bits."""
    cells = [[block, sum(1 << rank for rank in ranks)] for block, ranks in held]
    return cells + [[NOTHING, 0]] * (slots - len(cells))


def _owed(sketch: Sketch, slots: int) -> list[list[list[int]]]:
    """Of every rank and slot the block that is owed there, and its contributors as bits."""
    promise = sketch.promise
    ranks = []
    for rank in range(sketch.ranks):
        due = zip(promise.owed[rank].tolist(), promise.first[rank].tolist(), promise.last[rank].tolist(), strict=True)
        row = [[block, (1 << last) - (1 << first) if block != NOTHING else 0] for block, first, last in due]
        ranks.append(row + [[NOTHING, 0]] * (slots - len(row)))
    return ranks


def _rows(sketch: Sketch, slots: int) -> list[list[Any]]:
    """Groups of slots: what they are for, from which slot on, and up to which."""
    promise = sketch.promise
    laid = promise.given.shape[1]
    if promise.inputs == promise.outputs:
        rows: list[list[Any]] = [["", 0, laid]]
    else:
        rows = [["in", promise.inputs.start, promise.inputs.stop], ["out", promise.outputs.start, promise.outputs.stop]]
    return [*rows, *([["spare", laid, slots]] if slots > laid else [])]


def _turn(sketch: Sketch, slots: int) -> list[int]:
    """Where each slot goes when everything moves on by one rank: blocks of a rank to those of the next.

    >>> _turn(Sketch("allgather", 4), 5)
    [1, 2, 3, 0, 4]
    """
    turn = list(range(slots))
    for buffer in {sketch.promise.inputs, sketch.promise.outputs}:
        size = len(buffer)
        shift = size // sketch.ranks if size % sketch.ranks == 0 else 0
        numbers = np.array(buffer)
        for slot, other in zip(buffer, np.roll(numbers, -shift).tolist(), strict=True):
            turn[slot] = other
    return turn

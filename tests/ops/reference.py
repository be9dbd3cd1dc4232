"""An oracle that shares no code with the project: literal replay, and the collectives' outcomes in its own words."""

import numpy as np

from ops.collectives import COLLECTIVES
from sim.schedule import NOTHING

NS = [*range(2, 18), 24, 32]
"""Numbers of ranks that every algorithm must do or refuse."""

TELLING = {
    "segments": [1, 3],
    "radix": [2, 3, 5],
    "group": [2, 3],
    "channels": [1, 3],
    "window": [1, 3],
    "chains": [3],
    "phases": [1, 3],
    "aggregate": [1, 2, 64],
    "base": [3],
    "sockets": [1, 2],
    "fan_in": [2, 3],
    "fan_out": [3, 4],
    "between": [2, 3],
    "inside": [3, 4],
}
"""Values of a parameter that tell more than those its bounds suggest."""


def other_values(algorithm, name):
    """Values besides the default for a parameter, that some number of ranks can be done with."""
    parameter = algorithm.params[name]
    if name in TELLING:
        return TELLING[name]
    match parameter.kind:
        case "int":
            values = [v for v in (parameter.low, parameter.low + 1, 3) if parameter.low <= v <= (parameter.high or v)]
        case "bool":
            values = [not parameter.default]
        case "str" | "dims":
            values = parameter.words
        case _:
            values = [parameter.default / 2, parameter.default * 2]
    others = [value for value in dict.fromkeys(values) if value != parameter.default]
    settings = [algorithm.defaults | {name: value} for value in others]
    return [s[name] for s in settings if any(not algorithm.refuse(n, **s) for n in NS)]


def variants(algorithm):
    """The defaults, then one parameter after the other at its other values."""
    yield {}
    for name in algorithm.params:
        for value in other_values(algorithm, name):
            yield {name: value}


def before(collective, n, pieces, root):
    """{(rank, slot): block} as each rank holds it at first, contributed by itself alone."""
    mine = range(pieces)
    match collective:
        case "allreduce" | "reduce" | "scan" | "exscan" | "sendrecv" | "barrier":
            return {(r, s): s for r in range(n) for s in mine}
        case "broadcast":
            return {(root, s): s for s in mine}
        case "allgather" | "gather":
            return {(r, r * pieces + s): r * pieces + s for r in range(n) for s in mine}
        case "reduce_scatter":
            return {(r, s): s for r in range(n) for s in range(n * pieces)}
        case "scatter":
            return {(root, s): s for s in range(n * pieces)}
        case "alltoall":
            return {(r, d * pieces + s): (r * n + d) * pieces + s for r in range(n) for d in range(n) for s in mine}
    given = COLLECTIVES[collective].promise(n, pieces, root).given  # one that has no words here is taken at its own
    return {(int(r), int(s)): int(given[r, s]) for r, s in np.argwhere(given != NOTHING)}


def after(collective, n, pieces, root):
    """{(rank, slot): (block, contributors)} as each rank must hold it in the end."""
    everyone, mine = set(range(n)), range(pieces)
    match collective:
        case "allreduce" | "barrier":
            return {(r, s): (s, everyone) for r in range(n) for s in mine}
        case "reduce":
            return {(root, s): (s, everyone) for s in mine}
        case "broadcast":
            return {(r, s): (s, {root}) for r in range(n) for s in mine}
        case "allgather":
            return {(r, b): (b, {b // pieces}) for r in range(n) for b in range(n * pieces)}
        case "gather":
            return {(root, b): (b, {b // pieces}) for b in range(n * pieces)}
        case "reduce_scatter":
            return {(r, r * pieces + s): (r * pieces + s, everyone) for r in range(n) for s in mine}
        case "scatter":
            return {(r, r * pieces + s): (r * pieces + s, {root}) for r in range(n) for s in mine}
        case "alltoall":
            owed = {}
            for r in range(n):
                for s in range(n):
                    for i in mine:
                        owed[r, (n + s) * pieces + i] = ((s * n + r) * pieces + i, {s})
            return owed
        case "sendrecv":
            return {(r, pieces + s): (s, {(r - 1) % n}) for r in range(n) for s in mine}
        case "scan":
            return {(r, pieces + s): (s, set(range(r + 1))) for r in range(n) for s in mine}
        case "exscan":
            return {(r, pieces + s): (s, set(range(r))) for r in range(1, n) for s in mine}
    p = COLLECTIVES[collective].promise(n, pieces, root)
    owed = np.argwhere(p.owed != NOTHING)
    return {(int(r), int(s)): (int(p.owed[r, s]), set(range(p.first[r, s], p.last[r, s]))) for r, s in owed}


def replay(schedule, given):
    """Carry out every step literally; returns which block every place holds and how often each rank is in it.

    Ranks from n up are switches: what they add to an empty slot fills it.
    """
    n, slots = schedule.n, schedule.slots
    places = n + len(schedule.switches)
    block = np.full((places, slots), -1)
    times = np.zeros((places, slots, n), np.int64)
    for (rank, slot), what in given.items():
        block[rank, slot] = what
        times[rank, slot, rank] = 1
    owner = np.repeat(np.arange(len(schedule.src)), np.diff(schedule.moves))
    for k in range(schedule.steps):
        moving = slice(*schedule.moves[schedule.step_start[k : k + 2]])
        i = owner[moving]
        there = schedule.dst[i], schedule.to_slot[moving]
        read = block[schedule.src[i], schedule.from_slot[moving]]
        heard = times[schedule.src[i], schedule.from_slot[moving]]
        adds = schedule.op[i] == 1
        assert (read >= 0).all(), f"{schedule.name}: an empty slot is used in step {k + 1}"
        written = there[0] * slots + there[1]
        assert not np.intersect1d(written[~adds], written[adds]).size, f"{schedule.name}: step {k + 1} has it both ways"
        assert len(np.unique(written[~adds])) == (~adds).sum(), f"{schedule.name}: step {k + 1} writes a slot twice"
        fills = adds & (there[0] >= n) & (block[there] < 0)
        block[there[0][fills], there[1][fills]] = read[fills]
        held = block[there[0][adds], there[1][adds]]
        assert (held == read[adds]).all(), f"{schedule.name}: step {k + 1} adds different blocks"
        block[there[0][~adds], there[1][~adds]] = read[~adds]
        times[there[0][~adds], there[1][~adds]] = heard[~adds]
        np.add.at(times, (there[0][adds], there[1][adds]), heard[adds])
    return block, times


def shortcomings(schedule, collective, pieces, root=0):
    """What a schedule does not do as its collective promises; empty when it does everything."""
    block, times = replay(schedule, before(collective, schedule.n, pieces, root))
    wrong = []
    for (rank, slot), (what, contributors) in after(collective, schedule.n, pieces, root).items():
        counts = np.minimum(times[rank, slot], 1) if collective == "barrier" else times[rank, slot]
        due = np.zeros(schedule.n, bool)
        due[list(contributors)] = True
        if block[rank, slot] != what or (counts != due).any():
            wrong.append((rank, slot, int(block[rank, slot]), counts.tolist()))
    return wrong

"""Any schedule as GOAL text."""

from collections import defaultdict

from ops.formats import message_bytes, writer
from ops.formats.actions import awaited
from sim.errors import InputError
from sim.schedule import Schedule
from sim.units import Size


@writer("goal")
def write(schedule: Schedule, *, size: Size = 0) -> str:
    """Sends and receives with what they require; local moves become computations that take their work's time.

    GOAL knows no reductions, so that their time is not in it, and its sends do not wait for the receiver's
    memory; a comment in the file says so where a schedule's messages do. Raises InputError for what GOAL cannot
    say, or when `size` is needed and absent.
    """
    if schedule.switches:
        raise InputError("goal.switches", schedule=schedule.name)
    amounts = message_bytes(schedule, size)
    lines: list[list[str]] = [[] for _ in range(schedule.n)]
    orders: list[list[str]] = [[] for _ in range(schedule.n)]
    tags: dict[tuple[int, int], int] = defaultdict(int)
    ends = list(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True))
    for i, (src, dst) in enumerate(ends):
        if src == dst:
            time = 0 if schedule.work is None else round(schedule.work[i] * 1e9)
            lines[src].append(f"t{i}: calc {time} cpu {i}")
            continue
        tag = tags[src, dst]
        tags[src, dst] += 1
        lines[src].append(f"t{i}: send {round(amounts[i])}b to {dst} tag {tag}")
        lines[dst].append(f"t{i}: recv {round(amounts[i])}b from {src} tag {tag}")
    unawaited = 0
    for i, before in enumerate(awaited(schedule)):
        for b in before:
            common = set(ends[b]) & set(ends[i])
            if not common:
                raise InputError(
                    "goal.other_rank", schedule=schedule.name, rank=ends[i][0], src=ends[b][0], dst=ends[b][1]
                )
            unawaited += ends[i][0] not in common
            for rank in common:
                orders[rank].append(f"t{i} requires t{b}")
    ranks = (
        f"rank {rank} {{\n" + "".join(f"{line}\n" for line in (*lines[rank], *orders[rank])) + "}\n"
        for rank in range(schedule.n)
    )
    remark = (
        f"/* {unawaited:,} times a message of {schedule.name.replace('*', '')} waits until its receiver has a place for"
        " it. A send of GOAL does not,\n   as GOAL has no memory: this may take less time than the schedule. */\n"
    )
    return f"{remark if unawaited else ''}num_ranks {schedule.n}\n\n" + "\n".join(ranks)

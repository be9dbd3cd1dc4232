"""MSCCL++ execution plans, as the executor of `microsoft/mscclpp` runs them."""

import re
from dataclasses import replace

from ops.formats import malformed, reader
from ops.formats.mscclpp_json.execution import PlanRun
from ops.formats.mscclpp_json.plan import ExecutionPlan, read_plan
from sim.base.pasted import bare_json
from sim.schedule import Schedule
from sim.schedule.verify import Verdict, verify

_MARK = re.compile(r'"(threadblocks|gpus)"\s*:')


def check(text: str, *, name: str) -> Verdict:
    """The verdict, and for a correct plan whether its signals and waits balance. Raises ScheduleProblem."""
    schedule, run = _read(text, name)
    verdict = replace(verify(schedule), ranks=schedule.n)
    return replace(verdict, reason=run.unanswered) if verdict.verdict == "ok" else verdict


@reader(
    "mscclpp_json",
    "an MSCCL++ execution plan (JSON)",
    matches=lambda text: bool(_MARK.search(text)) and bare_json(text).lstrip()[:1] == "{",
    check=check,
    endings=("json",),
)
def read(text: str, *, name: str) -> Schedule:
    """The transfers of an MSCCL++ plan.

    All chunks are taken to be equal (the executor rounds them to its alignment), and the operations of a
    pipeline are carried out once, on all their data, so that their overlap is not in the time. Raises
    ScheduleProblem.
    """
    return _read(text, name)[0]


def transfers(text: str, name: str) -> Schedule:
    """The same, with nothing proved: not that no two accesses race."""
    return _carried_out(text, name)[0]


def _read(text: str, name: str) -> tuple[Schedule, PlanRun]:
    schedule, run = _carried_out(text, name)
    return replace(schedule, flaw=run.threads.race(schedule.promise)), run


def _carried_out(text: str, name: str) -> tuple[Schedule, PlanRun]:
    plan = read_plan(text, name)
    _only_whole_groups(plan)
    run = PlanRun(plan)
    run.carry_out()
    promise = plan.buffers.promise
    switches = ("NVS",) if plan.switches else ()
    schedule = run.moves.schedule(
        name=plan.name,
        n=plan.n,
        promise=promise.with_switches(len(switches)) if promise else None,
        unit_share=1 / (plan.chunks * plan.cut),
        switches=switches,
    )
    return schedule, run


def _only_whole_groups(plan: ExecutionPlan) -> None:
    for operations in plan.blocks.values():
        for operation in operations:
            for ref in (*operation.sources, *operation.targets):
                if ref.group and sorted(ref.group) != [*range(plan.n)]:
                    malformed(operation.place, "mscclpp.switch_group", group=ref.group[:8], n=plan.n)

"""MSCCL algorithm XML, as `microsoft/msccl` and `ROCm/rccl` run it."""

import re
from collections import Counter
from dataclasses import replace
from typing import Annotated

from ops.formats import ScheduleProblem, reader
from ops.formats.interpreter.buffers import Buffers, lay_out
from ops.formats.msccl_xml.execution import MscclRun
from ops.formats.msccl_xml.limits import MOST_COUNT, MOST_PER_CHANNEL, broken
from ops.formats.msccl_xml.program import Program, algorithms, chosen, read_program
from sim.base.xml import Element
from sim.parameters import Bounds
from sim.schedule import Schedule
from sim.schedule.verify import Verdict, verify

MOST_ROOTS_TRIED = 64


Slots = Annotated[int, Bounds(0, 1 << 20)]
"""Messages that may wait on one connection; 0 is no limit."""


Number = Annotated[int, Bounds(0, 1 << 20)]
"""Which algorithm of a file that has several, counted from 1; 0 is the only one."""


def check(text: str, *, name: str, slots: Slots = 0, algo: Number = 0) -> Verdict:
    """Return the verdict, and for a correct file what a runtime would refuse of it. Raises ScheduleProblem.

    Of several algorithms the first that is not correct is judged, where none is chosen.
    """
    several = algorithms(text, name)
    one = [chosen(several, name, algo)] if algo or len(several) == 1 else several
    verdicts = [_judged(each, name, slots) for each in one]
    worst = next((i for i, verdict in enumerate(verdicts) if verdict.verdict != "ok"), 0)
    if len(one) == 1:
        return verdicts[0]
    if verdicts[worst].verdict == "ok":
        return replace(verdicts[0], reason=f"all {len(one)} algorithms are correct")
    return replace(verdicts[worst], reason=f"algorithm {worst + 1} of {len(one)}: {verdicts[worst].reason}")


def _judged(algo: Element, name: str, slots: int) -> Verdict:
    try:
        schedule, program = _read(algo, name, slots)
    except ScheduleProblem as problem:
        return Verdict(problem.verdict, str(problem))
    verdict = replace(verify(schedule), ranks=schedule.n)
    return replace(verdict, reason=_remark(program)) if verdict.verdict == "ok" else verdict


def _remark(program: Program) -> str:
    """What the runtimes would refuse of a correct file, or nothing."""
    steps = max((block.lines for blocks in program.blocks for block in blocks), default=0)
    blocks = max(map(len, program.blocks), default=0)
    channels = 1 + max((block.channel for blocks in program.blocks for block in blocks), default=0)
    limits = broken(steps, blocks, channels)
    if limits:
        return f"correct, but {next(iter(limits.values()))}"
    if program.widest > MOST_COUNT:
        return f"correct, but the runtimes take a cnt of {MOST_COUNT} at most, not {program.widest}"
    sending = Counter((b.gpu, b.channel) for blocks in program.blocks for b in blocks if b.send >= 0)
    if max(sending.values(), default=0) > MOST_PER_CHANNEL:
        return f"correct, but the runtimes take {MOST_PER_CHANNEL} sending thread blocks per channel at most"
    if program.protocol not in ("LL", "LL128", "Simple"):
        return f"correct, but proto={program.protocol[:20]!r} is none of LL, LL128, Simple, so no runtime takes it"
    odd = next((b for blocks in program.blocks for b in blocks if not b.numbered), None)
    if odd is not None:
        return f"correct when deps count lines, but tb {odd.id} of gpu {odd.gpu} does not number its steps 0, 1, 2 …"
    trailing = next((b for blocks in program.blocks for b in blocks if b.trailing), None)
    if trailing is not None:
        return (
            f"correct, but in tb {trailing.id} of gpu {trailing.gpu} a nop waits for an instruction that does not"
            " wait itself, and the runtimes refuse that: move the nop's depid and deps to it"
        )
    return ""


@reader(
    "msccl_xml",
    "an MSCCL algorithm (XML)",
    matches=lambda text: bool(re.search(r"<algo[\s>]", text)),
    check=check,
    endings=("xml",),
)
def read(text: str, *, name: str, slots: Slots = 0, algo: Number = 0) -> Schedule:
    """The transfers of an MSCCL program, checked as they are matched.

    A send and its receive are one transfer. With `slots`, a send waits for the receive that many messages
    earlier on its connection (NCCL_STEPS is 8); 0 is no limit. Steps are levels of the program's order: a
    message belongs to the earliest step in which it can be sent. `algo` chooses one of several algorithms in a file,
    counted from 1. Raises ScheduleProblem, and InputError where a choice is due.
    """
    return _read(chosen(algorithms(text, name), name, algo), name, slots)[0]


def transfers(text: str, name: str, slots: int = 0) -> Schedule:
    """The same, with nothing proved: neither that every message is received nor that no two accesses race."""
    program = read_program(chosen(algorithms(text, name), name, 0), name)
    return _carried_out(program, slots)[0]


def _carried_out(program: Program, slots: int) -> tuple[Schedule, MscclRun]:
    run = MscclRun(program, slots)
    run.carry_out()
    schedule = run.moves.schedule(
        name=program.name,
        n=program.n,
        promise=None if run.residual else program.buffers.promise,
        unit_share=1 / program.chunks,
        root=max(program.root, 0),
    )
    return schedule, run


def _read(algo: Element, name: str, slots: int) -> tuple[Schedule, Program]:
    program = read_program(algo, name)
    schedule, run = _carried_out(program, slots)
    rooted = program.collective in ("reduce", "broadcast", "gather", "scatter")
    if rooted and program.root < 0 and not run.residual:
        schedule = _with_root(schedule, program)
    return replace(schedule, flaw=run.unreceived() or run.race(schedule.promise)), program


def _with_root(schedule: Schedule, program: Program) -> Schedule:
    """The same transfers for the root they serve: the first rank for which the promise is kept.

    A broadcast's or scatter's root receives nothing, a reduce's or gather's sends nothing; others are tried
    where that leaves a choice.
    """
    away = schedule.src != schedule.dst
    busy = set((schedule.dst if program.collective in ("broadcast", "scatter") else schedule.src)[away].tolist())
    likely = [rank for rank in range(program.n) if rank not in busy] or [*range(program.n)]
    for root in likely[:MOST_ROOTS_TRIED]:
        rooted = replace(schedule, promise=_buffers(program, root).promise, root=root)
        if verify(rooted).verdict == "ok":
            return rooted
    return replace(schedule, promise=_buffers(program, likely[0]).promise, root=likely[0])


def _buffers(program: Program, root: int) -> Buffers:
    scratch = program.buffers.size["s"]
    return lay_out(program.collective, program.n, program.chunks, scratch, in_place=program.in_place, root=root)

"""Any schedule as MSCCL algorithm XML, as an author would write it: few thread blocks that pass on what they receive.

Thread blocks carry their lines out one after the other, so that work put into one may take longer than the schedule.
Several forms are tried, and the first one is written that fits all runtimes and takes the schedule's time; where none
does, the one that comes closest, and the file tells both times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from ops.formats import writer
from ops.formats.actions import ActionProgram, program
from ops.formats.msccl_xml.layout import BlockLayout, Form, Line, thread_blocks
from ops.formats.msccl_xml.limits import MOST_COUNT, RUNTIMES, beyond
from ops.formats.msccl_xml.program import PROMISED
from ops.formats.msccl_xml.reader import transfers
from sim.errors import InputError
from sim.machines import build
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import MiB, fmt_time

FORMS = (
    Form("passing"),
    Form("never"),
    Form("never", alone=True),
    Form("always"),
    Form("always", most=56),
    Form("always", most=28),
    Form("never", most=56),
    Form("always", most=20),
    Form("always", apart=False),
    Form("always", apart=False, most=56),
    Form("always", apart=False, most=40),
)
"""What is tried, from what an author would write to what takes the least thread blocks and lines."""
ROOTED = ("broadcast", "reduce", "gather", "scatter")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file without its remarks, the limits it breaks by runtime, and the time it takes."""

    text: str
    broken: dict[str, str]
    time: float


@writer("msccl_xml")
def write(schedule: Schedule, *, machine: Topology | None = None) -> str:
    """The same messages with the same dependencies, timed on a machine, or on an ideal switch.

    Raises InputError for what MSCCL cannot say or no runtime takes.
    """
    parts = program(schedule, "MSCCL XML", PROMISED, MOST_COUNT)
    if machine is None or len(machine.ranks) != schedule.n:
        machine = build(f"switch:ranks={schedule.n}")
    time = _seconds(schedule, machine)
    best: _Candidate | None = None
    others: list[tuple[dict[str, str], list[list[BlockLayout]]]] = []
    for form in FORMS:
        blocks = thread_blocks(schedule.name, schedule.n, parts.actions, form)
        limits = _broken(blocks)
        if limits:
            others.append((limits, blocks))
        else:
            best = _closer(best, _candidate(parts, blocks, limits, machine), time)
            if not _distance(best, time):
                break
    if best is None:
        fewest = min(len(limits) for limits, _ in others)
        if fewest == len(RUNTIMES):
            raise InputError(f"{schedule.name} cannot be written as MSCCL XML: {'; '.join(others[0][0].values())}")
        for limits, blocks in others:
            if len(limits) == fewest and (best is None or _distance(best, time)):
                best = _closer(best, _candidate(parts, blocks, limits, machine), time)
    assert best is not None
    return _with_remarks(best, machine.name, time)


def _candidate(
    parts: ActionProgram, blocks: Sequence[Sequence[BlockLayout]], limits: dict[str, str], machine: Topology
) -> _Candidate:
    text = _text(parts, blocks)
    return _Candidate(text, limits, _seconds(transfers(text, parts.schedule.name), machine))


def _seconds(schedule: Schedule, machine: Topology) -> float:
    """What a schedule of 1 MiB takes on a machine."""
    from sim.engine import simulate  # SimPy is for those who write, not for those who list formats

    return simulate(machine, schedule, size=MiB).time


def _closer(best: _Candidate | None, made: _Candidate, time: float) -> _Candidate:
    return made if best is None or _distance(made, time) < _distance(best, time) else best


def _broken(blocks: Sequence[Sequence[BlockLayout]]) -> dict[str, str]:
    steps = max((block.steps for of_gpu in blocks for block in of_gpu), default=0)
    return beyond(steps, max(map(len, blocks)))


def _distance(made: _Candidate, time: float) -> float:
    """How far it is from the schedule's time."""
    return round(abs(made.time / time - 1), 9) if time else 0


def _with_remarks(made: _Candidate, place: str, time: float) -> str:
    remarks = [f"{limit}: write fewer ranks for it" for limit in made.broken.values()]
    if _distance(made, time):
        remarks.append(
            f"1 MiB takes {fmt_time(made.time)} on {place} as written here, and {fmt_time(time)} as scheduled:"
            " lines of a thread block follow each other, and messages wait at their receiver"
        )
    head, rest = made.text.split("\n", 1)
    return "\n".join([head, *(f"  <!-- {remark.replace('--', '- -')} -->" for remark in remarks), rest])


def _text(parts: ActionProgram, blocks: Sequence[Sequence[BlockLayout]]) -> str:
    schedule, buffers, in_place = parts.schedule, parts.buffers, parts.in_place
    channels = max((block.channel for of_gpu in blocks for block in of_gpu), default=0) + 1
    whole = "i" if buffers.size["i"] >= buffers.size["o"] else "o"
    unused = [b for b in "io" if in_place and b != whole]
    sizes = " ".join(f'{b}_chunks="{0 if b in unused else buffers.size[b]}"' for b in "ios")
    rooted = f' root="{schedule.root}"' if parts.collective in ROOTED else ""
    lines = [
        f'<algo name={quoteattr(schedule.name)} proto="Simple" nchannels="{channels}" nchunksperloop="{parts.chunks}"'
        f' ngpus="{schedule.n}" coll="{parts.collective}" inplace="{in_place:d}" outofplace="{not in_place:d}"{rooted}'
        ' minBytes="0" maxBytes="0">'
    ]
    for gpu, of_gpu in enumerate(blocks):
        lines.append(f'  <gpu id="{gpu}" {sizes}>')
        for number, block in enumerate(of_gpu):
            lines.append(f'    <tb id="{number}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">')
            for line in block.lines:
                lines += _steps(line, of_gpu)
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _steps(line: Line, of_gpu: Sequence[BlockLayout]) -> Iterator[str]:
    waits = [f'depid="{t}" deps="{of_gpu[t].lines[k].number}"' for t, k in line.waits] or ['depid="-1" deps="-1"']
    first = line.number - len(waits) + 1
    for s, wait in enumerate(waits[:-1], first):
        places = 'srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1"'
        yield f'      <step s="{s}" type="nop" {places} cnt="0" {wait} hasdep="0"/>'
    source, offset, target, into, count = line.action.run
    if line.kind in ("rrc", "rrcs"):
        source, offset = target, into
    yield (
        f'      <step s="{line.number}" type="{line.kind}" srcbuf="{source}" srcoff="{offset}" dstbuf="{target}"'
        f' dstoff="{into}" cnt="{count}" {waits[-1]} hasdep="{line.awaited:d}"/>'
    )

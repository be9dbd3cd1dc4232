"""Any schedule as MSCCL algorithm XML, as an author would write it: few thread blocks that pass on what they receive.

Thread blocks carry their lines out one after the other, so that work put into one may take longer than the schedule.
Several forms are tried, and the first one is written that fits all runtimes and takes the schedule's time; where none
does, the one that comes closest, and the file gives both times.
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

from ops.formats import LARGEST_TEXT, ScheduleProblem, writer
from ops.formats.actions import ActionProgram, program
from ops.formats.attempts import Attempts
from ops.formats.msccl_xml.layout import (
    BlockLayout,
    Form,
    Line,
    channels_of,
    let_wait,
    refuse_strangers,
    thread_blocks,
)
from ops.formats.msccl_xml.limits import HELD_UP, MOST_COUNT, RUNTIMES, SLOTS, broken
from ops.formats.msccl_xml.program import PROMISED, SENDS
from ops.formats.msccl_xml.reader import transfers
from sim.base.xml import MOST_ELEMENTS
from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import fmt_size

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
    Form("never", most=SLOTS),
)
"""What is tried, from what an author would write to what takes the least thread blocks and lines."""
ROOTED = ("broadcast", "reduce", "gather", "scatter")


@writer("msccl_xml")
def write(schedule: Schedule, *, machine: Topology | None = None) -> str:
    """The same messages with the same dependencies, timed on a machine, or on an ideal switch.

    Raises InputError for what MSCCL cannot say, no runtime takes, or nobody could read here again.
    """
    parts = program(schedule, "MSCCL XML", PROMISED, MOST_COUNT)
    attempts = Attempts(schedule, machine, transfers)
    refuse_strangers(schedule.name, parts.actions)
    beyond: list[tuple[dict[str, Message], list[list[BlockLayout]]]] = []

    def within() -> Iterator[tuple[str, dict[str, Message]]]:
        tried: set[tuple[Form, tuple[int, ...]]] = set()
        for form in FORMS:
            channels = tuple(channels_of(parts.actions, form))
            way = form._replace(most=0), channels
            if way in tried:
                continue
            tried.add(way)
            text, limits, blocks = _in_form(parts, form, channels)
            if limits:
                beyond.append((limits, blocks))
            else:
                yield text, limits

    best = attempts.closest(within())
    if best is None:
        fewest = min(len(limits) for limits, _ in beyond)
        reasons = list(beyond[0][0].values())
        if fewest < len(RUNTIMES):
            for_one = [(limits, blocks) for limits, blocks in beyond if len(limits) == fewest]
            reasons = []
            best = attempts.closest(_readable(parts, for_one, reasons))
        if best is None:
            why = Message("list.sentences", parts={str(reason): reason for reason in reasons}.values())
            raise InputError("msccl.cannot", schedule=schedule.name, why=why)
    head, rest = best.text.split("\n", 1)
    remarks = (f"  <!-- {remark.replace('--', '- -')} -->" for remark in attempts.remarks(best))
    return "\n".join([head, *remarks, rest])


def _in_form(
    parts: ActionProgram, form: Form, channels: Sequence[int]
) -> tuple[str, dict[str, Message], list[list[BlockLayout]]]:
    """The file in a form, or else the limits that it breaks there; and its thread blocks, if it comes to them."""
    limits = broken(0, 0, max(channels, default=0) + 1)
    if limits:
        return "", limits, []
    gpus = thread_blocks(parts.schedule.n, parts.actions, form, channels)
    blocks = [gpu.blocks for gpu in gpus]
    limits = _broken(blocks)
    if len(limits) < len(RUNTIMES):  # waiting only adds lines
        for gpu in gpus:
            let_wait(gpu)
        limits = _broken(blocks)
    text = "" if limits else _text(parts, blocks)
    if not limits and (reason := _too_long(text, blocks)):
        limits = dict.fromkeys(RUNTIMES, reason)
    elif text and not _fits_slots(text, blocks):
        limits = HELD_UP
    return text, limits, blocks


def _readable(
    parts: ActionProgram, layouts: Sequence[tuple[dict[str, Message], list[list[BlockLayout]]]], reasons: list[Message]
) -> Iterator[tuple[str, dict[str, Message]]]:
    """The files that can be read here again, with the limits they break; why another one cannot goes to `reasons`."""
    for limits, blocks in layouts:
        reason = _too_long("", blocks)
        text = "" if reason else _text(parts, blocks)
        reason = reason or _too_long(text, blocks)
        if reason:
            reasons[:] = reasons or [reason]
        else:
            yield text, limits


def _too_long(text: str, blocks: Sequence[Sequence[BlockLayout]]) -> Message | None:
    """Why a file could not be read here again, if it could not."""
    elements = 1 + len(blocks) + sum(1 + block.steps for of_gpu in blocks for block in of_gpu)
    if len(text) <= LARGEST_TEXT and elements <= MOST_ELEMENTS:
        return None
    why, size = "msccl.too_large" if text else "msccl.too_many_elements", fmt_size(len(text))
    return Message(why, elements=elements, size=size, most=MOST_ELEMENTS, largest=fmt_size(LARGEST_TEXT))


def _broken(blocks: Sequence[Sequence[BlockLayout]]) -> dict[str, Message]:
    steps = max((block.steps for of_gpu in blocks for block in of_gpu), default=0)
    return broken(steps, max(map(len, blocks)), _channels(blocks))


def _channels(blocks: Sequence[Sequence[BlockLayout]]) -> int:
    return max((block.channel for of_gpu in blocks for block in of_gpu), default=0) + 1


def _fits_slots(text: str, blocks: Sequence[Sequence[BlockLayout]]) -> bool:
    """Whether connections hold as many messages as they must for every thread block to come to its end."""
    sent = (sum(line.kind in SENDS for line in block.lines) for of_gpu in blocks for block in of_gpu)
    if max(sent, default=0) <= SLOTS:
        return True
    try:
        transfers(text, "written", SLOTS)
    except ScheduleProblem:
        return False
    return True


def _text(parts: ActionProgram, blocks: Sequence[Sequence[BlockLayout]]) -> str:
    schedule, buffers, in_place = parts.schedule, parts.buffers, parts.in_place
    channels = _channels(blocks)
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

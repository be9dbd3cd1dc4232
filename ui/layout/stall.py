"""What holds up a run that never ends, in one sentence: what stands, who waits for whom, what would free it."""

from sim.engine.stall import circle, stuck, waiting
from sim.trace import Trace
from sim.units import fmt_time
from ui.text import say

LISTED = 12
"""A sentence names at most this many ranks or messages of a kind."""


def sentence(trace: Trace, language: str) -> str:
    """The sentence for a stalled trace; empty for one that ended."""
    if trace.stall is None:
        return ""
    links = [trace.topology.links[i] for i in trace.stall.links]
    held = ", ".join(dict.fromkeys(f"{link.src} → {link.dst}" for link in links[:LISTED]))
    messages = ", ".join(f"{src} → {dst}" for src, dst in stuck(trace)[:LISTED])
    time = fmt_time(trace.time)
    head = say("stall.head" if held else "stall.head.nowhere", language, time=time, messages=messages, links=held)
    waits, mend = _waits(trace, language), say("stall.mend", language)
    return say("stall.sentence", language, head=head, waits=waits, mend=mend)


def _waits(trace: Trace, language: str) -> str:
    """Who waits for whom: once round a circle, or everybody by the one they wait for."""
    assert trace.stall is not None
    chain = [rank for rank, _ in circle(trace.stall)]
    if chain:
        shown = [str(rank) for rank in (*chain, chain[0])]
        if len(shown) > LISTED:
            shown = [*shown[: LISTED - 2], "…", shown[-1]]
        return say("stall.circle", language, ranks=" → ".join(shown))
    pairs = waiting(trace.stall)
    more = " …" if len(pairs) > LISTED else ""
    return say("stall.waits", language, pairs=", ".join(f"{a} → {b}" for a, b in pairs[:LISTED]) + more)

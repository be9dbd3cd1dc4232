"""Why one run takes longer than another, or just as long."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ops.answers.change import LISTS, changed_words
from ops.answers.outcome import Outcome
from ops.answers.waits import FLOWING, WAITING, Holder, link_waited_for, rank_waited_for
from sim.engine.stall import circle, stuck, waiting
from sim.errors import Message
from sim.topology import Topology
from sim.trace import Trace
from sim.trace.breakdown import PARTS
from sim.units import fmt_share, fmt_time


class Reason(NamedTuple):
    """Why, and what shows it: `link:SRC>DST`, `rank:N` or `part:NAME`; nothing where no picture does."""

    message: Message
    shows: str = ""


LEAST = 0.2
"""Share of a run that a link must cost to be called what the ranks wait for."""
NAMED = 6
"""Ranks, links or messages that are named."""


def why_longer(longer: Outcome, shorter: Outcome, *, ahead: bool) -> Reason:
    """Return why `longer` takes longer; `ahead` says whether `shorter` is what a change led to."""
    ending = "no_longer" if ahead else "now"
    if longer.run is None or shorter.run is None or longer.path is None or shorter.path is None:
        return Reason(Message("answer.why.unknown"))
    slow, fast = longer.run.breakdown, shorter.run.breakdown
    more = slow.seconds.sum(axis=0) - fast.seconds.sum(axis=0)
    part = int(np.argmax(more))
    same_work = not ahead or all(word in LISTS for word in changed_words(shorter.plan, longer.plan))
    if part in FLOWING and same_work and (link := link_waited_for(longer)) and link.share >= LEAST:
        return _waits("link", link, longer.run.timing.ranks, ending)
    if part == WAITING and (rank := rank_waited_for(longer)):
        return _waits("rank", rank, longer.run.timing.ranks, ending)
    if PARTS[part] == "latency" and slow.messages > fast.messages:
        after, before = (fast, slow) if ahead else (slow, fast)
        values = {"after": f"{after.messages:,}", "before": f"{before.messages:,}"}
        return Reason(Message("answer.why.messages", **values), "part:latency")
    word = f"answer.why.part.{PARTS[part]}"
    key = "answer.why.less" if ahead else "answer.why.more"
    return Reason(Message(key, part=Message(word), time=fmt_time(float(more[part]))), f"part:{PARTS[part]}")


def _waits(what: str, holder: Holder, ranks: int, ending: str) -> Reason:
    shows = f"{what}:{re.sub(' [→↔] ', '>', holder.name)}"
    values = {what: holder.name}
    if not holder.ranks:
        return Reason(Message(f"answer.why.{what}.share.{ending}", **values, share=fmt_share(holder.share)), shows)
    if holder.ranks == ranks:
        return Reason(Message(f"answer.why.{what}.all.{ending}", **values, ranks=ranks), shows)
    some = Message(f"answer.why.{what}.some.{ending}", **values, ranks=holder.ranks, all=ranks)
    return Reason(some, shows)


def why_same(before: Outcome, after: Outcome) -> Reason:
    """Return why a change makes no difference."""
    changed = _changed_links(before, after)
    if not changed:
        return Reason(Message("answer.why.same"))
    moved = dict(zip(_names(after.topology), after.link_bytes.tolist(), strict=True))
    used = [name for name in changed if moved.get(name, 0.0) > 0]
    first = used[0] if used else changed[0]
    shows = f"link:{first.replace(' → ', '>')}"
    if not used:
        return Reason(Message("answer.why.unused", links=_first_few(changed)), shows)
    if after.run is None:
        return Reason(Message("answer.why.same"))
    use = dict(zip(_names(after.topology), after.run.link_use.tolist(), strict=True))
    busiest = max(used, key=lambda name: use[name])
    share = fmt_share(use[busiest])
    return Reason(Message("answer.why.room", link=busiest, share=share), f"link:{busiest.replace(' → ', '>')}")


def why_never(stalled: Trace) -> Reason:
    """Return what a run that never ends waits for."""
    stall = stalled.stall
    assert stall is not None
    dead = _first_few(list(dict.fromkeys(link_name(stalled.topology, i) for i in stall.links)))
    chain = [rank for rank, _ in circle(stall)]
    if chain:
        shown = [*chain, chain[0]] if len(chain) < NAMED else [*chain[: NAMED - 1], "…", chain[0]]
        return Reason(Message("answer.why.circle", ranks=" → ".join(map(str, shown))), f"rank:{chain[0]}")
    pairs = _first_few([f"{receiver} ← {sender}" for receiver, sender in waiting(stall)])
    if not dead:
        return Reason(Message("answer.why.waits", pairs=pairs))
    messages = _first_few([f"{a} → {b}" for a, b in stuck(stalled)])
    link = stalled.topology.links[stall.links[0]]
    return Reason(Message("answer.why.dead", links=dead, messages=messages), f"link:{link.src}>{link.dst}")


def _changed_links(before: Outcome, after: Outcome) -> list[str]:
    """Return the names of the links that carry more or less, are slower or faster to cross, or are new or gone."""
    old, new = (_rates(outcome) for outcome in (before, after))
    return [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def _rates(outcome: Outcome) -> dict[str, list[tuple[float, float]]]:
    """Return bandwidth, B/s, and latency, s, of all links from one device to another, by name."""
    rates: dict[str, list[tuple[float, float]]] = {}
    columns = zip(_names(outcome.topology), outcome.capacity.tolist(), outcome.topology.latency.tolist(), strict=True)
    for name, bandwidth, latency in columns:
        rates.setdefault(name, []).append((bandwidth, latency))
    return rates


def link_name(topology: Topology, link: int) -> str:
    """Return a link by its two ends."""
    return f"{topology.links[link].src} → {topology.links[link].dst}"


def _names(topology: Topology) -> list[str]:
    return [f"{link.src} → {link.dst}" for link in topology.links]


def _first_few(words: Sequence[str]) -> str:
    return ", ".join(words[:NAMED]) + (" …" if len(words) > NAMED else "")

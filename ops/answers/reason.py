"""Why one run takes longer than another, or just as long."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ops.answers.change import LISTS, added_faults, changed_words
from ops.answers.outcome import Links, Outcome, Standstill, both_ways
from ops.answers.waits import FLOWING, WAITING, Holder
from sim.errors import Message
from sim.trace.breakdown import PARTS
from sim.units import fmt_share, fmt_time


class Reason(NamedTuple):
    """Why, and what shows it: `link:SRC>DST`, `rank:N` or `part:NAME`; nothing where no picture does."""

    message: Message
    shows: str = ""


LEAST = 0.2
"""Share of a run that a link must cost to be called what the ranks wait for."""
WORK = {"algorithm", "settings", "size", "counts", "root", "ranks"}
"""Words of a plan that change what is sent."""
NAMED = 6
"""Ranks, links or messages that are named."""


def why_longer(longer: Outcome, shorter: Outcome, *, ahead: bool) -> Reason:
    """Return why `longer` takes longer; `ahead` says whether `shorter` is what a change led to."""
    ending = "no_longer" if ahead else "now"
    if longer.parts is None or shorter.parts is None:
        return Reason(Message("answer.why.unknown"))
    more = longer.parts - shorter.parts
    part = int(np.argmax(more))
    same_work = not ahead or all(word in LISTS for word in changed_words(shorter.plan, longer.plan))
    if part in FLOWING and same_work and longer.link and longer.link.share >= LEAST:
        return waits("link", longer.link, longer.ranks, ending)
    if part == WAITING and longer.rank:
        return waits("rank", longer.rank, longer.ranks, ending)
    if PARTS[part] == "latency" and longer.messages > shorter.messages:
        after, before = (shorter, longer) if ahead else (longer, shorter)
        values = {"after": f"{after.messages:,}", "before": f"{before.messages:,}"}
        return Reason(Message("answer.why.messages", **values), "part:latency")
    word = f"answer.why.part.{PARTS[part]}"
    key = "answer.why.less" if ahead else "answer.why.more"
    return Reason(Message(key, part=Message(word), time=fmt_time(float(more[part]))), f"part:{PARTS[part]}")


def waits(what: str, holder: Holder, ranks: int, ending: str) -> Reason:
    """Return who waits for a link or a rank, `now` or `no_longer`."""
    shows = f"rank:{holder.name}" if what == "rank" else shown_link(holder.name)
    values = {what: holder.name}
    if not holder.ranks:
        return Reason(Message(f"answer.why.{what}.share.{ending}", **values, share=fmt_share(holder.share)), shows)
    if holder.ranks == ranks:
        return Reason(Message(f"answer.why.{what}.all.{ending}", **values, ranks=ranks), shows)
    some = Message(f"answer.why.{what}.some.{ending}", **values, ranks=holder.ranks, all=ranks)
    return Reason(some, shows)


def shown_link(name: str) -> str:
    """Return what shows a link.

    >>> shown_link("CPU0 ↔ CPU1")
    'link:CPU0>CPU1'
    """
    return f"link:{re.sub(' [→↔] ', '>', name)}"


def why_same(before: Outcome, after: Outcome) -> Reason:
    """Return why a change makes no difference."""
    changed = _changed_links(before.links, after.links)
    if not changed:
        late = [values["rank"] for kind, values in added_faults(before.plan, after.plan) if kind == "straggler"]
        if late:
            return Reason(Message("answer.why.slack", rank=late[0]), f"rank:{late[0]}")
        return _alike(before, after)
    moved = dict(zip(after.links.names, after.links.bytes.tolist(), strict=True))
    used = [name for name in changed if moved.get(name, 0.0) > 0]
    shows = shown_link(used[0] if used else changed[0])
    if not used:
        return Reason(Message("answer.why.unused", links=_first_few(both_ways(changed))), shows)
    use = dict(zip(after.links.names, after.links.use.tolist(), strict=True))
    busiest = max(used, key=lambda name: use[name])
    held = _held_alike(before, after)
    if held and _ends(busiest) != _ends(held.name):
        words = {"held": held.name, "link": busiest, "share": fmt_share(use[busiest])}
        return Reason(Message("answer.why.still", **words), shown_link(held.name))
    return Reason(Message("answer.why.room", link=busiest, share=fmt_share(use[busiest])), shown_link(busiest))


def _alike(before: Outcome, after: Outcome) -> Reason:
    """Why two runs whose links are the same take just as long."""
    held, others = _held_alike(before, after), WORK & {*changed_words(before.plan, after.plan)}
    if held and after.link and before.parts is not None:
        share = fmt_share(float(after.links.use[after.link.link]))
        return Reason(Message("answer.why.both", link=held.name, share=share), shown_link(held.name))
    if others and after.messages and after.messages == before.messages:
        return Reason(Message("answer.why.both.messages", messages=f"{after.messages:,}"), "part:latency")
    return Reason(Message("answer.why.same"))


def _held_alike(before: Outcome, after: Outcome) -> Holder | None:
    """Return the link that both runs wait for, or None."""
    one, two = before.link, after.link
    is_same = one and two and _ends(one.name) == _ends(two.name) and min(one.share, two.share) >= LEAST
    return two if is_same else None


def _ends(link: str) -> set[str]:
    """The two ends of a link, whichever comes first.

    >>> _ends("B → A") == _ends("A ↔ B")
    True
    """
    return set(re.split(" [→↔] ", link))


def why_before(why: Reason) -> Reason:
    """Return why it was so before."""
    return Reason(Message("answer.why.before", reason=why.message), why.shows)


def why_never(stands: Standstill) -> Reason:
    """Return what a run that never ends waits for: who for whom, and which links hold it up."""
    dead = _first_few(stands.dead)
    held = Message(
        "answer.why.dead" if stands.stuck else "answer.why.dead.alone",
        links=dead,
        messages=_first_few([f"{a} → {b}" for a, b in stands.stuck]),
    )
    if stands.circle:
        first, *others = stands.circle
        shown = [first, *others] if len(others) < NAMED else [first, *others[: NAMED - 2], "…"]
        message = Message("answer.why.circle", ranks=" → ".join(map(str, [*shown, first])))
        return Reason(Message("answer.both", first=message, second=held) if dead else message, f"rank:{first}")
    if dead:
        return Reason(held, shown_link(stands.dead[0]))
    return Reason(Message("answer.why.waits", pairs=_first_few([f"{a} ← {b}" for a, b in stands.waiting])))


def _changed_links(before: Links, after: Links) -> list[str]:
    """Return the names of the links that carry more or less, are slower or faster to cross, or are new or gone."""
    old, new = _rates(before), _rates(after)
    return [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def _rates(links: Links) -> dict[str, list[tuple[float, float]]]:
    """Return bandwidth, B/s, and latency, s, of all links from one device to another, by name."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for name, bandwidth, latency in zip(links.names, links.bandwidth.tolist(), links.latency.tolist(), strict=True):
        rates.setdefault(name, []).append((bandwidth, latency))
    return rates


def _first_few(words: Sequence[str]) -> str:
    return ", ".join(words[:NAMED]) + (" …" if len(words) > NAMED else "")

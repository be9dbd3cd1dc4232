"""The answer of a single run: how long it takes, how near that is to the lower bound, and what it is made of."""

from ops.answers.answer import Answered
from ops.answers.names import called
from ops.answers.outcome import Outcome
from ops.answers.reason import LEAST, Reason, shown_link, waits, why_never
from ops.answers.sending import Sending
from ops.answers.waits import FLOWING, WAITING, Holder
from sim.errors import Message
from sim.trace.breakdown import PARTS
from sim.units import fmt_share, fmt_size, fmt_time

ALWAYS = 0.995
"""Share of a run in which a rank sends that is called all the time."""
FULL = 0.9
"""Share of a link's bandwidth over the whole run that is called full."""
EXACT = 1.0005
"""Below this factor a time is its lower bound."""
MOSTLY = 0.5
"""Share of a run that latency must cost to be its reason."""
LATENCY, SHARED = PARTS.index("latency"), FLOWING[1:]


def answer_alone(outcome: Outcome) -> Answered:
    """Say how long a single run takes and why; of one that never ends, who waits for whom."""
    name = called(outcome.name, first=True)
    if outcome.standstill:
        why = why_never(outcome.standstill)
        sentence = Message("answer.alone.never", algorithm=name, after=fmt_time(outcome.standstill.time))
        return Answered(outcome.time, outcome.standstill.time, sentence, why.message, None, why.shows)
    words = {"algorithm": name, "after": fmt_time(outcome.time)}
    times = outcome.time / outcome.bound if outcome.bound else 0.0
    if outcome.wrong:
        sentence, why = Message("answer.alone.wrong", **words), Reason(Message(outcome.wrong))
    elif not times:
        sentence, why = Message("answer.alone.time", **words), _why(outcome)
    elif times < EXACT:
        sentence, why = Message("answer.alone.bound", **words), _why(outcome)
    else:
        sentence, why = Message("answer.alone", **words, factor=f"{times:.3g}×"), _why(outcome)
    return Answered(outcome.time, outcome.time, sentence, why.message, None, why.shows)


def _why(outcome: Outcome) -> Reason:
    """Return what a run that has ended is made of: latency, ranks that always send, what they wait for, or the rest."""
    parts, sending = outcome.parts, outcome.sending
    if parts is not None and parts[LATENCY] >= MOSTLY * outcome.time:
        values = {"share": fmt_share(parts[LATENCY] / outcome.time), "messages": f"{outcome.messages:,}"}
        return Reason(Message("answer.why.latency", **values), "part:latency")
    if sending and sending.least >= ALWAYS and sending.fewest > 0:
        return Reason(_always(sending, outcome.ranks), "part:bytes")
    if parts is not None and outcome.link and _holds_up(outcome, outcome.link):
        return waits("link", outcome.link, outcome.ranks, "now")
    if parts is not None and outcome.rank and parts[WAITING] >= LEAST * outcome.time:
        return waits("rank", outcome.rank, outcome.ranks, "now")
    if sending:
        values = {"mean": f"{sending.mean:.2g}", "ranks": str(outcome.ranks), "messages": f"{outcome.messages:,}"}
        return Reason(Message("answer.why.some_send", **values), "part:bytes")
    return _busiest(outcome)


def _holds_up(outcome: Outcome, link: Holder) -> bool:
    """Whether a link holds a run up: the critical path spends much time on it, and it is full or shared."""
    assert outcome.parts is not None
    is_full = outcome.links.use[link.link] >= FULL
    return link.share >= LEAST and (is_full or outcome.parts[SHARED].sum() >= LEAST * outcome.time)


def _always(sending: Sending, ranks: int) -> Message:
    """Return that all ranks send all the time, and how much."""
    values = {"ranks": str(ranks), "bytes": fmt_size(sending.most)}
    if sending.most > EXACT * sending.fewest:
        return Message("answer.why.all_send.unequal", **values)
    if not sending.minimum:
        return Message("answer.why.all_send.each", **values)
    if sending.most < EXACT * sending.minimum:
        return Message("answer.why.all_send.minimum", **values)
    return Message("answer.why.all_send.more", **values, least=fmt_size(sending.minimum))


def _busiest(outcome: Outcome) -> Reason:
    use = outcome.links.use
    if not len(use) or use.max() <= 0:
        return Reason(Message("answer.why.unknown"))
    link = int(use.argmax())
    name = outcome.links.names[link]
    return Reason(Message("answer.why.busiest", link=name, share=fmt_share(float(use[link]))), shown_link(name))

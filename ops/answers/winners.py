"""The answer of a sweep: who wins most, and from which size on who wins where most ranks take part."""

from collections import Counter

from ops.answers.names import called
from ops.lab.winners import WinnerMap
from sim.errors import Message
from sim.units import fmt_size


def answer_map(winners: WinnerMap) -> list[Message]:
    """Say which algorithm wins most cells of a map; then who wins from which size on, with the most ranks."""
    cells = Counter(winners.winner(n, size) for n in winners.ranks for size in winners.sizes)
    count = sum(cells.values())
    del cells[""]
    if not cells:
        return [Message("answer.wins.none", count=len(winners.names))]
    name, most = cells.most_common(1)[0]
    if most == count:
        return [Message("answer.wins.all", name=called(name, first=True), cells=count)]
    sentence = Message("answer.wins", name=called(name, first=True), count=most, cells=count)
    n = next(n for n in reversed(winners.ranks) if any(winners.winner(n, size) for size in winners.sizes))
    return [sentence, Message("answer.wins.line", ranks=n, line=_line(winners, n))]


def _line(winners: WinnerMap, n: int) -> list[Message]:
    """Who wins with so many ranks, from the smallest size to the largest."""
    line: list[Message] = []
    before = ""
    for size in winners.sizes:
        winner = winners.winner(n, size)
        if winner and winner != before:
            key = "answer.wins.from" if line else "answer.wins.first"
            line.append(Message(key, name=called(winner), size=fmt_size(size)))
        before = winner or before
    return line

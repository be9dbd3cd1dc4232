"""What a click on a picture may ask."""

from typing import Any

from sim.faults.edits import EDITS
from sim.faults.kinds import FAULTS
from ui.text import speaking, summary, tell, tell_or


def offers(language: str) -> list[dict[str, Any]]:
    """Return what the player may ask: on what, in which words, and the fault or edit with braces to fill in.

    One that says `to` what is asked by dragging the one onto the other; the more particular stand first.
    """
    with speaking(language):
        clicked: list[dict[str, Any]] = [
            {"on": [*kind.targets(offer)], "text": tell_or(f"offer.{name}.{offer.key}", text), "spec": kind.spec(offer)}
            for kinds in (FAULTS, EDITS)
            for name, kind in kinds.items()
            for offer in kind.offers
            for text in [offer.text or summary(name, kinds.summary(name))]
        ]
        clicked.sort(key=lambda offer: "{kind}" in offer["spec"])  # what is changed alone comes first
        clicked.append({"on": ["machine"], "text": tell("player.whatif.size"), "spec": "size:bytes={bytes}"})
        drags = [(drag, name) for name, kind in EDITS.items() if (drag := kind.drag)]
        dragged = sorted(drags, key=lambda each: len(each[0].on))
        return clicked + [
            {**drag._asdict(), "on": [*drag.on], "to": [*drag.to], "text": tell(f"edit.{name}")}
            for drag, name in dragged
        ]

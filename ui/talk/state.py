"""The state of the page for talks, and its transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ui.state import PageState
from ui.talk import Talk, TalkScene


@dataclass(frozen=True)
class TalkState(PageState):
    """The visit's own talk and the place of its `chosen` scene; `packed` are its runs by what they show.

    `turn` numbers widgets, so that new ones take their places. `refused` is the key of a field and what is wrong in it.
    """

    own: Talk = field(default_factory=Talk)
    chosen: int = 0
    turn: int = 0
    refused: tuple[str, str] = ("", "")
    packed: Mapping[Any, Any] = field(default_factory=dict)

    def opened(self, talk: Talk, chosen: int = 0) -> "TalkState":
        """Take up another talk."""
        return replace(self, own=talk, chosen=chosen, turn=self.turn + 1)

    def added(self, scene: TalkScene) -> "TalkState":
        """Put a scene at the end."""
        own = replace(self.own, scenes=(*self.own.scenes, scene))
        return replace(self, own=own, chosen=len(self.own.scenes))

    def moved(self, chosen: int, to: int) -> "TalkState":
        """Move a scene to another place."""
        scenes = list(self.own.scenes)
        scenes.insert(to, scenes.pop(chosen))
        return self.opened(replace(self.own, scenes=tuple(scenes)), to)

    def removed(self, chosen: int) -> "TalkState":
        """Take a scene out."""
        scenes = self.own.scenes[:chosen] + self.own.scenes[chosen + 1 :]
        return self.opened(replace(self.own, scenes=scenes), max(0, chosen - 1))

    def written(self, chosen: int, **changes: Any) -> "TalkState":
        """Change what is written to a scene."""
        scenes = list(self.own.scenes)
        scenes[chosen] = replace(scenes[chosen], **changes)
        return replace(self, own=replace(self.own, scenes=tuple(scenes)), refused=("", ""))

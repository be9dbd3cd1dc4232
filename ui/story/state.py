"""The state of the story, which the page that simulates keeps."""

from dataclasses import dataclass

WORDS = ("open", "skip", "end")
"""What the player says of the story: it was asked for, put away, or played to its end."""


@dataclass(frozen=True)
class StoryState:
    """Whether the story is known; its `number` while it is told, 0 otherwise; how often the player spoke of it."""

    is_known: bool = False
    number: int = 0
    count: int = 0
    has_ended: bool = False

    def heard(self, word: object) -> "StoryState":
        """Take a word of the player; a stranger's browser may send others, which change nothing."""
        if word not in WORDS:
            return self
        count, is_open = self.count + 1, word == "open"
        return StoryState(self.is_known or not is_open, count * is_open, count, word == "end" or self.has_ended)

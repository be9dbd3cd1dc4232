"""The state of the story, which the page that simulates keeps."""

from dataclasses import dataclass

WORDS = ("open", "skip", "own")
"""What the player says of the story: it was asked for, put away, or led to the wish for a machine of one's own."""


@dataclass(frozen=True)
class StoryState:
    """The `number` of the story while it is told, 0 otherwise; how often somebody spoke of it; what it led to."""

    number: int = 0
    count: int = 0
    has_led_on: bool = False

    def heard(self, word: object) -> "StoryState":
        """Take a word of the player; a stranger's browser may send others, which change nothing."""
        if word not in WORDS:
            return self
        count = self.count + 1
        return StoryState(count * (word == "open"), count, word == "own" or self.has_led_on)

"""What can go wrong, told in one sentence that names the place and the mend."""

from typing import Any

LONGEST = 400
"""Characters of a message: names of files may be of any length, a sentence may not."""


class InputError(ValueError):
    """Something a person typed, pasted or passed cannot be used; the message says how to mend it.

    A message that is too long loses its middle.
    """

    def __init__(self, message: str = "") -> None:
        cut = len(message) > LONGEST
        super().__init__(f"{message[: LONGEST - 101]}…{message[-100:]}" if cut else message)

    status = 2
    """What a program that could not go on ends with: 2 for bad input, 1 where it was good and the answer is no."""
    trace: Any = None
    """The Trace of what had happened until nothing moved any more, where a run began. Traces raise these errors."""


class UnreachableError(InputError):
    """Nothing connects two devices that must talk; the message names them."""

    status = 1


class StalledError(RuntimeError):
    """A collective can never finish; the message names the waiting transfers and the dead link."""

    status = 1
    trace: Any = None
    """As an InputError's."""

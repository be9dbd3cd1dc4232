"""A bar for what takes long, drawn where a person is looking."""

import sys
from time import monotonic

WIDE = 24


class Bar:
    """Call it with how many are done, and of how many: `[######      ] 512 of 2,000 cells, 1.2 min left`."""

    def __init__(self, what: str) -> None:
        self._what, self._shown = what, sys.stderr.isatty()
        self._begun, self._first, self._drawn = monotonic(), -1, 0.0

    def __call__(self, done: int, of: int) -> None:
        """Draw, several times a second at most."""
        now = monotonic()
        self._first = done if self._first < 0 else self._first
        if not self._shown or (now - self._drawn < 0.2 and done < of):
            return
        self._drawn = now
        fresh, full = done - self._first, WIDE * done // max(of, 1)
        left = f", {_spoken((of - done) * (now - self._begun) / fresh)} left" if fresh > 0 and done < of else ""
        line = f"[{'#' * full}{' ' * (WIDE - full)}] {done:,} of {of:,} {self._what}{left}"
        sys.stderr.write(f"\r{line:78}" + ("\n" if done == of else ""))
        sys.stderr.flush()


def _spoken(seconds: float) -> str:
    """Like `40 s`, `12 min`, `3.5 h`."""
    for scale, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.2g} {unit}"
    return f"{seconds:.0f} s"
